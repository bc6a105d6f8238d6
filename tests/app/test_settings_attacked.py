"""Settings of extraction, of the gate and of budgets with words that no form of ours sends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given
from hypothesis import settings as pace
from hypothesis import strategies as st

from accounts.models import User
from memories.choices import ACTIONS, CHECKS, LIMITS, NAMES, USUAL, Choices, with_values
from memories.chosen import choices_for, own_values, settings_of
from memories.models import ExtractionOverride
from providers.models import Budget
from tests.app.test_stranger_walk import world_of

GOOD: dict[str, Any] = {
    **{name: str(getattr(USUAL, name)) for name in LIMITS},
    "group_calls": "each",
    "keep_days": "7",
}
PAGE = "/settings/extraction/"
ODD = ["", "-1", "9" * 30, "9" * 5000, "1e3", "NaN", "Infinity", "²", "٣", "3,5", "0x10", "<b>", "\r\n", "null", " 7 "]


def sent(client: Client, **more: str) -> int:
    return client.post(PAGE, {**GOOD, **more}).status_code


@pytest.mark.parametrize("name", LIMITS)
def test_each_number_keeps_its_limits(alice: User, alice_client: Client, name: str) -> None:
    low, high = LIMITS[name]
    assert [sent(alice_client, **{name: str(value)}) for value in (low - 1, high + 1)] == [422, 422]
    assert [sent(alice_client, **{name: str(value)}) for value in (low, high)] == [302, 302]
    assert getattr(settings_of(alice), name) == high
    for value in ODD:
        assert sent(alice_client, **{name: value}) in (302, 422), value
        assert low <= getattr(settings_of(alice), name) <= high, value


@pytest.mark.parametrize(
    ("begin", "end", "status"),
    [
        ("23:00", "07:00", 302),
        ("", "", 302),
        ("23:00", "", 422),
        ("", "07:00", 422),
        ("24:00", "07:00", 422),
        ("7:00", "08:00", 422),
        ("23:00\n", "07:00", 302),
        ("٢٣:00", "07:00", 422),
        ("07:00", "07:00", 302),
    ],
)
def test_quiet_hours(alice: User, alice_client: Client, begin: str, end: str, status: int) -> None:
    assert sent(alice_client, quiet_from=begin, quiet_until=end) == status
    assert {len(settings_of(alice).quiet_from), len(settings_of(alice).quiet_until)} <= {0, 5}
    assert alice_client.get(PAGE).status_code == 200


@pytest.mark.parametrize("amount", ["0", "0.01", "12345678.1234", "-1", "9" * 40, "1e400", "NaN", "sNaN", "-0", "0,5"])
def test_a_daily_budget_is_nothing_or_more(alice: User, alice_client: Client, amount: str) -> None:
    assert sent(alice_client, daily_budget=amount) in (302, 422)
    found = settings_of(alice).daily_budget
    assert found is None or (found.is_finite() and 0 <= found < Decimal(10) ** 8)
    assert alice_client.get(PAGE).status_code == 200
    assert alice_client.get("/characters/").status_code == 200


def test_what_is_stored_for_one_character_may_be_anything(alice: User, alice_client: Client) -> None:
    """An older version, or somebody at the database, wrote it."""
    character = world_of(alice)["character"]
    broken = {
        "interval": 10**9,
        "lag": "x",
        "gate": 7,
        "daily_budget": "NaN",
        "unknown": {"deep": [1]},
        "quiet_from": 5,
    }
    ExtractionOverride.objects.for_user(alice).filter(character=character).delete()
    ExtractionOverride.objects.create(owner=alice, character=character, values=broken)
    found = choices_for(alice, character)
    assert (found.interval, found.lag, found.daily_budget) == (100, 0, None)
    for name in ("own_extraction", "character", "character_settings"):
        assert alice_client.get(reverse(f"memories:{name}", args=[character.pk])).status_code == 200


def test_a_tick_without_a_field_of_ours_is_no_choice(alice: User, alice_client: Client) -> None:
    character = world_of(alice)["character"]
    url = reverse("memories:own_extraction", args=[character.pk])
    alice_client.post(url, {"own_gate": "on", "gate": "x", "own_owner": "on", "owner": "1", "general": "owner"})
    assert set(own_values(alice, character)) <= set(NAMES)


@pace(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*NAMES, "owner"]),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.decimals(),
            st.dictionaries(st.sampled_from([*CHECKS, "x"]), st.one_of(st.sampled_from(ACTIONS), st.lists(st.text()))),
        ),
    )
)  # fmt: skip
def test_stored_values_never_break_the_choices(values: dict[str, Any]) -> None:
    found = with_values(Choices(), values)
    assert all(low <= getattr(found, name) <= high for name, (low, high) in LIMITS.items())
    assert set(found.gate.values()) <= set(ACTIONS)


def test_the_gate_takes_only_what_it_knows(alice: User, alice_client: Client) -> None:
    said = {f"gate_{check}": "destroy" for check in CHECKS} | dict.fromkeys(CHECKS, "destroy") | {"x": "queue"}
    assert alice_client.post("/settings/quality/", said).status_code == 302
    assert set(choices_for(alice).gate.values()) <= set(ACTIONS)
    assert set(choices_for(alice).gate) <= set(CHECKS)
    assert alice_client.get("/settings/quality/").status_code == 200


def test_budgets_hold_whatever_is_typed(alice: User, alice_client: Client) -> None:
    names = ("day_money", "month_money", "day_tokens", "month_tokens", "warn_percent")
    urls = ("/settings/budgets/", "/settings/budgets/everybody/", f"/settings/budgets/{alice.pk}/")

    @pace(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(urls), st.dictionaries(st.sampled_from(names), st.sampled_from([*ODD, "0", "5", "0.5", "1e9"]))
    )
    def send(url: str, said: dict[str, str]) -> None:
        assert alice_client.post(url, {"warn_percent": "80", **said}).status_code in (302, 422)
        for budget in Budget.objects.all():
            amounts = (budget.day_money, budget.month_money, budget.day_tokens, budget.month_tokens)
            assert all(amount is None or 0 <= amount < 10**19 for amount in amounts)
            assert 1 <= budget.warn_percent <= 100
        assert alice_client.get(url).status_code == 200
        assert alice_client.get("/settings/spending/").status_code == 200

    send()


@pytest.mark.parametrize(
    "subject",
    ["xyz", "character", "character:", "character:xyz", ":", ":x", "chat:1/group:2", "group:" + "9" * 300],
)
def test_calls_about_what_is_no_subject(alice_client: Client, subject: str) -> None:
    assert alice_client.get("/settings/spending/calls/", {"subject": subject}).status_code == 200
    assert alice_client.get("/settings/spending/calls.csv", {"subject": subject}).status_code == 200
