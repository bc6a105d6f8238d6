"""The memory file of a character: read it, change it, take over text from outside, bring a revision back.

Every change is one short transaction: the version moves by compare-and-set, rows change, one revision is written.
The version equals the number of the newest revision; revision 0 is the file as it was found.
"""

from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories import file_state
from memories.blocks import sniff_format
from memories.file_editor import Editor, NewMemory, NotInFile
from memories.file_names import auto_file_name
from memories.models import Memory, MemoryFile, Revision, RevisionText
from memories.takeover import take_over
from sync.models import Character, Chat

CHANGING = ("version", "layout", "separator", "with_metadata", "loose_text", "written_version")

__all__ = ["Editor", "NewMemory", "NotInFile", "VersionConflict", "change", "file_for", "import_text", "render"]


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
    name = auto_file_name(character.name, per_chat=chat is not None, chat=chat.name if chat else None)
    made, _new = files.get_or_create(character=character, chat=chat, defaults={"owner": owner, "name": name})
    return made


def render(file: MemoryFile) -> str:
    """The file's text as it stands in the database now."""
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
) -> Iterator[Editor]:
    """Change the file inside one transaction and write one revision; nothing is written when nothing changed.

    `reason` is shown in the history. With `expected_version`, VersionConflict is raised when the file has moved on.
    Afterwards `file` holds the new version, and the Data Bank copy is brought up to date after the commit, unless the
    caller makes many changes in a row and schedules that itself (`writes_back=False`).
    """
    with _unchanged_on_error(file), transaction.atomic():
        _claim(file, expected_version)
        before = _changing(file)
        _ensure_revision_zero(file)
        editor = Editor(file)
        yield editor
        if editor.is_changed:
            _write_revision(editor, reason=reason, author=author, job=job)
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
        if latest is not None and text in (revision_text(latest), render(file)):
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
    """Bring the state of `revision` back as a new revision. None when the file has that state already."""
    state = revision_state(revision)
    with change(file, reason=reason, author=author) as editor:
        before = file_state.dump(file)
        if before == state:
            return None
        file_state.load(file, state)
        editor.touch(**_difference(before, state))
    made = file.revisions.get(number=file.version)
    made.restored = revision.number
    made.save(update_fields=["restored"])
    return made


def take_back(file: MemoryFile, number: int, *, author: User | None, reason: str) -> Revision:
    """Undo what revision `number` did and keep the blocks that came since. ValueError when it cannot be told apart."""
    pair = {one.number: revision_state(one) for one in file.revisions.filter(number__in=(number - 1, number))}
    with change(file, reason=reason, author=author) as editor:
        now = file_state.dump(file)
        state = file_state.without_change(pair[number - 1], pair[number], now) if len(pair) == 2 else None
        if state is None:
            raise ValueError(_("There were other changes since, so nothing was taken back. History has every version."))
        file_state.load(file, state)
        editor.touch(**_difference(now, state))
    return file.revisions.get(number=file.version)


def revision_text(revision: Revision) -> str:
    """The file's text at that revision."""
    return _unpack(revision.text)


def revision_state(revision: Revision) -> dict[str, Any]:
    """The blocks and their provenance at that revision (memories/file_state.py)."""
    state: dict[str, Any] = json.loads(_unpack(revision.state))
    return state


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
    editor: Editor, *, reason: str, author: User | None = None, job: Job | None = None, text: str | None = None
) -> Revision:
    file = editor.file
    state = _new_state(editor)
    written = file_state.text_of(state) if text is None else text
    text_id, state_id = _pack(file, written, json.dumps(state, ensure_ascii=False, sort_keys=True))
    return Revision.objects.create(
        file=file,
        number=file.version,
        reason=reason[:200],
        author=author,
        job=job,
        text_id=text_id,
        state_id=state_id,
        memories=sum(len(block["memories"]) for block in state["blocks"]),
        blocks=len(state["blocks"]),
        added=editor.added,
        removed=editor.removed,
    )


def _new_state(editor: Editor) -> dict[str, Any]:
    """The state after the change; when blocks were only appended, it is the newest revision's and theirs."""
    file = editor.file
    if editor.only_appended:
        before = file.revisions.order_by().filter(number=file.version - 1).values_list("memories", "state__data")
        latest = before.first()
        if latest is not None and latest[0] == editor.found:
            return file_state.extended(json.loads(_text(latest[1])), file, editor.only_appended)
    return file_state.dump(file)


def _pack(file: MemoryFile, *texts: str) -> list[int]:
    """The ids of these texts; equal text is stored once per person."""
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    digests = [hashlib.sha256(one).hexdigest() for one in data]
    rows = [
        RevisionText(owner_id=file.owner_id, digest=digest, data=zlib.compress(one, 1))
        for digest, one in zip(digests, data, strict=True)
    ]
    try:
        with transaction.atomic():
            return [row.pk for row in RevisionText.objects.bulk_create(rows)]
    except IntegrityError:  # one of them is there already
        RevisionText.objects.bulk_create(rows, ignore_conflicts=True)
    stored = RevisionText.objects.for_user(file.owner).filter(digest__in=digests)
    ids = dict(stored.values_list("digest", "pk"))
    return [ids[digest] for digest in digests]


def _unpack(row: RevisionText) -> str:
    return _text(row.data)


def _text(data: bytes | memoryview) -> str:
    return zlib.decompress(bytes(data)).decode("utf-8", "surrogatepass")


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
