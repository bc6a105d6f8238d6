"""When a chat is read by itself: one decision over plain facts (pure; spec/charmemory §3.1, first match wins).

What the extension decides stands in its order: too few messages, somebody is generating, cool-down, go. Around it stand
the reasons of a server that works while nobody looks: what makes reading impossible or unwanted comes first, what only
puts it off comes after the count, and money comes last, so that a page names the reason that a person can change.

gone ▸ off ▸ no model ▸ below ▸ reading ▸ old ▸ backlog ▸ waiting ▸ quiet ▸ cooldown ▸ failed or stopped ▸ budget ▸ FIRE
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from memories.choices import Choices

GONE, OFF, NO_MODEL = "gone", "off", "no_model"
BELOW, READING, OLD, BACKLOG = "below", "reading", "old", "backlog"
WAITING, QUIET, COOLDOWN, BUDGET, FIRE = "waiting", "quiet", "cooldown", "budget", "fire"
FAILED, STOPPED = "failed", "stopped"
LONG = 200  # unread messages above which a chat that no model ever read waits for a person
LEAST_REST = timedelta(minutes=10)  # after a failure, however short the cool-down is


@dataclass(frozen=True)
class Facts:
    """What is known of one chat for one reader.

    `count`: unread messages of characters, each position once, without what the last reading left alone on purpose.
    `unread`: every message that would be sent. `is_generating` is the companion's word; files do not tell.
    `changed_at`: when somebody last wrote. `read_at`: when a reading last began, by itself or by hand. `failed_at`:
    when the last reading failed or was stopped. `spent`: dollars today for what was read by itself. `held_until`: a
    budget of the person or the installation lets nothing more through before that moment.
    """

    count: int = 0
    unread: int = 0
    is_gone: bool = False
    has_model: bool = True
    is_reading: bool = False
    has_news: bool = True
    was_read: bool = True
    is_generating: bool = False
    changed_at: datetime | None = None
    read_at: datetime | None = None
    failed_at: datetime | None = None
    was_stopped: bool = False
    spent: Decimal = Decimal(0)
    next_cost: Decimal = Decimal(0)
    held_until: datetime | None = None


@dataclass(frozen=True)
class Verdict:
    """`kind` is one of the words above; nothing changes it before `until` unless a message comes.

    `numbers` are for its sentence: count, threshold, unread, was_read (0 or 1), minutes (rounded up).
    """

    kind: str
    until: datetime | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def fires(self) -> bool:
        return self.kind == FIRE


def decide(facts: Facts, choices: Choices, now: datetime) -> Verdict:
    """Whether to read now. `now` is aware and in the person's time zone (quiet hours and the day of a budget)."""
    threshold = choices.interval + choices.lag
    numbers = {"count": facts.count, "threshold": threshold, "unread": facts.unread, "was_read": int(facts.was_read)}
    is_below = facts.count < threshold or 0 < facts.unread <= choices.protected
    kind = _impossible(facts, choices) or (BELOW if is_below else "") or _not_by_itself(facts, choices)
    if kind:
        return Verdict(kind, None, numbers)
    kind, until = _put_off(facts, choices, now)
    if until is not None:
        numbers["minutes"] = math.ceil((until - now) / timedelta(minutes=1))
    return Verdict(kind, until, numbers)


def _impossible(facts: Facts, choices: Choices) -> str:
    if facts.is_gone:
        return GONE
    if not choices.is_automatic:
        return OFF
    return "" if facts.has_model else NO_MODEL


def _not_by_itself(facts: Facts, choices: Choices) -> str:
    if facts.is_reading:
        return READING
    if not facts.has_news:
        return OLD
    is_long = facts.unread > LONG and not facts.was_read
    return BACKLOG if is_long and not choices.reads_backlog else ""


def _put_off(facts: Facts, choices: Choices, now: datetime) -> tuple[str, datetime | None]:
    """The first reason to wait, and until when; FIRE without one."""
    if facts.is_generating:
        return WAITING, None
    rest = max(timedelta(minutes=choices.cooldown_minutes), LEAST_REST)
    ends = (
        (WAITING, _after(facts.changed_at, timedelta(minutes=choices.idle_minutes), now)),
        (QUIET, quiet_until(choices.quiet_from, choices.quiet_until, now)),
        (COOLDOWN, _after(facts.read_at, timedelta(minutes=choices.cooldown_minutes), now)),
        (STOPPED if facts.was_stopped else FAILED, _after(facts.failed_at, rest, now)),
        (BUDGET, _budget_until(facts, choices, now)),
    )
    return next(((kind, end) for kind, end in ends if end is not None and end > now), (FIRE, None))


def _after(moment: datetime | None, wait: timedelta, now: datetime) -> datetime | None:
    """A moment further ahead than the wait itself is from a clock that was set back, and holds nothing up."""
    return moment + wait if moment is not None and moment - now <= wait else None


def _budget_until(facts: Facts, choices: Choices, now: datetime) -> datetime | None:
    left = None if choices.daily_budget is None else choices.daily_budget - facts.spent
    is_spent = left is not None and is_passed(left, facts.next_cost)
    ends = [facts.held_until] if facts.held_until else []
    return max([*ends, tomorrow(now)] if is_spent else ends, default=None)


def is_passed(left: Decimal, need: Decimal = Decimal(0)) -> bool:
    """Whether a call that may take `need` dollars could pass a budget of which so much is left."""
    return left <= 0 or need > left


def tomorrow(now: datetime) -> datetime:
    """The next midnight on the person's clock."""
    return datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo).astimezone(UTC)


def quiet_until(begin: str, end: str, now: datetime) -> datetime | None:
    """When the quiet hours end in which `now` falls; None outside of them.

    `begin` and `end` are "HH:MM" on the person's clock; an end before the begin is on the next day. Two equal times
    and a missing one mean no quiet hours. Each night is one stretch of real time: a clock that is set back or forward
    in it neither ends it early nor begins it again.
    """
    if not begin or not end or begin == end:
        return None
    first, last = time.fromisoformat(begin), time.fromisoformat(end)
    nights = timedelta(days=1 if last < first else 0)
    for day in (now.date() - timedelta(days=1), now.date()):
        since = datetime.combine(day, first, now.tzinfo).astimezone(UTC)
        until = datetime.combine(day + nights, last, now.tzinfo).astimezone(UTC)
        if since <= now.astimezone(UTC) < until:
            return until
    return None
