"""What automatic reading has to know of a chat, from the rows (automatic_rules.py says what follows from it).

The count is of unread messages of characters (spec/charmemory §3.1): a position counts once however often it was
swiped, what the person wrote does not count, and in a group the reply of every member does.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from jobs.models import Job
from memories import day_budget, queries, reading_keys
from memories.automatic_rules import Facts
from memories.choices import Choices
from memories.local_time import local_now
from memories.models import ChatActivity, ExtractedChunk, Watermark
from memories.unread import SHOWN
from providers.budget_sums import Need
from providers.budgets import standings_of
from providers.prices import price_of
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat, Message

BY_MODEL = ("memories", "nothing", "empty")  # outcomes of a chunk that a model was asked about
MOST_REMEMBERED = 20_000

THEIRS = Q(role=Message.Role.CHARACTER)

Counts = tuple[int, int]
_remembered: dict[tuple[UUID, UUID | None], tuple[tuple[object, ...], Counts]] = {}  # by chat and reader, or any reader


def facts_of(user: User, chat: Chat, reader: Character, choices: Choices, activity: ChatActivity) -> Facts:
    """Everything about `chat` for one reader; what is gone or switched off is not counted.

    `activity` is the chat's row, saved or not.
    """
    is_gone = _is_gone(chat, reader)
    facts = Facts(is_gone=is_gone, has_model=connection_for(user, EXTRACTION) is not None)
    if is_gone or not choices.is_automatic:
        return facts
    count, unread = counts_of(user, chat, reader)
    facts = replace(
        facts,
        count=max(0, count - activity.left_over),
        unread=unread,
        is_reading=is_reading(user, chat, reader),
        has_news=activity.new_at is not None,
    )
    if facts.count < choices.interval + choices.lag:
        return facts
    return _more(user, facts, chat, reader, choices, activity)


def _more(user: User, facts: Facts, chat: Chat, reader: Character, choices: Choices, activity: ChatActivity) -> Facts:
    """What only matters when there is enough to read."""
    last = _jobs(user, chat, reader).filter(is_batch=False).order_by("-created_at").first()
    failed_at, was_stopped = _failure(last)
    return replace(
        facts,
        was_read=_was_read(user, chat, reader),
        changed_at=_changed_at(user, chat) if choices.idle_minutes else None,
        read_at=activity.read_at,
        failed_at=failed_at,
        was_stopped=was_stopped,
        spent=day_budget.spent_today(user, chat) if choices.daily_budget is not None else Decimal(0),
        next_cost=_next_cost(user, last),
        held_until=_held_until(user, choices),
    )


def _is_gone(chat: Chat, reader: Character) -> bool:
    if chat.forgotten_at is not None or chat.tavern.unlinked_at is not None:
        return True
    return bool(chat.gone_at or reader.gone_at or (chat.group and chat.group.gone_at))


def counts_of(user: User, chat: Chat, reader: Character) -> Counts:
    """Unread messages of characters, and all unread messages that a model would be shown.

    By the watermark where it tells; otherwise by what was read, which is remembered in this process until the chat
    changes or more of its family is read. Of a chat that nothing was read of everything is unread, for every member.
    """
    mark = Watermark.objects.for_user(user).filter(chat=chat, character=reader).first()
    if mark is not None and mark.counted_version == chat.version:
        counts = _behind(user, chat, mark)
        if counts[1] == mark.waiting:
            return counts
    read = _read_so_far(user, chat, reader)
    state = (chat.version, chat.parent_id, chat.fork_index, mark.updated_at if mark and any(read) else None, *read)
    key = (chat.pk, reader.pk if any(read) else None)
    known = _remembered.get(key)
    if known is None or known[0] != state:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        counts = _counted(user, chat, reader) if any(read) else _all_of(user, chat)
        known = _remembered[key] = (state, counts)
    return known[1]


def _behind(user: User, chat: Chat, mark: Watermark) -> Counts:
    """The first unread stretch. Often there is no other one, and `mark.waiting` says so."""
    rows = Message.objects.for_user(user).filter(chat=chat, index__gt=mark.index, index__lte=mark.unread_to)
    return _tally(rows)


def _all_of(user: User, chat: Chat) -> Counts:
    return _tally(Message.objects.for_user(user).filter(chat=chat))


def _tally(rows: QuerySet[Message]) -> Counts:
    found = rows.aggregate(theirs=Count("pk", filter=THEIRS), shown=Count("pk", filter=SHOWN))
    return found["theirs"], found["shown"]


def _read_so_far(user: User, chat: Chat, reader: Character) -> tuple[int, int]:
    """How many chunks were read for `reader` of this chat and those that may share its beginning, and the newest."""
    family = {"chat__group": chat.group_id} if chat.group_id else {"chat__character": chat.character_id}
    chunks = ExtractedChunk.objects.for_user(user).filter(character=reader, **family)
    found = chunks.aggregate(count=Count("pk"), newest=Max("pk"))
    return found["count"], found["newest"] or 0


def _counted(user: User, chat: Chat, reader: Character) -> Counts:
    reading = queries.reading_of(user, chat, reader)
    if not reading.fresh:
        return 0, 0
    first = reading.indices[reading.fresh[0]]
    rows = Message.objects.for_user(user).filter(THEIRS, chat=chat, index__gte=first)
    theirs = set(rows.values_list("index", flat=True))
    return sum(reading.indices[one] in theirs for one in reading.fresh), reading.waiting


def is_reading(user: User, chat: Chat, reader: Character) -> bool:
    """Whether a job for this reader or this group waits or works."""
    return _jobs(user, chat, reader).filter(state__in=Job.ACTIVE).exists()


def _jobs(user: User, chat: Chat, reader: Character) -> QuerySet[Job]:
    keys = Q(key=reading_keys.of_character(reader.pk))
    if chat.group_id is not None:
        keys |= Q(key=reading_keys.of_group(chat.group_id))
    return Job.objects.for_user(user).filter(keys)


def _was_read(user: User, chat: Chat, reader: Character) -> bool:
    chunks = ExtractedChunk.objects.for_user(user).filter(chat=chat, character=reader, outcome__in=BY_MODEL)
    return chunks.exists()


def _failure(last: Job | None) -> tuple[datetime | None, bool]:
    """When the last reading for a reader ended, if it had no success, and whether a person stopped it."""
    if last is None or last.state not in (Job.State.FAILED, Job.State.CANCELLED):
        return None, False
    return last.finished_at, last.state == Job.State.CANCELLED


def _next_cost(user: User, last: Job | None) -> Decimal:
    """What the call may take before which the last reading stopped today for the day's budget; 0 if it did not."""
    need = last.params.get("day_need") if last is not None else None
    if need is None or last is None or last.finished_at is None:
        return Decimal(0)
    is_today = local_now(user, last.finished_at).date() == local_now(user, timezone.now()).date()
    return Decimal(need) if is_today else Decimal(0)


def _changed_at(user: User, chat: Chat) -> datetime | None:
    """When anything was last written in this SillyTavern, in whichever chat: there is one model for all of them."""
    rows = Chat.objects.for_user(user).filter(tavern=chat.tavern_id, gone_at=None)
    newest: datetime | None = rows.aggregate(at=Max("updated_at"))["at"]
    return newest


def _held_until(user: User, choices: Choices) -> datetime | None:
    """Until when a budget of the person or of everybody here would let no answer through."""
    connection, tokens = connection_for(user, EXTRACTION), choices.response_tokens
    if connection is None:
        return None
    need = Need(price_of(connection).cost(0, tokens), tokens)
    return max((one.period.end for one in standings_of(user) if one.is_passed_by(need)), default=None)
