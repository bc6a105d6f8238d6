"""Pin a memory from a message or from nothing, for one or several characters, and take it back."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories import pinning
from memories.memory_file import render
from memories.models import Memory, MemoryBlock, MemoryFile
from sync.models import Character, Chat, Group, Message, Tavern
from tests.support.builders import make_character, make_chat, make_group, make_memory_file, make_tavern


@pytest.fixture
def tavern(alice: User) -> Tavern:
    return make_tavern(alice)


@pytest.fixture
def flux(tavern: Tavern) -> Character:
    return make_character(tavern, "Flux")


@pytest.fixture
def orla(tavern: Tavern) -> Character:
    return make_character(tavern, "Orla")


@pytest.fixture
def group(tavern: Tavern, flux: Character, orla: Character) -> Group:
    return make_group(tavern, flux, orla)


def message_of(chat: Chat, index: int, **fields: object) -> Message:
    Message.objects.for_user(chat.tavern.owner).filter(chat=chat, index=index).update(**fields)
    return Message.objects.for_user(chat.tavern.owner).select_related("chat").get(chat=chat, index=index)


def texts(user: User, character: Character) -> list[str]:
    rows = Memory.objects.for_user(user).filter(block__file__character=character)
    return list(rows.order_by("block__order", "order").values_list("text", flat=True))


def test_each_line_is_a_bullet_in_the_persons_own_words(alice: User, flux: Character, alice_client: Client) -> None:
    chat = make_chat(flux, ["Hello.", "*I nod.* I **swear** it by the old bell.\n\nAlways."])
    url = f"/chats/{chat.pk}/messages/1/pin/"
    page = alice_client.get(url).content.decode()
    assert "I nod. I swear it by the old bell.\nAlways.</textarea>" in page
    assert f'value="{flux.pk}" checked' in page
    said = {"text": "- Flux swore by the old bell.\n\n  he keeps it always", "character": str(flux.pk)}
    answer = alice_client.post(url, said)
    assert answer.headers["Location"] == f"/chats/{chat.pk}/?at=1#m1"
    assert texts(alice, flux) == ["Flux swore by the old bell.", "he keeps it always"]
    block = MemoryBlock.objects.for_user(alice).get()
    assert (block.origin, block.label, block.first_index, block.last_index) == ("pinned", chat.name, 1, 1)
    assert block.chat == chat
    evidence = block.memories.all()[0].evidence
    assert [(one["index"], one["quote"]) for one in evidence] == [(1, "I swear it by the old bell.")]


def test_several_characters_and_one_undo(
    alice: User, flux: Character, orla: Character, group: Group, alice_client: Client
) -> None:
    make_memory_file(orla)
    before = texts(alice, orla)
    chat = make_chat(group, 4)
    said = {"text": "The wardens voted for the mill.", "character": [str(flux.pk), str(orla.pk)]}
    page = alice_client.post(f"/chats/{chat.pk}/messages/1/pin/", said, follow=True).content.decode()
    assert "Pinned for Flux, Orla." in page
    assert texts(alice, orla) == [*before, "The wardens voted for the mill."]
    undo = page.partition('action="/pin/undo/?batch=')[2].partition('"')[0]
    alice_client.post(f"/pin/undo/?batch={undo}")
    assert (texts(alice, flux), texts(alice, orla)) == ([], before)


def test_in_groups_the_sender_is_chosen_and_a_narrator_chooses_nobody(
    alice: User, flux: Character, orla: Character, group: Group
) -> None:
    chat = make_chat(group, 6)
    spoken = message_of(chat, 1, name="Orla")
    assert pinning.whom(alice, spoken).chosen == {orla.pk}
    assert [one.name for one in pinning.whom(alice, spoken).near] == ["Flux", "Orla"]
    for fields in (
        {"name": "Narrator"},
        {"name": "Orla", "role": Message.Role.SYSTEM},
        {"name": "Wren", "role": Message.Role.USER},
    ):
        assert pinning.whom(alice, message_of(chat, 1, **fields)).chosen == set()


def test_from_nothing(alice: User, flux: Character, orla: Character, alice_client: Client) -> None:
    page = alice_client.get(f"/pin/?character={orla.pk}").content.decode()
    assert f'value="{orla.pk}" checked' in page
    assert f'value="{flux.pk}" checked' not in page
    answer = alice_client.post("/pin/", {"text": "Orla hates cheese.", "character": str(orla.pk)})
    assert answer.headers["Location"] == f"/characters/{orla.pk}/"
    block = MemoryBlock.objects.for_user(alice).get()
    assert (block.origin, block.label, block.chat, block.memories.get().evidence) == ("pinned", "Pinned", None, [])
    assert "- Orla hates cheese." in render(MemoryFile.objects.for_user(alice).get())


@pytest.mark.parametrize("missing", ["text", "character"])
def test_what_is_missing_is_said_and_nothing_is_lost(
    alice: User, flux: Character, alice_client: Client, missing: str
) -> None:
    said = {"text": "Flux swore an oath.", "character": str(flux.pk)}
    said[missing] = "" if missing == "character" else " \n - \n"
    answer = alice_client.post("/pin/", said)
    assert answer.status_code == 422
    assert ("Flux swore an oath." if missing == "character" else "Write at least one memory").encode() in answer.content
    assert not MemoryFile.objects.for_user(alice).exists()


def test_strangers_pin_nothing_and_undo_nothing(
    alice: User, bob: User, flux: Character, alice_client: Client, bob_client: Client
) -> None:
    chat = make_chat(flux, 2)
    url = f"/chats/{chat.pk}/messages/1/pin/"
    page = alice_client.post(url, {"text": "Mine.", "character": str(flux.pk)}, follow=True).content.decode()
    undo = page.partition('action="/pin/undo/?batch=')[2].partition('"')[0]
    assert bob_client.get(url).status_code == 404
    assert bob_client.post(url, {"text": "x", "character": str(flux.pk)}).status_code == 404
    assert bob_client.post("/pin/", {"text": "x", "character": str(flux.pk)}).status_code == 422
    assert bob_client.post(f"/pin/undo/?batch={undo}").status_code == 404
    assert texts(alice, flux) == ["Mine."]
    assert alice_client.get(f"/chats/{chat.pk}/messages/99/pin/").status_code == 404


def test_the_reader_leads_to_the_pin_of_each_message(flux: Character, alice_client: Client) -> None:
    chat = make_chat(flux, 2)
    page = alice_client.get(f"/chats/{chat.pk}/").content.decode()
    assert page.count('/pin/"') == 2
    menu = page.partition('aria-label="Actions for message 1"')[2].partition("</details>")[0]
    assert f'href="/chats/{chat.pk}/messages/1/pin/"' in menu and "Pin as memory" in menu
