"""What may be read in one go: characters and groups with their chats, each with what waits and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.core.paginator import Page, Paginator

from accounts.models import User
from jobs.models import Job
from memories.members import roster
from memories.page_queries import total_unread
from memories.reset_cost import ChatCost, Cost, cost_of_reading
from memories.unread import Unread, unread_by_chat, unread_by_group
from sync.models import Character, Chat, Group

PER_PAGE = 20


@dataclass(frozen=True)
class Leaf:
    """One chat with unread messages."""

    chat: Chat
    cost: ChatCost


@dataclass
class Branch:
    """A character or a group. `unread`, and which chats of a character that is in, are known for all, the rest for
    those that are shown."""

    whose: Character | Group
    unread: Unread
    unread_chats: list[UUID] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    cost: Cost = field(default_factory=Cost)
    members: list[Character] = field(default_factory=list)
    is_running: bool = False

    @property
    def is_group(self) -> bool:
        return isinstance(self.whose, Group)

    @property
    def messages(self) -> int:
        return self.unread.messages

    @property
    def chats(self) -> int:
        return self.unread.chats


def branches(user: User) -> list[Branch]:
    """Everybody with unread messages, the one with most first; the number of queries does not grow with them."""
    found = [*_characters(user), *_groups(user)]
    return sorted(found, key=lambda one: (-one.messages, one.whose.name))


def named(found: Sequence[Branch], text: str) -> list[Branch]:
    """Those whose name holds a text."""
    wanted = text.strip().casefold()
    return [one for one in found if wanted in one.whose.name.casefold()]


def page_of(user: User, found: Sequence[Branch], number: str | None) -> Page[Branch]:
    """One page of them, with chats and costs."""
    page = Paginator(found, PER_PAGE).get_page(number)
    running = _running(user)
    for branch in page.object_list:
        fill(user, branch)
        branch.is_running = str(branch.whose.pk) in running
    return page


def fill(user: User, branch: Branch) -> None:
    """Look up chats and costs of one branch."""
    whose = branch.whose
    if isinstance(whose, Group):
        branch.members = roster(user, whose).characters
        branch.cost = cost_of_reading(user, group=whose, members=branch.members)
    else:
        unread = list(Chat.objects.for_user(user).filter(pk__in=branch.unread_chats))
        branch.cost = cost_of_reading(user, character=whose, chats=unread)
    costs = {one.chat: one for one in branch.cost.per_chat}
    rows = Chat.objects.for_user(user).filter(pk__in=costs).order_by("-last_at", "name")
    branch.leaves = [Leaf(chat, costs[chat.pk]) for chat in rows]


def _characters(user: User) -> list[Branch]:
    found: dict[UUID, dict[UUID, Unread]] = {}
    for chat, part in unread_by_chat(user).items():
        if part.character_id is not None:
            found.setdefault(part.character_id, {})[chat] = part
    rows = Character.objects.for_user(user).filter(pk__in=found, gone_at=None).select_related("tavern")
    return [Branch(one, total_unread(found[one.pk].values()), list(found[one.pk])) for one in rows]


def _groups(user: User) -> list[Branch]:
    counts = unread_by_group(user)
    rows = Group.objects.for_user(user).filter(pk__in=counts).select_related("tavern")
    return [Branch(one, counts[one.pk]) for one in rows]


def _running(user: User) -> set[str]:
    """Ids of characters and groups that are being read."""
    rows = Job.objects.for_user(user).filter(kind__startswith="extract", state__in=Job.ACTIVE)
    subjects = {*rows.values_list("subject", flat=True), *rows.values_list("parent__subject", flat=True)}
    return {subject.partition(":")[2] for subject in subjects if subject}
