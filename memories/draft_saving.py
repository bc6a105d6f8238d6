"""A draft becomes one revision; blocks that both sides changed are asked about first, and nothing is overwritten.

file unchanged since the draft began ──▶ save        changed ──▶ other blocks? ──▶ save, merged silently
                                                          └──▶ same blocks? ──▶ MergeNeeded, until each is settled
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories import ancestors, file_state, memory_file, trash_items
from memories.draft_merge import Sides, choices_in_force, conflicts_of, settled
from memories.draft_overlay import Fields, Overlay, RowChange, fold
from memories.draft_rows import DraftRows, parts
from memories.file_editor import Editor, NewMemory
from memories.merge import Merge, MergeNeeded
from memories.models import Draft, Memory, MemoryBlock, MemoryFile, Revision

Sent = dict[str, Any]


def save(draft: Draft, *, reason: str = "") -> Revision | None:
    """Make the draft one revision of its file, and close it. None when it changes nothing.

    MergeNeeded: the same blocks were changed in the file since; nothing is written until each is settled (`choose`).
    Bullets sent elsewhere arrive in their files in the same transaction, as revisions of the same batch.
    """
    with transaction.atomic():
        _close(draft)
        labels, overlay = _steps(draft)
        if not overlay:
            return None
        file = draft.file
        batch = uuid.uuid4() if overlay.sends else None
        title = reason or draft.title or _reason(labels)
        with memory_file.change(file, reason=title, author=draft.owner, batch=batch) as editor:
            overlay = _merged(draft, overlay)
            _write(editor, overlay)
            elsewhere = _send(draft, overlay, title, batch)
        if not editor.is_changed:
            return next(iter(elsewhere), None)
        draft.revision = file.version
        draft.save(update_fields=["revision", "updated_at"])
        return file.revisions.get(number=file.version)


def merge_of(draft: Draft) -> Merge:
    """The blocks that were changed on both sides, with the choices made so far."""
    _labels, overlay = _steps(draft)
    draft.file.refresh_from_db(fields=["version"])
    sides = _sides(draft, overlay)
    return _shown(draft, sides) if sides else Merge()


def _shown(draft: Draft, sides: Sides) -> Merge:
    choices = choices_in_force(draft.file, sides, draft.choices)
    return Merge([sides.shown(one, choices.get(one, "")) for one in sides.conflicts])


def saved_notes(draft: Draft) -> list[str]:
    """What was merged silently when the draft was saved, in words: who changed the file meanwhile."""
    if draft.revision is None:
        return []
    rows = draft.file.revisions.filter(number__gte=draft.base_version, number__lt=draft.revision).order_by("number")
    found = list(rows.select_related("job"))
    meanwhile = list(pairwise(found))
    read = [(before, one) for before, one in meanwhile if one.job is not None and one.job.kind == "extract"]
    notes = []
    if read:
        blocks = sum(max(0, one.blocks - before.blocks) for before, one in read)
        words = ngettext(
            "An extraction added %(n)d block meanwhile; it stays.",
            "An extraction added %(n)d blocks meanwhile; they stay.",
            blocks,
        )
        notes.append(words % {"n": blocks})
    if others := len(meanwhile) - len(read):
        words = ngettext(
            "One change that was made to the file meanwhile was kept too.",
            "%(n)d changes that were made to the file meanwhile were kept too.",
            others,
        )
        notes.append(words % {"n": others})
    return notes


def _close(draft: Draft) -> None:
    """Compare-and-set, so that two tabs save once. Rolled back with everything else when the saving fails."""
    rows = Draft.objects.for_user(draft.owner).filter(pk=draft.pk, state=Draft.State.OPEN)
    if not rows.update(state=Draft.State.SAVED):
        raise ValueError(_("This edit was saved or left already. Open the memories again to go on."))
    draft.refresh_from_db(fields=["state", "pointer", "choices", "base_version"])


def _steps(draft: Draft) -> tuple[list[str], Overlay]:
    steps = list(draft.steps.filter(number__lte=draft.pointer).order_by("number"))
    return [one.label for one in steps], fold(one.changes for one in steps)


def _reason(labels: list[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return ngettext("Edited: %(n)d change", "Edited: %(n)d changes", len(labels)) % {"n": len(labels)}


def _sides(draft: Draft, overlay: Overlay, version: int | None = None) -> Sides | None:
    """What the file did since the draft began; None when nothing."""
    now = draft.file.version if version is None else version
    return None if now == draft.base_version else conflicts_of(draft.file, draft.base_version, now, overlay)


def _merged(draft: Draft, overlay: Overlay) -> Overlay:
    """The draft's changes as they apply to the file now. Inside the change, which moved the version by one already."""
    sides = _sides(draft, overlay, draft.file.version - 1)
    if sides is None:
        return overlay
    merge = _shown(draft, sides)
    if not merge.is_settled:
        raise MergeNeeded(merge, _("The same blocks were changed meanwhile. Nothing was overwritten: choose for each."))
    return settled(draft.file, sides, overlay, draft.choices)


