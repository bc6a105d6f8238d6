"""The memory file of a character: read it, change it, take over text from outside, bring a revision back.

Every change is one short transaction: the version moves by compare-and-set, rows change, one revision is written.
The version equals the number of the newest revision; revision 0 is the file as it was found.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories import file_state, revisions, trash_items
from memories.blocks import clean_loose, sniff_format
from memories.file_editor import Editor, NewMemory, NotInFile
from memories.file_names import auto_file_name
from memories.models import Memory, MemoryFile, Revision
from memories.revisions import revision_state, revision_text
from memories.takeover import take_over
from sync.models import Character, Chat

LONGEST_NAME, LONGEST_CHAT = 300, 200
CHANGING = ("version", "layout", "separator", "with_metadata", "loose_text", "written_version")

__all__ = [
    "Editor",
    "NewMemory",
    "NotInFile",
    "VersionConflict",
    "change",
    "file_for",
    "import_text",
    "render",
    "revision_state",
    "revision_text",
]


class VersionConflict(Exception):
    """Somebody else saved the file since it was read. The message is a finished sentence; nothing was written."""

    def __init__(self, file: MemoryFile) -> None:
        super().__init__(
            _("%(name)s was changed in the meantime. Nothing was overwritten; look at the newer version first.")
            % {"name": file.name}
        )
        self.file = file


def file_for(character: Character, chat: Chat | None = None) -> MemoryFile:
    """The character's memory file (or the one for `chat`), made when there is none yet."""
    owner = character.tavern.owner
    files = MemoryFile.objects.for_user(owner).filter(character=character, chat=chat)
    found = next(iter(files[:1]), None)
    if found is not None:
        found.owner = owner
        return found
    chat_name = chat.name[:LONGEST_CHAT] if chat else None
    name = auto_file_name(character.name, per_chat=chat is not None, chat=chat_name)[-LONGEST_NAME:]
    made, _new = files.get_or_create(character=character, chat=chat, defaults={"owner": owner, "name": name})
    return made


def render(file: MemoryFile) -> str:
    """The file's text as it stands now: word for word what was found outside, or restored from that, as long as nothing
    changed since; else `canonical`."""
    found = _found(file, file.version)
    return canonical(file) if found is None else found


def canonical(file: MemoryFile) -> str:
    """The text that the rows make, in the file's layout."""
    return file_state.text_of(file_state.dump(file))


@contextmanager
def change(
    file: MemoryFile,
    *,
    reason: str,
    author: User | None = None,
    job: Job | None = None,
    expected_version: int | None = None,
    writes_back: bool = True,
    batch: uuid.UUID | None = None,
) -> Iterator[Editor]:
    """Change the file inside one transaction and write one revision; nothing is written when nothing changed.

    `reason` is shown in the history. With `expected_version`, VersionConflict is raised when the file has moved on.
    Afterwards `file` holds the new version, and the Data Bank copy is brought up to date after the commit, unless the
    caller makes many changes in a row and schedules that itself (`writes_back=False`). Revisions of several files with
    the same `batch` are one action (memories/editing.py: undo_batch).
    """
    with _unchanged_on_error(file), transaction.atomic():
        _claim(file, expected_version)
        before = _changing(file)
        _ensure_revision_zero(file)
        editor = Editor(file)
        yield editor
        if editor.is_changed:
            _write_revision(editor, reason=reason, author=author, job=job, batch=batch)
        else:
            file.version -= 1
        _save(file, before)
        if editor.is_changed and writes_back:
            _update_data_bank(file)


def import_text(file: MemoryFile, text: str, *, reason: str, author: User | None = None) -> Revision | None:
    """Take over the text of the Data Bank copy: on adoption as revision 0, later as a further revision.

    The revision keeps `text` exactly. Blocks and bullets that are known keep where they came from, the others count as
    imported, text around the blocks stays in the file. None when the file holds this very text already.
    """
    with transaction.atomic():
        _claim(file, None)
        before = _changing(file)
        latest = file.revisions.select_related("text").first()
        if latest is not None and (_is_text(latest, text) or text == render(file)):
            file.version -= 1
            _save(file, before)
            return None
        if latest is None:
            form = sniff_format(text)
            file.layout, file.separator, file.with_metadata = form.layout, form.separator, form.metadata
            file.version = 0
        editor = Editor(file)
        take_over(editor, text)
        revision = _write_revision(editor, reason=reason, author=author, text=text)
        file.written_version = file.version
        _save(file, before)
    return revision


