"""Read many chats as one piece of work: a batch with a part for each character, whose chunks stay in order.

Characters are read side by side, as many calls at once as the connection allows. A member of a group takes the group's
chats along in its own part. Whoever is being read already reads what was chosen as well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.batch import enqueue_batch
from jobs.enqueue import active_of
from jobs.models import Job
from memories import extraction, extraction_group
from memories.choices import TOGETHER
from memories.chosen import choices_for
from memories.extraction_wish import need_model
from memories.members import roster
from memories.queries import Waiting
from memories.unread import unread_by_chat, unread_by_group
from memories.wanted import Wanted
from sync.models import Character, Chat, Group

SUBJECT = "batch"


@dataclass
class Chosen:
    """The chats to read, by who reads them."""

    own: dict[Character, list[Chat]] = field(default_factory=dict)
    of_groups: dict[Group, list[Chat]] = field(default_factory=dict)

    @property
    def chats(self) -> int:
        return sum(len(one) for one in (*self.own.values(), *self.of_groups.values()))


def everything(user: User) -> Chosen:
    """All chats in which something is unread."""
    is_unread = Q(pk__in=unread_by_chat(user)) | Q(group__in=unread_by_group(user))
    return _arrange(Chat.objects.for_user(user).filter(is_unread, gone_at=None))


def chosen(user: User, chat_ids: Collection[str]) -> Chosen:
    """These chats, as far as they are the person's and still there."""
    return _arrange(Chat.objects.for_user(user).filter(pk__in=list(chat_ids), gone_at=None))


def start_batch(user: User, wish: Chosen) -> Job:
    """Queue it. ValueError with a finished sentence when there is nothing to read or no model."""
    need_model(user)
    parts, found = _parts(user, wish)
    if not parts and not found:
        raise ValueError(_("Nothing of what was chosen is unread; nothing was started."))
    job, _new = enqueue_batch(user, extraction.KIND, parts, subject=SUBJECT, label=_label(parts, wish))
    return job


def _arrange(chats: QuerySet[Chat]) -> Chosen:
    found = Chosen()
    for chat in chats.select_related("character__tavern", "group__tavern").order_by("first_at", "name"):
        if chat.character is not None and chat.character.gone_at is None:
            found.own.setdefault(chat.character, []).append(chat)
        elif chat.group is not None and chat.group.gone_at is None:
            found.of_groups.setdefault(chat.group, []).append(chat)
    return found


def _parts(user: User, wish: Chosen) -> tuple[list[dict[str, Any]], list[Waiting]]:
    """The parts of the batch, and everything that waits in them or in jobs that are under way."""
    readers, together = _readers(user, wish)
    parts: list[dict[str, Any]] = []
    found: list[Waiting] = []
    for character, wanted in readers.items():
        waiting = extraction.waiting_of(user, character, wanted)
        found += waiting
        part = extraction.part_of(character, wanted, waiting, is_automatic=False)
        if waiting and not extraction.taken_along(user, part["key"], wanted, is_automatic=False):
            parts.append({**part, "label": _part_label(character, waiting)})
    for group, chats in together.items():
        members, wanted = roster(user, group).characters, Wanted((), tuple(str(one.pk) for one in chats))
        part, waiting = extraction_group.together_part(user, group, members, wanted, is_automatic=False)
        found += waiting
        if waiting and active_of(user, part["key"]):
            extraction_group.start_group(user, group, chats=chats)
        elif waiting:
            parts.append(part)
    return parts, found


def _readers(user: User, wish: Chosen) -> tuple[dict[Character, Wanted], dict[Group, list[Chat]]]:
    """What each character reads, and the groups whose members are asked together."""
    own = {one: [str(chat.pk) for chat in chats] for one, chats in wish.own.items()}
    groups: dict[Character, list[str]] = {}
    together: dict[Group, list[Chat]] = {}
    for group, chats in wish.of_groups.items():
        if choices_for(user, group).group_calls == TOGETHER:
            together[group] = chats
            continue
        for member in roster(user, group).characters:
            groups.setdefault(member, []).extend(str(chat.pk) for chat in chats)
    everybody = [*own, *(one for one in groups if one not in own)]
    return {one: Wanted(tuple(own.get(one, ())), tuple(groups.get(one, ()))) for one in everybody}, together


def _part_label(character: Character, waiting: list[Waiting]) -> str:
    count = len(waiting)
    words = ngettext("%(name)s, %(n)d chat", "%(name)s, %(n)d chats", count) % {"name": character.name, "n": count}
    return words[:300]


def _label(parts: list[dict[str, Any]], wish: Chosen) -> str:
    count = len(parts)
    words = ngettext("Extract %(n)d character", "Extract %(n)d characters", count) % {"n": count}
    chats = wish.chats
    return words + ngettext(" from %(n)d chat", " from %(n)d chats", chats) % {"n": chats}
