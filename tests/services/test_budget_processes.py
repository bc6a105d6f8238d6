"""Two processes with eight callers each: together they never pass a limit, on any database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from tests.support.fake_model import FakeModel
from tests.support.processes import Running, python

BEGIN = """
import sys, django; django.setup()
from accounts.models import User
from providers import budgets
from providers.base import Request
from providers.models import Connection
alice = User.objects.create_person("alice", "correct horse battery", role="admin")
row = Connection.objects.create(owner=alice, name="Box", preset="local", base_url=sys.argv[1], model="fake-small",
                                is_default=True, max_parallel=16, price_in=1000, price_out=1000)
need = budgets.need_of(row, Request(system="", user="word " * 100, max_tokens=400)).money
budgets.set_budget(alice, day_money=need * 5)
print(need * 5)
"""
CALL = """
import django; django.setup()
from concurrent.futures import ThreadPoolExecutor
from django.db import connections
from accounts.ownership import unscoped
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.models import Connection
with unscoped("a test calls"):
    row = Connection.objects.select_related("owner").get()
def call(number):
    try:
        complete(row, Request(system="", user="word " * 100, max_tokens=400))
        return "sent"
    except ProviderError as error:
        return error.error_type
    finally:
        connections.close_all()
with ThreadPoolExecutor(8) as pool:
    print(*pool.map(call, range(12)))
"""
SPENT = """
import django; django.setup()
from django.db.models import Sum
from accounts.ownership import unscoped
from providers.models import Call
with unscoped("a test counts"):
    print(Call.objects.aggregate(sum=Sum("cost"))["sum"], Call.objects.count())
"""


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_two_processes_never_pass_a_limit_together(house: Running, engine: str, request: pytest.FixtureRequest) -> None:
    if engine == "postgres":
        house.extra = {"CHARMEM_DATABASE_URL": request.getfixturevalue("postgres_url")}
    assert house.command("migrate").returncode == 0
    with FakeModel() as fake:
        fake.latency = 0.2
        limit = Decimal(python(house, BEGIN, fake.base_url))
        with ThreadPoolExecutor(2) as pool:
            ends = " ".join(pool.map(lambda _n: python(house, CALL), range(2))).split()
        sent = len(fake.chats)
    spent, rows = python(house, SPENT).split()
    assert set(ends) == {"sent", "budget"}
    assert ends.count("sent") == sent == int(rows)
    assert Decimal(spent) <= limit