def restore(file: MemoryFile, revision: Revision, *, author: User | None, reason: str) -> Revision | None:
    """Bring the state of `revision` back as a new revision, with the very text where it was one found outside. None
    when the file has that state already."""
    state = revision_state(revision)
    with transaction.atomic():  # the text is in place before anybody writes the file
        with change(file, reason=reason, author=author) as editor:
            before = file_state.dump(file)
            if before == state:
                found = _found(file, file.version - 1)
                if revision_text(revision) == (file_state.text_of(before) if found is None else found):
                    return None
            _load(editor, before, state)
            trash_items.note_return(file, revision.number)
        made = file.revisions.get(number=file.version)
        made.restored, made.text_id = revision.number, revision.text_id
        made.save(update_fields=["restored", "text"])
    return made


def take_back(file: MemoryFile, number: int, *, author: User | None, reason: str) -> Revision:
    """Undo what revision `number` did and keep the blocks that came since. ValueError when it cannot be told apart."""
    pair = {one.number: revision_state(one) for one in file.revisions.filter(number__in=(number - 1, number))}
    with change(file, reason=reason, author=author) as editor:
        now = file_state.dump(file)
        state = file_state.without_change(pair[number - 1], pair[number], now) if len(pair) == 2 else None
        if state is None:
            raise ValueError(_("There were other changes since, so nothing was taken back. History has every version."))
        _load(editor, now, state)
        trash_items.note_undone(file, number)
    return file.revisions.get(number=file.version)


def restore_block(file: MemoryFile, revision: Revision, block_id: str, *, author: User | None) -> Revision | None:
    """Put one block back as it was at `revision`, next to its old neighbours; all others stay as they are now.

    None when it is the same already. NotInFile when the revision has no such block.
    """
    then = revision_state(revision)["blocks"]
    old = next((one for one in then if one["id"] == str(block_id)), None)
    if old is None:
        raise NotInFile(_("That version has no such block."))
    reason = _("One block of revision %(number)s restored") % {"number": revision.number}
    with change(file, reason=reason, author=author) as editor:
        now = file_state.dump(file)
        blocks = _with_block(now["blocks"], old, [one["id"] for one in then])
        if blocks != now["blocks"]:
            _load(editor, now, {**now, "blocks": blocks})
    return file.revisions.get(number=file.version) if editor.is_changed else None


def insert_blocks(editor: Editor, blocks: Iterable[dict[str, Any]]) -> None:
    """Bring back blocks that the file no longer has, each in front of the first that began after it."""
    now = file_state.dump(editor.file)
    present = {one["id"] for one in now["blocks"]} | {m["id"] for one in now["blocks"] for m in one["memories"]}
    wanted = list(now["blocks"])
    for block in blocks:
        if block["id"] in present:
            missing = [one for one in block["memories"] if one["id"] not in present]
            at = next(n for n, one in enumerate(wanted) if one["id"] == block["id"])
            wanted[at] = {**wanted[at], "memories": [*wanted[at]["memories"], *missing]}
            continue
        kept = {**block, "memories": [one for one in block["memories"] if one["id"] not in present]}
        later = (n for n, one in enumerate(wanted) if one["created_at"] > block["created_at"])
        wanted.insert(next(later, len(wanted)), kept)
    wanted = [one for one in wanted if one["memories"]]
    if wanted != now["blocks"]:
        _load(editor, now, {**now, "blocks": wanted})


def clear(
    file: MemoryFile,
    *,
    author: User,
    reason: str = "",
    kind: str = "file",
    title: str = "",
    batch: uuid.UUID | None = None,
) -> Revision | None:
    """Take all memories out of the file ("Clear all memories"): a revision, and an item in the trash.

    Text that a person wrote around the blocks stays. None when there are no memories.
    """
    with change(file, reason=reason or _("All memories cleared"), author=author, batch=batch) as editor:
        now = file_state.dump(file)
        if now["blocks"]:
            rest = [{"before": None, "text": "".join(one["text"] for one in now["loose_text"])}]
            _load(editor, now, {**now, "blocks": [], "loose_text": rest if rest[0]["text"] else []})
            trash_items.add_all(file, now, file.version, kind=kind, title=title or file.name)
    return file.revisions.get(number=file.version) if editor.is_changed else None


@contextmanager
def _unchanged_on_error(file: MemoryFile) -> Iterator[None]:
    """When the transaction fails, the object in hand goes back to what the database still says."""
    before = _changing(file)
    try:
        yield
    except BaseException:
        for name, value in before.items():
            setattr(file, name, value)
        raise


