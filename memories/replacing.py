"""Find and replace in memory files and drafts: what would change, and changing exactly that.

The same function makes the rows of the preview and the rows that are changed; a digest over them travels with the form,
and when they are not the same any more nothing is changed and the new rows are shown. Locked memories and blocks are
listed and left alone.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import CharField, Model
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories import drafts, memory_file
from memories.blocks import clean_bullet, clean_label, is_topic
from memories.file_editor import Editor
from memories.find_replace import Options, Place, Refused, Search, marked, pieces_of, replaced
from memories.memory_filters import Filters
from memories.models import Draft, Memory, MemoryBlock, MemoryFile
from memories.word_diff import Piece

BATCH = 500
FILES_AT_ONCE = 100  # read in two queries


@dataclass(frozen=True)
class Scope:
    """Where to look: in an open draft, in these files, or (with neither) in everything the person owns."""

    draft: Draft | None = None
    files: tuple[MemoryFile, ...] | None = None


class Text(NamedTuple):
    """A label or a memory as it stands; `block` and `file` are ids."""

    kind: str  # label or memory
    id: str
    text: str
    is_locked: bool
    block: str
    title: str  # the label of the block
    file: str
    owner: str = ""  # the name of the character


@dataclass(frozen=True)
class Row:
    """One text that holds what is looked for, before and after; an empty memory is deleted."""

    source: Text
    after: str
    places: tuple[Place, ...]

    @property
    def before(self) -> str:
        return self.source.text

    @property
    def is_locked(self) -> bool:
        return self.source.is_locked

    @property
    def is_deleted(self) -> bool:
        return not self.after

    @cached_property
    def sides(self) -> tuple[list[Piece], list[Piece]]:
        """Both wordings in pieces; of a locked row only the found words are marked."""
        if self.is_locked or self.after == self.before:
            return marked(self.before, self.places), []
        return pieces_of(self.before, self.after, self.places)


@dataclass
class Preview:
    """All rows with what is looked for, in the order of their files. `changed` are those that Replace changes."""

    rows: list[Row]
    files: dict[str, MemoryFile] = field(default_factory=dict)

    @cached_property
    def changed(self) -> list[Row]:
        return [row for row in self.rows if not row.is_locked and row.after != row.before]

    @property
    def places(self) -> int:
        return sum(len(row.places) for row in self.rows)

    @property
    def places_changed(self) -> int:
        return sum(len(row.places) for row in self.changed)

    @property
    def locked(self) -> int:
        return sum(row.is_locked for row in self.rows)

    @property
    def deleted(self) -> int:
        return sum(row.is_deleted for row in self.changed)

    @property
    def files_changed(self) -> int:
        return len({row.source.file for row in self.changed})

    @cached_property
    def digest(self) -> str:
        """Equal exactly when the same rows would be changed to the same words."""
        parts = ("\x00".join((row.source.kind, row.source.id, row.before, row.after)) for row in self.changed)
        return hashlib.sha256("\x01".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class MovedOn(Exception):
    """The rows are not those of the preview any more. Nothing was changed; `preview` has the rows of now."""

    def __init__(self, preview: Preview) -> None:
        super().__init__(
            _("Meanwhile something changed there. Nothing was replaced; look at the rows as they are now.")
        )
        self.preview = preview


@dataclass(frozen=True)
class Done:
    """What Replace did. `batch` is shared by the revisions it made; None in a draft, which has its own undo."""

    places: int
    files: int
    deleted: int
    batch: uuid.UUID | None = None


def preview(user: User, scope: Scope, options: Options) -> Preview:
    """What would be found and changed. Refused when the search cannot be carried out."""
    search = Search(options)
    if not options.find:
        return Preview([])
    if scope.draft is not None:
        return Preview(list(_rows(search, _texts_of_draft(scope.draft))))
    files = {str(file.pk): file for file in (_all_files(user) if scope.files is None else scope.files)}
    return Preview(list(_rows(search, _texts(user, files))), files)


def replace(user: User, scope: Scope, options: Options, digest: str) -> Done:
    """Change exactly the rows whose preview had `digest`: one revision a file, all or none. Refused, MovedOn."""
    found = preview(user, scope, options)
    if found.digest != digest:
        raise MovedOn(found)
    reason = _("“%(find)s” replaced by “%(put)s”") % {"find": options.find[:60], "put": options.replace[:60]}
    batch = None
    if scope.draft is not None:
        _replace_in_draft(scope.draft, found, reason)
    else:
        batch = uuid.uuid4()
        try:
            _replace_in_files(user, found, reason, batch)
        except memory_file.VersionConflict:
            raise MovedOn(preview(user, scope, options)) from None
    return Done(found.places_changed, found.files_changed, found.deleted, batch)


def sentence(refused: Refused) -> str:
    """Why a search was refused, for people."""
    sentences = {
        "too-long": _("This is too long to look for."),
        "bad-pattern": _("This is not a valid pattern: %(detail)s."),
        "bad-replacement": _("“Replace with” refers to something that the pattern does not have: %(detail)s."),
        "too-slow": _("This pattern takes too long, more than one second. Make it simpler."),
        "too-many": _("This pattern repeats too much. Use smaller numbers in {…}."),
        "calls-itself": _("Patterns that call themselves are not understood here."),
        "empty": _("This pattern also fits where there is nothing, so words would be put between all letters."),
        "grows": _("One memory would become longer than 20,000 letters."),
    }
    return f"{sentences[refused.reason] % {'detail': refused.detail}} {_('Nothing was changed.')}"


def _all_files(user: User) -> list[MemoryFile]:
    rows = MemoryFile.objects.for_user(user).select_related("character", "chat")
    return list(rows.order_by("character__name", "character", "created_at"))


def _rows(search: Search, texts: Iterable[Text]) -> Iterator[Row]:
    for one in texts:
        places = search.places(one.text)
        if places:
            clean = clean_label if one.kind == "label" else clean_bullet
            source = one._replace(id=str(uuid.UUID(one.id)), block=str(uuid.UUID(one.block)))
            yield Row(source, clean(replaced(one.text, places)), tuple(places))


def _texts(user: User, files: dict[str, MemoryFile]) -> Iterator[Text]:
    """Labels and memories of the files, each label in front of its memories. Ids are as the database has them: only
    those of the few rows with what is looked for are ever needed."""
    ids = list(files)
    for start in range(0, len(ids), FILES_AT_ONCE):
        part = ids[start : start + FILES_AT_ONCE]
        blocks = _blocks(user, part)
        of_block = _memories(user, part)
        for file_id in part:
            name = files[file_id].character.name
            for pk, label, is_locked in blocks[file_id]:
                yield Text("label", pk, label, is_locked, pk, label, file_id, name)
                for memory_id, text, is_kept in of_block[pk]:
                    yield Text("memory", memory_id, text, is_locked or is_kept, pk, label, file_id, name)


def _blocks(user: User, files: list[str]) -> defaultdict[str, list[Any]]:
    """Id, label and lock of the blocks of each file."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    rows = (
        MemoryBlock.objects.for_user(user).filter(file__in=map(uuid.UUID, files)).order_by("order", "created_at", "pk")
    )
    for file_id, *rest in rows.annotate(key=Cast("pk", CharField())).values_list("file", "key", "label", "is_locked"):
        found[str(file_id)].append(rest)
    return found


