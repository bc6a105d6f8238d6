"""The page about quality: what each check does, what a second question costs, how the models fare."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from memories import gate_counts, quality_page
from memories.choices import CHECKS, USUAL
from memories.chosen import choices_for, settings_of
from memories.extraction_verdict import Findings
from memories.memory_file import NewMemory
from memories.models import ExtractionSettings, GateCount
from providers.models import ModelListing
from providers.prices import price_of
from tests.support.builders import make_call, make_connection
from tests.support.pages import soup, words

PAGE = "/settings/quality/"


def test_the_actions_are_chosen_here(alice: User, alice_client: Client) -> None:
    page = soup(alice_client.get(PAGE))
    chosen = {
        str(box["name"]).removeprefix("check-"): option["value"]
        for box in page.select("select[name^=check-]")
        for option in box.select("option[selected]")
    }
    assert chosen == dict(CHECKS)
    form = {f"check-{check}": action for check, action in CHECKS.items()}
    form |= {"check-temporary": "queue", "check-card_leak": "nonsense", "checks_with_model": "on"}
    assert "It holds for the next reading." in words(soup(alice_client.post(PAGE, form, follow=True)))
    row = settings_of(alice)
    assert (row.gate, row.checks_with_model) == ({"temporary": "queue"}, True), "only what differs is kept"
    assert choices_for(alice).action("temporary") == "queue"
    alice_client.post(PAGE, {f"check-{check}": action for check, action in CHECKS.items()})
    assert (settings_of(alice).gate, settings_of(alice).checks_with_model) == ({}, False)


def test_other_choices_stay(alice: User, alice_client: Client) -> None:
    ExtractionSettings.objects.create(user=alice, interval=50)
    alice_client.post(PAGE, {"check-form": "flag"})
    assert settings_of(alice).interval == 50
    assert choices_for(alice).action("form") == "flag"
    assert choices_for(alice).action("temporary") == USUAL.action("temporary")


def test_a_listed_price_counts_as_a_typed_one_does(alice: User) -> None:
    by = make_connection(alice, preset="custom", model="wren", price_in=None, price_out=None)
    assert quality_page.checking_price(alice).dollars is None
    row = {"id": "wren", "in": "1", "out": "4"}
    ModelListing.objects.create(connection=by, models_json=[row])
    assert quality_page.checking_price(alice).dollars == price_of(by).cost(1900, 80)
    by.preset = "pollinations"
    by.save()
    assert quality_page.checking_price(alice).dollars == 0


def test_the_price_of_the_second_question(alice: User, alice_client: Client) -> None:
    assert "About 1,980 tokens a call." in words(soup(alice_client.get(PAGE)))
    by = make_connection(alice, price_in="2", price_out="10")
    assert "About 1,980 tokens a call, 0.5 ¢." in words(soup(alice_client.get(PAGE)))
    for sent in (900, 1100):
        make_call(alice, by, purpose="checking", prompt_tokens=sent, completion_tokens=100)
    assert "About 1,100 tokens a call, 0.3 ¢." in words(soup(alice_client.get(PAGE)))
    assert "Measured on your last calls." in words(soup(alice_client.get(PAGE)))


def test_models_are_compared(alice: User, bob: User, alice_client: Client, bob_client: Client) -> None:
    today = timezone.now().date()
    old = today - timedelta(days=40)
    rows = [
        ("small", today, 8, 2, 1, 1),
        ("small", today - timedelta(days=3), 2, 0, 8, 0),
        ("large", today, 5, 0, 0, 0),
    ]
    for model, day, kept, flagged, held, refused in [*rows, ("ancient", old, 9, 9, 9, 9)]:
        counts = {"kept": kept, "flagged": flagged, "held": held, "refused": refused, "calls": 2}
        GateCount.objects.create(owner=alice, day=day, model=model, checks={"temporary": held}, **counts)
    page = soup(alice_client.get(PAGE))
    assert "20 memories in 4 answers" in words(page)
    assert "8 kept (40 %)" in words(page)
    assert "2 marked (10 %)" in words(page)
    assert "9 held back (45 %)" in words(page)
    assert "ancient" not in words(page)
    assert "9 times" in words(page)
    charts = page.select("svg.quality-chart")
    assert len(charts) == 2
    bars = [(float(str(part["x"])), float(str(part["height"]))) for part in charts[0].select("rect")]
    tall = sum(height for x, height in bars if x > 850)
    assert tall == pytest.approx(2 * 72, abs=0.5), "each day is one whole bar"
    assert "Nothing was read" in words(soup(bob_client.get(PAGE)))


def test_two_who_count_at_once_lose_nothing(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Findings([[NewMemory("One."), NewMemory("Two.")]], struck={"form": 1})
    gate_counts.count(alice, "small", found)
    seen = GateCount.objects.for_user(alice).get()
    real = type(GateCount.objects.for_user(alice)).get_or_create
    interfered: list[int] = []

    def slow(self: Any, **fields: Any) -> Any:
        row = real(self, **fields)
        if not interfered:
            interfered.append(1)
            gate_counts.count(alice, "small", found)
        return row

    monkeypatch.setattr(type(GateCount.objects.for_user(alice)), "get_or_create", slow)
    gate_counts.count(alice, "small", found)
    seen.refresh_from_db()
    assert (seen.calls, seen.kept, seen.checks) == (3, 6, {"form": 3})
