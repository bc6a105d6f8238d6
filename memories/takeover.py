"""Text from outside becomes rows: what is known keeps its provenance, what is new counts as imported."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz import fuzz

from memories import file_state
from memories.blocks import Block, Document, is_topic, parse
from memories.file_editor import Editor
from memories.models import Memory, MemoryBlock
from memories.similarity import normalise
from sync.models import Chat

SAME_BULLET = 70  # two wordings of one bullet in the same block (rapidfuzz ratio, 0 to 100)


def take_over(editor: Editor, text: str) -> None:
    """Make the file's rows say what `text` says. Call inside an open change."""
    file = editor.file
    known = file_state.blocks_of(file)
    document = parse(text, file_state.format_of(file), *file_state.own_forms(known))
    before = [memory.pk for block in known for memory in block.memories.all()]
    pool = _Pool(memory for block in known for memory in block.memories.all())
    blocks = _match_blocks(document, known)
    rows = [row or _new_block(editor, block) for row, block in zip(blocks, document.blocks, strict=True)]
    kept = _fill(document, rows, pool)
    _remove_leftovers(editor, rows, kept)
    after = set(before) & kept
    editor.touch(added=len(kept) - len(after), removed=len(before) - len(after))
    file.loose_text = [
        {"before": None if loose.before is None else str(rows[loose.before].pk), "text": loose.text}
        for loose in document.loose
    ]


class _Pool:
    """Known bullets that have not been claimed by a line of the new text yet."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._by_text: dict[str, list[Memory]] = defaultdict(list)
        for memory in memories:
            self._by_text[memory.text].append(memory)

    def exact(self, text: str, block: MemoryBlock) -> Memory | None:
        """The same words, preferably from the same block."""
        found = self._by_text.get(text)
        if not found:
            return None
        at = next((n for n, memory in enumerate(found) if memory.block_id == block.pk), 0)
        return found.pop(at)

    def similar(self, text: str, block: MemoryBlock) -> Memory | None:
        """The closest unclaimed bullet of the same block, when it is close enough."""
        rest = [m for group in self._by_text.values() for m in group if m.block_id == block.pk]
        scored = [(fuzz.ratio(normalise(text), normalise(m.text)), n, m) for n, m in enumerate(rest)]
        score, _place, best = max(scored, default=(0.0, 0, None))
        if best is None or score < SAME_BULLET:
            return None
        self._by_text[best.text].remove(best)
        return best


def _match_blocks(document: Document, known: list[MemoryBlock]) -> list[MemoryBlock | None]:
    """Each block of the text with the row that it continues, by content first and by label and date second."""
    free = list(known)
    found: list[MemoryBlock | None] = [None] * len(document.blocks)
    for least in (1.0, 0.5, 0.0):
        for place, block in enumerate(document.blocks):
            if found[place] is not None:
                continue
            row = max(free, key=lambda one: _likeness(block, one), default=None)
            if row is not None and _likeness(block, row) >= max(least, 0.01):
                found[place] = row
                free.remove(row)
    return found


def _likeness(block: Block, row: MemoryBlock) -> float:
    """0 to 1: the share of bullets in common; the same label and date alone count a little."""
    theirs = {memory.text for memory in row.memories.all()}
    ours = set(block.bullets)
    share = len(ours & theirs) / max(len(ours | theirs), 1)
    named = (block.chat, block.date) == (row.label, row.date)
    return share if not named else 0.4 + 0.6 * share


def _new_block(editor: Editor, block: Block) -> MemoryBlock:
    chats = Chat.objects.for_user(editor.file.owner).filter(character=editor.file.character, name=block.chat)
    return MemoryBlock.objects.create(
        file=editor.file, label=block.chat, date=block.date, origin=MemoryBlock.Origin.IMPORTED, chat=chats.first()
    )


def _fill(document: Document, rows: list[MemoryBlock], pool: _Pool) -> set[uuid.UUID]:
    """Give every line its row, exact matches everywhere before similar ones; returns the ids in use."""
    claims: dict[tuple[int, int], Memory | None] = {}
    for find in (pool.exact, pool.similar):
        for number, block in enumerate(document.blocks):
            for place, text in enumerate(block.bullets):
                if claims.get((number, place)) is None:
                    claims[number, place] = find(text, rows[number])
    kept: set[uuid.UUID] = set()
    for number, block in enumerate(document.blocks):
        row = rows[number]
        row.order, row.label, row.date = number, block.chat, block.date
        row.save()
        for place, text in enumerate(block.bullets):
            memory = claims[number, place] or Memory(block=row)
            memory.block, memory.order, memory.text, memory.is_topic = row, place, text, is_topic(text)
            memory.save()
            kept.add(memory.pk)
    return kept


def _remove_leftovers(editor: Editor, rows: list[MemoryBlock], kept: set[uuid.UUID]) -> None:
    Memory.objects.for_user(editor.file.owner).filter(block__file=editor.file).exclude(pk__in=kept).delete()
    editor.file.blocks.exclude(pk__in=[row.pk for row in rows]).delete()
