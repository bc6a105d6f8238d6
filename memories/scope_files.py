"""A memory of one chat begins with what its parent's line knew up to the fork; whole states of files are written here.

Nothing is asked of a model. The copies keep evidence and dates, so that no list takes them for new ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories import file_state, memory_file, scope_sources, scope_state
from memories.memory_file import VersionConflict
from memories.models import MemoryFile
from sync.models import Chat

FORM = ("layout", "separator", "with_metadata")


def begin(file: MemoryFile, chat: Chat, parent: MemoryFile) -> None:
    """Fill the file of a branch, once: with what `parent`, the file of its parent's line, knows up to the fork.

    Of two workers one does it. A file that holds or ever held anything is left alone.
    """
    if file.version or file.revisions.exists():
        return
    state = file_state.dump(parent)
    if not state["blocks"]:
        return
    blocks = scope_state.copied(state, known_in(file, state))
    if not blocks:
        return
    before = file_state.dump(file)
    after = {**before, **{name: state[name] for name in FORM}, "blocks": blocks}
    try:
        with transaction.atomic():
            write(file, before, after, reason=_reason(chat, after), expected_version=0)
            MemoryFile.objects.for_user(file.owner).filter(pk=file.pk).update(reviewed_version=file.version)
    except VersionConflict:
        file.refresh_from_db()


def pass_on(file: MemoryFile, others: Sequence[MemoryFile], blocks: Collection[str]) -> None:
    """Copy what is in these blocks of `file` into the files of those lines that know it."""
    if not others:
        return
    state = file_state.dump(file)
    state = {**state, "blocks": [one for one in state["blocks"] if one["id"] in blocks]}
    knows = _knower(file, state)
    reason = _("Known from before the fork: memories of %(name)s") % {"name": file.name}
    for other in others:
        before = file_state.dump(other)
        if copies := scope_state.copied(state, knows(other), scope_state.keys(before)):
            after = scope_state.with_blocks(before, copies)
            write(other, before, after, reason=reason, expected_version=other.version)


def known_in(file: MemoryFile, state: dict[str, Any]) -> set[str]:
    """The ids of those memories in a state of another file that the line of this file's chat knows."""
    return _knower(file, state)(file)


def _knower(of: MemoryFile, state: dict[str, Any]) -> Callable[[MemoryFile], set[str]]:
    """What of a state the line of a file's chat knows, for any file of the same character."""
    family = scope_sources.family_of(of.owner, of.character)
    sources = scope_sources.sources_of(of.owner, [state])
    return lambda file: {one for one, source in sources.items() if file.chat_id and family.knows(file.chat_id, source)}


def write(
    file: MemoryFile,
    before: dict[str, Any],
    after: dict[str, Any],
    *,
    reason: str,
    author: User | None = None,
    batch: uuid.UUID | None = None,
    expected_version: int | None = None,
) -> None:
    """Make `after` the state of the file, in one revision. What moves between files is neither new nor lost."""
    with memory_file.change(
        file, reason=reason, author=author, batch=batch, expected_version=expected_version
    ) as editor:
        touched = file_state.load(file, after, before)
        added, removed = _count(after) - _count(before), 0
        editor.touch(touched, added=max(added, 0), removed=max(-added, removed))


def _count(state: dict[str, Any]) -> int:
    return sum(len(block["memories"]) for block in state["blocks"])


def _reason(chat: Chat, state: dict[str, Any]) -> str:
    count = sum(1 for _one in scope_state.facts(state))
    words = ngettext(
        "Begun with %(n)d memory of “%(chat)s”, up to message %(last)d",
        "Begun with %(n)d memories of “%(chat)s”, up to message %(last)d",
        count,
    )
    parent = chat.parent.name if chat.parent else _("the chat it branched from")
    return words % {"n": count, "chat": parent, "last": chat.fork_index if chat.fork_index is not None else -1}
