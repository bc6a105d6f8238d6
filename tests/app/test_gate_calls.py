"""Further questions about an answer: mending what is doubted, and whether the messages bear a memory out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import extraction, gate_counts, memory_file, quality_repair, quality_support
from memories.memory_file import file_for
from memories.models import ExtractionSettings, HeldMemory, Memory
from memories.quality import Doubt
from memories.reset_cost import cost_of_reading
from providers.models import Call
from sync.models import Character
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.gate import WordGate
from tests.support.story import make_character, make_chat

SAID = [
    "Alex signed the papers and took Flux home from the shelter in Harrow.",
    "Flux hid under the stairs for two days.",
    "Alex promised never to run the vacuum cleaner again.",
]
GOOD = "Alex took Flux home from the shelter in Harrow."
VAGUE = "Alex and Flux discussed the vacuum cleaner."
MENDED = "Alex promised Flux never to run the vacuum cleaner again."


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> WordGate:
    return WordGate(monkeypatch, {"discussed": Doubt("meta_narration", 0.9)})


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    flux = make_character(alice)
    make_chat(flux, "first days", SAID)
    return flux


def settings(alice: User, **fields: object) -> None:
    ExtractionSettings.objects.create(user=alice, **fields)


def extract(flux: Character) -> Job:
    job = extraction.start_extraction(flux.tavern.owner, character=flux)
    run_until_idle(flux.tavern.owner)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    return job


def block(*bullets: str) -> str:
    return "<memory>\n" + "\n".join(f"- {one}" for one in bullets) + "\n</memory>"


def bullets(flux: Character) -> dict[str, Memory]:
    return {one.text: one for one in memory_file.memories_of(file_for(flux))}


def log_of(job: Job) -> str:
    return "\n".join(job.events.values_list("text", flat=True))


def purposes(alice: User) -> list[str]:
    return list(Call.objects.for_user(alice).order_by("started_at").values_list("purpose", flat=True))


@pytest.mark.usefixtures("gate")
def test_a_doubted_memory_is_mended_by_asking_once(alice: User, flux: Character, fake: FakeModel) -> None:
    settings(alice, gate={"meta_narration": "repair"})
    fake.answers(block(GOOD, VAGUE), f"1. {MENDED}")
    job = extract(flux)
    assert list(bullets(flux)) == [GOOD, MENDED]
    assert not bullets(flux)[MENDED].is_unverified
    assert bullets(flux)[MENDED].evidence[0]["index"] == 2
    assert purposes(alice) == ["extraction", "checking"]
    assert {one.job_id for one in Call.objects.for_user(alice)} == {job.pk}
    asked = fake.prompts()[1]
    assert f"1. {VAGUE}" in asked
    assert "says that something was discussed" in asked
    assert "#2 Flux: Alex promised never" in asked
    assert GOOD not in asked.partition("MEMORIES WITH A FAULT")[2]
    assert gate_counts.tallies(alice)[0].mended == 1
    assert "1 is right now" in log_of(job)


@pytest.mark.usefixtures("gate")
@pytest.mark.parametrize("answer", ["1. Alex and Flux discussed it again.", "1. NONE", "", "I cannot do that.", "7. x"])
def test_what_cannot_be_mended_is_marked(alice: User, flux: Character, fake: FakeModel, answer: str) -> None:
    settings(alice, gate={"meta_narration": "repair"})
    fake.answers(block(GOOD, VAGUE), answer)
    extract(flux)
    marked = [one for one in bullets(flux).values() if one.is_unverified]
    assert [one.doubts[0]["check"] for one in marked] == ["meta_narration"]
    assert len(bullets(flux)) == 2
    assert len(purposes(alice)) == 2, "asked once, not again and again"


@pytest.mark.usefixtures("gate")
def test_a_failed_call_loses_nothing(alice: User, flux: Character, fake: FakeModel) -> None:
    settings(alice, gate={"meta_narration": "repair"}, checks_with_model=True)
    fake.answers(block(GOOD, VAGUE))
    fake.respond(401, {"error": {"message": "bad key"}}, times=2)
    job = extract(flux)
    assert [(text, one.is_unverified) for text, one in bullets(flux).items()] == [(GOOD, False), (VAGUE, True)]
    assert "kept with their marks" in log_of(job)


@pytest.mark.usefixtures("gate")
def test_a_mended_memory_that_is_known_is_left_out(alice: User, flux: Character, fake: FakeModel) -> None:
    settings(alice, gate={"meta_narration": "repair"})
    fake.answers(block(GOOD, VAGUE), f"1. {GOOD}")
    extract(flux)
    assert list(bullets(flux)) == [GOOD]
    assert gate_counts.tallies(alice)[0].refused == 1


@pytest.mark.usefixtures("gate")
def test_the_second_question_finds_what_words_cannot(alice: User, flux: Character, fake: FakeModel) -> None:
    settings(alice, checks_with_model=True)
    sold = "Alex sold Flux in Harrow."
    fake.answers(block(GOOD, sold, MENDED), "1. yes\n2. No: Alex took Flux home\n3. partly - not to Flux")
    extract(flux)
    found = bullets(flux)
    assert not found[GOOD].is_unverified
    assert found[sold].doubts == [{"check": "unsupported", "detail": "Alex took Flux home"}]
    assert found[MENDED].doubts == [{"check": "unsupported", "detail": "not to Flux"}]
    assert purposes(alice) == ["extraction", "checking"]
    prompt = fake.prompts()[1]
    assert "1. " + GOOD in prompt
    marks = [line.split("]")[0] for line in prompt.splitlines() if line.startswith("[")]
    assert len(set(marks)) == 1 and marks[0][1:] not in "".join(SAID)


@pytest.mark.usefixtures("gate")
def test_what_the_model_does_not_find_may_be_held_back(alice: User, flux: Character, fake: FakeModel) -> None:
    settings(alice, checks_with_model=True, gate={"unsupported": "queue"})
    fake.answers(block(GOOD, MENDED), "1. yes\n2. no")
    extract(flux)
    assert list(bullets(flux)) == [GOOD]
    assert HeldMemory.objects.for_user(alice).get().text == MENDED


def test_the_estimate_knows_of_the_second_question(alice: User, flux: Character) -> None:
    before = cost_of_reading(alice, character=flux)
    settings(alice, checks_with_model=True)
    after = cost_of_reading(alice, character=flux)
    assert (before.calls, after.calls) == (1, 2)
    assert after.tokens_in > before.tokens_in + 300
    assert after.tokens_out > before.tokens_out


@pytest.mark.usefixtures("gate")
def test_nobody_is_asked_when_nothing_is_to_be_asked(alice: User, flux: Character, fake: FakeModel) -> None:
    settings(alice, checks_with_model=True)
    fake.answers("NO_NEW_MEMORIES")
    extract(flux)
    assert purposes(alice) == ["extraction"]


def test_answers_are_read_tolerantly() -> None:
    said = "Sure!\n**1.** Yes\n(2) no — nobody said so\n3) Partly: only the first half\n4: supported\n5. maybe\n2. yes"
    assert quality_support.read(said) == {2: "nobody said so", 3: "only the first half"}
    assert quality_support.read("1. Unsupported.\n2. not supported by the messages") == {
        1: "",
        2: "supported by the messages",
    }
    assert quality_repair.read(
        "1. - Alex stayed.\n2. NONE\n3. none.\n4. [topic — a thing]\n5. I'm sorry, I cannot"
    ) == {1: "Alex stayed."}
