"""Edits in progress: a draft on the server that survives a reload and goes on from another device.

Each finished change is one step; undo and redo move the draft's pointer; saving makes one revision. Several tabs share
the draft: a step that meets another one stands behind it when the two have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories.blocks import clean_loose
from memories.draft_editor import DraftEditor
from memories.draft_merge import SEEN
from memories.draft_overlay import Change, collide, fold
from memories.draft_saving import merge_of, save, saved_notes
from memories.draft_view import DraftView
from memories.merge import Merge, MergeNeeded
from memories.models import Draft, DraftStep, MemoryFile

CHOICES = ("mine", "theirs", "both")

__all__ = [
    "DraftEditor",
    "DraftView",
    "Merge",
    "MergeNeeded",
    "choose",
    "leave",
    "merge_of",
    "open_edit",
    "redo",
    "resume",
    "save",
    "saved_notes",
    "start",
    "step",
    "undo",
    "view",
]


def open_edit(user: User, file: MemoryFile) -> Draft:
    """The person's open edit of this file; a new one when there is none."""
    _check_owner(user, file)
    values = {"base_version": _version(file)}
    rows = Draft.objects.for_user(user)
    draft, is_new = rows.get_or_create(
        owner=user, file=file, kind=Draft.Kind.EDIT, state=Draft.State.OPEN, defaults=values
    )
    if not is_new and draft.base_version != values["base_version"] and not draft.steps.exists():
        rows.filter(pk=draft.pk, pointer=0).update(**values)
        draft.base_version = values["base_version"]
    draft.file, draft.owner = file, user
    return draft


def start(user: User, file: MemoryFile, *, kind: str, title: str) -> Draft:
    """A fresh draft: the result of a consolidation, an import or a reformat."""
    _check_owner(user, file)
    return Draft.objects.create(
        owner=user, file=file, kind=kind, title=clean_loose(title)[:200], base_version=_version(file)
    )


@contextmanager
def step(draft: Draft, label: str) -> Iterator[DraftEditor]:
    """One step that can be undone. Nothing is stored when nothing changed; steps that were undone are dropped.

    ValueError with a finished sentence when another tab changed the same rows in the meantime, or when the draft is no
    longer open.
    """
    known = _steps(draft)
    editor = DraftEditor(draft.file, fold(one.changes for one in known))
    yield editor
    if editor.changes:
        _store(draft, known, label, editor.changes)


def undo(draft: Draft) -> str | None:
    """Take the last step back; its label, None when there is none."""
    return _move(draft, -1)


def redo(draft: Draft) -> str | None:
    """Do the next step again that was undone; its label, None when there is none."""
    return _move(draft, +1)


def view(draft: Draft) -> DraftView:
    """The file as this draft has it; one query, which also tells what undo and redo would do."""
    rows = draft.steps.filter(number__lte=F("draft__pointer") + 1).order_by("number")
    read = list(rows.values_list(*_Step._fields, "draft__pointer"))
    draft.pointer = read[0][-1] if read else 0
    steps = [_Step(*row[:-1]) for row in read]
    done, undone = steps[: draft.pointer], steps[draft.pointer :]
    labels = done[-1].label if done else "", undone[0].label if undone else ""
    return DraftView(draft, fold(one.changes for one in done), labels)


def choose(draft: Draft, block_id: object, choice: str, *, seen: int | None = None) -> None:
    """Settle one block that was changed on both sides: "mine", "theirs" or "both".

    `seen` is the version of the file that the person looked at, the newest when None: when the block changes once more,
    it is asked about again.
    """
    if choice not in CHOICES:
        raise ValueError(_("Choose which text to keep."))
    with transaction.atomic():
        rows = Draft.objects.for_user(draft.owner).filter(pk=draft.pk, state=Draft.State.OPEN)
        rows.update(updated_at=timezone.now())  # holds the row, so that two choices do not lose one
        draft.refresh_from_db(fields=["choices"])
        draft.file.refresh_from_db(fields=["version"])
        looked_at = {**draft.choices.get(SEEN, {}), str(block_id): draft.file.version if seen is None else seen}
        draft.choices = {**draft.choices, str(block_id): choice, SEEN: looked_at}
        rows.update(choices=draft.choices)


