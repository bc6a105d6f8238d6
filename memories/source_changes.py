"""Memories whose message was edited, swiped away or deleted since they were made: `Memory.is_source_changed`.

Evidence keeps the digest of each message's text; it is compared with the mirror's rows whenever a chat changes. A
message that comes back clears the mark. What a person said about it ("still right") is kept in the evidence itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from memories import memory_file
from memories.models import Memory, MemoryFile, Revision
from sync.events import ChatsChanged
from sync.models import Message

BATCH = 500
FIELDS = ("pk", "evidence", "is_source_changed", "parents", "block__chat", "block__file__chat")
Looked = tuple[UUID, Any, bool, Any]
ACCEPTED = "accepted"  # of an evidence item: a person knows that its message is gone


def hear(news: ChatsChanged) -> None:
    """Messages of these chats changed: look at the memories that came from them."""
    with unscoped("memories of chats that changed"):
        for chat in news.chat_ids:
            told = Memory.objects.filter(block__chat=chat).exclude(evidence=[])
            inherited = Memory.objects.filter(block__file__chat=chat).exclude(evidence=[]).exclude(block__chat=chat)
            rows = [*told.values_list(*FIELDS), *inherited.values_list(*FIELDS)]
            _check(chat, _by_source(rows).get(chat, []))


def check_memories(file: MemoryFile, ids: Iterable[str]) -> None:
    """Look at these memories of one file, for example after a restore."""
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, block__chat__isnull=False).exclude(evidence=[])
    wanted = list(ids)
    with unscoped("memories that were written anew"):
        for start in range(0, len(wanted), BATCH):
            part = rows.filter(pk__in=wanted[start : start + BATCH])
            for chat, found in _by_source(part.values_list(*FIELDS)).items():
                _check(chat, found)


def _by_source(rows: Iterable[tuple[Any, ...]]) -> dict[UUID, list[Looked]]:
    """The memories by the chat whose messages tell whether they changed: in the file of a branch that is the branch
    itself, as far as the messages are its own too."""
    found = defaultdict[UUID, list[Looked]](list)
    of_branches = defaultdict[UUID, list[tuple[UUID | None, Looked]]](list)
    for pk, evidence, flag, parents, told, branch in rows:
        if branch is None or branch == told:
            found[told].append((pk, evidence, flag, parents))
        else:
            of_branches[branch].append((told, (pk, evidence, flag, parents)))
    for branch, inherited in of_branches.items():
        there = _contents(branch, [item for _told, looked in inherited for item in looked[1]])
        for told, one in inherited:
            is_there = any(str(item.get("identity", "")) in there for item in one[1] if isinstance(item, dict))
            if source := branch if is_there else told:
                found[source].append(one)
    return found


def still_right(user: User, memory: Memory) -> Revision | None:
    """The memory holds although its source changed: from now on it is compared with what the source says today."""
    file = memory.block.file
    looked = Memory.objects.for_user(user).filter(pk=memory.pk).values_list(*FIELDS)
    with unscoped("the source of a memory that its owner looked at"):
        source = next(iter(_by_source(looked)), None)
    contents = _contents(source, memory.evidence) if source else {}
    with memory_file.change(file, reason=_("Checked: still right"), author=user) as editor:
        row = editor.memory(memory.pk)
        row.evidence = [_accepted(item, contents) for item in row.evidence]
        row.is_source_changed = False
        row.save(update_fields=["evidence", "is_source_changed"])
        editor.touch([row.block_id])
    return file.revisions.filter(number=file.version).first()


def _accepted(item: dict[str, Any], contents: dict[str, str]) -> dict[str, Any]:
    now = contents.get(str(item.get("identity", "")))
    return {**item, ACCEPTED: True} if now is None else {**item, "content": now}


def _check(chat: UUID, rows: list[Looked]) -> None:
    contents = _contents(chat, [item for _pk, evidence, _flag, _parents in rows for item in evidence])
    for wanted in (True, False):
        ids = [
            pk
            for pk, evidence, flag, parents in rows
            if flag != wanted and _is_changed(evidence, contents, is_merged=bool(parents)) == wanted
        ]
        for start in range(0, len(ids), BATCH):
            Memory.objects.filter(pk__in=ids[start : start + BATCH]).update(is_source_changed=wanted)


def _contents(chat: UUID | None, evidence: list[Any]) -> dict[str, str]:
    """The digests of these messages as they are now, by identity."""
    wanted = sorted({str(item.get("identity", "")) for item in evidence if isinstance(item, dict)})
    found: dict[str, str] = {}
    with unscoped("the sources of memories"):
        for start in range(0, len(wanted), BATCH):
            rows = Message.objects.filter(chat=chat, identity__in=wanted[start : start + BATCH])
            found |= dict(rows.values_list("identity", "content"))
    return found


def _is_changed(evidence: Any, contents: dict[str, str], *, is_merged: bool) -> bool:
    """An item without a digest (older, or its text was erased) says nothing about changes of the text. What was merged
    may come from several chats, so a message that is not in this one was not deleted."""
    for item in (one for one in evidence if isinstance(one, dict) and one.get("content")):
        now = contents.get(str(item.get("identity", "")))
        if now is None and (is_merged or item.get(ACCEPTED)):
            continue
        if now != item["content"]:
            return True
    return False
