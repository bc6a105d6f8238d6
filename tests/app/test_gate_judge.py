"""What becomes of doubted bullets: accepted, marked, held back; never told of twice, never lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import copying, drafts, editing, extraction, gate_counts, memory_file, review
from memories.memory_file import NewMemory, change, file_for
from memories.models import Draft, ExtractionOverride, ExtractionSettings, HeldMemory, Memory, ReviewPair, Snapshot
from memories.quality import Doubt
from sync.models import Character, Chat, Lorebook, LorebookEntry
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.gate import WordGate
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat

SAID = [
    "Alex signed the papers and took Flux home from the shelter in Harrow.",
    "Flux hid under the stairs for two days.",
    "Alex promised never to run the vacuum cleaner again.",
    "Flux slept on the windowsill beside the ferns.",
]
TOPIC = "[Flux, Alex — the first days]"
GOOD = "Alex took Flux home from the shelter in Harrow."
ECHO = "Flux hid under the stairs for two days, as Flux had done before."


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> WordGate:
    return WordGate(monkeypatch)


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    return make_character(alice)


@pytest.fixture
def chat(flux: Character) -> Chat:
    return make_chat(flux, "first days", SAID)


def choose(alice: User, **actions: str) -> None:
    ExtractionSettings.objects.update_or_create(user=alice, defaults={"gate": actions})


def extract(fake: FakeModel, character: Character, *bullets: str) -> Job:
    lines = "\n".join(f"- {one}" for one in (TOPIC, *bullets))
    fake.answers(f"<memory>\n{lines}\n</memory>")
    job = extraction.start_extraction(character.tavern.owner, character=character)
    run_until_idle(character.tavern.owner)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    return job


def bullets(character: Character) -> dict[str, Memory]:
    return {one.text: one for one in memory_file.memories_of(file_for(character)) if not one.is_topic}


@pytest.mark.usefixtures("chat")
def test_a_doubt_is_accepted_marked_or_holds_the_bullet_back(
    alice: User, flux: Character, fake: FakeModel, gate: WordGate
) -> None:
    choose(alice, temporary="accept", card_leak="flag", meta_narration="queue")
    gate.told = {
        "slept": Doubt("temporary", 0.8),
        "vacuum": Doubt("card_leak", 0.9, "distrusts vacuum cleaners"),
        "papers": Doubt("meta_narration", 0.7),
    }
    slept, vacuum, papers = "Flux slept on the windowsill.", "Flux hid from the vacuum cleaner.", "Alex signed papers."
    extract(fake, flux, GOOD, slept, vacuum, papers)
    found = bullets(flux)
    assert list(found) == [GOOD, slept, vacuum]
    assert (found[GOOD].is_unverified, found[GOOD].doubts) == (False, [])
    assert (found[slept].is_unverified, found[slept].doubts) == (False, [])
    assert found[vacuum].is_unverified
    assert found[vacuum].doubts == [{"check": "card_leak", "detail": "distrusts vacuum cleaners"}]
    held = HeldMemory.objects.for_user(alice).get()
    assert (held.text, held.topic, held.doubts[0]["check"]) == (papers, TOPIC, "meta_narration")
    assert (held.first_index, held.last_index, held.label) == (0, 3, "first days")
    assert held.evidence[0]["index"] == 0
    assert held.call is not None
    assert held.prompt_version


@pytest.mark.usefixtures("chat")
def test_the_strictest_doubt_decides(alice: User, flux: Character, fake: FakeModel, gate: WordGate) -> None:
    choose(alice, temporary="flag", play_by_play="queue")
    gate.told = {"slept": Doubt("temporary", 0.9), "windowsill": Doubt("play_by_play", 0.4)}
    extract(fake, flux, GOOD, "Flux slept on the windowsill.")
    assert list(bullets(flux)) == [GOOD]
    held = HeldMemory.objects.for_user(alice).get()
    assert [one["check"] for one in held.doubts] == ["temporary", "play_by_play"]


@pytest.mark.usefixtures("chat")
def test_a_repetition_is_told_of_once(alice: User, flux: Character, fake: FakeModel, gate: WordGate) -> None:
    with change(file_for(flux), reason="before") as editor:
        editor.add_block("old", ["Flux liked hiding places under the stairs."], origin="extracted")
    gate.told = {"stairs": Doubt("repeat_existing", 0.9, "Flux liked hiding places under the stairs.", 0)}
    extract(fake, flux, ECHO)
    row = bullets(flux)[ECHO]
    assert row.duplicate_of is not None
    assert row.duplicate_of.text == "Flux liked hiding places under the stairs."
    assert (row.doubts, row.is_unverified) == ([], False), "it stands in the queue of duplicates, and only there"
    review.compare(file_for(flux))
    assert ReviewPair.objects.for_user(alice).filter(newer=row.pk).count() == 1


@pytest.mark.usefixtures("chat")
def test_names_are_listed_and_not_doubted_a_second_time(
    alice: User, flux: Character, fake: FakeModel, gate: WordGate
) -> None:
    gate.told = {"Zarek": Doubt("invented_name", 0.9, "Zarek")}
    extract(fake, flux, "Flux hid from Zarek under the stairs.")
    row = bullets(flux)["Flux hid from Zarek under the stairs."]
    assert (row.unverified_names, row.doubts, row.is_unverified) == (["Zarek"], [], True)


@pytest.mark.usefixtures("chat")
def test_who_accepts_invented_names_sees_no_mark(alice: User, flux: Character, fake: FakeModel, gate: WordGate) -> None:
    choose(alice, invented_name="accept", unsupported="accept")
    gate.told = {"Zarek": Doubt("invented_name", 0.9, "Zarek")}
    extract(fake, flux, "Flux hid from Zarek under the stairs.")
    row = bullets(flux)["Flux hid from Zarek under the stairs."]
    assert (row.unverified_names, row.is_unverified) == ([], False)
    assert gate_counts.struck(alice)["invented_name"] == 1, "it is counted all the same"


@pytest.mark.usefixtures("chat")
def test_a_character_may_have_a_gate_of_its_own(alice: User, flux: Character, fake: FakeModel, gate: WordGate) -> None:
    choose(alice, temporary="queue")
    ExtractionOverride.objects.create(owner=alice, character=flux, values={"gate": {"temporary": "accept"}})
    gate.told = {"slept": Doubt("temporary", 0.9)}
    extract(fake, flux, "Flux slept on the windowsill.")
    assert list(bullets(flux)) == ["Flux slept on the windowsill."]


def test_the_gate_knows_what_stood_in_the_prompt(
    alice: User, flux: Character, chat: Chat, fake: FakeModel, gate: WordGate
) -> None:
    flux.bound_lorebook = "House"
    flux.save()
    first = chat.messages.get(index=1)
    memories = [{"text": "Flux once lived in a lighthouse."}]
    Snapshot.objects.create(
        owner=alice, chat=chat, identity=first.identity, index=1, source="charmemory", data={"memories": memories}
    )
    house = Lorebook.objects.create(tavern=flux.tavern, name="House", path="worlds/House.json")
    other = Lorebook.objects.create(tavern=flux.tavern, name="Elsewhere", path="worlds/Elsewhere.json")
    entries: list[dict[str, Any]] = [
        {"book": house, "keys": ["Stairs"], "content": "The stairs are haunted."},
        {"book": house, "keys": ["attic"], "content": "The attic is locked."},
        {"book": house, "keys": ["harrow"], "secondary_keys": ["moon"], "content": "Harrow by moonlight."},
        {"book": house, "keys": [], "is_constant": True, "content": "The house stands by the sea."},
        {"book": house, "keys": ["ferns"], "is_enabled": False, "content": "The ferns talk."},
        {"book": other, "keys": ["stairs"], "content": "Other stairs."},
    ]
    for number, fields in enumerate(entries):
        LorebookEntry.objects.create(uid=str(number), order=number, **fields)
    extract(fake, flux, GOOD)
    scene = gate.scenes[0]
    assert list(scene.injected) == [
        "Flux once lived in a lighthouse.",
        "The stairs are haunted.",
        "The house stands by the sea.",
    ]
    assert scene.messages[1] == ("Alex", SAID[1])
    assert "distrusts vacuum cleaners" in scene.card


@pytest.mark.usefixtures("chat")
def test_counts_of_a_model_grow_with_each_answer(alice: User, flux: Character, fake: FakeModel, gate: WordGate) -> None:
    choose(alice, temporary="queue")
    gate.told = {"slept": Doubt("temporary", 0.9), "hid": Doubt("card_leak", 0.9)}
    extract(fake, flux, GOOD, "Flux hid under the stairs.", "Flux slept on the windowsill.")
    make_chat(flux, "again", [*SAID, "Alex bought a fern."])
    extract(fake, flux, GOOD, "Flux slept on the windowsill.")
    tally = gate_counts.tallies(alice)[0]
    assert (tally.model, tally.calls) == ("fake-small", 2)
    assert (tally.kept, tally.flagged, tally.held, tally.refused) == (2, 1, 2, 1)
    assert tally.clean == 1
    assert gate_counts.struck(alice) == {"temporary": 2, "card_leak": 1}


@pytest.mark.usefixtures("chat")
def test_a_reworded_or_checked_memory_is_not_doubted_any_more(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel, gate: WordGate
) -> None:
    gate.told = {"hid": Doubt("card_leak", 0.9), "slept": Doubt("temporary", 0.9)}
    hid, slept = "Flux hid under the stairs.", "Flux slept on the windowsill."
    extract(fake, flux, hid, slept)
    page = words(soup(alice_client.get(f"/characters/{flux.pk}/review/unverified/")))
    assert "restates the card" in page
    assert "will not matter later" in page
    assert "restates the card" in words(soup(alice_client.get(f"/characters/{flux.pk}/")))
    found = bullets(flux)
    editing.edit_memory(alice, found[hid], "Flux hid for two days.")
    alice_client.post(f"/memories/{found[slept].pk}/right/")
    after = bullets(flux)
    assert [(one.is_unverified, one.doubts) for one in after.values()] == [(False, []), (False, [])]
    editing.undo_last(alice, file_for(flux))
    assert bullets(flux)[slept].doubts == [{"check": "temporary", "detail": ""}], "the history keeps what was doubted"


def test_doubts_are_carried_along(alice: User, flux: Character) -> None:
    doubt = {"check": "temporary", "detail": ""}
    file = file_for(flux)
    with change(file, reason="before") as editor:
        editor.add_block("old", [NewMemory("Flux slept.", is_unverified=True, doubts=[doubt])], origin="extracted")
    draft = drafts.start(alice, file, kind=Draft.Kind.EDIT, title="")
    row = memory_file.memories_of(file)[0]
    assert drafts.view(draft).memory(row.pk).doubts == [doubt]
    with drafts.step(draft, "Edit") as step:
        step.set_text(row.pk, "Flux slept long.")
    assert drafts.view(draft).memory(row.pk).doubts == []
    other = make_character(alice, "Nix", flux.tavern)
    copying.copy(alice, file, file_for(other))
    assert bullets(other)["Flux slept."].doubts == [doubt]


def test_the_day_of_the_messages_is_no_invented_number(
    alice: User, flux: Character, fake: FakeModel, gate: WordGate
) -> None:
    make_chat(flux, "dated", [{"text": said, "raw_date": f"2026-03-01T10:0{n}:00.000Z"} for n, said in enumerate(SAID)])
    gate.told = {"moved in": Doubt("invented_name", 1.0, "2026"), "Zarek": Doubt("invented_name", 1.0, "Zarek, 2026")}
    extract(fake, flux, "Flux moved in in 2026.", "Flux met Zarek in May 2026 or so.")
    assert [one.unverified_names for one in bullets(flux).values()] == [[], ["Zarek"]]


@pytest.mark.usefixtures("chat")
def test_the_real_gate_as_it_comes(alice: User, flux: Character, fake: FakeModel) -> None:
    with change(file_for(flux), reason="before") as editor:
        editor.add_block("old", ["Alex had promised Flux a basket by the window."], origin="extracted")
    preamble = "Below are the extracted memories for Flux, formatted as requested."
    invented = "Flux was given to Alex by Colonel Brandt in Harrow."
    extract(fake, flux, preamble, GOOD, invented)
    assert [one.text for one in HeldMemory.objects.for_user(alice)] == [preamble]
    found = bullets(flux)
    assert GOOD in found
    assert "Brandt" in found[invented].unverified_names
    assert "non_memory" in gate_counts.struck(alice)
