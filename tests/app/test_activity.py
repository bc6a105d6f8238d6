"""The activity log says every step in words, keeps nothing of a chat unless asked to, and forgets in time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.models import Job, JobEvent
from memories import activity, activity_texts, extraction, forgetting
from memories.models import Activity, ActivityText, ExtractionSettings
from providers import budgets, connecting
from providers.models import Connection
from sync.models import Character, Chat
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat

GOOD = "<memory>\n- [Flux, Alex — adoption day]\n- Alex adopted Flux from the shelter in Harrow.\n</memory>"
KEY = "sk-canary-0123456789abcdef"
CANARY = "Zyxquell"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with(GOOD)
        yield server


@pytest.fixture
def connection(alice: User, fake: FakeModel) -> Connection:
    row = make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    connecting.set_key(row, KEY)
    row.save()
    return row


@pytest.fixture
def chat(alice: User, connection: Connection) -> Chat:
    texts = [f"{CANARY} and Alex went to the shelter in Harrow on day {n}." for n in range(6)]
    return make_chat(make_character(alice), lines=texts)


def read(chat: Chat) -> Job:
    assert chat.character is not None
    owner = chat.character.tavern.owner
    job = extraction.start_extraction(owner, character=chat.character)
    run_until_idle(owner)
    job.refresh_from_db()
    return job


def lines(owner: User) -> list[tuple[str, str]]:
    return list(Activity.objects.for_user(owner).order_by("pk").values_list("step", "text"))


def test_each_step_is_said_in_words(alice: User, chat: Chat) -> None:
    job = read(chat)
    found = dict(lines(alice))
    assert [step for step, _text in lines(alice)] == ["collected", "sent", "answered", "judged", "saved"]
    assert found["collected"] == "Collected 6 messages, #0–5."
    assert found["sent"].startswith("Extraction: sent about ") and "fake-small at Kitchen box" in found["sent"]
    assert found["answered"].startswith("Answered in ")
    assert found["judged"].startswith("The answer holds 1 memory")
    assert found["saved"] == "Saved 1 memory of Flux."
    row = Activity.objects.for_user(alice).get(step="answered")
    assert (row.job, row.chat, row.character) == (job, chat, chat.character)
    assert row.call is not None and row.call.job == job


def test_what_could_not_be_written_is_said_too(alice: User, chat: Chat, fake: FakeModel) -> None:
    fake.answer_with("I'm sorry, I can't help with that.")
    read(chat)
    steps = [step for step, _text in lines(alice)]
    assert steps[-1] == "failed" and "saved" not in steps
    assert "declined" in lines(alice)[-1][1]


def test_a_pause_says_why(alice: User, chat: Chat) -> None:
    Connection.objects.for_user(alice).update(price_in=1000, price_out=1000)
    budgets.set_budget(alice, day_money=0)
    read(chat)
    step, text = lines(alice)[-1]
    assert step == "waits" and "Your limit of 0 ¢ a day would be passed" in text


def test_messages_without_words_are_passed_over(alice: User, connection: Connection) -> None:
    empty = make_chat(make_character(alice), lines=[{"text": ""}, {"text": " "}])
    read(empty)
    assert [step for step, _text in lines(alice)] in ([], ["skipped"])


@pytest.mark.parametrize("answer", [GOOD, "", "no memories here", 500])
def test_no_key_and_no_word_of_a_chat_is_kept_by_default(
    alice: User, chat: Chat, fake: FakeModel, caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.disable(logging.NOTSET)
    if answer == 500:
        fake.respond(
            400, {"error": {"message": f"bad {KEY}: {CANARY} and Alex went to the shelter in Harrow"}}, times=9
        )
    else:
        fake.answer_with(answer)
    read(chat)
    with unscoped("looking for canaries"):
        kept = [*Activity.objects.values_list("text", flat=True), *JobEvent.objects.values_list("text", flat=True)]
        kept += [*Job.objects.values_list("error", flat=True), *Job.objects.values_list("doing", flat=True)]
        assert not ActivityText.objects.exists()
    said = "\n".join([*kept, caplog.text])
    assert kept and CANARY not in said and KEY not in said


def test_verbose_keeps_prompt_and_answer_for_so_many_days(alice: User, chat: Chat, alice_client: Client) -> None:
    alice_client.post("/activity/verbose/", {"on": "1", "days": "3"})
    read(chat)
    line = Activity.objects.for_user(alice).get(step="answered")
    row = ActivityText.objects.for_user(alice).get()
    full = activity_texts.unpack(row)
    assert row.activity == line and CANARY in full.user and full.answer == GOOD
    assert abs(row.expires_at - timezone.now() - timedelta(days=3)) < timedelta(minutes=1)
    page = soup(alice_client.get("/activity/"))
    link = page.find("a", string="Show what was sent")
    assert link is not None and CANARY in words(soup(alice_client.get(str(link["href"]))))
    assert CANARY not in words(page)
    activity_texts.purge()
    assert ActivityText.objects.for_user(alice).exists()
    ActivityText.objects.for_user(alice).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert alice_client.get(str(link["href"])).status_code == 404
    activity_texts.purge()
    assert not ActivityText.objects.for_user(alice).exists()
    assert Activity.objects.for_user(alice).exists()


def test_the_file_holds_texts_only_when_asked(alice: User, chat: Chat, alice_client: Client) -> None:
    ExtractionSettings.objects.create(user=alice, is_verbose=True)
    read(chat)

    def file(query: str) -> str:
        return b"".join(alice_client.get(f"/activity/download/{query}").streaming_content).decode()  # type: ignore[attr-defined]

    assert "Saved 1 memory of Flux." in file("") and CANARY not in file("")
    assert CANARY in file("?full=1") and GOOD in file("?full=1")
    assert file("?level=bad") == ""


@pytest.mark.parametrize("with_memories", [False, True])
def test_forgetting_a_chat_forgets_its_prompts(alice: User, chat: Chat, with_memories: bool) -> None:
    ExtractionSettings.objects.create(user=alice, is_verbose=True)
    read(chat)
    assert chat.character is not None
    other = make_chat(chat.character, "second", ["Flux likes rain.", "So do I."])
    read(other)
    assert ActivityText.objects.for_user(alice).count() == 2
    forgetting.forget(alice, chat, with_memories=with_memories)
    left = list(ActivityText.objects.for_user(alice).values_list("activity__chat", flat=True))
    assert left == ([] if with_memories else [other.pk])


def test_a_chat_forgotten_during_the_call_leaves_no_text(
    alice: User, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    ExtractionSettings.objects.create(user=alice, is_verbose=True)
    ask = activity.models.complete

    def meanwhile(*args: Any, **fields: Any) -> Any:
        done = ask(*args, **fields)
        forgetting.forget(alice, chat)
        return done

    monkeypatch.setattr(activity.models, "complete", meanwhile)
    read(chat)
    assert Activity.objects.for_user(alice).filter(step="answered").exists()
    assert not ActivityText.objects.for_user(alice).exists()


def test_an_account_takes_its_log_along(alice: User, bob: User) -> None:
    line = activity.note(bob, "began", "Began to read.")
    ActivityText.objects.create(activity=line, data=activity_texts.pack(activity_texts.Full()), expires_at=line.at)
    bob.delete()
    with unscoped("counting what is left"):
        assert not Activity.objects.exists() and not ActivityText.objects.exists()


def test_old_lines_and_too_many_lines_go(alice: User, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity_texts, "MOST_LINES", 5)
    old = activity.note(alice, "began", "old", at=timezone.now() - timedelta(days=31))
    for n in range(7):
        activity.note(alice, "began", f"line {n}")
    activity.note(bob, "began", "his")
    activity_texts.purge()
    assert [text for _step, text in lines(alice)] == [f"line {n}" for n in range(2, 7)]
    assert lines(bob) == [("began", "his")] and not Activity.objects.for_user(alice).filter(pk=old.pk).exists()


def test_filters(alice: User, bob: User, chat: Chat, alice_client: Client) -> None:
    job = read(chat)
    other = make_character(alice, "Nyx")
    activity.note(alice, "waits", "Nyx waits: 14 of 20 messages.", level="warn", character=other)
    activity.note(bob, "waits", "Bob's own line.")
    theirs = make_character(bob, "Secret")

    def shown(query: str) -> str:
        return words(soup(alice_client.get(f"/activity/?{query}")))

    assert "Nyx waits" in shown("") and "Bob's own line" not in shown("")
    assert "Collected" not in shown("level=warn").split("Prompts and answers")[0].split("Lines")[1]
    assert "Nyx waits" not in shown("step=saved") and "Saved 1 memory of Flux" in shown("step=saved")
    assert "Nyx waits" in shown(f"character={other.pk}") and "Saved 1" not in shown(f"character={other.pk}")
    assert "Saved 1" in shown(f"chat={chat.pk}") and "Saved 1" in shown(f"job={job.pk}")
    assert "Nyx waits" in shown("q=14+OF") and "Saved 1" not in shown("q=14+OF")
    assert "No line fits" in shown(f"character={theirs.pk}") and "Secret" not in shown(f"character={theirs.pk}")
    assert "Nyx waits" in shown("character=nonsense&level=nonsense&page=99")


def test_the_page_looks_again_and_hears_nothing_while_nothing_happens(alice: User, alice_client: Client) -> None:
    activity.note(alice, "began", "Began to read.")
    first = soup(alice_client.get("/activity/live/")).find(id="activity-live")
    assert first is not None and first["hx-trigger"] == "every 10s"
    again = str(first["hx-get"])
    assert alice_client.get(again).status_code == 204
    activity.note(alice, "ended", "Done.")
    assert "Done." in words(soup(alice_client.get(again)))


def test_the_drawer_beside_other_pages(alice: User, alice_client: Client) -> None:
    flux = make_character(alice)
    activity.note(alice, "began", "Began to read.", character=flux)
    drawer = alice_client.get(f"/activity/?character={flux.pk}", headers={"HX-Request": "true"})
    assert drawer.content.decode().lstrip().startswith('<div class="drawer-head">')
    assert "Began to read." in words(soup(drawer)) and "Flux" in words(soup(drawer))


def test_a_jobs_page_leads_to_its_lines(alice: User, chat: Chat, alice_client: Client) -> None:
    job = read(chat)
    page = soup(alice_client.get(f"/jobs/{job.pk}/"))
    assert page.find("a", href=f"/activity/?job={job.pk}") is not None
    assert "Saved 1 memory of Flux." in words(page)


def test_nobody_reads_anothers_texts(alice: User, bob: User, bob_client: Client) -> None:
    line = activity.note(alice, "answered", "Answered.")
    full = activity_texts.Full("", "secret")
    ActivityText.objects.create(
        activity=line, data=activity_texts.pack(full), expires_at=timezone.now() + timedelta(days=1)
    )
    assert bob_client.get(f"/activity/{line.pk}/").status_code == 404
    bob_client.post("/activity/erase/")
    assert ActivityText.objects.for_user(alice).exists()


def test_lines_of_a_chunk_cost_one_insert(alice: User, chat: Chat, django_assert_max_num_queries: Any) -> None:
    character = Character.objects.for_user(alice).get()
    with unscoped("lines as a job writes them"):
        job = Job.objects.create(owner=alice, kind="extract", subject=f"character:{character.pk}")
        trace = activity.Trace(type("Run", (), {"job": job, "owner": alice})())  # type: ignore[arg-type]
        for n in range(5):
            trace.line("began", f"line {n}")
        with django_assert_max_num_queries(1):
            trace.keep()
    assert len(lines(alice)) == 5
