"""A memory that several characters share: one file, and its text in the Data Bank of each (memories/mirrored.py).

The character's own memories stay where they are; while it shares, nobody reads into them and they reach no prompt, and
when the share ends they are used again, their text included.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User
from memories import activity, editing, file_state, mirrored, scope_files, scope_state, write_back
from memories.memory_file import file_for
from memories.models import MemoryFile, MemoryLine, MemoryScope, MemoryShare
from memories.scopes import check_not_read, is_divided, scope_of, share_of
from sync.models import Character


@dataclass(frozen=True)
class Preview:
    """What taking its own memories along would do: how many it has, and how many the shared file has already."""

    own: int = 0
    doubled: int = 0

    @property
    def new(self) -> int:
        return self.own - self.doubled


def sharers(user: User, character: Character) -> list[MemoryShare]:
    """Who else remembers in this character's file."""
    rows = MemoryShare.objects.for_user(user).filter(file__character=character, file__chat__isnull=True)
    return list(rows.select_related("character", "file__owner", "attachment__registration").order_by("created_at"))


def partners(user: User, character: Character) -> list[Character]:
    """Characters of the same SillyTavern in whose file this one could remember."""
    rows = Character.objects.for_user(user).filter(tavern=character.tavern_id, gone_at__isnull=True)
    rows = rows.filter(memory_share__isnull=True).exclude(pk=character.pk).order_by("name")
    branched = MemoryFile.objects.for_user(user).filter(chat__isnull=False).values_list("character", flat=True)
    begun = set(branched.distinct())
    return [
        one
        for one in rows.select_related("memory_scope", "tavern__owner")
        if not _is_divided(one, has_begun=one.pk in begun)
    ]


def preview(user: User, character: Character, other: Character) -> Preview:
    """What `character` would bring along into the file of `other`."""
    own, shared = (file_state.dump(file_for(one)) for one in (character, other))
    known = scope_state.keys(shared)
    found = [scope_state.key_of(one) for one in scope_state.facts(own)]
    return Preview(len(found), len(found) - len(set(found) - known))


def share(user: User, character: Character, other: Character, *, takes_along: bool) -> uuid.UUID | None:
    """From now on `character` remembers in the file of `other`; with `takes_along` its own memories are copied there
    first, without repetitions. The batch of that copy, if anything was copied. ValueError with a finished sentence."""
    _check(user, character, other)
    file, own = file_for(other), file_for(character)
    try:
        with transaction.atomic():
            batch = _take_along(user, own, file) if takes_along else None
            made = MemoryShare.objects.create(file=file, character=character, attachment=own.attachment)
            MemoryLine.objects.for_user(user).filter(character=character).delete()
            _keep_together(user, other)
            mirrored.note_written(own, -1, forward=False)
    except IntegrityError as error:
        raise ValueError(_("%(name)s shares a memory already.") % {"name": character.name}) from error
    text = _("It now remembers in the file of %(name)s.") % {"name": other.name}
    activity.note(user, "changed", text, character=character)
    write_back.schedule(made.file)
    return batch


def end(user: User, share: MemoryShare) -> None:
    """The character remembers for itself again: its own memories as they were, whose text is written back."""
    own = file_for(share.character)
    with transaction.atomic():
        if own.attachment_id is None and share.attachment_id is not None:
            MemoryFile.objects.for_user(user).filter(pk=own.pk).update(attachment=share.attachment)
        MemoryShare.objects.for_user(user).filter(pk=share.pk).delete()
        mirrored.note_written(own, -1, forward=False)
    activity.note(user, "changed", _("It remembers for itself again."), character=share.character)
    own.refresh_from_db()
    write_back.schedule(own)


def undo(user: User, character: Character, batch: uuid.UUID | None) -> None:
    """Take a share back, and what was taken along. ValueError when the shared file was changed in other ways since."""
    found = share_of(character)
    with transaction.atomic():
        if batch is not None:
            editing.undo_batch(user, batch)
        if found is not None:
            end(user, found)


def _check(user: User, character: Character, other: Character) -> None:
    if other.pk == character.pk or other.tavern_id != character.tavern_id:
        raise ValueError(_("Choose another character of the same SillyTavern; nothing was changed."))
    if share_of(character) is not None:
        raise ValueError(_("%(name)s shares a memory already.") % {"name": character.name})
    if share_of(other) is not None:
        raise ValueError(_("%(name)s remembers in another file itself. Choose that one.") % {"name": other.name})
    if sharers(user, character):
        raise ValueError(_("Others remember in the file of %(name)s. End that first.") % {"name": character.name})
    begun = MemoryFile.objects.for_user(user).filter(character=other, chat__isnull=False)
    if _is_divided(other, has_begun=begun.exists()):
        raise ValueError(_("The memory of %(name)s is divided among its chats.") % {"name": other.name})
    check_not_read(user, character)


def _is_divided(character: Character, *, has_begun: bool) -> bool:
    """Whether it remembers in several files; branches that never began to are no hindrance."""
    chosen = scope_of(character)
    return is_divided(chosen) and (chosen.scope == MemoryScope.Scope.CHAT or has_begun)


def _keep_together(user: User, character: Character) -> None:
    """A memory that others share has one timeline: what a branch of its chats tells is for all of them."""
    rows = MemoryScope.objects.for_user(user).filter(character=character)
    rows.update(timeline=MemoryScope.Timeline.SHARED)


def _take_along(user: User, own: MemoryFile, file: MemoryFile) -> uuid.UUID | None:
    state, before = file_state.dump(own), file_state.dump(file)
    wanted = {one["id"] for one in scope_state.facts(state)}
    blocks = scope_state.copied(state, wanted, scope_state.keys(before))
    if not blocks:
        return None
    batch = uuid.uuid4()
    after = scope_state.with_blocks(before, blocks)
    reason = _("Memories of %(name)s taken along") % {"name": own.character.name}
    scope_files.write(file, before, after, reason=reason, author=user, batch=batch, expected_version=file.version)
    return batch
