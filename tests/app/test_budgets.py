"""No call is sent that could pass a limit, whoever else calls at the same time; what waited goes on when it may."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.db import connections
from django.db.models import Sum
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.models import Job, JobEvent
from memories import extraction
from providers import budgets, connecting
from providers.base import ProviderError, Request
from providers.budget_words import warning
from providers.complete import complete
from providers.ledger import UNFINISHED
from providers.models import Budget, Call, Connection, NetworkRule
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.story import make_character, make_chat

ASK = Request(system="Be brief.", user="word " * 100, max_tokens=400)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


def paid(owner: User, fake: FakeModel, **fields: Any) -> Connection:
    """A model at a dollar a thousand tokens."""
    prices = {"price_in": 1000, "price_out": 1000}
    found = make_connection(
        owner, preset="local", base_url=fake.base_url, model="fake-small", **(prices | fields)
    )  # fmt: skip
    return Connection.objects.for_user(owner).select_related("owner").get(pk=found.pk)


def spent(owner: User, cost: str, *, at: datetime | None = None, tokens: int = 0, **fields: Any) -> Call:
    call = Call.objects.create(
        owner=owner, purpose="extraction", cost=Decimal(cost), prompt_tokens=tokens, **fields
    )  # fmt: skip
    Call.objects.for_user(owner).filter(pk=call.pk).update(started_at=at or timezone.now())
    return call


def refused(connection: Connection, request: Request = ASK) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        complete(connection, request)
    return caught.value


@pytest.mark.django_db
def test_the_call_that_could_pass_the_limit_is_not_sent(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake)
    need = budgets.need_of(row, ASK)
    assert need.money is not None
    budgets.set_budget(alice, day_money=need.money + Decimal("0.10"))
    complete(row, ASK)
    spent(alice, "0.09")
    error = refused(row)
    assert (error.error_type, error.retryable, len(fake.chats)) == ("budget", False, 1)
    assert error.retry_after is not None and 0 < error.retry_after <= 24 * 3600
    assert error.message.startswith("Your limit of ") and "Nothing was sent" in error.message
    assert Call.objects.for_user(alice).count() == 2  # nothing is left of a call that was not made


@pytest.mark.django_db
def test_what_fits_exactly_is_sent(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake)
    budgets.set_budget(alice, day_money=budgets.need_of(row, ASK).money)
    complete(row, ASK)


@pytest.mark.django_db
def test_tokens_are_counted_where_no_price_is_known(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake, price_in=None, price_out=None)
    Connection.objects.for_user(alice).update(preset="custom")
    row.preset = "custom"
    need = budgets.need_of(row, ASK)
    assert need.money is None
    budgets.set_budget(alice, day_money=0, day_tokens=need.tokens - 1)
    with pytest.raises(ProviderError, match=r"tokens a day would be passed"):
        budgets.check(row, ASK)
    budgets.set_budget(alice, day_tokens=need.tokens)
    assert budgets.check(row, ASK) == need
    budgets.set_budget(alice, refuses_unpriced=True)
    error = refused(row)
    assert (error.error_type, error.retry_after) == ("price", None)


@pytest.mark.django_db
def test_free_models_are_never_stopped_by_money(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake, price_in=None, price_out=None)
    budgets.set_budget(alice, day_money=0, month_money=0, refuses_unpriced=True)
    spent(alice, "5")
    complete(row, ASK)
    budgets.set_budget(alice, day_tokens=10)
    assert refused(row).error_type == "budget"


@pytest.mark.django_db
def test_one_persons_limit_leaves_the_others_alone_and_the_instances_does_not(
    alice: User, bob: User, fake: FakeModel
) -> None:
    hers, his = paid(alice, fake), paid(bob, fake)
    NetworkRule.objects.create(network="127.0.0.0/8", person=bob)
    budgets.set_budget(alice, day_money=1)
    spent(alice, "1")
    assert refused(hers).error_type == "budget"
    complete(his, ASK)
    budgets.set_budget(None, month_money=Decimal("1.5"))
    error = refused(his)
    assert "The limit of everybody here, $1.50 a month" in error.message


@pytest.mark.django_db
def test_calls_under_way_count_with_what_they_may_take(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake)
    budgets.set_budget(alice, day_money=1)
    call = Call.objects.create(
        owner=alice, purpose="extraction", error_type=UNFINISHED, reserved=Decimal("0.9"), reserved_tokens=900
    )
    assert refused(row).error_type == "budget"
    # a process that died long ago holds nothing
    Call.objects.for_user(alice).filter(pk=call.pk).update(started_at=timezone.now() - timedelta(hours=2))
    complete(row, ASK)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("America/New_York", "2026-12-01T04:59", "2026-12-01T05:01"),  # day and month end together
        ("Europe/Berlin", "2026-10-24T21:59", "2026-10-24T22:01"),  # the night before clocks go back
        ("Africa/Cairo", "2026-04-23T21:59", "2026-04-23T22:01"),  # clocks jump over midnight
    ],
)
def test_a_day_ends_at_the_persons_midnight(
    alice: User, fake: FakeModel, zone: str, before: str, after: str
) -> None:  # fmt: skip
    User.objects.filter(pk=alice.pk).update(time_zone=zone)
    row = paid(alice, fake)
    budgets.set_budget(alice, day_money=1)
    moment = datetime.fromisoformat(before).replace(tzinfo=UTC)
    with time_machine.travel(moment, tick=False):
        spent(alice, "1")
        error = refused(row)
        assert error.retry_after == 60
    with time_machine.travel(datetime.fromisoformat(after).replace(tzinfo=UTC), tick=False):
        complete(row, ASK)


@pytest.mark.django_db
def test_the_later_end_counts_when_two_limits_are_passed(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake)
    budgets.set_budget(alice, day_money=1, month_money=1)
    with time_machine.travel(datetime(2026, 11, 29, 12, tzinfo=UTC), tick=False):
        spent(alice, "1")
        assert refused(row).retry_after == 36 * 3600


@pytest.mark.django_db(transaction=True)
def test_eight_at_once_never_pass_the_limit_together(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake)
    fake.latency = 0.05
    need = budgets.need_of(row, ASK).money
    assert need is not None
    limit = need * Decimal("3.5")
    budgets.set_budget(alice, day_money=limit)
    most: list[Decimal] = []

    def call(_number: int) -> str:
        try:
            complete(row, ASK)
            return "sent"
        except ProviderError as error:
            return error.error_type
        finally:
            most.append(budgets.standings_of(alice)[0].spent)  # type: ignore[arg-type]
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(call, range(16)))
    assert set(ends) == {"sent", "budget"}
    assert len(fake.chats) == ends.count("sent") >= 3
    assert max(most) <= limit
    total = Call.objects.for_user(alice).aggregate(sum=Sum("cost"))["sum"]
    assert total <= limit


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("cure", ["raise", "next day", "free model"])
def test_a_job_waits_for_its_budget_and_goes_on(
    alice: User, bob: User, fake: FakeModel, cure: str
) -> None:  # fmt: skip
    row = paid(alice, fake)
    Connection.objects.for_user(alice).update(is_default=True)
    flux = make_character(alice)
    make_chat(flux, lines=[f"Flux went to Harrow with Alex on day {n}." for n in range(6)])
    budgets.set_budget(alice, day_money=Decimal("0.01"))
    job = extraction.start_extraction(alice, character=flux)
    run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.error_type, len(fake.chats)) == (Job.State.PAUSED, "budget", 0)
    assert "Nothing was sent" in job.doing
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert job.not_before is not None and abs(job.not_before - midnight) < timedelta(seconds=5)
    budgets.set_budget(bob, day_money=500)  # is not alice's
    run_until_idle(alice)
    assert not fake.chats
    if cure == "raise":
        budgets.set_budget(alice, day_money=500)
    elif cure == "free model":
        Connection.objects.for_user(alice).update(price_in=None, price_out=None)
        connecting.make_default(row)
    with time_machine.travel(midnight + timedelta(minutes=1) if cure == "next day" else timezone.now()):
        if cure == "next day":
            Budget.objects.update(day_money=500)
        run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.error_type) == (Job.State.DONE, "")
    assert fake.chats


@pytest.mark.django_db
def test_warnings_come_before_the_end(alice: User, bob: User) -> None:
    budgets.set_budget(alice, day_money=1, month_tokens=1000)
    budgets.set_budget(None, month_money=10)
    spent(alice, "0.5", tokens=100)
    assert budgets.warnings_of(alice) == []
    spent(alice, "0.35", tokens=860)
    said = [warning(one) for one in budgets.warnings_of(alice)]
    assert said == [
        "960 tokens of your 1,000 tokens for this month are used.",
        "85 ¢ of your $1.00 for today are used.",
    ]
    spent(bob, "9.2")
    assert warning(budgets.warnings_of(bob)[0]).startswith("The $10.00 that all here share this month are used up")


@pytest.mark.django_db
def test_no_budget_costs_one_look(alice: User, fake: FakeModel, django_assert_num_queries: Any) -> None:
    row = paid(alice, fake)
    with django_assert_num_queries(2):
        budgets.open_call(row, ASK)


@pytest.mark.django_db
def test_messages_of_a_paused_job_hold_no_prompt(alice: User, fake: FakeModel) -> None:
    row = paid(alice, fake)
    budgets.set_budget(alice, day_money=0)
    error = refused(row, Request(system="", user="canary-of-a-chat", max_tokens=5))
    with unscoped("looking for a canary"):
        assert "canary" not in error.sentence + "".join(JobEvent.objects.values_list("text", flat=True))
