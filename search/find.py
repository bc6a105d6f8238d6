"""Finding: ask the index of the database for the newest entries that answer, put them in order, count them.

Nothing of a text comes from here, only where it is: the pages read the rows themselves, through their owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from uuid import UUID

from django.db.models import F, Sum
from django.db.models.functions import Substr
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from search import engines, scope
from search.models import SearchContainer, SearchEntry
from search.query import Query, parse
from search.rank import READ, score
from search.registry import kinds

EARLIEST, LATEST = date(1990, 1, 1), date(2199, 12, 31)  # of a time filter
MOST = 1000  # of each kind the newest ones are looked at; a word that stands in more places says "1,000+"


@dataclass(frozen=True)
class Hit:
    """One row that answers: its kind, its key, the container that holds it, and where that belongs."""

    kind: str
    key: str
    container: str
    character: UUID | None
    chat: UUID | None
    at: datetime | None
    score: float


@dataclass(frozen=True)
class Found:
    """The hits of one kind, best first. `is_more`: there are older ones beside the newest `MOST`."""

    kind: str
    hits: list[Hit] = field(default_factory=list)
    is_more: bool = False

    @property
    def count(self) -> int:
        return len(self.hits)


def find(
    user: User,
    text: str,
    *,
    wanted: Sequence[str] = (),
    character: UUID | None = None,
    chat: UUID | None = None,
    since: date | None = None,
    until: date | None = None,
) -> list[Found]:
    """What the person's own rows answer to `text` (search/query.py), by kind in the order of their registration.

    `since` and `until` are days in the person's time zone, both inclusive; rows without a date fit neither.
    """
    query = parse(text)
    if query.is_empty or not engines.has_full_text() or not engines.is_there():
        return []
    names = [name for name in kinds if not wanted or name in wanted]
    narrowed = scope_of(user, character, chat, since, until)
    return [_find_one(user, query, name, narrowed, since, until) for name in names]


def size_of(user: User) -> int:
    """How many rows of this person the index holds."""
    return SearchContainer.objects.for_user(user).aggregate(n=Sum("entries_held"))["n"] or 0


def behind(user: User) -> int:
    """How many of the person's chats, files and books the index has not read to their end yet."""
    return SearchContainer.objects.for_user(user).exclude(version=F("wanted")).count()


def scope_of(
    user: User,
    character: UUID | None = None,
    chat: UUID | None = None,
    since: date | None = None,
    until: date | None = None,
) -> list[list[str]]:
    """The words that narrow a question in the index; one of each inner list must stand there."""
    groups = [[scope.of_person(user.pk)]]
    if character:
        groups.append([scope.of_character(character)])
    if chat:
        groups.append([scope.of_chat(chat)])
    if since or until:
        # The index counts in UTC: one day more at both ends covers every time zone.
        groups.append(scope.between(_shifted(since or EARLIEST, -1), _shifted(until or timezone.localdate(), 1)))
    return groups


def _shifted(day: date, days: int) -> date:
    return min(max(day, EARLIEST), LATEST) + timedelta(days=days)


def _find_one(
    user: User, query: Query, kind: str, narrowed: list[list[str]], since: date | None, until: date | None
) -> Found:
    ids = engines.newest(query, [[scope.of_kind(kind)], *narrowed], MOST + 1)
    # Entries by their ids alone: with their owner in the same question SQLite would walk through all that is hers.
    entries = SearchEntry.objects.filter(pk__in=ids[:MOST]).annotate(start=Substr("words", 1, READ))
    if since:
        entries = entries.filter(at__gte=_midnight(since))
    if until:
        entries = entries.filter(at__lt=_midnight(_shifted(until, 1)))
    with unscoped("entries are compared with their owner's containers below"):
        rows = list(entries.values_list("key", "container", "at", "start"))
    containers = SearchContainer.objects.for_user(user).filter(kind=kind).in_bulk({row[1] for row in rows})
    hits = [_hit(query, containers[row[1]], *row) for row in rows if row[1] in containers]
    hits.sort(key=lambda hit: (round(hit.score, 1), hit.at.timestamp() if hit.at else 0.0), reverse=True)
    return Found(kind, hits, len(ids) > MOST)


def _hit(query: Query, of: SearchContainer, key: str, _container: int, at: datetime | None, start: str) -> Hit:
    return Hit(of.kind, key, of.key, of.character, of.chat, at, score(query, start))


def _midnight(day: date) -> datetime:
    day = _shifted(day, 0)
    return timezone.make_aware(datetime(day.year, day.month, day.day))