def leave(draft: Draft) -> None:
    """Put the edit aside; nothing of it reaches the file, and it can be taken up again."""
    Draft.objects.for_user(draft.owner).filter(pk=draft.pk, state=Draft.State.OPEN).update(state=Draft.State.LEFT)
    draft.refresh_from_db(fields=["state"])


def resume(draft: Draft) -> None:
    """Take an edit up again that was left. ValueError when another edit of the file is open already."""
    rows = Draft.objects.for_user(draft.owner)
    if draft.kind == Draft.Kind.EDIT:
        rows.filter(file=draft.file_id, kind=draft.kind, state=Draft.State.OPEN, steps__isnull=True).delete()
    try:
        with transaction.atomic():
            rows.filter(pk=draft.pk, state=Draft.State.LEFT).update(state=Draft.State.OPEN)
    except IntegrityError as problem:
        raise ValueError(_("Another edit of this file is open. Save or leave that one first.")) from problem
    draft.refresh_from_db(fields=["state"])


def _check_owner(user: User, file: MemoryFile) -> None:
    if file.owner_id != user.pk:
        raise PermissionError("a memory file is edited by its owner only")


def _version(file: MemoryFile) -> int:
    file.refresh_from_db(fields=["version"])
    return file.version


class _Step(NamedTuple):
    """One step as it was read: a long edit has thousands, which are read for each of its pages."""

    pk: int
    label: str
    changes: list[Change]


def _steps(draft: Draft) -> list[_Step]:
    """The steps in force, oldest first."""
    draft.refresh_from_db(fields=["pointer", "state"])
    rows = draft.steps.filter(number__lte=draft.pointer).order_by("number")
    return [_Step(*row) for row in rows.values_list(*_Step._fields)]


def _store(draft: Draft, known: list[_Step], label: str, changes: list[Change]) -> None:
    """Write the step behind `known`; once more behind what another tab made of them in the meantime."""
    for _attempt in range(2):
        if _append(draft, known, label, changes):
            return
        now = _steps(draft)
        _check_open(draft)
        met = {one.pk: one for one in (*known, *now)}
        apart = {one.pk for one in known} ^ {one.pk for one in now}
        if any(collide(changes, met[pk].changes) for pk in apart):
            break
        known = now
    raise ValueError(_("The same memories were changed in another tab just now. Look at them, then try again."))


def _append(draft: Draft, known: list[_Step], label: str, changes: list[Change]) -> bool:
    """Compare-and-set: the step follows exactly the steps that it was made on."""
    rows = Draft.objects.for_user(draft.owner).filter(pk=draft.pk, state=Draft.State.OPEN, pointer=len(known))
    with transaction.atomic():
        if not rows.update(pointer=len(known) + 1, updated_at=timezone.now()):
            return False
        last = draft.steps.filter(number=len(known)).values_list("pk", flat=True).first()
        if last != (known[-1].pk if known else None):
            transaction.set_rollback(True)
            return False
        draft.steps.filter(number__gt=len(known)).delete()
        DraftStep.objects.create(draft=draft, number=len(known) + 1, label=clean_loose(label)[:200], changes=changes)
    draft.pointer = len(known) + 1
    return True


def _move(draft: Draft, by: int) -> str | None:
    """Move the pointer when the step to undo or redo is there."""
    for _attempt in range(2):
        draft.refresh_from_db(fields=["pointer", "state"])
        _check_open(draft)
        if by < 0 and draft.pointer <= draft.floor:
            return None
        number = draft.pointer if by < 0 else draft.pointer + 1
        label = _label(draft.steps.filter(number=number).values_list("label", flat=True))
        if label is None:
            return None
        rows = Draft.objects.for_user(draft.owner).filter(pk=draft.pk, state=Draft.State.OPEN, pointer=draft.pointer)
        if rows.update(pointer=draft.pointer + by, updated_at=timezone.now()):
            draft.pointer += by
            return label
    return None


def _label(found: Iterable[str]) -> str | None:
    return next(iter(found), None)


def _check_open(draft: Draft) -> None:
    if draft.state != Draft.State.OPEN:
        raise ValueError(_("This edit was saved or left already. Open the memories again to go on."))
