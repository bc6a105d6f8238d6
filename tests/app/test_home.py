"""Home: what needs the person, what waits, what is new, what it cost."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from jobs.models import Job
from memories.models import Watermark
from tests.support.builders import (
    make_attachment,
    make_call,
    make_character,
    make_chat,
    make_conflict,
    make_connection,
    make_issue,
    make_job,
    make_memory_file,
    make_tavern,
)
from tests.support.pages import soup, words


@pytest.fixture
def settled(alice: User) -> Any:
    """Two characters whose memories reach the prompt, everything read."""
    tavern = make_tavern(alice, vectors={"enabled_files": True})
    for name in ("Seraphine", "Rook"):
        character = make_character(tavern, name)
        attachment = make_attachment(character, index_state="current")
        make_memory_file(character, [("Oath", ["Swore an oath.", "Kept it."])], attachment=attachment)
        chat = make_chat(character, 4)
        Watermark.objects.create(chat=chat, character=character, index=3)
    return tavern


def facts(page: Any) -> dict[str, str]:
    cells = page.select("#pulse dl > div")
    return {words(cell.dt): words(cell.dd) for cell in cells}


def test_with_nothing_to_do_the_title_says_so(alice_client: Client, settled: Any) -> None:
    page = soup(alice_client.get("/"))
    assert words(page.h1) == "Everything is remembered"
    assert page.select_one("#needs").has_attr("hidden")
    assert "4 things are remembered about 2 characters , 4 of them new today ." in words(page.select_one(".lede"))
    assert facts(page)["SillyTavern"].startswith("in step")


def test_everything_that_waits_for_a_person_is_named_with_one_action(
    alice: User, alice_client: Client, settled: Any
) -> None:
    lost = make_character(settled, "Flux")
    make_memory_file(lost, [("Tower", ["Promised."])])
    make_job(alice, label="Extract Milo", state="failed", error="The key is wrong.", finished_at=timezone.now())
    odd = make_character(settled, "Milo")
    make_conflict(make_attachment(odd))
    make_issue(settled)
    page = soup(alice_client.get("/"))
    needs = {words(row.select_one(".need-head")): words(row.select_one("a.btn")) for row in page.select("li.need")}
    assert words(page.h1) == "4 things need you"
    assert needs["Flux not registered"] == "See what is off Flux"
    assert needs["Milo changed outside"] == "Decide Milo"
    assert any(head.startswith("Extract Milo stopped at") for head in needs)
    assert any("1 place could not be read" in head for head in needs)
    assert "The key is wrong." in words(page.select_one("#needs"))


def test_a_job_that_was_done_again_needs_nobody(alice: User, alice_client: Client, settled: Any) -> None:
    make_job(alice, state="failed", subject="character:x", error="Broken.")
    make_job(alice, state="done", subject="character:x")
    assert words(soup(alice_client.get("/")).h1) == "Everything is remembered"


def test_what_waits_has_one_button_with_one_price(alice: User, alice_client: Client, settled: Any) -> None:
    make_connection(alice, model="deepseek-v3.1", price_in="2.0", price_out="8.0")
    make_chat(make_character(settled, "Hesper"), 40)
    page = soup(alice_client.get("/"))
    assert words(page.h1) == "40 messages wait to be read"
    button = page.select_one("#waits button.is-primary")
    assert words(button).startswith("Extract 40 messages ≈")
    assert "¢" in words(button.select_one(".price"))
    assert len(page.select("button.is-primary, a.is-primary")) == 1


def test_money_jobs_and_backup_stand_in_one_line(
    alice: User, alice_client: Client, settled: Any, settings: Any, tmp_path: Path
) -> None:
    make_call(alice, cost="0.1464")
    old = make_call(alice, cost="3.0")
    type(old).objects.for_user(alice).filter(pk=old.pk).update(started_at=timezone.now() - timedelta(days=70))
    make_job(alice, state="running", step=2)
    make_job(alice, label="Later")
    page = soup(alice_client.get("/"))
    assert facts(page)["Spent today"] == "14.6 ¢ 1 call"
    assert facts(page)["Running"] == "1 job 1 waits"
    numbers = {words(a): a["href"] for a in page.select("#pulse a")}
    assert (numbers["1 waits"], numbers["2 chats"]) == ("/jobs/#wait", "/characters/?sort=chat")
    assert words(soup(alice_client.get(numbers["1 call"])).h1).startswith("1 call")
    settings.DATA_DIR = tmp_path
    assert facts(soup(alice_client.get("/")))["Last backup"] == "no backup yet"
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "charmem.zip").write_bytes(b"x" * 2000)
    assert facts(soup(alice_client.get("/")))["Last backup"].startswith("today,")


def test_the_live_part_shows_the_same_as_the_page_and_asks_again_at_the_servers_pace(
    alice: User, alice_client: Client, settled: Any
) -> None:
    whole, live = soup(alice_client.get("/")), soup(alice_client.get("/home/live/"))
    for part in ("#pulse", "#needs", "#waits", "#running", "#news"):
        assert words(live.select_one(part)) == words(whole.select_one(part)), part
    assert live.select_one("#pulse")["hx-trigger"] == "every 20s"
    make_job(alice, state="running", doing="messages 20 to 39")
    live = soup(alice_client.get("/home/live/"))
    assert live.select_one("#pulse")["hx-trigger"] == "every 2s"
    assert "messages 20 to 39" in words(live.select_one("#running"))


def test_an_unchanged_live_part_sends_nothing(alice: User, alice_client: Client, settled: Any) -> None:
    first = soup(alice_client.get("/home/live/"))
    again = first.select_one("#pulse")["hx-get"]
    assert alice_client.get(again).status_code == 204
    make_job(alice, state="running")
    assert soup(alice_client.get(again)).select_one("#pulse")["hx-get"] != again


def test_newest_memories_stand_by_character(alice_client: Client, settled: Any) -> None:
    news = soup(alice_client.get("/")).select("section.by-who")
    assert sorted(words(part.h3) for part in news) == ["Rook", "Seraphine"]
    assert "Swore an oath." in words(news[0])


def test_the_first_day_shows_four_stations_until_the_last_one_is_done(alice: User, alice_client: Client) -> None:
    tavern = make_tavern(alice, vectors={"enabled_files": True})
    flux = make_character(tavern, "Flux")
    attachment = make_attachment(flux, is_registered=False)
    make_memory_file(flux, [("Tower", ["Promised Alex."])], attachment=attachment, written_version=1)
    page = soup(alice_client.get("/"))
    looks = [row["class"][0] for row in page.select("ol.way > li")]
    assert looks == ["is-ok", "is-live", "is-off", "is-off"]
    assert "3 steps to go" in words(page.h1)
    assert "Promised Alex." in words(page.select_one(".first-news"))
    assert "3 steps to go" in words(soup(alice_client.get("/home/live/")).h1)


def test_somebody_without_sillytavern_is_led_to_the_first_steps_until_they_say_later(bob_client: Client) -> None:
    assert bob_client.get("/")["Location"] == "/wizard/"
    assert bob_client.post("/wizard/later/")["Location"] == "/"
    page = soup(bob_client.get("/"))
    assert words(page.h1) == "Nothing is linked yet"
    assert page.select_one('.lede a[href="/wizard/"]')


def test_nothing_of_somebody_else_is_counted(alice: User, bob: User, bob_client: Client, settled: Any) -> None:
    make_tavern(bob)
    make_job(alice, state="running")
    page = soup(bob_client.get("/"))
    assert "Seraphine" not in page.get_text()
    assert facts(page)["Running"] == "0 jobs"


def test_the_number_of_queries_does_not_grow(
    alice: User, alice_client: Client, settled: Any, django_assert_max_num_queries: Any
) -> None:
    for n in range(20):
        character = make_character(settled, f"Character {n}")
        make_chat(character, 3)
        make_memory_file(character)
        make_job(alice, state=Job.State.FAILED, subject=f"character:{character.pk}")
    with django_assert_max_num_queries(42):
        alice_client.get("/")
