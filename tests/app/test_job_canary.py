"""The canary of the jobs: what was said in a chat, kept in a memory or told to a model, and the key that was shown to
it, stay out of jobs, their events, the ledger, the connection and the log, however the work ends.

The one exception is the answer of a try (memories/try_it.py): a page must show it, to its owner alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.models import Job, JobEvent
from memories import consolidation, conversion, conversion_databank, forgetting, review, try_it
from memories.extraction import start_extraction
from memories.memory_file import file_for
from memories.models import MemoryFile
from memories.try_parts import Trial
from providers import retry
from providers.models import Call, Connection
from sync.models import Character, Chat
from tests.support.builders import make_block, make_chat
from tests.support.consolidating import Merger, completion
from tests.support.databank import make_mara
from tests.support.fake_model import Recorded, Scripted, memory_answer, prompt_of
from tests.support.wire import connect

CANARY = "zephyrmarigold"
KEY = "sk-canary-0123456789abcdef"
NOTES = f"# Notes\n* Mara keeps a {CANARY} in Harrow.\n* Nobody else knows of the {CANARY}.\n"


class Echo(Merger):
    """Answers well, or ends as `how` says, and repeats all that it was told: the question and the key."""

    how = ""

    def next_scripted(self) -> Scripted | str | None:
        asked: Recorded = self.chats[-1]
        prompt = prompt_of(asked.body)
        assert CANARY in prompt
        assert KEY in str(asked.headers)
        line = next(one for one in prompt.splitlines() if CANARY in one)
        echo = f"You said {line!r} with the key {KEY}, in all: {prompt}"
        match self.how:
            case "401" | "400" | "404" | "429" | "500":
                return Scripted(int(self.how), {"error": {"message": echo, "code": line}})
            case "page":
                return Scripted(502, f"<html><title>{line}</title>{echo}</html>")
            case "cut":
                return Scripted(200, completion(f"<memory>\n- [Mara \u2014 {line}]\n- {echo[:90]}", "length"))
            case "error in 200":
                return Scripted(200, {"error": {"message": echo, "type": line}})
            case "no answer":
                return Scripted(200, {"choices": [{"message": {"content": None}, "finish_reason": line}], "said": echo})
            case "not json":
                return Scripted(200, echo, {"Content-Type": "application/json"})
        return super().next_scripted() if "MEMORIES TO PUT IN ORDER" in prompt else memory_answer(prompt)


@pytest.fixture
def fake() -> Iterator[Echo]:
    with Echo() as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "wait", lambda seconds, stop: None)


@pytest.fixture
def mara(bob: User, tmp_path: Path, fake: Echo) -> Character:
    bob.role = "admin"  # whom the model on this machine is open to
    bob.save()
    connect(bob, fake, key=KEY, is_default=True)
    return make_mara(bob, tmp_path / "wren")


@pytest.fixture
def chat(mara: Character) -> Chat:
    return make_chat(mara, [f"The {CANARY} stood on sill number {n}." for n in range(4)])


@pytest.fixture
def file(mara: Character, chat: Chat) -> MemoryFile:
    file = file_for(mara)
    for number in range(3):
        lines = [f"Mara hid a {CANARY} behind door {number}.", f"Mara hid the {CANARY} behind door {number}."]
        place = {"chat": chat, "first_index": number, "last_index": number, "origin": "extracted"}
        make_block(file, f"Night with a {CANARY}", lines, order=number, **place)
    MemoryFile.objects.for_user(file.owner).filter(pk=file.pk).update(version=1)
    file.refresh_from_db()
    return file


def extract(file: MemoryFile, chat: Chat) -> None:
    start_extraction(file.owner, character=file.character)


def consolidate(file: MemoryFile, chat: Chat) -> None:
    consolidation.start_consolidation(file.owner, file, block_ids=[block.pk for block in file.blocks.all()])


def convert(file: MemoryFile, chat: Chat) -> None:
    conversion.start_conversion(file.owner, file, source_name="notes.md", text=NOTES, by="model")


def reformat(file: MemoryFile, chat: Chat) -> None:
    conversion.start_reformat(file.owner, file, block_ids=[block.pk for block in file.blocks.all()])


def try_prompt(file: MemoryFile, chat: Chat) -> None:
    try_it.start(file.owner, trial(file, chat, "extraction"))


def try_merge(file: MemoryFile, chat: Chat) -> None:
    try_it.start(file.owner, trial(file, chat, "consolidation_balanced"))


def write_import(file: MemoryFile, chat: Chat) -> None:
    proposal = conversion.start_conversion(file.owner, file, source_name="notes.md", text=NOTES)
    conversion_databank.save_as(file.owner, proposal, "Other notes")


def compare(file: MemoryFile, chat: Chat) -> None:
    review.schedule(file)


def forget(file: MemoryFile, chat: Chat) -> None:
    assert forgetting.forget(file.owner, chat, with_memories=True) is not None


def trial(file: MemoryFile, chat: Chat, name: str) -> Trial:
    connection = Connection.objects.for_user(file.owner).get()
    return Trial(name, file.character, chat, 0, 3, connection, "")


ASKING = {
    "extract": extract,
    "consolidate": consolidate,
    "convert": convert,
    "reformat": reformat,
    "try_prompt": try_prompt,
    "try_merge": try_merge,
}
ENDINGS = ["", "cut", "400", "401", "404", "429", "500", "page", "error in 200", "no answer", "not json"]
Start = Callable[[MemoryFile, Chat], None]


def told(log: pytest.LogCaptureFixture) -> str:
    """All that the work left behind outside of the tables of memories, without the answers of tries."""
    with unscoped("the canary is looked for"):
        jobs = list(Job.objects.values())
        rows = [*JobEvent.objects.values(), *Call.objects.values(), *Connection.objects.values()]
    for job in jobs:
        job["result"].pop("trial", None)
    return repr([*jobs, *rows]) + log.text


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("kind", ASKING)
def test_neither_words_nor_key_stay_where_a_model_was_asked(
    bob: User, file: MemoryFile, chat: Chat, fake: Echo, caplog: pytest.LogCaptureFixture, kind: str, how: str
) -> None:
    caplog.set_level(1)
    fake.how = how
    ASKING[kind](file, chat)
    run_until_idle(bob)
    assert fake.chats
    assert Call.objects.for_user(bob).exists()
    left = told(caplog)
    assert [left[max(0, at - 300) : at + 60] for at in places(left)] == []


@pytest.mark.parametrize("start", [write_import, compare, forget])
@pytest.mark.parametrize("is_broken", [False, True])
def test_nor_where_no_model_is_asked(
    bob: User,
    file: MemoryFile,
    chat: Chat,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    start: Start,
    is_broken: bool,
) -> None:
    caplog.set_level(1)
    monkeypatch.setattr(forgetting, "AT_ONCE", 2)
    start(file, chat)
    if is_broken:
        for place in ("sync.outbox.write_file", "memories.review.compare", "memories.forgetting.erase"):
            monkeypatch.setattr(place, stumble)
    run_until_idle(bob)
    assert (Job.State.DONE in states(bob)) is not is_broken
    left = told(caplog)
    assert [left[max(0, at - 300) : at + 60] for at in places(left)] == []


def stumble(*args: object, **named: object) -> None:
    raise ValueError(NOTES)


def states(person: User) -> set[str]:
    return set(Job.objects.for_user(person).values_list("state", flat=True))


def places(text: str) -> list[int]:
    return [at for word in (CANARY, KEY) if (at := text.find(word)) >= 0]


@pytest.mark.parametrize("start", [try_prompt, try_merge])
def test_the_answer_of_a_try_is_shown_to_its_owner_alone(
    bob: User, file: MemoryFile, chat: Chat, bob_client: Client, alice_client: Client, start: Start
) -> None:
    start(file, chat)
    run_until_idle(bob)
    job = Job.objects.for_user(bob).get()
    assert CANARY in str(job.result["trial"])
    name = job.params["name"]
    address = f"/settings/prompts/{name}/try/answer/?job={job.pk}"
    assert CANARY in bob_client.get(address).content.decode()
    for path in (address, f"/settings/prompts/{name}/try/?job={job.pk}", f"/jobs/{job.pk}/", "/jobs/", "/"):
        for headers in ({}, {"HX-Request": "true"}):
            assert CANARY not in alice_client.get(path, headers=headers).content.decode()
    assert alice_client.get(f"/jobs/{job.pk}/").status_code == 404
