"""Trying the rules of a consolidation: the job's very request, the answer checked as it would be, nothing saved."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from memories import consolidation, own_prompts
from memories.memory_file import file_for, render
from memories.models import Memory, MemoryFile, Proposal, Revision
from providers.models import Call, Connection
from sync.models import Chat
from tests.support.builders import make_block, make_connection
from tests.support.consolidating import Merger
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat

PAGE = "/settings/prompts/consolidation_balanced/try/"
LINES = [{"text": f"Word{n}.", "raw_date": f"d{n}", "role": "user"} for n in range(10)]


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture
def file(alice: User, fake: Merger) -> MemoryFile:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=2, price_out=8)
    return file_for(make_character(alice))


@pytest.fixture
def chat(file: MemoryFile) -> Chat:
    chat = make_chat(file.character, lines=LINES)
    for night, (first, last) in enumerate([(0, 3), (4, 7), (8, 9)], 1):
        facts = [f"Wren hid lantern {night} in Harrow.", f"Flux guarded door {night} till dawn."]
        make_block(
            file,
            f"Night {night}",
            facts,
            order=night,
            chat=chat,
            first_index=first,
            last_index=last,
            origin="extracted",
        )
    return chat


def form(chat: Chat, messages: str = "0-9", **more: str) -> dict[str, str]:
    return {"character": str(chat.character_id), "chat": str(chat.pk), "messages": messages, **more}


def ask(client: Client, alice: User, **said: str) -> str:
    """The page with the answer, in words."""
    answer = client.post(PAGE, {**said, "do": "ask"})
    assert answer.status_code == 302, answer.content.decode()
    run_until_idle(alice)
    return words(soup(client.get(answer.headers["Location"])))


@pytest.mark.parametrize("is_own", [False, True])
def test_it_sends_the_first_request_of_a_consolidation_byte_for_byte(
    alice: User, alice_client: Client, file: MemoryFile, chat: Chat, fake: Merger, is_own: bool
) -> None:
    if is_own:
        text = own_prompts.text_in_force(alice, "consolidation_balanced").text
        own_prompts.save_text(alice, "consolidation_balanced", f"{text}\nNever mention cheese.", file.character)
    shown = soup(alice_client.post(PAGE, form(chat)))
    assert words(shown.h1) == "What would be sent for 6 memories"
    learned = Connection.objects.for_user(alice).get().bytes_per_token
    ask(alice_client, alice, **form(chat))
    # Every answer teaches how many tokens a text has, and with it how much room the next answer gets.
    Connection.objects.for_user(alice).update(bytes_per_token=learned)
    consolidation.start_consolidation(alice, file, block_ids=[block.pk for block in file.blocks.all()])
    run_until_idle(alice)
    tried, sent = (one.body for one in fake.chats[:2])
    assert tried == sent
    assert ("Never mention cheese." in str(tried)) is is_own
    sections = "".join(unescape(one.get_text()) for one in shown.select("[data-section]"))
    assert sections == "".join(one["content"] for one in tried["messages"])


def test_only_what_came_from_the_chosen_messages_is_sent(
    alice: User, alice_client: Client, file: MemoryFile, chat: Chat, fake: Merger
) -> None:
    make_block(file, "Elsewhere", ["Wren swam alone."], order=9)
    make_block(file, "Old", ["Wren grew old."], order=10, chat=chat, origin="consolidated")
    ask(alice_client, alice, **form(chat, "4-8"))
    (sent,) = fake.prompts()
    assert "lantern 2" in sent and "lantern 3" in sent
    assert not any(word in sent for word in ("lantern 1", "swam alone", "grew old"))


def test_what_is_lost_left_out_and_invented_is_named_and_nothing_is_saved(
    alice: User, alice_client: Client, file: MemoryFile, chat: Chat, fake: Merger
) -> None:
    fake.merges = False
    fake.lose = {"Wren hid lantern 1 in Harrow."}
    fake.drop = {"Flux guarded door 2 till dawn.": "a passing mood"}
    fake.invent = {"Flux guarded door 3 till dawn.": "Wren sold the ferry to Corvid."}
    before = render(file), Revision.objects.for_user(alice).count()
    page = ask(alice_client, alice, **form(chat))
    assert "2 old ones are not accounted for." in page and "4 memories from 6 old ones" in page
    assert "Not accounted for Wren hid lantern 1 in Harrow." in page
    assert "Flux guarded door 2 till dawn. a passing mood" in page
    assert "Wren sold the ferry to Corvid. not in any of the sources" in page
    assert (render(file), Revision.objects.for_user(alice).count()) == before
    assert not Proposal.objects.for_user(alice).exists()
    assert Call.objects.for_user(alice).get().purpose == "consolidation"


def test_words_that_are_not_saved_and_own_strategies_can_be_tried(
    alice: User, alice_client: Client, chat: Chat, fake: Merger
) -> None:
    text = own_prompts.text_in_force(alice, "consolidation_balanced").text
    page = ask(alice_client, alice, **form(chat, text=f"{text}\nOnly about doors."))
    assert "With the words that are not saved yet." in page
    assert "Only about doors." in fake.prompts()[0]
    own = own_prompts.create_strategy(alice, "Doors")
    shown = soup(alice_client.get(f"/settings/prompts/{own.name}/try/"))
    assert words(shown.h1) == "What would be sent for 6 memories"


def test_without_fresh_memories_it_says_so(alice: User, alice_client: Client, file: MemoryFile) -> None:
    chat = make_chat(file.character, lines=LINES)
    answer = alice_client.post(PAGE, form(chat))
    assert "Fewer than two fresh memories came from these messages." in words(soup(answer, 422))
    assert not Memory.objects.for_user(alice).exists()


def test_strangers_try_nothing_on_memories_of_others(alice: User, bob_client: Client, chat: Chat) -> None:
    page = soup(bob_client.post(PAGE, form(chat)), 422)
    assert "lantern" not in words(page)