def _write(editor: Editor, overlay: Overlay) -> None:
    """Bring the changes into the file's rows, and keep what they replace or delete."""
    file = editor.file
    rows = DraftRows(file, Overlay())
    changes = _present(rows, overlay)
    touched = _touched_blocks(rows, changes)
    gone = [one for one, change in changes.blocks.items() if change.is_deleted]
    deleted = [one for one, change in changes.memories.items() if change.is_deleted]
    parents = [one for change in changes.memories.values() for one in (change.after or {}).get("parents", [])]
    parents += [
        one for change in changes.sends.values() for row in (change.after or {})["memories"] for one in row["parents"]
    ]
    ancestors.keep_by_id(file, dict.fromkeys(parents))
    _keep_deleted(editor, gone, set(deleted) - set(parents))
    _hand_on_loose_text(editor, gone)
    _write_blocks(file, changes)
    _write_memories(file, changes)
    _delete(file, deleted, gone)
    emptied = _drop_empty(editor, touched - set(gone))
    if changes.blocks or changes.memories:
        is_moved = bool(emptied) or any(_is_placed(change) for change in changes.blocks.values())
        editor.touch(touched | set(emptied), is_reordered=is_moved, **_counts(changes))


def _present(rows: DraftRows, overlay: Overlay) -> Overlay:
    """Without changes of rows that the file no longer has."""
    found = Overlay({"block": {}, "memory": {}, "send": dict(overlay.sends)})
    for kind in ("block", "memory"):
        there = rows.base(kind, overlay.rows[kind])
        for one, change in overlay.rows[kind].items():
            if change.is_made or one in there:
                found.rows[kind][one] = change
    return found


def _touched_blocks(rows: DraftRows, changes: Overlay) -> set[str]:
    base = rows.base("memory", changes.memories)
    touched = {one for one, change in changes.blocks.items() if _is_content(change)}
    touched |= {row["block"] for row in base.values()}
    return touched | {
        change.after["block"] for change in changes.memories.values() if change.after and "block" in change.after
    }


def _is_content(change: RowChange) -> bool:
    """A block that only stands elsewhere keeps its content."""
    return change.is_made or change.is_deleted or bool(set(change.after or {}) - {"order", "behind"})


def _is_placed(change: RowChange) -> bool:
    return change.is_made or change.is_deleted or "order" in (change.after or {})


def _keep_deleted(editor: Editor, gone: list[str], deleted: set[str]) -> None:
    """Blocks whose bullets were deleted with them go to the trash; merged and moved bullets live on elsewhere."""
    blocks = file_state.dump_blocks(editor.file, gone)
    lost = [{**one, "memories": [m for m in one["memories"] if m["id"] in deleted]} for one in blocks]
    trash_items.add_blocks(
        editor.file, [one for one in lost if any(not m["is_topic"] for m in one["memories"])], editor.file.version
    )


def _hand_on_loose_text(editor: Editor, gone: Iterable[str]) -> None:
    """Text in front of a deleted block now stands in front of the next one that stays."""
    file, gone = editor.file, set(gone)
    if not gone or not file.loose_text:
        return
    order = [str(pk) for pk in file.blocks.order_by(*file_state.ORDER).values_list("pk", flat=True)]
    heirs: dict[str, str | None] = {}
    heir: str | None = None
    for one in reversed(order):
        heir = heir if one in gone else one
        heirs[one] = heir
    file.loose_text = [one | {"before": heirs.get(str(one["before"]))} for one in file.loose_text]


def _write_blocks(file: MemoryFile, changes: Overlay) -> None:
    made = [(one, change.after) for one, change in changes.blocks.items() if change.is_made and change.after]
    links = {name: _there(file, name, [row for _one, row in made]) for name in file_state.BLOCK_LINKS}
    MemoryBlock.objects.bulk_create(
        (MemoryBlock(pk=one, file=file, **_block_columns(row, links)) for one, row in made), batch_size=200
    )
    for one, change in changes.blocks.items():
        if not change.is_made and change.after:
            known = {
                name: _there(file, name, [change.after]) for name in file_state.BLOCK_LINKS if name in change.after
            }
            file.blocks.filter(pk=one).update(**_block_columns(change.after, known))


def _there(file: MemoryFile, name: str, rows: Iterable[Fields]) -> set[str]:
    """Which linked rows still exist."""
    wanted = {row[name] for row in rows if row.get(name)}
    if not wanted:
        return set()
    found = file_state.BLOCK_LINKS[name].objects.for_user(file.owner).filter(pk__in=wanted)
    return {str(pk) for pk in found.values_list("pk", flat=True)}


def _block_columns(row: Fields, links: dict[str, set[str]]) -> Fields:
    columns = {name: row[name] for name in ("order", *file_state.BLOCK_FIELDS) if name in row}
    columns |= {f"{name}_id": row[name] if row[name] in known else None for name, known in links.items()}
    return columns


