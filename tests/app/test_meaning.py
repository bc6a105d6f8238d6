"""Vectors of memories: made in the background, a second opinion beside the words, and never needed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import editing, extraction, meaning, meaning_job, memory_file, review
from memories.meaning_space import packed
from memories.models import ExtractionSettings, Memory, MemoryFile, MemoryVector, ReviewPair
from providers import assigning, limits
from providers.base import ProviderError
from providers.embedding import embedder_for
from providers.models import Call, Connection, NetworkRule
from sync.models import Character, Chat
from tests.support import services, story
from tests.support.builders import make_character, make_connection, make_memory_file, make_tavern
from tests.support.fake_model import FakeModel, vector
from tests.support.pages import soup, words

pytestmark = pytest.mark.django_db
FEAR, DREAD = "Tomas fears deep water.", "The sea is what frightens Tomas most."
SEA = "What lies beyond the harbour wall keeps him awake."
OTHERS = [
    "Lena bakes bread for the whole lane on Sundays.",
    "A red kite hangs in the attic window.",
    "Joel sold his father's violin to a tinker.",
    "Ash sleeps badly since the long siege.",
    "Petra keeps the mill's old key.",
    "Nadia wrote eleven letters to her brother.",
    "The bridge at Harrow fell in the spring flood.",
    "Kenji carved an owl out of plum wood.",
]


@pytest.fixture(autouse=True)
def rested() -> None:
    meaning._resting.clear()


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.means[DREAD] = FEAR
        yield server


@pytest.fixture
def local(alice: User, fake: FakeModel) -> Connection:
    return make_connection(alice, name="Kitchen", preset="local", base_url=fake.base_url)


@pytest.fixture
def tomas(alice: User) -> Character:
    return make_character(make_tavern(alice), "Tomas")


def write(character: Character, *texts: str) -> MemoryFile:
    file = memory_file.file_for(character)
    with memory_file.change(file, reason="test", author=file.owner) as editor:
        editor.add_block("Scene", ["[Tomas — a talk]", *texts], date="2026-01-01 10:00", origin="extracted")
    return file


def measure(person: User, connection: Connection | None = None, model: str = "bge-m3") -> Job | None:
    """Choose, where a connection is named; then what the clock and a worker do."""
    if connection is not None:
        assigning.choose_embedder(person, connection, model)
    meaning_job.sweep()
    run_until_idle(person)
    return Job.objects.for_user(person).filter(kind=meaning_job.KIND).order_by("-created_at").first()


def memory(person: User, text: str) -> Memory:
    return Memory.objects.for_user(person).select_related("block__file").get(text=text)


def vectors(person: User) -> dict[str, MemoryVector]:
    rows = MemoryVector.objects.for_user(person).select_related("memory")
    return {row.memory.text: row for row in rows}


def open_pairs(person: User) -> list[tuple[str, str]]:
    rows = ReviewPair.objects.for_user(person).filter(decision="")
    return [(row.kind, row.reason) for row in rows.order_by("kind")]


def test_nothing_is_measured_until_somebody_was_chosen_for_it(alice: User, tomas: Character, fake: FakeModel) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url)
    file = write(tomas, FEAR, *OTHERS)
    assert measure(alice) is None and fake.requests == [] and vectors(alice) == {}
    assert meaning.nearest(alice, file, "the sea", 3) == []


def test_memories_are_measured_in_the_background_once(
    alice: User, tomas: Character, local: Connection, fake: FakeModel
) -> None:
    write(tomas, FEAR, *OTHERS)
    job = measure(alice, local)
    assert job is not None and job.state == Job.State.DONE and job.step == 1
    found = vectors(alice)
    assert set(found) == {FEAR, *OTHERS}, "topics are not memories"
    row = found[FEAR]
    by = embedder_for(alice)
    assert by is not None and row.model == by.name and bytes(row.data) == packed(vector(FEAR))
    call = Call.objects.for_user(alice).get()
    assert (call.purpose, call.job_id, call.is_automatic) == ("embeddings", job.pk, True)
    asked = len(fake.requests)
    assert measure(alice) == job and len(fake.requests) == asked


def test_new_and_reworded_ones_are_measured_and_no_others(
    alice: User, tomas: Character, local: Connection, fake: FakeModel
) -> None:
    write(tomas, FEAR, *OTHERS)
    measure(alice, local)
    fake.requests.clear()
    editing.edit_memory(alice, memory(alice, FEAR), "Tomas has made his peace with the sea.")
    write(tomas, "Tomas bought a boat.")
    Memory.objects.for_user(alice).filter(text=OTHERS[0]).update(is_locked=True, updated_at=timezone.now())
    measure(alice)
    assert sorted(fake.embedded) == ["Tomas bought a boat.", "Tomas has made his peace with the sea."]
    assert FEAR not in vectors(alice)


def test_a_deleted_memory_takes_its_vector_along(alice: User, tomas: Character, local: Connection) -> None:
    write(tomas, FEAR, *OTHERS)
    measure(alice, local)
    editing.delete_memory(alice, memory(alice, FEAR))
    assert set(vectors(alice)) == set(OTHERS)
    tomas.delete()
    assert vectors(alice) == {}


def test_another_model_measures_all_anew_and_nobody_leaves_none(
    alice: User, tomas: Character, local: Connection, fake: FakeModel
) -> None:
    file = write(tomas, FEAR, DREAD, *OTHERS)
    measure(alice, local)
    assert open_pairs(alice) == [("duplicate", "meaning")]
    assigning.choose_embedder(alice, local, "nomic-embed-text")
    assert meaning.nearest(alice, file, "the sea", 3) == [], "vectors of two models are never compared"
    measure(alice)
    by = embedder_for(alice)
    assert by is not None and {row.model for row in vectors(alice).values()} == {by.name}
    assigning.choose_embedder(alice, None)
    measure(alice)
    assert vectors(alice) == {} and open_pairs(alice) == []


def test_a_removed_connection_leaves_no_vectors(alice: User, tomas: Character, local: Connection) -> None:
    write(tomas, FEAR, *OTHERS)
    measure(alice, local)
    local.delete()
    measure(alice)
    assert vectors(alice) == {}


def test_two_that_say_the_same_in_other_words_wait_in_the_queue(
    alice: User, alice_client: Client, tomas: Character, local: Connection
) -> None:
    file = write(tomas, FEAR, DREAD, *OTHERS)
    review.compare(file)
    assert open_pairs(alice) == [], "words alone do not see it"
    measure(alice, local)
    page = soup(alice_client.get(f"/characters/{tomas.pk}/review/duplicates/"))
    assert [words(one) for one in page.select(".review-side .memory-text")] == [FEAR, DREAD]
    assert "the same in other words" in words(page.select_one(".review-why"))
    file.refresh_from_db()
    Memory.objects.for_user(alice).filter(text=FEAR).update(updated_at=timezone.now())
    review.compare(file)
    assert open_pairs(alice) == [("duplicate", "meaning")], "comparing words says nothing against it"
    editing.edit_memory(alice, memory(alice, DREAD), "Tomas bought a boat.")
    file.refresh_from_db()
    review.compare(file)
    assert open_pairs(alice) == []


def test_a_decision_about_such_a_pair_lasts(
    alice: User, alice_client: Client, tomas: Character, local: Connection
) -> None:
    write(tomas, FEAR, DREAD, *OTHERS)
    measure(alice, local)
    pair = ReviewPair.objects.for_user(alice).get()
    alice_client.post(f"/pairs/{pair.pk}/decide/", {"decision": "both", "text": ""})
    measure(alice, local, "nomic-embed-text")
    assert open_pairs(alice) == []


def test_what_words_found_is_told_once(alice: User, tomas: Character, local: Connection, fake: FakeModel) -> None:
    older, newer = "Tomas lives in the city with his aunt.", "Tomas moved to the coast after the flood."
    twice = "Only wardens may carry the brass lamp at night.", "Only wardens may carry the brass lamp by night."
    fake.means[newer], fake.means[twice[1]] = older, twice[0]
    file = write(tomas, older, newer, *twice, *OTHERS)
    review.compare(file)
    before = open_pairs(alice)
    measure(alice, local)
    assert open_pairs(alice) == before == [("duplicate", "alike"), ("superseded", "home")]


def test_a_server_that_fails_costs_nothing_but_time(
    alice: User, tomas: Character, local: Connection, fake: FakeModel
) -> None:
    fake.embeds_with = 401
    file = write(tomas, FEAR, DREAD, *OTHERS)
    job = measure(alice, local)
    assert job is not None and job.state == Job.State.PAUSED and job.not_before is not None
    assert "words alone are compared; nothing is lost" in job.doing
    assert measure(alice) == job, "nobody starts a second one"
    assert review.compare(file) == len(OTHERS) + 2
    fake.embeds_with = 200
    measure(alice, local)
    assert len(vectors(alice)) == len(OTHERS) + 2, "choosing again ends the wait"


def test_a_memory_that_goes_meanwhile_leaves_no_vector(
    alice: User, tomas: Character, local: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tomas, FEAR, *OTHERS)
    real = meaning_job.embed

    def slow(*args: Any, **options: Any) -> Any:
        found = real(*args, **options)
        Memory.objects.for_user(alice).filter(text=FEAR).delete()
        Memory.objects.for_user(alice).filter(text=OTHERS[0]).update(text="Reworded.", updated_at=timezone.now())
        return found

    with monkeypatch.context() as patch:
        patch.setattr(meaning_job, "embed", slow)
        measure(alice, local)
    measure(alice)
    assert set(vectors(alice)) == {"Reworded.", *OTHERS[1:]}


def test_everybody_has_vectors_of_their_own(
    alice: User, bob: User, tomas: Character, local: Connection, fake: FakeModel
) -> None:
    file = write(tomas, FEAR, *OTHERS)
    measure(alice, local)
    NetworkRule.objects.create(network="127.0.0.0/8", person=bob)
    theirs = make_connection(bob, preset="local", base_url=fake.base_url)
    his = make_memory_file(make_character(make_tavern(bob), "Lena"), [("A day", ["Lena fears the dark."])])
    measure(bob, theirs)
    assert set(vectors(bob)) == {"Lena fears the dark."}
    assert meaning.nearest(bob, file, FEAR, 5) == [] == meaning.nearest(alice, his, FEAR, 5)
    assigning.choose_embedder(alice, None)
    measure(alice)
    assert vectors(alice) == {} and set(vectors(bob)) == {"Lena fears the dark."}


def test_the_nearest_memories_of_a_question(alice: User, tomas: Character, local: Connection, fake: FakeModel) -> None:
    file = write(tomas, FEAR, DREAD, *OTHERS)
    measure(alice, local)
    found = meaning.nearest(alice, file, FEAR, 3)
    assert [memory(alice, FEAR).pk, memory(alice, DREAD).pk] == sorted(
        (one.memory for one in found[:2]), key=lambda pk: pk == memory(alice, DREAD).pk
    )
    assert len(found) == 3 and found[0].score > 0.99 > found[2].score
    assert meaning.nearest(alice, file, "  ", 3) == []


def test_a_busy_model_is_not_waited_for(
    alice: User, tomas: Character, local: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tomas, FEAR, *OTHERS)
    measure(alice, local)
    Connection.objects.for_user(alice).update(max_parallel=1)
    local.refresh_from_db()
    by = embedder_for(alice)
    assert by is not None
    monkeypatch.setattr(meaning, "PATIENCE", 0.2)
    with limits.slot(by.connection), pytest.raises(ProviderError):
        local.slots.update(expires_at=timezone.now() + timedelta(hours=1))
        meaning.nearest(alice, file, FEAR, 3)


@pytest.fixture
def flux(alice: User, local: Connection, fake: FakeModel) -> Character:
    """A character with far more memories than a prompt holds."""
    fake.means |= {f"Flux: {FEAR}": FEAR, SEA: FEAR}
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    Connection.objects.for_user(alice).update(context_tokens=8200, model="fake-small")
    found = story.make_character(alice)
    plain = [f"Nothing particular happened in the yard on day {n}, and everybody slept well." for n in range(600)]
    plain[5] = SEA
    write(found, *plain)
    return found


def asked(character: Character, fake: FakeModel) -> str:
    """The prompt about a chat in which somebody speaks of deep water."""
    fake.requests.clear()
    chat = story.make_chat(character, f"chat {Chat.objects.for_user(character.tavern.owner).count()}", [FEAR])
    extraction.start_extraction(character.tavern.owner, character=character, chat=chat)
    run_until_idle(character.tavern.owner)
    return fake.prompts()[0]


def test_a_prompt_shows_what_means_the_same(alice: User, flux: Character, local: Connection, fake: FakeModel) -> None:
    measure(alice, local)
    assert SEA in asked(flux, fake)
    assert [request.path for request in fake.requests][:2] == ["/v1/embeddings", "/v1/chat/completions"]


def test_a_prompt_without_vectors_or_with_a_server_that_fails_is_as_ever(
    alice: User, flux: Character, local: Connection, fake: FakeModel
) -> None:
    assert SEA not in asked(flux, fake) and fake.embedded == []
    measure(alice, local)
    fake.embeds_with = 500
    assert SEA not in asked(flux, fake)
    tried = [request.path for request in fake.requests].count("/v1/embeddings")
    assert tried == 1 and Job.objects.for_user(alice).filter(kind="extract", state=Job.State.FAILED).count() == 0
    fake.embeds_with = 200
    assert SEA not in asked(flux, fake) and fake.embedded == [], "it is left alone for a while"


def test_the_built_in_model_finds_what_words_do_not(alice: User, tomas: Character) -> None:
    services.require("embedding")
    file = write(tomas, "Tomas is afraid of deep water.", "Deep water frightens Tomas.", *OTHERS)
    built_in = make_connection(alice, preset="builtin", base_url="", model="")
    measure(alice, built_in, "")
    assert open_pairs(alice) == [("duplicate", "meaning")]
    found = meaning.nearest(alice, file, "Who made a bird of wood?", 1)
    assert found[0].memory == memory(alice, OTHERS[7]).pk
