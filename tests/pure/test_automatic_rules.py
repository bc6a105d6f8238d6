"""When a chat is read by itself: the order of the reasons, quiet hours, and what never happens whatever the facts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import automatic_rules as rules
from memories.automatic_rules import Facts, decide, quiet_until
from memories.choices import LIMITS, Choices

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
READY = Facts(count=20, unread=40)
AN_HOUR_AGO, A_MOMENT_AGO = NOW - timedelta(hours=1), NOW - timedelta(seconds=1)
# Each reason with what brings it about, in the order in which they win.
REASONS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    (rules.GONE, {"is_gone": True}, {}),
    (rules.OFF, {}, {"is_automatic": False}),
    (rules.NO_MODEL, {"has_model": False}, {}),
    (rules.BELOW, {"count": 19}, {}),
    (rules.READING, {"is_reading": True}, {}),
    (rules.OLD, {"has_news": False}, {}),
    (rules.BACKLOG, {"unread": 201, "was_read": False}, {}),
    (rules.WAITING, {"changed_at": A_MOMENT_AGO}, {"idle_minutes": 5}),
    (rules.QUIET, {}, {"quiet_from": "08:00", "quiet_until": "13:00"}),
    (rules.COOLDOWN, {"read_at": A_MOMENT_AGO}, {}),
    (rules.FAILED, {"failed_at": A_MOMENT_AGO}, {}),
    (rules.BUDGET, {"spent": Decimal("0.5")}, {"daily_budget": Decimal("0.5")}),
]


@pytest.mark.parametrize("place", range(len(REASONS)))
def test_each_reason_wins_over_those_behind_it(place: int) -> None:
    facts, choices = READY, Choices()
    for _kind, known, chosen in REASONS[place:]:
        facts, choices = replace(facts, **known), replace(choices, **chosen)  # type: ignore[arg-type]
    assert decide(facts, choices, NOW).kind == REASONS[place][0]


def test_with_no_reason_left_it_fires() -> None:
    verdict = decide(READY, Choices(), NOW)
    assert verdict.fires
    assert verdict.until is None


def test_the_lag_is_waited_for_on_top() -> None:
    assert decide(READY, Choices(lag=1), NOW).kind == rules.BELOW
    assert decide(replace(READY, count=21), Choices(lag=1), NOW).fires


def test_when_all_of_it_is_to_be_left_alone_there_is_nothing_to_read() -> None:
    few = Facts(count=3, unread=6)
    assert decide(few, Choices(interval=3), NOW).fires
    assert decide(few, Choices(interval=3, leaves_newest=True, newest=6), NOW).kind == rules.BELOW
    assert decide(few, Choices(interval=3, leaves_newest=True, newest=5), NOW).fires


def test_a_cool_down_says_its_minutes_rounded_up() -> None:
    verdict = decide(replace(READY, read_at=NOW - timedelta(minutes=7, seconds=1)), Choices(), NOW)
    assert (verdict.kind, verdict.numbers["minutes"]) == (rules.COOLDOWN, 3)
    assert verdict.until == NOW + timedelta(minutes=2, seconds=59)


def test_a_long_chat_that_was_never_read_waits_unless_it_may_begin() -> None:
    long = replace(READY, unread=412, was_read=False)
    assert decide(long, Choices(), NOW).kind == rules.BACKLOG
    assert decide(long, Choices(reads_backlog=True), NOW).fires
    assert decide(replace(long, was_read=True), Choices(), NOW).fires, "what piled up since is not a backlog"
    assert decide(replace(long, has_news=False), Choices(reads_backlog=True), NOW).kind == rules.OLD


def test_a_failure_rests_for_ten_minutes_at_least() -> None:
    failed = replace(READY, failed_at=A_MOMENT_AGO)
    assert decide(failed, Choices(cooldown_minutes=0), NOW).until == A_MOMENT_AGO + timedelta(minutes=10)
    assert decide(failed, Choices(cooldown_minutes=30), NOW).until == A_MOMENT_AGO + timedelta(minutes=30)
    stopped = replace(failed, was_stopped=True)
    assert decide(stopped, Choices(), NOW).kind == rules.STOPPED
    assert decide(replace(READY, failed_at=AN_HOUR_AGO), Choices(), NOW).fires


def test_a_budget_goes_on_at_the_next_midnight_of_the_person() -> None:
    now = datetime(2026, 3, 28, 22, 0, tzinfo=BERLIN)
    verdict = decide(replace(READY, spent=Decimal(1)), Choices(daily_budget=Decimal("0.5")), now)
    assert verdict.until == datetime(2026, 3, 28, 23, 0, tzinfo=UTC)
    assert decide(replace(READY, spent=Decimal("0.4")), Choices(daily_budget=Decimal("0.5")), now).fires
    tight = replace(READY, spent=Decimal("0.4"), next_cost=Decimal("0.2"))
    assert decide(tight, Choices(daily_budget=Decimal("0.5")), now).kind == rules.BUDGET, "the next call may pass it"
    assert decide(tight, Choices(daily_budget=Decimal("0.6")), now).fires
    assert decide(READY, Choices(daily_budget=Decimal(0)), now).kind == rules.BUDGET, "0 lets nothing through"


def test_a_budget_of_the_installation_holds_until_it_says() -> None:
    held = replace(READY, held_until=NOW + timedelta(days=3))
    assert decide(held, Choices(), NOW).until == NOW + timedelta(days=3)


@pytest.mark.parametrize(
    ("clock", "until"),
    [
        ("22:59", None),
        ("23:00", "07:00"),
        ("00:00", "07:00"),
        ("06:59", "07:00"),
        ("07:00", None),
        ("12:00", None),
    ],
)
def test_quiet_hours_span_midnight(clock: str, until: str | None) -> None:
    hour, minute = map(int, clock.split(":"))
    found = quiet_until("23:00", "07:00", datetime(2026, 3, 10, hour, minute, tzinfo=BERLIN))
    assert (f"{found.astimezone(BERLIN):%H:%M}" if found else None) == until


def test_quiet_hours_end_on_the_clock_also_when_it_is_changed() -> None:
    """In Berlin the night to 29 March 2026 is an hour short, the one to 25 October an hour long."""
    short = datetime(2026, 3, 28, 23, 30, tzinfo=BERLIN)
    assert quiet_until("23:00", "07:00", short) == datetime(2026, 3, 29, 5, 0, tzinfo=UTC)
    long = datetime(2026, 10, 24, 23, 30, tzinfo=BERLIN)
    assert quiet_until("23:00", "07:00", long) == datetime(2026, 10, 25, 6, 0, tzinfo=UTC)


@pytest.mark.parametrize(("begin", "end"), [("", ""), ("23:00", ""), ("", "07:00"), ("07:00", "07:00")])
def test_without_two_hours_there_are_no_quiet_hours(begin: str, end: str) -> None:
    assert quiet_until(begin, end, NOW) is None


MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))
HOURS = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.integers(0, 59))
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])


@given(MOMENTS, HOURS, HOURS, ZONES)
def test_quiet_hours_always_end_and_are_over_then(now: datetime, begin: str, end: str, zone: str) -> None:
    here = ZoneInfo(zone)
    until = quiet_until(begin, end, now.astimezone(here))
    if until is not None:
        assert now < until <= now + timedelta(hours=25)
        assert quiet_until(begin, end, until.astimezone(here)) is None


AGO = st.none() | st.timedeltas(timedelta(0), timedelta(hours=2)).map(lambda ago: NOW - ago)
FACTS = st.builds(
    Facts,
    count=st.integers(0, 150),
    unread=st.integers(0, 400),
    is_gone=st.booleans(),
    has_model=st.booleans(),
    is_reading=st.booleans(),
    has_news=st.booleans(),
    was_read=st.booleans(),
    is_generating=st.booleans(),
    changed_at=AGO,
    read_at=AGO,
    failed_at=AGO,
    spent=st.decimals(0, 2, places=2),
    next_cost=st.decimals(0, 1, places=2),
)
CHOICES = st.builds(
    Choices,
    is_automatic=st.booleans(),
    interval=st.integers(3, 100),
    lag=st.integers(0, 20),
    cooldown_minutes=st.integers(0, 30),
    idle_minutes=st.integers(0, 120),
    quiet_from=HOURS,
    quiet_until=HOURS,
    daily_budget=st.none() | st.decimals(0, 2, places=2),
    reads_backlog=st.booleans(),
)


@given(FACTS, CHOICES)
def test_it_never_fires_against_a_promise(facts: Facts, choices: Choices) -> None:
    verdict = decide(facts, choices, NOW)
    if not verdict.fires:
        return
    assert choices.is_automatic
    assert facts.count >= choices.interval + choices.lag
    assert facts.has_news
    assert not facts.is_reading
    assert facts.read_at is None or NOW - facts.read_at >= timedelta(minutes=choices.cooldown_minutes)
    assert facts.failed_at is None or NOW - facts.failed_at >= timedelta(minutes=10)
    assert facts.changed_at is None or NOW - facts.changed_at >= timedelta(minutes=choices.idle_minutes)
    assert choices.daily_budget is None or facts.spent < choices.daily_budget
    assert facts.unread <= 200 or facts.was_read or choices.reads_backlog


@given(FACTS, CHOICES)
def test_what_waits_for_a_time_has_another_reason_or_goes_on_then(facts: Facts, choices: Choices) -> None:
    verdict = decide(facts, choices, NOW)
    if verdict.until is not None:
        assert verdict.until > NOW
        assert verdict.numbers["minutes"] >= 1
        later = decide(replace(facts, spent=Decimal(0), next_cost=Decimal(0)), choices, verdict.until)
        assert later.kind != verdict.kind or later.until is None or later.until > verdict.until


def test_the_limits_and_usual_values_are_those_that_were_promised() -> None:
    assert LIMITS["interval"] == (3, 100) and LIMITS["lag"] == (0, 20) and LIMITS["cooldown_minutes"] == (0, 30)
    assert LIMITS["messages_per_call"] == (10, 200) and LIMITS["response_tokens"] == (100, 4000)
    usual = Choices()
    assert (usual.interval, usual.lag, usual.cooldown_minutes, usual.newest, usual.leaves_newest) == (
        20,
        0,
        10,
        4,
        False,
    )
    assert (usual.messages_per_call, usual.response_tokens, usual.merge_chunks) == (20, 1000, False)