def _claim(file: MemoryFile, expected: int | None) -> None:
    """Move the version by one, which also locks the row until the transaction ends. What else a change may touch is
    read afresh, unless nobody changed the file since it was read."""
    rows = MemoryFile.objects.for_user(file.owner).filter(pk=file.pk)
    step = {"version": F("version") + 1, "updated_at": timezone.now()}
    if expected in (None, file.version) and rows.filter(version=file.version).update(**step):
        file.version += 1
        return
    if expected is not None:
        rows = rows.filter(version=expected)
    if not rows.update(**step):
        raise VersionConflict(file)
    file.refresh_from_db(fields=[*CHANGING, "name"])


def _changing(file: MemoryFile) -> dict[str, Any]:
    return {name: getattr(file, name) for name in CHANGING}


def _save(file: MemoryFile, before: dict[str, Any]) -> None:
    """Write what the change made different from the row as `_claim` left it."""
    changed = [name for name, value in before.items() if getattr(file, name) != value]
    if changed:
        file.save(update_fields=changed)


def _ensure_revision_zero(file: MemoryFile) -> None:
    """A file that was never adopted begins as it was before its first change."""
    if file.version > 1 or file.revisions.exists():
        return
    file.version = 0
    _write_revision(Editor(file), reason=_("Beginning"))
    file.version = 1


def _write_revision(
    editor: Editor,
    *,
    reason: str,
    author: User | None = None,
    job: Job | None = None,
    text: str | None = None,
    batch: uuid.UUID | None = None,
) -> Revision:
    """The state as it is now; `text` is kept when it is not what the state renders to."""
    file = editor.file
    memories = Memory.objects.for_user(file.owner).filter(block__file=file).count()
    latest = file.revisions.order_by().select_related("state").filter(number=file.version - 1).first()
    is_known = latest is not None and latest.memories + editor.added - editor.removed == memories
    before = revisions.manifest_of(latest) if latest is not None and is_known else None
    state_id, blocks = revisions.store(file, before, editor.touched, None if editor.is_reordered else editor.appended)
    text_id = None if text is None or text == render(file) else revisions.pack(file, [text])[0]
    return Revision.objects.create(
        file=file,
        number=file.version,
        reason=clean_loose(reason)[:200],
        author=author,
        job=job,
        text_id=text_id,
        state_id=state_id,
        memories=memories,
        blocks=blocks,
        added=editor.added,
        removed=editor.removed,
        batch=batch,
    )


def _found(file: MemoryFile, number: int) -> str | None:
    """The very text that was found outside, where revision `number` keeps one."""
    row = file.revisions.order_by().select_related("text").filter(number=number, text__isnull=False).first()
    return None if row is None else revision_text(row)


def _is_text(revision: Revision, text: str) -> bool:
    """Whether the revision keeps this very text because it was found outside."""
    return revision.text is not None and revision_text(revision) == text


def _with_block(blocks: list[dict[str, Any]], old: dict[str, Any], order: list[str]) -> list[dict[str, Any]]:
    """The blocks with `old` in place of its namesake, or behind the nearest of its former predecessors. Bullets of it
    that live in another block now stay there."""
    elsewhere = {m["id"] for one in blocks if one["id"] != old["id"] for m in one["memories"]}
    back = {**old, "memories": [one for one in old["memories"] if one["id"] not in elsewhere]}
    ids = [one["id"] for one in blocks]
    if old["id"] in ids:
        return [back if one["id"] == old["id"] else one for one in blocks]
    former = reversed(order[: order.index(old["id"])])
    at = next((ids.index(one) + 1 for one in former if one in ids), 0)
    return [*blocks[:at], back, *blocks[at:]] if back["memories"] else blocks


def _load(editor: Editor, before: dict[str, Any], state: dict[str, Any]) -> None:
    touched = file_state.load(editor.file, state, before)
    numbers = _difference(before, state)
    editor.touch(touched, added=numbers["added"], removed=numbers["removed"])


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    """How many bullets a restore adds and removes."""
    old, new = (
        {(m["id"], m["text"]) for block in state["blocks"] for m in block["memories"]} for state in (before, after)
    )
    return {"added": len(new - old), "removed": len(old - new)}


def _update_data_bank(file: MemoryFile) -> None:
    def schedule() -> None:
        # Imported late: writing back renders through this module.
        from memories import write_back

        write_back.schedule(file)

    transaction.on_commit(schedule)


def facts_of(file: MemoryFile) -> list[tuple[uuid.UUID, str]]:
    """(id, text) of all bullets but topic tags, in file order."""
    rows = file.blocks.filter(memories__is_topic=False)
    order = (*file_state.ORDER, "memories__order", "memories__created_at")
    return list(rows.order_by(*order).values_list("memories__pk", "memories__text"))


def memories_of(file: MemoryFile) -> list[Memory]:
    """All bullets of the file in file order."""
    return [memory for block in file_state.blocks_of(file) for memory in block.memories.all()]
