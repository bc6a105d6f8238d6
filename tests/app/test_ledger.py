"""What was spent: every call is a row, and the pages add them up."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from providers import job_calls, queries
from providers.base import Usage
from providers.complete import complete
from providers.models import Call, Connection
from providers.prices import cost_of
from tests.support.builders import make_call, make_connection, make_job
from tests.support.fake_model import FakeModel
from tests.support.wire import QUESTION, connect

pytestmark = pytest.mark.django_db


def words(html: bytes) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.decode()))


def test_costs_come_from_prices_per_million(alice: User) -> None:
    row = make_connection(alice, preset="openrouter", price_in=Decimal("0.4"), price_out=Decimal("2"))
    assert cost_of(row, Usage(1_000_000, 500_000)) == Decimal("1.4")
    assert cost_of(make_connection(alice, preset="openrouter", is_default=False), Usage(10, 10)) is None
    assert cost_of(make_connection(alice, preset="local", is_default=False), Usage(10, 10)) == 0


def test_reported_usage_calibrates_the_estimate(alice: User) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake, bytes_per_token=3.35)
        text = "Mira walked home. " * 100
        complete(row, type(QUESTION)("", text, 50))
    row.refresh_from_db()
    assert row.bytes_per_token == pytest.approx(3.35 + 0.1 * (6.0 - 3.35))


def test_a_job_shows_its_calls(alice: User, alice_client: Client) -> None:
    job = make_job(alice, kind="test")
    connection = make_connection(alice)
    assert job_calls.panel(job) is None
    for _n in range(2):
        make_call(alice, connection, job=job)
    make_call(alice, connection)
    assert job_calls.facts([job])[job.pk] == [("Calls", "2"), ("Cost so far", "0.4 ¢")]
    page = words(alice_client.get(f"/jobs/{job.pk}/").content)
    assert "Model calls 2" in page and "1,960 tokens" in page


def test_the_spending_page_adds_up(alice: User, bob: User, alice_client: Client) -> None:
    connection = make_connection(alice, name="Kitchen box")
    for _n in range(3):
        make_call(alice, connection)
    make_call(alice, connection, purpose="test", error_type="key", status=401, cost=None, finish_reason="")
    old = make_call(alice, connection, purpose="extraction")
    Call.objects.for_user(alice).filter(pk=old.pk).update(started_at=timezone.now() - timedelta(days=40))
    make_call(bob, cost="9.99")
    total = queries.spending(alice, timezone.now() - timedelta(days=30))
    assert (total.calls, total.failed, total.tokens, total.cost) == (4, 1, 3920, Decimal("0.0063"))
    rows = queries.calls(alice, total_since())
    assert [(s.label, s.calls) for s in queries.shares(rows, "purpose")] == [("extraction", 3), ("test", 1)]
    page = words(alice_client.get("/settings/spending/?span=30").content)
    assert "0.6 ¢ this month, 0.6 ¢ today" in page and "1 call failed." in page and "9.99" not in page
    assert "Money by day" in page and "at most 0.6 ¢ a day" in page and "Connection test 1" in page
    assert "1 call has no known price and is in no sum of money." in page
    failed = words(alice_client.get("/settings/spending/calls/?failed=1").content)
    assert "1 call: failed" in failed and "key 401" in failed
    assert "5 calls" in words(alice_client.get("/settings/spending/calls/?day=nonsense").content)


def test_where_nothing_costs_money_the_days_show_calls(alice: User, alice_client: Client) -> None:
    make_call(alice, cost="0")
    make_call(alice, cost=None)
    page = words(alice_client.get("/settings/spending/?span=7").content)
    assert "Calls by day" in page and "at most 2 a day" in page


def total_since() -> datetime:
    return timezone.now() - timedelta(days=30)


def test_nothing_spent_yet(alice_client: Client) -> None:
    assert "Nothing spent yet" in words(alice_client.get("/settings/spending/").content)
    assert "0 calls" in words(alice_client.get("/settings/spending/calls/").content)


def test_calls_of_a_removed_connection_stay(alice: User) -> None:
    connection = make_connection(alice, name="Gone")
    make_call(alice, connection)
    Connection.objects.for_user(alice).get(pk=connection.pk).delete()
    assert queries.shares(queries.calls(alice), "connection_name")[0].label == "Gone"
