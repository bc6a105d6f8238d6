"""How a memory file is written, and what Vector Storage makes of it: preview, change, measured advice.

Figures: 1,536 questions with known evidence about long chats, cut by SillyTavern's own splitting and found with MiniLM
vectors (spec/retrieval-baseline.md).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from memories import file_state, memory_file
from memories.blocks import Block, Format, block_spans, serialize_memories
from memories.file_state import format_of
from memories.models import MemoryFile, Revision
from sync.tavern.chunks import ChunkSettings, file_chunks
from sync.vector_settings import chunk_settings

ADVISED_BOUNDARY = "\n\n"
ADVISED_RETRIEVED = 40
SHOWN_CHUNKS = 12
SHOWN_LETTERS = 4_000
BULLET_LINE = re.compile(r"^(?:- |\[).*$", re.MULTILINE)
CLOSING = "</memory>"
SAMPLE = (
    Block(
        "The clock of Pim's grandfather",
        "2026-03-01 18:00",
        (
            "[Orla, Pim — a promise at the workshop]",
            "Pim entrusted Orla with the clock of Pim's grandfather.",
            "Orla promised Pim to repair the clock before the harvest fair.",
        ),
    ),
    Block(
        "The vote about the mill",
        "2026-03-04 21:30",
        ("[Orla, Sefa — the vote about the mill]", "Orla voted with Sefa against selling the mill."),
    ),
)


@dataclass(frozen=True)
class Measured:
    """One way to write and cut a file: share of the evidence that reached the prompt, and the letters it took there."""

    key: str
    share: str
    letters: int
    retrieved: int


MEASURED = (
    Measured("bullet", "71.3", 4_082, 40),
    Measured("prefix", "68.5", 5_528, 40),
    Measured("block", "47.5", 10_839, 5),
)


@dataclass(frozen=True)
class Piece:
    """One chunk as Vector Storage would cut it. `cuts_bullet`: it ends inside a memory. `goes_on`: the block that it
    ends with goes on in the next chunk."""

    number: int
    text: str
    size: int
    bullets: int
    cuts_bullet: bool
    goes_on: bool


@dataclass(frozen=True)
class Cutting:
    """All chunks of a text: their number and sizes, what they cut apart, and the first ones to show."""

    chunks: int
    mean: int
    longest: int
    blocks: int
    split_blocks: int
    cut_bullets: int
    shown: list[Piece]
    is_whole: bool  # the file is below Vector Storage's threshold and stays in one piece

    @property
    def more(self) -> int:
        return self.chunks - len(self.shown)


@dataclass(frozen=True)
class Preview:
    """A file in a layout: the beginning of its text, its size in bytes, and its chunks."""

    text: str
    is_shortened: bool
    size: int
    cutting: Cutting
    is_sample: bool


@dataclass(frozen=True)
class Wish:
    """One setting of Vector Storage that the advice needs: what it is called, what it should be, what it is."""

    label: str
    wanted: str
    found: str
    is_ok: bool


def change_layout(user: User, file: MemoryFile, form: Format, *, only_new: bool = False) -> Revision | None:
    """Write the file in another layout, as a revision; the Data Bank copy and the index follow.

    `only_new`: blocks that are there keep the layout they have, and `form` is for those that come. None when nothing
    would change. ValueError for a separator that cannot stand between blocks.
    """
    _check(form)
    before = format_of(file)
    has_own = file.blocks.filter(form__isnull=False).exists()
    if before == form and (only_new or not has_own):
        return None
    reason = _("Layout changed for new memories") if only_new else _("Layout changed")
    with memory_file.change(file, reason=reason, author=user) as editor:
        before = format_of(file)
        if only_new:
            file.blocks.filter(form__isnull=True).update(form=_as_json(before))
        elif has_own:
            file.blocks.filter(form__isnull=False).update(form=None)
        editor.set_layout(layout=form.layout, separator=form.separator, with_metadata=form.metadata)
        editor.touch()
    return file.revisions.get(number=file.version)


def _check(form: Format) -> None:
    if form.layout == "custom" and not form.separator.strip():
        raise ValueError(_("Type the separator, for example ---."))
    if "<" in form.separator:
        raise ValueError(_("A separator cannot hold “<”: that is how blocks begin."))


def _as_json(form: Format) -> dict[str, Any]:
    return {"layout": form.layout, "separator": form.separator, "metadata": form.metadata}


def preview(file: MemoryFile | None, form: Format, vectors: Mapping[str, Any], *, only_new: bool = False) -> Preview:
    """The file as it would be written and cut; invented blocks stand in while there are no memories."""
    text = "" if file is None else _text(file, form, only_new=only_new)
    is_sample = not text.strip()
    if is_sample:
        text = serialize_memories(SAMPLE, form)
    shown = text[:SHOWN_LETTERS]
    return Preview(
        shown if len(shown) == len(text) else shown[: shown.rfind("\n") + 1],
        len(shown) < len(text),
        len(text.encode()),
        cut(text, chunk_settings(vectors)),
        is_sample,
    )


def _text(file: MemoryFile, form: Format, *, only_new: bool) -> str:
    state = file_state.dump(file)
    former = _as_json(format_of(file))
    for block in state["blocks"]:
        block["form"] = (block["form"] or former) if only_new else None
    state |= {"layout": form.layout, "separator": form.separator, "with_metadata": form.metadata}
    return file_state.text_of(state)


def cut(text: str, settings: ChunkSettings) -> Cutting:
    """Where Vector Storage cuts `text`, registered with its real size. What overlaps is not counted twice."""
    size = len(text.encode())
    real = [one.text for one in file_chunks(text, size, settings)]
    overlap = int(settings.chunk_size * settings.overlap_percent / 100 + 0.5)
    bare = replace(settings, overlap_percent=0, chunk_size=settings.chunk_size - max(overlap, 0))
    starts = _starts(text, [one.text for one in file_chunks(text, size, bare)])
    blocks = [(_at(starts, first), _at(starts, end - 1)) for first, end in block_spans(text)]
    lines = [(_at(starts, match.start()), _at(starts, match.end() - 1)) for match in BULLET_LINE.finditer(text)]
    cuts = {first for first, last in lines if last > first}
    goes_on = {number for first, last in blocks for number in range(first, last)}
    counts: dict[int, int] = {}
    for first, _last in lines:
        counts[first] = counts.get(first, 0) + 1
    full = [(number, piece) for number, piece in enumerate(real) if piece.strip()]
    sizes = [len(piece) for _number, piece in full] or [0]
    return Cutting(
        chunks=len(full),
        mean=round(sum(sizes) / len(sizes)),
        longest=max(sizes),
        blocks=len(blocks),
        split_blocks=sum(last > first for first, last in blocks),
        cut_bullets=sum(last > first for first, last in lines),
        shown=[
            Piece(place, piece, len(piece), counts.get(number, 0), number in cuts, number in goes_on)
            for place, (number, piece) in enumerate(full[:SHOWN_CHUNKS], 1)
        ],
        is_whole=len(full) < 2 and settings.size_for(size) < 0,
    )


def _starts(text: str, pieces: list[str]) -> list[int]:
    """Where each piece begins in the text."""
    starts: list[int] = []
    place = 0
    for piece in pieces:
        found = text.find(piece, place)
        place = place if found < 0 else found  # a piece that ends in half a character is not found
        starts.append(place)
        place += len(piece)
    return starts


def _end(text: str, place: int) -> int:
    """The last letter of the block whose opening tag ends at `place`."""
    found = text.find(CLOSING, place)
    return len(text) - 1 if found < 0 else found + len(CLOSING) - 1


def _at(starts: list[int], place: int) -> int:
    return bisect_right(starts, place) - 1


def wishes(vectors: Mapping[str, Any]) -> list[Wish]:
    """What Vector Storage must be told for the advised layout, beside what it is told now."""
    now = chunk_settings(vectors)
    retrieved = str(vectors.get("chunk_count_db", 5))
    boundary = now.force_delimiter.replace("\n", "\\n")
    is_on, is_only = _("on"), now.only_custom_boundary
    return [
        Wish(_("Custom chunk boundary"), r"\n\n", boundary or _("empty"), now.force_delimiter == ADVISED_BOUNDARY),
        Wish(_("Only chunk on custom boundary"), is_on, is_on if is_only else _("off"), is_only),
        Wish(_("Retrieve chunks"), str(ADVISED_RETRIEVED), retrieved, retrieved == str(ADVISED_RETRIEVED)),
    ]
