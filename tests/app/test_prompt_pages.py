"""The pages about prompts: text and palette, what is refused, a changed default, versions, strategies."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories import own_prompts, prompts
from memories.own_prompts import text_in_force
from tests.app.test_prompts import new_default
from tests.support.story import make_character

TEXT = prompts.prompt_text("extraction").text
PAGE = "/settings/prompts/extraction/"


def test_the_list_says_what_is_in_force(alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    page = alice_client.get("/settings/prompts/")
    assert page.status_code == 200
    assert b"Small models" in page.content
    assert b"default has changed" not in page.content
    own_prompts.save_text(alice, "extraction", f"{TEXT} Mine.")
    new_default(monkeypatch, f"{TEXT} Better.")
    assert b"default has changed" in alice_client.get("/settings/prompts/").content


def test_saving_makes_a_version_and_keeps_the_characters_place(alice: User, alice_client: Client) -> None:
    flux = make_character(alice)
    answer = alice_client.post(PAGE, {"text": f"{TEXT}\r\nFor Flux.", "character": str(flux.pk)})
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"{PAGE}?character={flux.pk}"
    assert text_in_force(alice, "extraction", flux).text == f"{TEXT}\nFor Flux."
    assert not text_in_force(alice, "extraction").is_own
    assert b"has its own" in alice_client.get(PAGE).content


def test_a_text_with_something_missing_is_not_saved_and_not_lost(alice: User, alice_client: Client) -> None:
    typed = TEXT.replace("{{recentMessages}}", "{{messages}}") + "\nMy own words."
    answer = alice_client.post(PAGE, {"text": typed})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "My own words." in page
    assert "{{messages}} is not known here" in page
    assert "Do you mean {{recentMessages}}?" in page
    assert f"Line {typed.split(chr(10)).index('{{messages}}') + 1}" in page
    assert not text_in_force(alice, "extraction").is_own


def test_no_such_prompt_is_404(alice_client: Client) -> None:
    for path in ("/settings/prompts/weather/", "/settings/prompts/consolidation:abc/", f"{PAGE}?character=x"):
        assert alice_client.get(path).status_code == 404, path
    assert alice_client.get("/settings/prompts/weather/try/").status_code == 404


def test_using_the_default_can_be_undone(alice: User, alice_client: Client) -> None:
    row = own_prompts.save_text(alice, "extraction", f"{TEXT} Mine.")
    answer = alice_client.post(f"{PAGE}default/", follow=True)
    assert f"/settings/prompt-versions/{row.pk}/restore/" in answer.content.decode()
    assert not text_in_force(alice, "extraction").is_own
    alice_client.post(f"/settings/prompt-versions/{row.pk}/restore/")
    assert text_in_force(alice, "extraction").text.endswith("Mine.")


def test_a_changed_default_is_compared_place_by_place(
    alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = TEXT.replace("at most five bullets", "at most three bullets")
    own_prompts.save_text(alice, "extraction", mine)
    better = TEXT.replace("at most five bullets", "at most six bullets").replace("weather and scenery", "weather")
    new_default(monkeypatch, better)
    page = alice_client.get(PAGE).content.decode()
    assert "The default changed to 9.9" in page
    page = alice_client.get(f"{PAGE}changed/").content.decode()
    assert "1 place is yours to decide" in page
    answer = alice_client.post(f"{PAGE}changed/", {})
    assert answer.status_code == 422
    answer = alice_client.post(f"{PAGE}changed/", {"place-1": "mine"}, follow=True)
    text = text_in_force(alice, "extraction").text
    assert "at most three bullets" in text
    assert "weather and scenery" not in text
    assert "The default changed" not in answer.content.decode()


def test_words_of_ones_own_for_a_place(alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    own_prompts.save_text(alice, "extraction", TEXT.replace("at most five", "at most three"))
    new_default(monkeypatch, TEXT.replace("at most five", "at most six"))
    said = {"place-1": "own", "words-1": "6. After the topic at most four bullets.\r\n"}
    alice_client.post(f"{PAGE}changed/", said)
    assert "6. After the topic at most four bullets.\n7. Call things" in text_in_force(alice, "extraction").text


def test_keep_mine_ends_the_notice(alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    own_prompts.save_text(alice, "extraction", f"{TEXT} Mine.")
    new_default(monkeypatch, f"{TEXT} Better.")
    page = alice_client.post(f"{PAGE}keep/", follow=True).content.decode()
    assert "The default changed" not in page
    assert text_in_force(alice, "extraction").text.endswith("Mine.")


def test_versions_are_compared_and_come_back(alice: User, alice_client: Client) -> None:
    first = own_prompts.save_text(alice, "extraction", f"{TEXT}\nMention cheese.")
    own_prompts.save_text(alice, "extraction", f"{TEXT}\nMention bread.")
    page = alice_client.get(f"{PAGE}versions/").content.decode()
    assert "<del>cheese</del>" in page
    assert "<ins>bread</ins>" in page
    page = alice_client.get(f"{PAGE}versions/?version={first.pk}").content.decode()
    assert "Use version 1" in page


def test_a_strategy_of_ones_own(alice: User, alice_client: Client) -> None:
    answer = alice_client.post("/settings/prompts/new/", {"title": "Only feelings"})
    address = answer.headers["Location"]
    assert b"Only feelings" in alice_client.get(address).content
    assert alice_client.post("/settings/prompts/new/", {"title": "only feelings"}).status_code == 422
    alice_client.post(f"{address}rename/", {"title": "Feelings"})
    assert b"Feelings" in alice_client.get("/settings/prompts/").content
    page = alice_client.post(f"{address}delete/", follow=True).content.decode()
    assert f"{address.replace(':', '%3A')}bring-back/" in page or f"{address}bring-back/" in page
    assert alice_client.get(address).status_code == 404
    alice_client.post(f"{address}bring-back/")
    assert alice_client.get(address).status_code == 200
