"""Memories that a check held back: accepted, accepted in other words, refused; taken back; never asked twice."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories import forgetting, held, memory_file, review_queries
from memories.blocks import is_topic
from memories.extraction_verdict import Findings, Held
from memories.memory_file import NewMemory, change, file_for
from memories.models import HeldMemory, MemoryFile, Revision
from sync.models import Character, Chat
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat

TOPIC = "[Flux, Alex — the first days]"
SAID = ["Alex took Flux home from Harrow.", "Flux hid under the stairs.", "Flux slept on the windowsill."]


@pytest.fixture
def flux(alice: User) -> Character:
    return make_character(alice)


@pytest.fixture
def file(flux: Character) -> MemoryFile:
    return file_for(flux)


@pytest.fixture
def chat(flux: Character) -> Chat:
    return make_chat(flux, "first days", SAID)


def hold(file: MemoryFile, chat: Chat, *texts: str, check: str = "temporary", **fields: Any) -> list[HeldMemory]:
    """As a reading of the whole chat would."""
    message = chat.messages.get(index=1)
    link = {"identity": message.identity, "index": 1, "quote": message.text, "content": message.content}
    doubt = {"check": check, "detail": ""}
    found = Findings([], held=[Held(NewMemory(text, evidence=[link], doubts=[doubt]), TOPIC) for text in texts])
    origin = {"chat": chat, "label": chat.name, "date": "2026-03-01 18:00", "first_index": 0, "last_index": 2}
    held.write(file, found, **(origin | {"prompt_version": "extraction 1.0"} | fields))
    return list(HeldMemory.objects.for_user(file.owner).filter(text__in=texts))


def texts(file: MemoryFile) -> list[list[str]]:
    return [[one.text for one in block.memories.all()] for block in file.blocks.order_by("order")]


def queue(flux: Character) -> str:
    return f"/characters/{flux.pk}/review/held/"


def test_the_queue_shows_why_and_where_from(
    alice: User, alice_client: Client, flux: Character, file: MemoryFile, chat: Chat
) -> None:
    hold(file, chat, "Flux was tired.")
    hold(file, chat, "Flux came from Atlantis.", check="unsupported")
    assert review_queries.counts(alice, flux).held == 2
    page = soup(alice_client.get(queue(flux)))
    assert "2 memories were held back" in words(page)
    assert "will not matter later" in words(page)
    assert "Flux hid under the stairs." in words(page)
    assert f"/chats/{chat.pk}/?at=1#m1" in str(page)
    only = words(soup(alice_client.get(queue(flux), {"check": "unsupported"})))
    assert "Flux came from Atlantis." in only
    assert "Flux was tired." not in only
    assert "Held back" in words(soup(alice_client.get(f"/characters/{flux.pk}/")))
    assert "2 to review" in words(soup(alice_client.get("/characters/")))


def test_accepted_it_joins_the_block_that_it_came_with(
    alice: User, alice_client: Client, flux: Character, file: MemoryFile, chat: Chat
) -> None:
    with change(file, reason="before") as editor:
        place: dict[str, Any] = {"origin": "extracted", "chat": chat, "first_index": 0, "last_index": 2}
        editor.add_block(chat.name, ["[Other — thing]", "Another."], **place)
        editor.add_block(chat.name, [TOPIC, "Alex took Flux home from Harrow."], **place)
    (row,) = hold(file, chat, "Flux was tired.")
    answer = alice_client.post(f"/held/{row.pk}/decide/", {"decision": "accept"}, follow=True)
    assert "Accepted: it is a memory now." in words(soup(answer))
    assert texts(file)[1] == [TOPIC, "Alex took Flux home from Harrow.", "Flux was tired."]
    row.refresh_from_db()
    made = next(one for one in memory_file.memories_of(file) if one.text == "Flux was tired.")
    assert (row.state, row.memory, made.evidence, made.doubts) == ("accepted", made.pk, row.evidence, [])
    assert review_queries.counts(alice, flux).held == 0
    assert "was decided already" in words(
        soup(alice_client.post(f"/held/{row.pk}/decide/", {"decision": "refuse"}, follow=True))
    )


def test_without_its_block_it_gets_one_of_its_own(alice: User, flux: Character, file: MemoryFile, chat: Chat) -> None:
    with change(file, reason="before") as editor:
        place: dict[str, Any] = {"origin": "extracted", "chat": chat, "first_index": 0, "last_index": 2}
        editor.add_block(chat.name, [TOPIC, "Alex took Flux home from Harrow."], is_locked=True, **place)
    held.decide(alice, hold(file, chat, "Flux was tired."), held.ACCEPT)
    assert texts(file)[1] == [TOPIC, "Flux was tired."]
    block = file.blocks.order_by("order").last()
    assert block is not None
    assert (block.label, block.date, block.chat, block.first_index, block.origin) == (
        chat.name,
        "2026-03-01 18:00",
        chat,
        0,
        "extracted",
    )
    assert block.prompt_version == "extraction 1.0"


def test_accepted_in_other_words(alice_client: Client, flux: Character, file: MemoryFile, chat: Chat) -> None:
    (row,) = hold(file, chat, "Flux was tired.")
    url = f"/held/{row.pk}/decide/"
    assert "needs some text" in words(soup(alice_client.post(url, {"decision": "accept", "text": "  "}, follow=True)))
    alice_client.post(url, {"decision": "accept", "text": "Flux never slept\nin Harrow."})
    assert texts(file) == [[TOPIC, "Flux never slept in Harrow."]]
    row.refresh_from_db()
    assert row.text == "Flux was tired.", "what the model wrote stays known"


def test_a_decision_can_be_taken_back(alice: User, alice_client: Client, file: MemoryFile, chat: Chat) -> None:
    rows = hold(file, chat, "Flux was tired.", "Flux was wet.")
    pk = file.character_id
    before = texts(file)
    page = soup(alice_client.post(f"/characters/{pk}/held/all/", {"decision": "accept"}, follow=True))
    assert "2 memories accepted." in words(page)
    assert texts(file) == [[TOPIC, "Flux was tired.", "Flux was wet."]]
    assert Revision.objects.for_user(alice).filter(file=file, added__gt=0).count() == 1, "one revision for both"
    undo = undo_of(page)
    assert "It waits here again." in words(soup(alice_client.post(undo, follow=True)))
    assert texts(file) == before
    assert {one.state for one in HeldMemory.objects.for_user(alice)} == {"waiting"}
    page = soup(alice_client.post(f"/held/{rows[0].pk}/decide/", {"decision": "refuse"}, follow=True))
    assert HeldMemory.objects.for_user(alice).get(pk=rows[0].pk).state == "refused"
    alice_client.post(undo_of(page))
    assert HeldMemory.objects.for_user(alice).get(pk=rows[0].pk).state == "waiting"


def undo_of(page: Any) -> str:
    return next(form["action"] for form in page.select("form") if "/held/undo/" in form["action"])


def test_all_of_a_kind(alice: User, alice_client: Client, flux: Character, file: MemoryFile, chat: Chat) -> None:
    hold(file, chat, "Flux was tired.", "Flux was wet.")
    hold(file, chat, "Flux came from Atlantis.", check="unsupported")
    url = f"/characters/{flux.pk}/held/all/"
    alice_client.post(url, {"decision": "refuse", "check": "temporary"})
    states = dict(HeldMemory.objects.for_user(alice).values_list("text", "state"))
    assert states == {"Flux was tired.": "refused", "Flux was wet.": "refused", "Flux came from Atlantis.": "waiting"}
    assert texts(file) == []
    alice_client.post(url, {"decision": "nonsense"})
    assert review_queries.counts(alice, flux).held == 1


@pytest.mark.parametrize("query", ["", "?at=nonsense&batch=x", "?at=2026-13-45T99:00&batch=x", "?at=2026-01-01T00:00"])
def test_an_undo_of_nothing_changes_nothing(
    alice: User, alice_client: Client, flux: Character, file: MemoryFile, chat: Chat, query: str
) -> None:
    held.decide(alice, hold(file, chat, "Flux was tired."), held.REFUSE)
    answer = alice_client.post(f"/characters/{flux.pk}/held/undo/{query}", follow=True)
    assert "nothing to undo" in words(soup(answer))
    assert HeldMemory.objects.for_user(alice).get().state == "refused"


def test_what_was_refused_is_not_asked_again(alice: User, file: MemoryFile, chat: Chat) -> None:
    held.decide(alice, hold(file, chat, "Flux was tired."), held.REFUSE)
    again = [Held(NewMemory(one)) for one in ("Flux was tired. ", "Flux was wet.")]
    found = Findings([], held=again)
    assert held.write(file, found, chat=chat) == 1
    assert (found.refused, [one.new.text for one in found.held]) == (1, ["Flux was wet."])
    found = Findings([], held=again)
    assert held.write(file, found, chat=chat) == 0, "it waits already"
    assert HeldMemory.objects.for_user(alice).count() == 2


def test_a_forgotten_chat_takes_what_was_held_along(alice: User, file: MemoryFile, chat: Chat) -> None:
    other = make_chat(file.character, "second", ["Flux met Nix.", "Nix hissed."])
    hold(file, chat, "Flux was tired.")
    hold(file, other, "Nix was wet.")
    forgetting.forget(alice, chat)
    assert [one.text for one in HeldMemory.objects.for_user(alice)] == ["Nix was wet."]


def test_nobody_decides_for_somebody_else(bob: User, bob_client: Client, file: MemoryFile, chat: Chat) -> None:
    (row,) = hold(file, chat, "Flux was tired.")
    assert bob_client.post(f"/held/{row.pk}/decide/", {"decision": "accept"}).status_code == 404
    with pytest.raises(ValueError, match="decided already"):
        held.decide(bob, [row], held.ACCEPT)
    row.refresh_from_db()
    assert row.state == "waiting"
    done = held.decide(file.owner, [row], held.REFUSE)
    held.undo(bob, done.at, done.batch)
    row.refresh_from_db()
    assert row.state == "refused"
    assert not any(is_topic(one) for block in texts(file) for one in block)


def test_what_a_model_said_about_a_forgotten_chat_is_erased_everywhere(
    alice: User, file: MemoryFile, chat: Chat
) -> None:
    doubts = [{"check": "unsupported", "detail": "Alex said canary"}, {"check": "card_leak", "detail": "a grey cat"}]
    link = {"identity": chat.messages.get(index=1).identity, "index": 1, "quote": "canary", "content": ""}
    with change(file, reason="before") as editor:
        new = NewMemory("Flux slept.", evidence=[link], is_unverified=True, doubts=doubts)
        editor.add_block(chat.name, [new], origin="extracted", chat=chat)
    forgetting.forget(alice, chat)
    assert memory_file.memories_of(file)[0].doubts == [{**doubts[0], "detail": ""}, doubts[1]]
    kept = [memory_file.revision_state(one) for one in file.revisions.all()]
    assert "a grey cat" in str(kept)
    assert "canary" not in str(kept)
