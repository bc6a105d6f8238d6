"""The first steps, without JavaScript: a folder, a model, the first memories."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from providers.catalogue import PRESETS
from providers.discover import Found
from providers.models import Connection
from sync.link import SAMPLE
from sync.mirror import mirror
from sync.models import FolderGrant, Tavern
from tests.support.builders import (
    make_attachment,
    make_character,
    make_chat,
    make_connection,
    make_job,
    make_memory_file,
    make_tavern,
)
from tests.support.fake_model import FakeModel
from tests.support.pages import catch_extractions, soup, toast, words


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """A SillyTavern user folder inside the allowed places."""
    settings.SILLYTAVERN_ROOTS = [str(tmp_path)]
    place = tmp_path / "SillyTavern" / "data" / "wren"
    shutil.copytree(SAMPLE, place)
    return place


@pytest.fixture(autouse=True)
def nothing_answers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.wizard.discover_local", lambda user: [])


def test_step_1_finds_the_folder_and_shows_what_is_in_it_before_linking(alice_client: Client, folder: Path) -> None:
    assert alice_client.get("/wizard/")["Location"] == "/wizard/folder/"
    page = soup(alice_client.get("/wizard/folder/"))
    assert "data/wren" in words(page.select_one("a.choice[aria-current]"))
    figures = {words(part.dt): words(part.dd) for part in page.select(".figures > div")}
    assert figures["Characters"] == "4" and figures["Chats"] == "10" and figures["Groups"] == "1"
    assert words(page.select_one("button.is-primary")) == "Link 4 characters"
    assert "Nothing has been written yet." in words(page.select_one(".setup-foot"))


def test_linking_leads_to_the_next_step_and_the_wizard_resumes_there(
    alice: User, alice_client: Client, folder: Path
) -> None:
    page = soup(alice_client.get("/wizard/folder/"))
    form = page.select_one("form.setup-foot")
    answer = alice_client.post("/wizard/folder/", {"folder": form.select_one("[name=folder]")["value"]})
    assert answer["Location"] == "/wizard/model/"
    assert Tavern.objects.for_user(alice).get().folder == str(folder)
    assert alice_client.get("/wizard/")["Location"] == "/wizard/model/"


def test_a_folder_that_is_not_sillytaverns_is_refused_in_one_sentence(
    alice_client: Client, folder: Path, tmp_path: Path
) -> None:
    page = soup(alice_client.get("/wizard/folder/", {"folder": str(tmp_path)}))
    assert "is not a SillyTavern user folder" in words(page.select_one(".error"))
    assert page.select_one("button.is-primary").has_attr("disabled")
    alice_client.post("/wizard/folder/", {"folder": str(tmp_path / "nowhere")})
    assert "There is no folder at" in words(toast(alice_client))


def test_a_member_looks_into_no_folder_of_others(bob_client: Client, folder: Path, tmp_path: Path) -> None:
    before = sorted((folder / "user").rglob("*")), (folder / "user").stat().st_mtime_ns
    for path in (folder, folder.parent, tmp_path / "nowhere"):
        page = soup(bob_client.get("/wizard/folder/", {"folder": str(path)}))
        assert words(page.select_one(".error")).startswith("This folder is not assigned to you.")
    assert (sorted((folder / "user").rglob("*")), (folder / "user").stat().st_mtime_ns) == before


def test_an_address_of_sillytavern_is_checked_before_it_is_kept(
    alice: User, alice_client: Client, folder: Path
) -> None:
    for url in ("http://wren:secret@127.0.0.1:8000", "http://169.254.169.254", "http://127.0.0.1/" + "x" * 500):
        alice_client.post("/wizard/folder/", {"folder": str(folder), "url": url})
    assert not Tavern.objects.for_user(alice).exists()


def test_names_that_do_not_fit_a_connection_are_refused_in_words(alice: User, alice_client: Client) -> None:
    for model in ("m\x00", "m" * 201):
        alice_client.post("/wizard/model/", {"preset": "pollinations", "model": model})
        assert "too long or holds odd characters" in words(toast(alice_client))
    assert not Connection.objects.for_user(alice).exists()


def test_a_member_is_offered_only_what_was_assigned(bob: User, bob_client: Client, folder: Path) -> None:
    assert [words(a) for a in soup(bob_client.get("/wizard/folder/")).select("a.choice")] == [
        "A sample story To look around first"
    ]
    bob_client.post("/wizard/folder/", {"folder": str(folder)})
    assert "not assigned to you" in words(toast(bob_client))
    FolderGrant.objects.create(folder=str(folder), user=bob)
    assert "data/wren" in words(soup(bob_client.get("/wizard/folder/")).select_one("a.choice"))


def test_the_sample_story_links_with_one_button(
    alice: User, alice_client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    page = soup(alice_client.get("/wizard/folder/?folder=sample"))
    assert words(page.select_one("button.is-primary")) == "Use the sample story"
    alice_client.post("/wizard/folder/", {"folder": "sample"})
    assert Tavern.objects.for_user(alice).get().is_sample


def test_step_2_offers_what_answers_here_first_and_built_in_last(
    alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Found("local", "Ollama", "http://127.0.0.1:11434/v1", ["qwen3:8b"])
    monkeypatch.setattr("memories.wizard.discover_local", lambda user: [found])
    page = soup(alice_client.get("/wizard/model/"))
    names = [words(part) for part in page.select(".choice-name")]
    assert names[0] == "Ollama" and names[1] == "OpenRouter"
    assert names[-2:] == ["Another (OpenAI-compatible)", "Built-in (this computer)"]
    assert "Local server" not in names and len(names) == len(PRESETS) - 1
    assert "Through SillyTavern" not in names  # whose address nobody entered
    assert page.select_one("#base_url")["value"] == "http://127.0.0.1:11434/v1"
    assert page.select_one("datalist option")["value"] == "qwen3:8b"


def test_step_2_tests_in_the_background_and_shows_what_came_out(alice: User, alice_client: Client) -> None:
    with FakeModel() as fake:
        given = {"preset": "local", "base_url": fake.base_url, "choose": "local", "check": "1"}
        page = soup(alice_client.post("/wizard/model/", given, follow=True))
        look = page.select_one("#test-part")["hx-get"]
        assert page.select_one("#test-part progress") and fake.requests == []
        run_until_idle(alice)
    assert alice_client.get(look).headers["HX-Refresh"] == "true", "the first model of the server was chosen"
    page = soup(alice_client.get("/wizard/model/?choose=local"))
    assert words(page.select_one("#test h2")) == "Local server works."
    assert page.select_one("#model")["value"] == "fake-small"
    assert [one["value"] for one in page.select("datalist option")] == ["fake-small", "fake-large"]


def test_the_built_in_model_is_described_as_what_it_is(alice: User, alice_client: Client) -> None:
    page = soup(alice_client.get("/wizard/model/?choose=builtin"))
    assert "A trial of how things work, not of quality." in words(page.select_one(".notice"))
    answer = alice_client.post("/wizard/model/", {"preset": "builtin", "choose": "builtin"})
    assert answer["Location"] == "/wizard/first/"
    assert Connection.objects.for_user(alice).get().is_default


def test_no_key_is_asked_for_where_none_is_needed(alice_client: Client) -> None:
    assert soup(alice_client.get("/wizard/model/?choose=pollinations")).select_one("#key") is None
    assert soup(alice_client.get("/wizard/model/?choose=gemini")).select_one("#key") is not None


def test_a_key_is_never_shown_again(alice: User, alice_client: Client) -> None:
    alice_client.post("/wizard/model/", {"preset": "openrouter", "key": "sk-or-v1-canary-1234567890"})
    answer = alice_client.get("/wizard/model/?choose=openrouter")
    assert b"canary" not in answer.content
    alice_client.post("/wizard/model/", {"preset": "openrouter", "model": "glm-4.7"})
    assert Connection.objects.for_user(alice).get().model == "glm-4.7"


def test_an_address_that_is_none_is_refused_in_words(alice: User, alice_client: Client) -> None:
    alice_client.post("/wizard/model/", {"preset": "custom", "base_url": "", "choose": "custom"})
    assert "Enter the address of the server." in words(toast(alice_client))
    assert not Connection.objects.for_user(alice).exists()


def test_step_3_reads_one_chat_and_shows_memories_as_they_come(
    alice: User, alice_client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = catch_extractions(monkeypatch, "wizard")
    tavern = make_tavern(alice, folder=str(folder))
    mirror(tavern)
    make_connection(alice)
    page = soup(alice_client.get("/wizard/first/"))
    assert words(page.select_one("button.is-primary")).startswith("Read ")
    alice_client.post("/wizard/first/")
    assert len(started) == 1 and started[0][1]


def test_step_3_ends_with_the_way_into_the_prompt(alice: User, alice_client: Client) -> None:
    flux = make_character(make_tavern(alice), "Flux")
    chat = make_chat(flux, 20, name="The clock that ran late")
    params = {"character": str(flux.pk), "chats": [str(chat.pk)]}
    job = make_job(alice, subject=f"character:{flux.pk}", params=params, state="running", step=2, total=20)
    file = make_memory_file(flux, [("A", ["Hides the key."])], attachment=make_attachment(flux))
    live = soup(alice_client.get("/wizard/first/live/"))
    assert words(live.h1) == "Flux remembers 1 thing"
    assert live.progress["value"] == "2" and "Hides the key." in words(live.select_one(".cards"))
    Job.objects.for_user(alice).filter(pk=job.pk).update(state="done")
    done = soup(alice_client.get("/wizard/first/"))
    assert "for files”" in words(done.select_one(".checks"))
    assert done.select_one("a.is-primary")["href"] == "/"
    assert file.pk


def test_whoever_remembers_something_already_can_have_a_chat_read_too(alice: User, alice_client: Client) -> None:
    make_connection(alice)
    flux = make_character(make_tavern(alice), "Flux")
    make_chat(flux, 20)
    make_memory_file(flux, [("A", ["Hides the key."])])
    page = soup(alice_client.get("/wizard/first/"))
    assert [words(one)[:16] for one in page.select(".setup-foot .is-primary")] == ["Read 20 messages"]
    assert "Finish" in words(page.select_one(".setup-foot"))


def test_the_built_in_model_needs_no_key(alice_client: Client) -> None:
    page = soup(alice_client.get("/wizard/model/?choose=builtin"))
    assert page.select_one("#key") is None
    assert soup(alice_client.get("/wizard/model/?choose=openrouter")).select_one("#key") is not None


def test_a_failed_first_reading_says_why_and_can_be_tried_again(alice: User, alice_client: Client) -> None:
    flux = make_character(make_tavern(alice), "Flux")
    params = {"character": str(flux.pk), "chats": [str(make_chat(flux, 20).pk)]}
    make_job(alice, params=params, state="failed", error="The key is wrong.", hint="Enter it again.")
    page = soup(alice_client.get("/wizard/first/"))
    assert "The key is wrong. Enter it again." in words(page.select_one(".setup-head"))
    assert "Try again" in words(page.select_one(".setup-foot"))


def test_a_stranger_sees_nothing_of_a_running_wizard(alice: User, charlie_client: Client) -> None:
    flux = make_character(make_tavern(alice), "Flux")
    make_chat(flux, 20)
    page = soup(charlie_client.get("/wizard/first/"))
    assert words(page.h1) == "No chat was found yet"
