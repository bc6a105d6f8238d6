"""The first page of a consolidation: which blocks it takes up, and why others stay out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Right
from django.http import QueryDict
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _

from accounts.models import User
from memories.consolidation_plan import FRESH
from memories.consolidation_reads import suggestions
from memories.memory_filters import MOMENT, topic_parts
from memories.memory_list import is_uuid
from memories.models import Memory, MemoryBlock, MemoryFile

SHOWN = 200  # blocks that can be ticked one by one
FRESH_ONLY, ALL = "fresh", "all"
SUGGESTED = 6
MOST_COMPARED = 600  # blocks that suggestions are made from, newest first


@dataclass(frozen=True)
class Choice:
    """What the address narrows the blocks down to. `only` names blocks one by one (a suggested group)."""

    which: str = FRESH_ONLY
    chat: str = ""
    since: str = ""
    until: str = ""
    only: tuple[str, ...] = ()

    @property
    def is_any(self) -> bool:
        """Whether anything but the usual choice is asked for."""
        return self != Choice()


@dataclass
class ChoiceRow:
    """One block as a row with a tick."""

    block: MemoryBlock
    memories: int
    title: str = ""
    sample: str = ""
    is_ticked: bool = True


@dataclass
class Chosen:
    """What the page shows: blocks that match, those that are listed, and what stays out."""

    rows: list[ChoiceRow]
    beyond: int  # blocks that match and are taken along without being listed
    blocks: list[UUID]  # all that match and are ticked, in file order
    memories: int
    locked: int
    earlier: int
    chats: list[tuple[UUID, str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Suggestion:
    """Blocks that belong together, with what they share."""

    blocks: tuple[str, ...]
    memories: int
    words: str


def read_choice(query: QueryDict) -> Choice:
    """The choice that an address or a form makes; values that cannot be are ignored."""
    chat = query.get("chat", "")
    return Choice(
        which=ALL if query.get("which") == ALL else FRESH_ONLY,
        chat=chat if is_uuid(chat) else "",
        since=_day(query.get("since", "")),
        until=_day(query.get("until", "")),
        only=tuple(one for one in query.getlist("only")[:1000] if is_uuid(one)),
    )


def chosen(file: MemoryFile, choice: Choice, ticked: Iterable[str] | None = None) -> Chosen:
    """The blocks that the choice takes up. `ticked` are the ticks of the listed ones; None ticks all of them."""
    matching = _matching(file, choice)
    listed = matching[:SHOWN]
    wanted = None if ticked is None else set(ticked)
    rows = [ChoiceRow(one, one.facts, is_ticked=wanted is None or str(one.pk) in wanted) for one in listed]
    _describe(file, rows)
    taken = [row.block for row in rows if row.is_ticked] + matching[SHOWN:]
    out = file.blocks.order_by()
    return Chosen(
        rows=rows,
        beyond=len(matching) - len(listed),
        blocks=[one.pk for one in reversed(taken)],
        memories=sum(one.facts for one in taken),
        locked=out.filter(is_locked=True).count(),
        earlier=out.filter(is_locked=False).exclude(origin__in=FRESH).count() if choice.which == FRESH_ONLY else 0,
        chats=_chats(file),
    )


def suggested(user: User, file: MemoryFile, choice: Choice) -> list[Suggestion]:
    """Groups among the matching blocks that say things about the same, the most alike first."""
    matching = _matching(file, choice)[:MOST_COMPARED]
    counts = {str(one.pk): one.facts for one in matching}
    found = suggestions(user, file, counts)[:SUGGESTED]
    return [Suggestion(one.ids, sum(counts[pk] for pk in one.ids), ", ".join(one.words)) for one in found]


def _matching(file: MemoryFile, choice: Choice) -> list[Any]:
    """Blocks with the number of their memories that may be changed as `facts`, newest first; those without are left
    out."""
    is_fact = Q(memories__is_topic=False, memories__is_locked=False)
    rows: QuerySet[Any] = (
        file.blocks.filter(is_locked=False).annotate(facts=Count("memories", filter=is_fact)).filter(facts__gt=0)
    )
    if choice.only:
        rows = rows.filter(pk__in=choice.only)
    elif choice.which == FRESH_ONLY:
        rows = rows.filter(origin__in=FRESH)
    if choice.chat:
        rows = rows.filter(chat=UUID(choice.chat))
    if choice.since:
        rows = rows.annotate(ends=Right("date", MOMENT)).filter(ends__gte=choice.since)
    if choice.until:
        rows = rows.filter(date__lt=f"{choice.until} 24")  # behind every time of that day, in every collation
    return list(rows.select_related("chat").order_by("-order", "-created_at"))


def _describe(file: MemoryFile, rows: Sequence[ChoiceRow]) -> None:
    """Title and first words of each listed block, in one query."""
    by_block = {row.block.pk: row for row in rows}
    texts = Memory.objects.for_user(file.owner).filter(block__in=by_block).order_by("-order", "-created_at")
    for block, text, is_topic in texts.values_list("block_id", "text", "is_topic"):
        row = by_block[block]
        if is_topic:
            row.title = topic_parts(text)[1]
        else:
            row.sample = text
    for row in rows:
        row.title = row.title or row.block.label or _("Without a topic")


def _chats(file: MemoryFile) -> list[tuple[UUID, str, int]]:
    rows = file.blocks.order_by().filter(chat__isnull=False, is_locked=False).values("chat", "chat__name")
    return [(row["chat"], row["chat__name"], row["n"]) for row in rows.annotate(n=Count("pk")).order_by("-n")[:100]]


def _day(text: str) -> str:
    try:
        return str(parse_date(text) or "")
    except ValueError:
        return ""