def _write_memories(file: MemoryFile, changes: Overlay) -> None:
    """Made and changed bullets, upserted: only the columns that some of them changed."""
    made = {one: change.after for one, change in changes.memories.items() if change.is_made and change.after}
    held = _duplicates_there(file, changes)
    Memory.objects.bulk_create(
        (Memory(pk=one, **_memory_columns(row, held)) for one, row in made.items()), batch_size=500
    )
    altered = {one: c.after for one, c in changes.memories.items() if not c.is_made and c.after}
    for part in parts(list(altered)):
        rows = Memory.objects.for_user(file.owner).in_bulk(part)
        names: set[str] = set()
        for pk, memory in rows.items():
            columns = _memory_columns(altered[str(pk)], held)
            names |= set(columns)
            for name, value in columns.items():
                setattr(memory, name, value)
        if names:
            Memory.objects.bulk_create(
                rows.values(),
                update_conflicts=True,
                unique_fields=["id"],
                update_fields=[*_fields(names), "updated_at"],
            )


def _fields(columns: Iterable[str]) -> list[str]:
    return [name.removesuffix("_id") for name in columns]


def _memory_columns(row: Fields, held: set[str]) -> Fields:
    columns = {name: row[name] for name in ("order", *file_state.MEMORY_FIELDS) if name in row}
    if "block" in row:
        columns["block_id"] = row["block"]
    if "duplicate_of" in row:
        columns["duplicate_of_id"] = row["duplicate_of"] if row["duplicate_of"] in held else None
    return columns


def _duplicates_there(file: MemoryFile, changes: Overlay) -> set[str]:
    """Which bullets that others resemble are there (or are made) and stay."""
    wanted = {c.after["duplicate_of"] for c in changes.memories.values() if c.after and c.after.get("duplicate_of")}
    deleted = {one for one, change in changes.memories.items() if change.is_deleted}
    found = DraftRows(file, Overlay()).base("memory", wanted)
    return set(found) - deleted


def _delete(file: MemoryFile, memories: list[str], blocks: list[str]) -> None:
    for part in parts(memories):
        Memory.objects.for_user(file.owner).filter(block__file=file, pk__in=part).delete()
    for part in parts(blocks):
        # A block into which somebody else put a bullet meanwhile stays.
        file.blocks.filter(pk__in=part, memories__isnull=True).delete()


def _drop_empty(editor: Editor, blocks: Iterable[str]) -> list[str]:
    """A block that lost its last bullet goes with it."""
    empty = [str(pk) for part in parts(list(blocks)) for pk in _empty(editor.file, part)]
    _hand_on_loose_text(editor, empty)
    _delete(editor.file, [], empty)
    return empty


def _empty(file: MemoryFile, ids: Iterable[str]) -> Iterable[uuid.UUID]:
    return file.blocks.filter(pk__in=list(ids), memories__isnull=True).order_by().values_list("pk", flat=True)


def _counts(changes: Overlay) -> dict[str, int]:
    made = sum(change.is_made for change in changes.memories.values())
    gone = sum(change.is_deleted for change in changes.memories.values())
    reworded = sum(bool(c.before and c.after and "text" in c.after) for c in changes.memories.values())
    return {"added": made + reworded, "removed": gone + reworded}


def _send(draft: Draft, overlay: Overlay, reason: str, batch: uuid.UUID | None) -> list[Revision]:
    """Put what was sent at the end of the other files; their revisions."""
    made = []
    by_file: dict[str, list[Sent]] = {}
    for change in overlay.sends.values():
        if change.after:
            by_file.setdefault(change.after["file"], []).append(change.after)
    files = MemoryFile.objects.for_user(draft.owner).in_bulk(list(by_file))
    for key, sent in by_file.items():
        target = files.get(uuid.UUID(key))
        if target is None:
            raise ValueError(_("A memory file that memories were sent to is gone. Undo that step, then save again."))
        target.owner = draft.owner
        with memory_file.change(target, reason=reason, author=draft.owner, batch=batch) as editor:
            for one in sent:
                _add_sent(editor, one)
        made.append(target.revisions.get(number=target.version))
    return made


def _add_sent(editor: Editor, sent: Sent) -> None:
    fields = dict(sent["block"])
    links = {name: _there(editor.file, name, [fields]) for name in file_state.BLOCK_LINKS}
    provenance = {f"{name}_id": fields.pop(name) for name in list(links)}
    provenance = {
        name: value if value in links[name.removesuffix("_id")] else None for name, value in provenance.items()
    }
    new = [_sent_memory(row) for row in sent["memories"]]
    editor.add_block(
        fields.pop("label"), new, date=fields.pop("date"), origin=fields.pop("origin"), **fields, **provenance
    )


def _sent_memory(row: Fields) -> NewMemory:
    return NewMemory(
        row["text"],
        evidence=row["evidence"],
        unverified_names=row["unverified_names"],
        doubts=row.get("doubts", []),
        is_unverified=row["is_unverified"],
        parents=row["parents"],
    )
