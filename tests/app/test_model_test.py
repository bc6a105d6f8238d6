"""Test a model: green only for a memory that the real reader finds, amber for anything else that it says, and for
every trouble what to do about it, over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.enqueue import request_cancel
from jobs.models import Job
from providers import connecting, discover, limits, test_jobs, trouble_hints
from providers import test_connection as testing
from providers.catalogue import PRESETS, LocalPort
from providers.connecting import Wish
from providers.models import Call, Connection
from providers.verdict import Verdict
from tests.support.fake_model import FakeModel
from tests.support.native import NATIVE
from tests.support.pages import soup, words
from tests.support.raw_server import RawServer, silent
from tests.support.services import free_port
from tests.support.waiting import wait_until
from tests.support.wire import connect, redirect_preset

pytestmark = pytest.mark.django_db
MODELS = "/settings/models/"
GOOD = "<memory>\n- [Mira, Tom — a promise]\n- Tom promised to look after Biscuit until the roof is tight.\n</memory>"
OPENAI = NATIVE["openai"]


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def box(alice: User, fake: FakeModel) -> Connection:
    return connect(alice, fake, key="key-of-the-box-1234")


@pytest.fixture(autouse=True)
def nothing_else_answers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble_hints.hint, "__defaults__", ((LocalPort("Ollama", free_port()),),))


def rows(verdict: Verdict) -> dict[str, str]:
    return {step.name: step.state for step in verdict.steps}


def hosted(person: User, monkeypatch: pytest.MonkeyPatch, fake: FakeModel, preset: str, **fields: Any) -> Connection:
    """A connection to a hosted provider whose server is the fake one."""
    redirect_preset(monkeypatch, preset, fake.root_url)
    return connect(person, fake, key="key-of-alice-0123456789", preset=preset, name="Cloud", **fields)


def test_green_is_a_memory_of_what_the_lines_say(box: Connection, fake: FakeModel) -> None:
    fake.answers(GOOD)
    verdict = testing.test_connection(box)
    assert (verdict.state, verdict.message) == ("ok", "Kitchen box works.")
    assert rows(verdict) == {"reached": "ok", "key": "ok", "answer": "ok", "memory": "ok"}
    assert verdict.quote == "Tom promised to look after Biscuit until the roof is tight."
    [asked] = fake.prompts()
    assert "You keep the long-term memory of a role-play character" in asked and "NO_NEW_MEMORIES" in asked
    assert "#1 Tom: Then I promise to look after your dog Biscuit" in asked
    with unscoped("the ledger"):
        call = Call.objects.get()
    assert (call.purpose, call.prompt_tokens) == ("test", verdict.tokens_in) and verdict.tokens_out > 10
    assert float(verdict.cost) == 0, "a server of one's own"


@pytest.mark.parametrize(
    ("said", "row", "hint"),
    [
        ("Mira bought the old lighthouse on Skerry Island, and Tom promised much.", "not in the form", "Small models"),
        ("CHARMEM-READY", "not in the form of a memory", "Small models"),
        ("NO_NEW_MEMORIES", "found nothing", "There was something to remember."),
        ("<memory>\n- [Orla, Pim — a clock]\n- Pim kept a cat in Paris.\n</memory>", "not what the lines say", "mixes"),
        ("I'm sorry, but I can't continue with this.", "declined", "does not refuse stories"),
        ("<memory>\n- [topic]\n- fact\n</memory>", "not in the form of a memory", "Small models"),
    ],
)
def test_amber_is_anything_else_that_it_says(box: Connection, fake: FakeModel, said: str, row: str, hint: str) -> None:
    fake.answers(said)
    verdict = testing.test_connection(box)
    assert (verdict.state, verdict.message) == ("warn", "Kitchen box answers, but not as asked.")
    assert rows(verdict) == {"reached": "ok", "key": "ok", "answer": "ok", "memory": "warn"}
    assert row in verdict.steps[3].text and hint in verdict.hint and verdict.ok
    assert len(fake.chats) == 1, "an answer is not asked for twice"


def test_what_was_thought_is_no_memory(box: Connection, fake: FakeModel) -> None:
    fake.answers(f"<think>{GOOD}</think>The roof is tight.")
    assert testing.test_connection(box).state == "warn"
    fake.respond(200, OPENAI.answer("Fine.", thought=GOOD))
    verdict = testing.test_connection(box)
    assert verdict.state == "warn" and "Biscuit" not in verdict.quote


def test_a_model_that_thinks_long_gets_more_room_once(box: Connection, fake: FakeModel) -> None:
    fake.respond(200, OPENAI.only_thought)
    fake.answers(GOOD)
    verdict = testing.test_connection(box)
    first, second = [request.body["max_tokens"] for request in fake.chats]
    assert verdict.state == "ok" and second >= 2 * first >= 1000
    fake.respond(200, OPENAI.answer("<memory>\n- [Mira, Tom", "length"))
    fake.answers(GOOD)
    assert testing.test_connection(box).state == "ok" and len(fake.chats) == 4


def test_when_even_that_is_not_enough_the_hint_names_the_length(box: Connection, fake: FakeModel) -> None:
    fake.respond(200, OPENAI.only_thought, times=2)
    verdict = testing.test_connection(box)
    assert verdict.message == "The model used its whole answer for thinking and wrote nothing down."
    assert verdict.hint.startswith("Raise the length of an answer: Settings, Extraction.")
    assert rows(verdict) == {"reached": "ok", "key": "ok", "answer": "bad", "memory": "off"}
    fake.respond(200, OPENAI.answer("<memory>\n- [Mira, Tom", "length"), times=2)
    cut = testing.test_connection(box)
    assert cut.state == "warn" and cut.hint.startswith("Raise the length of an answer"), "empty with finish=length"


def test_a_wrong_key(alice: User) -> None:
    with FakeModel(key="right-key") as fake:
        verdict = testing.test_connection(connect(alice, fake, key="wrong-key-12345"))
    assert verdict.message == "Kitchen box does not accept the key. It said: Incorrect API key provided."
    assert verdict.hint == "Enter the key again: Settings, Models."
    assert rows(verdict) == {"reached": "ok", "key": "bad", "answer": "off", "memory": "off"}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (402, "Insufficient credits. Add more using the settings page"),
        (400, "Your credit balance is too low to access the Anthropic API."),
        (403, "Your team has either used all available credits or reached its monthly spending limit."),
    ],
)
def test_no_credit(box: Connection, fake: FakeModel, status: int, said: str) -> None:
    fake.respond(status, {"error": {"message": said}})
    verdict = testing.test_connection(box)
    assert verdict.message.startswith("Kitchen box wants to be paid first.")
    assert verdict.hint == "Add credit at the provider, or choose another model."
    assert verdict.steps[1].text == "no credit"


def test_a_model_that_is_not_known_brings_the_nearest_names(
    alice: User, alice_client: Client, box: Connection, fake: FakeModel
) -> None:
    fake.models = ("qwen3:8b", "qwen3:14b", "gemma3:12b")
    connecting.choose_model(box, "qwen3-8b")
    fake.respond(404, {"error": {"message": 'model "qwen3-8b" not found, try pulling it first'}})
    verdict = testing.test_connection(box)
    assert verdict.names[0] == "qwen3:8b" and "gemma3:12b" not in verdict.names
    assert verdict.hint == "The list does not have qwen3-8b."
    page = soup(alice_client.get(f"{MODELS}{box.pk}/"))
    form = page.select_one("#test form")
    assert [one["value"] for one in form.select("button")] == verdict.names
    alice_client.post(form["action"], {"model": verdict.names[0]})
    box.refresh_from_db()
    assert box.model == "qwen3:8b"


def test_nvidia_wants_its_terms_accepted(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.models = ("meta/llama-3.3-70b-instruct",)
    row = hosted(alice, monkeypatch, fake, "nvidia", model="meta/llama-3.3-70b-instruct")
    fake.respond(404, "Not Found", headers={"Content-Type": "text/plain"})
    verdict = testing.test_connection(row)
    assert verdict.hint == "Accept the model’s terms at build.nvidia.com, or choose another model."
    assert verdict.names == []


def test_a_web_page_comes_from_a_gateway(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    row = hosted(alice, monkeypatch, fake, "openrouter", model="fake-small")
    for status in (200, 502):
        fake.respond(status, "<!doctype html><html><head><title>502 Bad Gateway</title></head></html>")
        verdict = testing.test_connection(row)
        assert verdict.state == "bad" and "gateway" in verdict.hint.lower() and verdict.ok is False


def test_nothing_listens_there_and_who_does(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    box = connecting.add_connection(alice, Wish("local", "Box", f"http://127.0.0.1:{free_port()}/v1", model="m"))
    verdict = testing.test_connection(box)
    assert verdict.message.startswith("Nothing answers at 127.0.0.1:")
    assert verdict.hint.startswith("Is the server running, and is it listening on this address? Usual ports: Ollama ")
    assert rows(verdict) == {"reached": "bad", "key": "off", "answer": "off", "memory": "off"}
    monkeypatch.setattr(trouble_hints.hint, "__defaults__", ((LocalPort("LM Studio", fake.port),),))
    assert f"LM Studio answers at {fake.base_url}." in testing.test_connection(box).hint


def test_in_a_container_this_computer_is_another_one(
    alice: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    port = free_port()
    box = connecting.add_connection(alice, Wish("local", "Box", f"http://127.0.0.1:{port}/v1", model="m"))
    mark = tmp_path / ".dockerenv"
    monkeypatch.setattr(discover, "CONTAINER_MARKS", (str(mark),))
    assert "container" not in testing.test_connection(box).hint
    mark.touch()
    assert f"try http://host.docker.internal:{port}/v1." in testing.test_connection(box).hint


def test_in_a_container_the_computer_around_it_is_asked_too(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    ports = (LocalPort("Ollama", fake.port),)
    monkeypatch.setattr(discover, "HOST_OF_CONTAINER", "localhost")
    monkeypatch.setattr(discover, "CONTAINER_MARKS", (str(tmp_path),))
    found = [one.base_url for one in discover.discover_local(alice, ports)]
    assert found == [fake.base_url, f"http://localhost:{fake.port}/v1"]


def test_a_usual_port_is_named(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setattr(trouble_hints.hint, "__defaults__", ((LocalPort("KoboldCpp", port),),))
    box = connecting.add_connection(alice, Wish("local", "Box", f"http://127.0.0.1:{port}/v1", model="m"))
    assert "This is the usual port of KoboldCpp." in testing.test_connection(box).hint


def test_https_to_a_server_that_speaks_http(alice: User, fake: FakeModel) -> None:
    url = fake.base_url.replace("http://", "https://")
    verdict = testing.test_connection(connecting.add_connection(alice, Wish("local", "Box", url, model="m")))
    assert verdict.message.startswith("No secure connection to 127.0.0.1:")
    assert "Is it an https address? A server in the local network usually speaks http." in verdict.hint


def test_silence_ends_by_the_clock(box: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "MOST_SECONDS", 0.5)
    with RawServer(silent) as hanging:
        box.base_url = hanging.url
        box.save()
        verdict = testing.test_connection(box)
        assert verdict.message == "Kitchen box did not answer within 0 seconds."
        assert verdict.hint == "The model may still be loading; try again in a minute."
        box.max_parallel = 1
        box.save()
        with limits.slot(box):
            monkeypatch.setattr(connecting, "refresh_listing", lambda *_args: ["m"])
            assert "places are taken by other work" in testing.test_connection(box).hint


def test_a_model_is_chosen_where_the_server_is_ones_own(
    alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.models = ("nomic-embed-text:latest", "qwen3:8b")
    box = connect(alice, fake, model="")
    assert testing.test_connection(box).ok
    box.refresh_from_db()
    assert box.model == "qwen3:8b"
    cloud = hosted(alice, monkeypatch, fake, "nanogpt", model="")
    verdict = testing.test_connection(cloud)
    assert verdict.message == "No model is chosen for Cloud." and len(fake.chats) == 1
    assert rows(verdict)["reached"] == "ok", "hundreds are offered: which one is the person's choice"


def test_the_page_waits_for_nobody(alice: User, alice_client: Client, box: Connection, fake: FakeModel) -> None:
    page = alice_client.post(f"{MODELS}{box.pk}/test", follow=True)
    part = soup(page).select_one("#test-part")
    assert "waits for its turn" in words(part) and fake.requests == []
    look = part["hx-get"]
    assert alice_client.get(look).status_code == 204
    alice_client.post(f"{MODELS}{box.pk}/test")
    assert Job.objects.for_user(alice).filter(kind=test_jobs.KIND).count() == 1, "a second press starts nothing"
    run_until_idle(alice)
    done = soup(alice_client.get(look))
    assert done.select_one("#test-part").get("hx-get") is None and words(done.select_one("h2")) == "Kitchen box works."
    assert words(done.select_one("#connection-h")) == "Kitchen box works"
    assert "tokens in" in words(done.select_one(".test-steps")) and "free" in words(done.select_one(".test-steps"))
    plain = soup(alice_client.get(f"{MODELS}{box.pk}/"))
    assert words(plain.select_one("#test h2")) == "Kitchen box works.", "the same without JavaScript"


def test_a_test_that_changed_the_address_loads_the_page_again(
    alice: User, alice_client: Client, fake: FakeModel
) -> None:
    given = {"name": "Box", "base_url": fake.root_url, "max_parallel": "8"}
    page = alice_client.post(f"{MODELS}new/local/", given, follow=True)
    look = soup(page).select_one("#test-part")["hx-get"]
    run_until_idle(alice)
    assert alice_client.get(look).headers["HX-Refresh"] == "true"
    assert Connection.objects.for_user(alice).get().base_url == fake.base_url


def test_a_result_about_something_else_is_not_kept(alice: User, box: Connection, fake: FakeModel) -> None:
    same = Connection.objects.for_user(alice).get(pk=box.pk)
    connecting.choose_model(same, "fake-large")
    assert testing.test_connection(box).ok
    same.refresh_from_db()
    assert (same.model, same.tested_at, same.test_result) == ("fake-large", None, {})


@pytest.mark.django_db(transaction=True)
def test_a_test_can_be_stopped(alice: User, box: Connection) -> None:
    with RawServer(silent) as hanging:
        box.base_url = hanging.url
        box.save()
        job = test_jobs.start(box)
        worker = threading.Thread(target=run_until_idle)
        with unscoped("the worker's part of the story"):
            worker.start()
            wait_until(lambda: hanging.connections > 0)
            request_cancel(job)
            worker.join(20)
    job.refresh_from_db()
    box.refresh_from_db()
    assert job.state == Job.State.CANCELLED and box.tested_at is None


def test_a_test_of_a_connection_that_went_away(alice: User, box: Connection) -> None:
    job = test_jobs.start(box)
    connecting.delete_connection(box)
    run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.FAILED, "This connection was removed.")


def test_what_answers_here_is_used_with_one_click(
    alice: User, alice_client: Client, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.models = ("nomic-embed-text", "qwen3:8b")
    monkeypatch.setattr(discover.discover_local, "__defaults__", ((LocalPort("Ollama", fake.port),),))
    form = soup(alice_client.get(f"{MODELS}new/")).select_one(".mini-list form")
    alice_client.post(form["action"], {one["name"]: one.get("value", "") for one in form.select("input")})
    run_until_idle(alice)
    row = Connection.objects.for_user(alice).get()
    assert (row.name, row.model, row.test_result["state"]) == ("Ollama", "qwen3:8b", "ok")
    gone = alice_client.post(form["action"], {"base_url": "http://127.0.0.1:1/v1"}, follow=True)
    assert "Nothing answers there any more." in words(soup(gone))


def test_a_stranger_sees_no_test_of_others(box: Connection, charlie_client: Client) -> None:
    assert charlie_client.get(f"{MODELS}{box.pk}/tested").status_code == 404


def test_every_preset_with_a_key_has_a_page_for_it() -> None:
    assert [row.key for row in PRESETS.values() if row.key_use == "required" and not row.key_page] == []
