"""The day's budget for what is read by itself, of everything or of one character or group (Choices.daily_budget).

It is asked before each such call with the most that the call may take, so that the call which would pass it is not
made. A day is the person's own.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from functools import partial

from django.db.models import Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import User
from accounts.ownership import ScopedQuerySet
from jobs.run import JobRun
from memories import activity
from memories.automatic_rules import is_passed
from memories.chosen import choices_for, own_values
from memories.extraction_plan import Question
from memories.local_time import local_now
from providers.base import Completion, Request
from providers.budget_sums import UNDER_WAY
from providers.budgets import need_of
from providers.ledger import UNFINISHED
from providers.models import Call, Connection
from providers.periods import period
from sync.models import Character, Chat, Group

NOTHING = Decimal(0)


class DayIsSpentError(Exception):
    """The next call could pass the day's budget; `need` are the dollars it may take."""

    def __init__(self, need: Decimal) -> None:
        super().__init__(need)
        self.need = need


def check(user: User, question: Question, request: Request) -> None:
    """Raise DayIsSpentError when this request, one of those that `question` leads to, was asked for by nobody and may
    take more than is left today."""
    if not request.is_automatic or question.daily_budget is None:
        return
    need = need_of(question.connection, request).money or NOTHING
    if is_passed(question.daily_budget - spent_today(user, question.chat), need):
        raise DayIsSpentError(need)


def complete(run: JobRun, question: Question, request: Request) -> Completion:
    """activity.complete for what `question` leads to, inside the day's budget whoever answers. DayIsSpentError before
    a call that could pass it."""
    check(run.owner, question, request)
    may_ask = partial(_allows, run.owner, question, request)
    return activity.complete(run, question.connection, request, may_ask)


def _allows(user: User, question: Question, request: Request, connection: Connection) -> bool:
    """Whether another connection than the question's own may be asked it."""
    try:
        check(user, replace(question, connection=connection), request)
    except DayIsSpentError:
        return False
    return True


def left_today(user: User, chat: Chat) -> Decimal | None:
    """Dollars that may still go today into what is read by itself of this chat; None without a budget."""
    budget = choices_for(user, chat.group or chat.character).daily_budget
    return None if budget is None else budget - spent_today(user, chat)


def spent_today(user: User, chat: Chat) -> Decimal:
    """Dollars since the person's midnight for what was read by itself; calls under way count with what they may
    cost. Of everything, or of this character or group when it has a budget of its own."""
    now = local_now(user, timezone.now())
    today = period("day", now, now.tzinfo or UTC).start
    calls = Call.objects.for_user(user).filter(is_automatic=True, started_at__gte=today)
    calls = calls.exclude(error_type=UNFINISHED, started_at__lt=now - UNDER_WAY)
    whose = chat.group or chat.character
    if whose is not None and "daily_budget" in own_values(user, whose):
        calls = _about(user, calls, whose)
    spent: Decimal | None = calls.aggregate(sum=Sum(Coalesce("cost", "reserved")))["sum"]
    return spent or NOTHING


def _about(user: User, calls: ScopedQuerySet[Call], whose: Character | Group) -> ScopedQuerySet[Call]:
    """Those for this character, or about a chat of this group, whichever member was asked."""
    if isinstance(whose, Character):
        return calls.filter(subject__startswith=f"character:{whose.pk}")
    chats = Chat.objects.for_user(user).filter(group=whose)
    names = {f"chat:{pk}" for pk in chats.values_list("pk", flat=True)}
    subjects = calls.order_by().values_list("subject", flat=True).distinct()
    return calls.filter(subject__in=[one for one in subjects if one.rpartition("/")[2] in names])