def _memories(user: User, files: list[str]) -> defaultdict[str, list[Any]]:
    """Id, text and lock of the memories of each block."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    rows = (
        Memory.objects.for_user(user)
        .filter(block__file__in=[uuid.UUID(one) for one in files])
        .order_by("order", "created_at")
    )
    texts = rows.annotate(key=Cast("pk", CharField()), at=Cast("block", CharField()))
    for block_id, *rest in texts.values_list("at", "key", "text", "is_locked"):
        found[block_id].append(rest)
    return found


def _texts_of_draft(draft: Draft) -> Iterator[Text]:
    """The same of an edit in progress, as it stands now."""
    view, file = drafts.view(draft), str(draft.file_id)
    for block in view.blocks([pk for pk, _n in view.listing(Filters(), newest=False)]):
        yield Text("label", str(block.id), block.label, block.is_locked, str(block.id), block.label, file)
        for row in block.memories:
            yield Text(
                "memory", str(row.id), row.text, block.is_locked or row.is_locked, str(block.id), block.label, file
            )


def _replace_in_files(user: User, found: Preview, reason: str, batch: uuid.UUID) -> None:
    """One transaction for all files, so that there is one effect or none."""
    with transaction.atomic():
        for file_id, rows in groupby(found.changed, key=lambda row: row.source.file):
            file = found.files[file_id]
            version = file.version
            with memory_file.change(file, reason=reason, author=user, expected_version=version, batch=batch) as editor:
                _write(editor, list(rows))


def _replace_in_draft(draft: Draft, found: Preview, reason: str) -> None:
    """One step of the draft."""
    with drafts.step(draft, reason) as editor:
        for row in found.changed:
            if row.source.kind == "label":
                editor.set_block(row.source.id, label=row.after)
            elif row.after:
                editor.set_text(row.source.id, row.after)
        editor.delete_memories([row.source.id for row in found.changed if row.is_deleted])


def _write(editor: Editor, rows: list[Row]) -> None:
    """Bring the rows to the database in groups: there may be thousands."""
    labels = {row.source.id: row.after for row in rows if row.source.kind == "label"}
    texts = {row.source.id: row.after for row in rows if row.source.kind == "memory" and row.after}
    gone = [row.source.id for row in rows if row.is_deleted]
    for ids in _groups(labels):
        blocks = list(editor.file.blocks.filter(pk__in=ids))
        for block in blocks:
            block.label, block.updated_at = labels[str(block.pk)], timezone.now()
        _update(MemoryBlock, blocks, ["label", "updated_at"])
    for ids in _groups(texts):
        _write_texts(editor, {pk: texts[pk] for pk in ids})
    _delete(editor, gone)
    editor.touch({row.source.block for row in rows}, added=len(texts), removed=len(texts) + len(gone))


def _write_texts(editor: Editor, texts: dict[str, str]) -> None:
    rows = Memory.objects.for_user(editor.file.owner)
    memories = list(rows.filter(pk__in=texts, block__file=editor.file))
    for memory in memories:
        memory.text = texts[str(memory.pk)]
        memory.is_topic, memory.updated_at = is_topic(memory.text), timezone.now()
        memory.unverified_names = [name for name in memory.unverified_names if str(name) in memory.text]
    _update(Memory, memories, ["text", "is_topic", "unverified_names", "updated_at"])


def _update(model: type[Model], rows: list[Any], fields: list[str]) -> None:
    """Write these fields of rows that exist: an upsert costs a tenth of bulk_update's CASE for every value."""
    model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=fields)


def _delete(editor: Editor, gone: list[str]) -> None:
    """Delete memories, and blocks that lost their last one by it."""
    touched: set[uuid.UUID] = set()
    for ids in _groups(gone):
        rows = Memory.objects.for_user(editor.file.owner).filter(pk__in=ids, block__file=editor.file)
        touched.update(rows.values_list("block", flat=True))
        rows.delete()
    for ids in _groups(touched):
        for block in editor.file.blocks.filter(pk__in=ids, memories__isnull=True):
            editor.delete_block(block.pk)


def _groups(ids: Iterable[Any]) -> Iterator[list[Any]]:
    """As many ids as a query may name at once."""
    rest = list(ids)
    for start in range(0, len(rest), BATCH):
        yield rest[start : start + BATCH]
