"""Branches, checkpoints and copies: which chat a chat came from, and up to where they are the same."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from django.db.models import Q

from sync.mirror_pass import BATCH, Pass, batches
from sync.models import Chat, Message
from sync.tavern.dates import date_in_name, is_exact

ENOUGH = 2  # messages that must be equal before two chats without `main_chat` count as relatives
START = tuple[UUID | None, UUID | None, str, str]


def link_branches(one: Pass, changed: list[UUID]) -> None:
    """Give every chat read in this pass its parent and the last message they share."""
    if not changed:
        return
    touched = set(changed)
    chats = _family(one, touched)
    by_name = {(chat.character_id, chat.group_id, chat.name): chat for chat in chats}
    parents = {
        chat.pk: by_name.get((chat.character_id, chat.group_id, chat.parent_name)) if chat.parent_name else None
        for chat in chats
    }
    # A parent that was renamed since is found as one that is not named at all: by what both have in common.
    relatives = _relatives(chats, {pk for pk in touched if parents.get(pk) is None})
    for chat in chats:
        named = parents[chat.pk]
        if chat.pk not in touched and (named is None or chat.parent_id == named.pk or named.pk not in touched):
            continue
        one.should_stop()  # keeps the hold on the folder; what was read is linked in any case
        _link(chat, named, relatives)


def _link(chat: Chat, named: Chat | None, relatives: dict[UUID, list[Chat]]) -> None:
    parent = _closer(chat, named, chat.parent) or _nearest(chat, relatives.get(chat.pk, []))
    if parent is None or parent.pk == chat.pk:
        return
    shared = _common(chat, parent)
    fork = shared - 1 if shared else None
    if (chat.parent_id, chat.fork_index) != (parent.pk, fork):
        chat.parent, chat.fork_index = parent, fork
        chat.save(update_fields=["parent", "fork_index"])


def _closer(chat: Chat, named: Chat | None, known: Chat | None) -> Chat | None:
    """The parent that the chat names, unless the one that is known has more in common: a name may be used again."""
    if named is None or known is None or named.pk == known.pk:
        return named or known
    return known if _common(chat, known) > _common(chat, named) else named


def _family(one: Pass, touched: set[UUID]) -> list[Chat]:
    """Every chat of an owner of whom at least one chat was read."""
    if len(touched) > BATCH:
        return list(one.tavern.chats.all())
    mine = one.tavern.chats.filter(pk__in=touched)
    characters = {pk for pk in mine.values_list("character_id", flat=True) if pk}
    groups = {pk for pk in mine.values_list("group_id", flat=True) if pk}
    return list(one.tavern.chats.filter(Q(character__in=characters) | Q(group__in=groups)))


def _relatives(chats: list[Chat], without: set[UUID]) -> dict[UUID, list[Chat]]:
    """For chats without a named parent: older chats of the same owner that begin with the same message."""
    groups: defaultdict[START, list[Chat]] = defaultdict(list)
    by_id = {chat.pk: chat for chat in chats}
    for part in batches(list(by_id)):
        first = Message.objects.filter(chat__in=part, index=0).exclude(raw_date="")
        for chat_id, identity, date, content in first.values_list("chat_id", "identity", "raw_date", "content"):
            chat = by_id[chat_id]
            said = "" if is_exact(date) else content  # it may have been edited or swiped in one of them
            groups[chat.character_id, chat.group_id, identity, said].append(chat)
    found: dict[UUID, list[Chat]] = {}
    for alike in groups.values():
        alike.sort(key=_age)
        for place, chat in enumerate(alike):
            if place and chat.pk in without:
                found[chat.pk] = alike[:place]
    return found


def _age(chat: Chat) -> tuple[bool, str, str]:
    """Originals before branches, older before newer."""
    is_copy = bool(chat.parent_name) or " - Branch #" in chat.name or chat.name.startswith("Checkpoint")
    made = date_in_name(chat.name)
    return is_copy, made.isoformat() if made else "~", chat.name


def _nearest(chat: Chat, candidates: list[Chat]) -> Chat | None:
    lengths = [(_common(chat, other), -place, other) for place, other in enumerate(candidates)]
    length, _place, nearest = max(lengths, default=(0, 0, None), key=lambda item: item[:2])
    # A chat that says it is a branch shares at least its first message with somebody.
    return nearest if length >= (1 if chat.parent_name else ENOUGH) else None


def _common(chat: Chat, other: Chat) -> int:
    """How many messages from the start are the same in both."""
    left, right = _keys(chat), _keys(other)
    return sum(1 for _pair in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def _keys(chat: Chat) -> Iterator[tuple[str, str, str]]:
    """What two chats share message by message; undated messages must also say the same."""
    rows = chat.messages.order_by("index").values_list("role", "raw_date", "content")
    for role, raw_date, content in rows.iterator(chunk_size=500):
        yield role, raw_date, "" if raw_date else content
