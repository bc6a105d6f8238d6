"""Where the memories of a character come from, as memories/scope_branches.py wants to know it; person first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.models import User
from memories.blocks import timestamp
from memories.date_span import parse
from memories.local_time import local_now
from memories.models import Ancestor, MemoryBlock, MemoryFile
from memories.scope_branches import Family, Part, Source
from sync.models import Character, Chat, GroupMember, Message

AT_ONCE = 500
State = Mapping[str, Any]
Block = Mapping[str, Any]


def chats_of(user: User, character: Character) -> QuerySet[Chat]:
    """Every chat that is read for the character: its own, those of its groups, and others it remembers."""
    groups = GroupMember.objects.for_user(user).filter(character=character).values("group")
    files = MemoryFile.objects.for_user(user).filter(character=character, chat__isnull=False).values("chat")
    told = MemoryBlock.objects.for_user(user).filter(file__character=character, chat__isnull=False).values("chat")
    is_read = Q(character=character) | Q(group__in=groups) | Q(pk__in=files) | Q(pk__in=told)
    return Chat.objects.for_user(user).filter(is_read, tavern=character.tavern_id)


def parent_of(chat: Chat, *, has_file: bool = False) -> tuple[UUID, int] | None:
    """The chat that this one branched from, of the same character or group, and the last message that both share.

    A branch that has a memory of its own already stays one, even when nothing is left of what it shared.
    """
    parent = chat.parent
    if parent is None or parent.pk == chat.pk:
        return None
    if (parent.character_id, parent.group_id) != (chat.character_id, chat.group_id):
        return None
    if chat.fork_index is None:
        return (parent.pk, -1) if has_file else None
    return parent.pk, chat.fork_index


def family_of(user: User, character: Character) -> Family:
    """The character's chats with their forks; messages only of those that branched or were branched from."""
    rows = chats_of(user, character).select_related("parent")
    files = MemoryFile.objects.for_user(user).filter(character=character, chat__isnull=False)
    with_file = set(files.values_list("chat", flat=True))
    found = {chat.pk: parent_of(chat, has_file=chat.pk in with_file) for chat in rows}
    forks = {pk: fork for pk, fork in found.items() if fork is not None}
    messages, began = _messages(user, forks)
    return Family(forks, messages, began)


def _messages(
    user: User, forks: Mapping[UUID, tuple[UUID, int]]
) -> tuple[dict[UUID, dict[str, tuple[int, bool]]], dict[UUID, str]]:
    messages: dict[UUID, dict[str, tuple[int, bool]]] = defaultdict(dict)
    first: dict[UUID, datetime] = {}
    chats = {*forks, *(parent for parent, _last in forks.values())}
    rows = Message.objects.for_user(user).filter(chat__in=chats).order_by("chat", "index")
    for chat, number, identity, raw, sent in rows.values_list("chat", "index", "identity", "raw_date", "sent_at"):
        messages[chat][identity] = (number, bool(raw))
        if sent is not None and chat in forks and number > forks[chat][1]:
            first.setdefault(chat, sent)
    return dict(messages), {chat: timestamp(local_now(user, sent)) for chat, sent in first.items()}


def sources_of(user: User, states: Iterable[State]) -> dict[str, Source]:
    """The source of every bullet in these states of files (memories/file_state.py), by its id."""
    blocks = [block for state in states for block in state["blocks"]]
    kept = _ancestors(user, blocks)
    sent = _sent(user, [part for block in blocks for memory in block["memories"] for part in _parts(block, memory)])
    return {
        memory["id"]: Source(tuple(_dated(_all_parts(block, memory, kept), sent)), _made(user, block, memory))
        for block in blocks
        for memory in block["memories"]
    }


def _all_parts(block: Block, memory: Block, kept: Mapping[str, Ancestor]) -> list[Part]:
    """From its own evidence, else from what it replaced, else from its block."""
    own = _parts(block, memory)
    if not memory["parents"] or (own and own[0].identities):
        return own
    found: dict[Part, None] = {}
    ways, seen = list(memory["parents"]), set()
    while ways:
        one = str(ways.pop())
        if one in seen or one not in kept:
            continue
        seen.add(one)
        row = kept[one]
        if row.chat_id is not None and (row.evidence or not row.parents):
            found[_part(row.chat_id, row.evidence, row.facts.get("last_index"))] = None
        else:
            ways += row.parents
    return list(found) or own


def _parts(block: Block, memory: Block) -> list[Part]:
    return [_part(UUID(block["chat"]), memory["evidence"], block["last_index"])] if block["chat"] else []


def _part(chat: UUID, evidence: Sequence[Mapping[str, Any]], last: int | None) -> Part:
    numbers = [one["index"] for one in evidence if isinstance(one.get("index"), int)]
    identities = frozenset(str(one["identity"]) for one in evidence if one.get("identity"))
    return Part(chat, max(numbers) if numbers else last, identities)


def _ancestors(user: User, blocks: Sequence[Block]) -> dict[str, Ancestor]:
    """What the bullets of these blocks replaced, through any number of rounds, by former id."""
    wanted = {str(one) for block in blocks for memory in block["memories"] for one in memory["parents"]}
    found: dict[str, Ancestor] = {}
    while wanted:
        ids = sorted(wanted)
        rows = [
            row
            for start in range(0, len(ids), AT_ONCE)
            for row in Ancestor.objects.for_user(user).filter(memory__in=ids[start : start + AT_ONCE])
        ]
        found |= {str(row.memory): row for row in rows}
        wanted = {str(one) for row in rows for one in row.parents} - set(found)
        if not rows:
            break
    return found


def _sent(user: User, parts: Sequence[Part]) -> dict[tuple[UUID, int | None], str]:
    """When the last message of each part was sent, on the person's clock."""
    wanted: dict[UUID, set[int]] = defaultdict(set)
    for part in parts:
        if part.last is not None:
            wanted[part.chat].add(part.last)
    found: dict[tuple[UUID, int | None], str] = {}
    for chat, numbers in wanted.items():
        rows = Message.objects.for_user(user).filter(chat=chat, index__in=sorted(numbers), sent_at__isnull=False)
        for number, sent in rows.order_by().values_list("index", "sent_at"):
            found[chat, number] = timestamp(local_now(user, sent)) if sent else ""
    return found


def _dated(parts: Iterable[Part], sent: Mapping[tuple[UUID, int | None], str]) -> Iterator[Part]:
    for part in parts:
        yield Part(part.chat, part.last, part.identities, sent.get((part.chat, part.last), ""))


def _made(user: User, block: Block, memory: Block) -> str:
    """The day in the block's attribute, else when the bullet was written down."""
    span = parse(block["date"])
    return span.last if span else timestamp(local_now(user, datetime.fromisoformat(memory["created_at"])))
