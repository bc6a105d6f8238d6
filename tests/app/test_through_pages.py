"""Settings, Models, Through SillyTavern: what is missing is said, what can be chosen is shown, and a choice is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from providers.models import Connection
from sync.models import Tavern
from tests.support.builders import make_call, make_tavern
from tests.support.fake_tavern import FakeTavern
from tests.support.tavern_models import connect_through, set_tavern

pytestmark = pytest.mark.django_db
NEW = "/settings/models/new/sillytavern/"
CHOICES = ["Main LLM", "Fast [3f2a91bc]", "Kitchen [77aa0000]", "Horde [99990000]"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeTavern]:
    set_tavern(tmp_path / "t", "http://127.0.0.1:1")
    with FakeTavern(tmp_path / "t") as running:
        memory = "<memory>\n- [Mira, Tom — a promise]\n- Tom promised to look after Biscuit.\n</memory>"
        running.says = [(200, {"choices": [{"message": {"content": memory}}]})]
        yield running


@pytest.fixture
def tavern(alice: User, server: FakeTavern) -> Tavern:
    return make_tavern(alice, name="data/wren", folder=str(server.user_folder), url=server.url)


def soup(answer: Any, status: int = 200) -> Tag:
    assert answer.status_code == status
    return BeautifulSoup(answer.content, "html.parser")


def typed(**fields: Any) -> dict[str, Any]:
    return {"name": "", "model": "Main LLM", "temperature": "0.3", "max_parallel": "4", "body": "", **fields}


def mine(person: User) -> Connection:
    return Connection.objects.for_user(person).get()


def test_what_is_missing_is_said_with_the_way_to_mend_it(alice: User, alice_client: Client) -> None:
    assert "Through SillyTavern" in soup(alice_client.get("/settings/models/new/")).get_text()
    page = soup(alice_client.get(NEW))
    assert "No SillyTavern is linked yet." in page.get_text()
    assert page.select_one(".notice a")["href"] == "/settings/sillytavern/link/"  # type: ignore[index]
    row = make_tavern(alice, name="data/wren")
    page = soup(alice_client.get(NEW))
    assert "CharMem does not know the address of data/wren yet." in page.get_text()
    assert page.select_one(".notice a")["href"] == f"/settings/sillytavern/{row.pk}/server/"  # type: ignore[index]
    assert page.select_one("button.is-primary").has_attr("disabled")  # type: ignore[union-attr]
    assert "does not know the address" in soup(alice_client.post(NEW, typed()), 422).get_text()
    assert not Connection.objects.for_user(alice).exists()


def test_one_button_leads_to_a_tested_connection(alice: User, alice_client: Client, tavern: Tavern) -> None:
    page = soup(alice_client.get(NEW))
    assert [one["value"] for one in page.select("#models option")] == CHOICES
    assert page.select_one("#id_model")["value"] == "Main LLM"  # type: ignore[index]
    assert not page.select("#id_base_url, #id_key, #id_headers")
    answer = alice_client.post(NEW, typed())
    row = mine(alice)
    assert answer["Location"] == f"/settings/models/{row.pk}/"
    assert (row.name, row.model, row.base_url) == ("Through SillyTavern", "Main LLM", f"sillytavern:{tavern.pk}")
    run_until_idle(alice)
    row.refresh_from_db()
    assert row.test_result["state"] == "ok", row.test_result
    page = soup(alice_client.get(answer["Location"]))
    assert "stays where it is" in page.get_text() and "may be typed too" not in page.get_text()


def test_with_several_the_connection_names_one(alice: User, alice_client: Client, bob: User, tavern: Tavern) -> None:
    other = make_tavern(alice, name="data/tablet", folder=tavern.folder + "2", url="http://127.0.0.1:1")
    set_tavern(Path(other.folder), "http://127.0.0.1:1")
    strange = make_tavern(bob, url="http://127.0.0.1:1")
    page = soup(alice_client.get(NEW))
    assert [one.get_text() for one in page.select("#id_base_url option")] == ["data/wren", "data/tablet"]
    alice_client.post(NEW, typed(base_url=f"sillytavern:{other.pk}"))
    row = mine(alice)
    assert row.base_url == f"sillytavern:{other.pk}"
    address = f"/settings/models/{row.pk}/"
    chosen = soup(alice_client.get(address)).select_one("#id_base_url option[selected]")
    assert chosen is not None and chosen.get_text() == "data/tablet"
    assert soup(alice_client.post(address, typed(base_url=f"sillytavern:{strange.pk}")), 422)
    alice_client.post(address, typed(base_url=f"sillytavern:{tavern.pk}"))
    assert mine(alice).base_url == f"sillytavern:{tavern.pk}"


def test_a_connection_whose_folder_was_unlinked_moves_to_the_one_that_is_left(
    alice: User, alice_client: Client, tavern: Tavern
) -> None:
    gone = make_tavern(alice, url="http://127.0.0.1:1")
    row = connect_through(gone)
    gone.delete()
    alice_client.post(f"/settings/models/{row.pk}/", typed())
    assert mine(alice).base_url == f"sillytavern:{tavern.pk}"


def test_a_profile_is_chosen_from_the_list(alice: User, alice_client: Client, tavern: Tavern) -> None:
    row = connect_through(tavern)
    make_call(alice, row, model="fake-llm")
    alice_client.post(f"/settings/models/{row.pk}/models", {"back": "choose"})
    address = f"/settings/models/{row.pk}/choose/"
    page = soup(alice_client.get(address))
    assert [one["value"] for one in page.select("button.model-pick")] == CHOICES  # and not what answered lately
    assert "custom, fast-model" in page.get_text() and "cannot be asked from here" in page.get_text()
    assert page.select_one("#typed") is None
    alice_client.post(address, {"model": "Fast [3f2a91bc]"})
    assert mine(alice).model == "Fast [3f2a91bc]"
    for refused in ("Horde [99990000]", "fake-llm"):
        answer = alice_client.post(address, {"model": refused}, follow=True)
        assert "through SillyTavern" in answer.content.decode() or "no Connection Profile" in answer.content.decode()
        assert mine(alice).model == "Fast [3f2a91bc]"


def test_the_first_steps_offer_it_when_it_can_work(alice: User, alice_client: Client, tavern: Tavern) -> None:
    page = soup(alice_client.get("/wizard/model/?choose=sillytavern"))
    assert page.select_one("#model")["value"] == "Main LLM"  # type: ignore[index]
    assert [one["value"] for one in page.select("#models option")] == CHOICES
    alice_client.post("/wizard/model/", {"preset": "sillytavern", "choose": "sillytavern", "model": "Main LLM"})
    assert mine(alice).is_default and mine(alice).preset == "sillytavern"


def test_the_command_connects_it(alice: User, tavern: Tavern, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("connect_provider", "--user", "alice", "--preset", "sillytavern", "--model", "Fast [3f2a91bc]")
    assert mine(alice).model == "Fast [3f2a91bc]"
    assert "Through SillyTavern" in capsys.readouterr().out
