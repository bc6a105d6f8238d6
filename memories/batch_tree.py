"""What may be read in one go: characters and groups with their chats, each with what waits and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.core.paginator import Page, Paginator

from accounts.models import User
from jobs.models import Job
from memories.members import roster
from memories.reset_cost import ChatCost, Cost, cost_of_reading
from memories.unread import unread_by_chat, unread_by_group
from sync.models import Character, Chat, Group

PER_PAGE = 20


@dataclass(frozen=True)
class Leaf:
    """One chat with unread messages."""

    chat: Chat
    cost: ChatCost


@dataclass
class Branch:
    """A character or a group. `messages` is known for all, the rest for those that are shown."""

    whose: Character | Group
    messages: int
    chats: int
    leaves: list[Leaf] = field(default_factory=list)
    cost: Cost = field(default_factory=Cost)
    members: list[Character] = field(default_factory=list)
    is_running: bool = False

    @property
    def is_group(self) -> bool:
        return isinstance(self.whose, Group)


@dataclass(frozen=True)
class Sum:
    """Several costs together; `price` None when one of them is unknown."""

    messages: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    price: Decimal | None = Decimal(0)

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


def branches(user: User, text: str = "") -> list[Branch]:
    """Everybody with unread messages, the one with most first; the number of queries does not grow with them."""
    found = [*_characters(user), *_groups(user)]
    wanted = text.strip().casefold()
    shown = [one for one in found if wanted in one.whose.name.casefold()]
    return sorted(shown, key=lambda one: (-one.messages, one.whose.name))


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
        branch.cost = cost_of_reading(user, group=whose)
        branch.members = roster(user, whose).characters
    else:
        unread = list(Chat.objects.for_user(user).filter(pk__in=unread_by_chat(user, whose)))
        branch.cost = cost_of_reading(user, character=whose, chats=unread)
    costs = {one.chat: one for one in branch.cost.per_chat}
    rows = Chat.objects.for_user(user).filter(pk__in=costs).order_by("-last_at", "name")
    branch.leaves = [Leaf(chat, costs[chat.pk]) for chat in rows]


def total(costs: Sequence[Cost | ChatCost]) -> Sum:
    """All of them together."""
    names = ("messages", "calls", "tokens_in", "tokens_out")
    messages, calls, tokens_in, tokens_out = (sum(getattr(one, name) for one in costs) for name in names)
    prices = [one.price for one in costs]
    known = [price for price in prices if price is not None]
    price = sum(known, Decimal(0)) if len(known) == len(prices) else None
    return Sum(messages, calls, tokens_in, tokens_out, price)


def _characters(user: User) -> list[Branch]:
    counts: dict[UUID, list[int]] = {}
    for part in unread_by_chat(user).values():
        if part.character_id is not None:
            counts.setdefault(part.character_id, []).append(part.messages)
    rows = Character.objects.for_user(user).filter(pk__in=counts, gone_at=None).select_related("tavern")
    return [Branch(one, sum(counts[one.pk]), len(counts[one.pk])) for one in rows]


def _groups(user: User) -> list[Branch]:
    counts = unread_by_group(user)
    rows = Group.objects.for_user(user).filter(pk__in=counts).select_related("tavern")
    return [Branch(one, counts[one.pk].messages, counts[one.pk].chats) for one in rows]


def _running(user: User) -> set[str]:
    """Ids of characters and groups that are being read."""
    rows = Job.objects.for_user(user).filter(kind__startswith="extract", state__in=Job.ACTIVE)
    subjects = {*rows.values_list("subject", flat=True), *rows.values_list("parent__subject", flat=True)}
    return {subject.partition(":")[2] for subject in subjects if subject}
