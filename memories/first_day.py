"""Home on the first day: the four stations from the first memory to the prompt, and the memories themselves."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Sum

from accounts.models import User
from memories.first_steps import FirstStep, steps
from memories.health import Reach, reach
from memories.memory_list import Card, Filters, block_ids, cards
from memories.models import ExtractedChunk, MemoryFile
from memories.page_queries import memories_of, price_of, total_unread
from memories.unread import Unread, unread_by_character
from providers.models import Call
from sync.models import Character

CARDS_SHOWN = 4


@dataclass(frozen=True)
class Station:
    """A step with its number and its look: ok, live (the next one to happen) or off."""

    number: int
    step: FirstStep
    look: str


@dataclass(frozen=True)
class FirstDay:
    """What the page of the first day shows."""

    character: Character
    stations: list[Station]
    cards: list[Card]
    memories: int
    messages: int
    spent: Decimal | None
    reach: Reach
    others: int
    unread: Unread
    price: Decimal | None

    @property
    def left(self) -> int:
        return sum(1 for station in self.stations if not station.step.done)

    @property
    def pace(self) -> int:
        """Seconds until the page looks again."""
        return 3


def first_day(user: User) -> FirstDay | None:
    """None before the first memory, once more than one character has memories, or when all four steps are done."""
    files = MemoryFile.objects.for_user(user).filter(version__gt=0, chat=None, character__gone_at=None)
    some = list(files.select_related("character__tavern__owner").order_by("-updated_at")[:2])
    if len(some) != 1:
        return None
    way = steps(user)
    if not way or all(step.done for step in way):
        return None
    character = some[0].character
    waiting = {pk: part for pk, part in unread_by_character(user).items() if pk != character.pk}
    unread = total_unread(waiting.values())
    ids = [pk for pk, _bullets in block_ids(user, character, Filters())][:CARDS_SHOWN]
    read = ("memories", "nothing")  # by a model, not by hand
    chunks = ExtractedChunk.objects.for_user(user).filter(character=character, outcome__in=read)
    calls = Call.objects.for_user(user).filter(purpose="extraction")
    return FirstDay(
        character=character,
        stations=stations(way),
        cards=cards(user, ids, Filters()),
        memories=memories_of(user, character).count(),
        messages=chunks.aggregate(n=Sum("messages"))["n"] or 0,
        spent=calls.aggregate(sum=Sum("cost"))["sum"],
        reach=reach(character),
        others=len(waiting),
        unread=unread,
        price=price_of(user, unread),
    )


def stations(way: list[FirstStep]) -> list[Station]:
    """The first step that is not done is the one where things happen now."""
    now = next((step.key for step in way if not step.done), "")
    looks = ("ok" if step.done else "live" if step.key == now else "off" for step in way)
    return [Station(number, step, look) for number, (step, look) in enumerate(zip(way, looks, strict=True), 1)]
