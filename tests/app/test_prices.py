"""Prices are those typed at the connection, else those of the provider's list, else nothing or unknown."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounts.models import User
from providers import prices
from providers.base import Request, Usage
from providers.complete import complete
from providers.connecting import Wish, change_connection, listed_models, refresh_listing
from providers.listed_prices import read_row
from providers.models import Call, Connection, ModelListing
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel

ASK = Request(system="Be brief.", user="word " * 100, max_tokens=50)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # OpenRouter: dollars for one token, as text
        ({"pricing": {"prompt": "0.00000027", "completion": "0.0000011", "input_cache_read": "0.00000007"}},
         ("0.27", "1.1", "0.07")),
        ({"pricing": {"prompt": "0", "completion": "0"}}, ("0", "0", None)),
        # NanoGPT: the same names for a million tokens
        ({"pricing": {"prompt": 2.5, "completion": 10, "currency": "USD", "unit": "per_million_tokens"}},
         ("2.5", "10", None)),
        # Together and DeepInfra
        ({"pricing": {"hourly": 0, "input": 0.18, "output": 0.2, "base": 0}}, ("0.18", "0.2", None)),
        ({"metadata": {"pricing": {"input_tokens": 0.49, "output_tokens": 0.9, "cache_read_tokens": 0.1}}},
         ("0.49", "0.9", "0.1")),
        # "it depends", another currency, nonsense: nobody knows
        ({"pricing": {"prompt": "-1", "completion": "-1"}}, None),
        ({"pricing": {"prompt": "1", "completion": "2", "currency": "NANO", "unit": "per_million_tokens"}}, None),
        ({"pricing": {"prompt": "0.5", "completion": "0.5"}}, None),
        ({"pricing": {"prompt": "NaN", "completion": "1e400"}}, None),
        ({"pricing": {"prompt": True, "completion": []}}, None),
        ({"pricing": "cheap"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_lists_of_providers_are_read_or_left_alone(row: dict[str, Any], expected: tuple[Any, ...] | None) -> None:
    found = read_row("model", row)
    seen = (found.input, found.output, found.cached)
    wanted = expected or (None, None, None)
    assert seen == tuple(None if one is None else Decimal(one) for one in wanted)


def listed(connection: Connection, name: str, price_in: str, price_out: str) -> None:
    row = {"id": name, "in": price_in, "out": price_out, "cached": "0.1"}
    ModelListing.objects.create(connection=connection, models_json=["plain", row])


@pytest.mark.django_db
def test_typed_wins_over_listed_and_listed_over_nothing(alice: User) -> None:
    row = make_connection(alice, preset="openrouter", model="big/one")
    assert prices.price_of(row) == prices.UNKNOWN
    assert prices.cost_of(row, Usage(1000, 1000)) is None
    listed(row, "big/one", "2", "8")
    assert prices.price_of(row) == prices.Price(Decimal(2), Decimal(8), Decimal("0.1"), "list")
    assert prices.price_of(row, "plain") == prices.UNKNOWN
    assert prices.cost_of(row, Usage(1_000_000, 500_000, 400_000)) == Decimal("5.24")  # cached ones at their price
    row.price_in = Decimal(3)
    assert prices.price_of(row) == prices.Price(Decimal(3), Decimal(8), None, "typed")
    row.price_out = Decimal(4)
    assert prices.price_of(row) == prices.Price(Decimal(3), Decimal(4), None, "typed")


@pytest.mark.django_db
def test_what_is_at_home_is_free_until_somebody_types_a_price(alice: User) -> None:
    row = make_connection(alice, preset="local", model="llama")
    assert prices.price_of(row).is_free
    row.price_in, row.price_out = Decimal("0.1"), Decimal("0.1")  # electricity
    assert prices.cost_of(row, Usage(1_000_000, 0)) == Decimal("0.1")


@pytest.mark.django_db
def test_a_router_that_chooses_is_priced_by_what_it_chose(alice: User) -> None:
    row = make_connection(alice, preset="openrouter", model="auto")
    listed(row, "big/one", "2", "8")
    assert prices.cost_of(row, Usage(1_000_000, 0), "big/one") == 2


@pytest.mark.django_db
def test_prices_come_with_the_list_of_models(alice: User) -> None:
    with FakeModel() as fake:
        row = make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
        fake.facts["fake-small"] = {"pricing": {"prompt": "0.000002", "completion": "0.000008"}}
        assert refresh_listing(row) == listed_models(row) == ["fake-small", "fake-large"]
        listing = prices.listing(row)
        assert (listing[0].input, listing[1].input) == (2, None)


@pytest.mark.django_db
def test_another_address_forgets_the_old_list(alice: User) -> None:
    row = make_connection(alice, preset="custom", base_url="https://one.example/v1", model="big/one")
    listed(row, "big/one", "2", "8")
    change_connection(row, Wish(preset="custom", name="x", base_url="https://two.example/v1"))
    assert prices.price_of(row) == prices.UNKNOWN


@pytest.mark.django_db
def test_the_ledger_keeps_the_price_of_the_time(alice: User) -> None:
    with FakeModel() as fake:
        row = make_connection(
            alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=2, price_out=8
        )
        call = complete(row, ASK).call
        row.price_in = 500
    row.save()
    call = Call.objects.for_user(alice).get(pk=call.pk)
    assert call.cost == (Decimal(call.prompt_tokens or 0) * 2 + Decimal(call.completion_tokens or 0) * 8) / 1_000_000
