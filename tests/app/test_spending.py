"""Settings → Spending: every part adds up, every number leads to its calls, nobody sees what others asked about."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
import time_machine
from bs4 import BeautifulSoup
from django.test import Client
from django.utils import timezone

from accounts.models import User
from providers import budgets, subjects
from providers.ledger_filter import Asked
from providers.models import Budget, Call
from providers.periods import period
from sync.models import Chat
from tests.support.builders import make_call, make_connection, make_job
from tests.support.builders import make_group as group_of
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat

PAGE, CALLS = "/settings/spending/", "/settings/spending/calls/"


def table(page: BeautifulSoup, key: str) -> dict[str, list[str]]:
    """What a table says: first cell → the others."""
    rows = page.select(f"section[aria-labelledby=by-{key}] tbody tr")
    cells = [[words(cell) for cell in row.find_all("td")] for row in rows]
    return {row[0]: row[1:] for row in cells}


@pytest.fixture
def busy(alice: User, bob: User) -> dict[str, object]:
    """Calls of two characters, a group and a job; of yesterday too; and one of bob."""
    flux, nyx = make_character(alice), make_character(alice, "Nyx")
    chat, old = make_chat(flux), make_chat(flux, "older")
    group = group_of(flux.tavern, flux, name="The two")
    job = make_job(alice, label="Extract Flux")
    connection = make_connection(alice, name="Router")
    make_call(alice, connection, subject=f"character:{flux.pk}/chat:{chat.pk}", job=job, cost="0.10")
    make_call(alice, connection, subject=f"chat:{old.pk}", cost="0.20", model="large")
    make_call(alice, connection, subject=f"character:{nyx.pk}", cost="0.05", purpose="consolidation")
    make_call(alice, connection, subject=f"group:{group.pk}/chat:{chat.pk}", cost="0.40", is_automatic=True)
    make_call(alice, connection, purpose="test", cost=None)
    past = make_call(alice, connection, subject=f"character:{nyx.pk}", cost="0.01")
    Call.objects.for_user(alice).filter(pk=past.pk).update(started_at=timezone.now() - timedelta(days=3))
    make_call(bob, subject=f"character:{flux.pk}", cost="9.99")
    return {"flux": flux, "nyx": nyx, "group": group, "job": job, "chat": chat}


def test_parts_add_up_and_are_named(alice_client: Client, busy: dict[str, object]) -> None:
    page = soup(alice_client.get(f"{PAGE}?span=today"))
    assert table(page, "character") == {
        "The two": ["1", "980", "40 ¢"],
        "Flux": ["2", "1,960", "30 ¢"],  # the older subject "chat:…" belongs to her character
        "Nyx": ["1", "980", "5 ¢"],
        "Nothing in particular": ["1", "980", "–"],
    }
    assert table(page, "way") == {"By itself": ["1", "980", "40 ¢"], "By hand": ["4", "3,920", "35 ¢"]}
    assert table(page, "job") == {"Without a job": ["4", "3,920", "65 ¢"], "Extract Flux": ["1", "980", "10 ¢"]}
    assert table(page, "model")["large"] == ["1", "980", "20 ¢"]
    assert table(page, "purpose")["Consolidation"] == ["1", "980", "5 ¢"]
    assert "9.99" not in words(page) and "1 call has no known price" in words(page)


def test_every_number_leads_to_its_calls(alice_client: Client, busy: dict[str, object]) -> None:
    page = soup(alice_client.get(f"{PAGE}?span=7"))
    links = [row for row in page.select(".shares tbody tr") if row.select("td.r a")]
    assert len(links) >= 12
    for row in links:
        count = words(row.select("td.r")[0])
        there = words(soup(alice_client.get(str(row.select_one("td.r a")["href"]))).h1)  # type: ignore[index]
        assert there.startswith(f"{count} call"), (words(row), there)
    for day in page.select(".day-chart a"):
        assert words(soup(alice_client.get(str(day["href"]))).h1).split()[0] in ("1", "5")


@pytest.mark.parametrize(("span", "calls"), [("today", 5), ("7", 6), ("30", 6), ("all", 6)])
def test_spans(alice: User, busy: dict[str, object], span: str, calls: int) -> None:
    assert Asked(span=span).rows(alice).count() == calls


def test_a_day_is_the_persons_own(alice: User, alice_client: Client) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Pacific/Kiritimati")
    alice.refresh_from_db()
    call = make_call(alice, cost="0.30")
    morning = datetime(2026, 11, 18, 20, tzinfo=UTC)  # the 19th, ten o'clock, there
    with time_machine.travel(morning, tick=False):
        midnight = period("day", timezone.now(), ZoneInfo(alice.time_zone)).start
        Call.objects.for_user(alice).filter(pk=call.pk).update(started_at=midnight - timedelta(minutes=1))
        alice_client.force_login(alice)  # a session of that time
        assert "0 ¢ today" in words(soup(alice_client.get(PAGE)).h1)
        assert Asked(span="today").rows(alice).count() == 0


def test_a_batch_is_one_row_with_all_its_parts(alice: User, alice_client: Client) -> None:
    batch = make_job(alice, label="Extract 3 characters", is_batch=True)
    for n in range(3):
        make_call(alice, job=make_job(alice, label=f"part {n}", parent=batch), cost="0.10")
    page = soup(alice_client.get(PAGE))
    assert table(page, "job") == {"Extract 3 characters": ["3", "2,940", "30 ¢"]}


def test_a_long_table_says_what_it_leaves_out(alice: User, alice_client: Client) -> None:
    for n in range(12):
        make_call(alice, model=f"model-{n:02d}", cost=f"0.{n:02d}")
    page = soup(alice_client.get(PAGE))
    found = table(page, "model")
    assert len(found) == 9 and found["4 more"] == ["4", "3,920", "6 ¢"]
    whole = soup(alice_client.get(f"{PAGE}?only=model"))
    assert len(table(whole, "model")) == 12 and not table(whole, "job")


def test_what_is_gone_keeps_its_sums(alice: User, alice_client: Client, busy: dict[str, object]) -> None:
    Chat.objects.for_user(alice).all().delete()
    busy["nyx"].delete()  # type: ignore[attr-defined]
    found = table(soup(alice_client.get(f"{PAGE}?span=today")), "character")
    assert found["Flux"] == ["1", "980", "10 ¢"] and "gone since" in found


def test_names_of_others_are_not_told(alice: User, bob: User) -> None:
    flux = make_character(alice)
    assert subjects.names_of(bob, [f"character:{flux.pk}"])[f"character:{flux.pk}"].label == "gone since"
    odd = ["character:not-an-id", "made-up:1", "", "chat:"]
    assert set(subjects.names_of(alice, odd)) == set(odd)


def test_the_ledger_as_a_file(alice: User, alice_client: Client) -> None:
    make_call(alice, model="=HYPERLINK(1)", cost="0.25", purpose="test")
    make_call(alice, cost="0.50")
    answer = alice_client.get(f"{PAGE}calls.csv?purpose=test")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))  # type: ignore[attr-defined]
    assert [(row["model"], Decimal(row["dollars"])) for row in rows] == [("'=HYPERLINK(1)", Decimal("0.25"))]


def test_limits_stand_on_the_page_and_near_ones_in_the_frame(alice: User, alice_client: Client) -> None:
    budgets.set_budget(alice, day_money=1, month_money=50)
    make_call(alice, cost="0.85")
    make_character(alice)
    page = words(soup(alice_client.get(PAGE)))
    assert "Today 85 ¢ of $1.00" in page and "This month 85 ¢ of $50.00" in page
    for path in ("/", "/jobs/", PAGE):
        assert "85 ¢ of your $1.00 for today are used." in words(soup(alice_client.get(path)))
    assert "for today are used" not in words(soup(alice_client.get("/help/")))


def test_a_person_sets_limits_of_their_own(bob: User, bob_client: Client) -> None:
    page = soup(bob_client.get("/settings/budgets/"))
    assert "Everybody here" not in words(page.main) and page.find("input", {"name": "is_fixed"}) is None
    bob_client.post("/settings/budgets/", {"day_money": "0.50", "month_tokens": "100000", "warn_percent": "70"})
    budget = Budget.objects.get(person=bob)
    assert (budget.day_money, budget.month_money, budget.month_tokens) == (Decimal("0.5"), None, 100_000)
    assert soup(bob_client.get("/settings/budgets/")).find("input", {"name": "day_money"})["value"] == "0.5"  # type: ignore[index]
    refused = bob_client.post("/settings/budgets/", {"day_money": "-1", "warn_percent": "70"})
    assert refused.status_code == 422 and "A limit is nothing or more." in words(soup(refused, 422))


def test_an_admin_fixes_the_limits_of_others_and_sees_only_sums(
    alice: User, alice_client: Client, bob: User, bob_client: Client
) -> None:
    secret = make_character(bob, "Secretive")
    make_call(bob, subject=f"character:{secret.pk}", cost="0.75", connection_name="Hidden box")
    url = f"/settings/budgets/{bob.pk}/"
    alice_client.post(url, {"day_money": "1", "warn_percent": "80", "is_fixed": "on"})
    for path in (url, "/settings/budgets/"):
        page = words(soup(alice_client.get(path)))
        assert "75 ¢" in page and "Secretive" not in page and "Hidden box" not in page
    bob_client.post("/settings/budgets/", {"day_money": "100", "warn_percent": "80"})
    assert Budget.objects.get(person=bob).day_money == 1
    assert "An admin set these limits" in words(soup(bob_client.get("/settings/budgets/")))
    assert bob_client.get("/settings/budgets/everybody/").status_code == 404
    assert bob_client.post(url, {"day_money": "100", "warn_percent": "80"}).status_code == 404
    alice_client.post("/settings/budgets/everybody/", {"month_money": "20", "warn_percent": "80"})
    assert "Everybody here, this month" in words(soup(bob_client.get(PAGE)).main)


def test_at_this_pace(alice: User, alice_client: Client) -> None:
    budgets.set_budget(alice, month_money=10)
    make_call(alice, cost="6")
    standing = budgets.standings_of(alice)[0]
    span = standing.period
    middle = span.start + (span.end - span.start) / 2
    out = standing.runs_out_at(middle)
    assert out is not None and middle < out < span.end
    assert standing.runs_out_at(span.start + timedelta(hours=1)) is None  # too early to tell
