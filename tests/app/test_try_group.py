"""Trying the prompt for groups: one member's memories from a group's chat, with the others by name, nothing saved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from memories import extraction_plan, group_chat, own_prompts
from memories.memory_file import change, file_for
from memories.models import ExtractedChunk, ExtractionSettings, Memory, MemoryFile, Revision, Watermark
from memories.prompts import prompt_text
from memories.transcript import Chunk
from memories.try_it import _entries
from memories.try_parts import Trial
from providers.models import Connection
from sync.models import Chat
from tests.support.builders import make_connection, make_group
from tests.support.fake_model import FakeModel
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat, make_tavern, put_messages

PAGE = "/settings/prompts/extraction_group/try/"
LINES = [
    {"role": "user", "name": "Wren", "text": "Shall we sell the mill?"},
    {"role": "character", "name": "Orla", "text": "I vote with Pim, against it."},
    {"role": "character", "name": "Pim", "text": "Then the mill stays."},
]
GOOD = (
    "<memory>\n- [Orla, Pim — the mill]\n- Orla voted with Sefa and Pim against selling the mill.\n"
    "- Corvid sulked.\n</memory>"
)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def model(alice: User, fake: FakeModel) -> Connection:
    ExtractionSettings.objects.create(user=alice, messages_per_call=8)
    return make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=1, price_out=2)


@pytest.fixture
def chat(alice: User, model: Connection) -> Chat:
    """The group of Orla, Pim and Sefa, who says nothing; Orla has a memory."""
    tavern = make_tavern(alice)
    tavern.persona_name = "Ren"
    tavern.save()
    people = [make_character(alice, name, tavern) for name in ("Orla", "Pim", "Sefa")]
    group = make_group(tavern, *people, name="The millers")
    chat = Chat.objects.create(tavern=tavern, group=group, name="vote", path="group chats/vote.jsonl")
    put_messages(chat, LINES)
    with change(file_for(people[0]), reason="written") as editor:
        editor.add_block("old", ["Orla mends clocks."], origin="written")
    return chat


def form(chat: Chat, member: str = "Orla", **more: str) -> dict[str, str]:
    character = chat.tavern.characters.get(name=member)
    return {"character": str(character.pk), "chat": str(chat.pk), "messages": "0-2", **more}


def ask(client: Client, alice: User, **said: str) -> str:
    """The page with the answer, in words."""
    answer = client.post(PAGE, {**said, "do": "ask"})
    assert answer.status_code == 302, answer.content.decode()
    run_until_idle(alice)
    return words(soup(client.get(answer.headers["Location"])))


def section(text: str, name: str) -> str:
    """What stands between the marker lines of a section."""
    found = re.search(rf"\[\w+\] {name}[^\n]*\n(.*?)\n\[\w+\] END OF {name}", text, re.DOTALL)
    assert found is not None
    return found[1]


def test_it_sends_the_card_and_memories_of_the_member_and_names_the_others(
    alice: User, alice_client: Client, fake: FakeModel, chat: Chat
) -> None:
    fake.answer_with("NO_NEW_MEMORIES")
    shown = soup(alice_client.post(PAGE, form(chat)))
    assert words(shown.h1) == "What would be sent for 3 messages"
    assert "The millers · vote" in words(shown)
    assert shown.select_one(".price") is not None
    ask(alice_client, alice, **form(chat))
    messages = fake.chats[0].body["messages"]
    others = shown.select_one("[data-section=participants]")
    assert others is not None and others.get_text() == "Wren\nPim\nSefa"
    assert "3 other participants" in words(shown)
    sections = "".join(unescape(one.get_text()) for one in shown.select("[data-section]"))
    assert sections == "".join(one["content"] for one in messages)
    sent = fake.prompts()[0]
    assert section(sent, "OTHER PARTICIPANTS").split("\n") == ["Wren", "Pim", "Sefa"]
    assert section(sent, "CHARACTER CARD") == chat.tavern.characters.get(name="Orla").card_text
    assert section(sent, "KNOWN MEMORIES") == "- Orla mends clocks."
    assert "#1 Orla: I vote with Pim, against it." in section(sent, "NEW GROUP MESSAGES")


@pytest.mark.parametrize("is_own", [False, True])
def test_the_request_is_the_one_that_the_plan_of_a_group_makes(
    alice: User, alice_client: Client, fake: FakeModel, chat: Chat, model: Connection, is_own: bool
) -> None:
    pim = chat.tavern.characters.get(name="Pim")
    if is_own:
        own = f"{prompt_text('extraction_group').text}\nNever mention cheese."
        own_prompts.save_text(alice, "extraction_group", own, pim)
    fake.answer_with("NO_NEW_MEMORIES")
    template = own_prompts.text_in_force(alice, "extraction_group", pim).template
    plan = extraction_plan.plan(alice, pim, model, template=template)
    chunk = extraction_plan.first_chunk(plan, _entries(Trial("extraction_group", pim, chat, 0, 2, model)))
    assert chunk is not None
    others = group_chat.participants(chat, chunk, pim)
    request = extraction_plan.question_of(plan, chat, chunk, [], others).request(plan.answer_tokens, None)
    ask(alice_client, alice, **form(chat, "Pim"))
    sent = fake.chats[0].body
    assert [one["content"] for one in sent["messages"]] == [request.system, request.user]
    assert ("Never mention cheese." in request.user) is is_own


def test_the_answer_is_read_as_it_would_be_and_nothing_is_saved(
    alice: User, alice_client: Client, fake: FakeModel, chat: Chat
) -> None:
    fake.answers(GOOD)
    kinds = (Memory, MemoryFile, Revision, ExtractedChunk, Watermark)
    before = [list(kind.objects.for_user(alice).values()) for kind in kinds]
    page = ask(alice_client, alice, **form(chat))
    assert "2 memories from 3 messages" in page
    assert "“Corvid” is not in the messages" in page
    assert "“Sefa” is not" not in page  # who only listens is there all the same
    assert [list(kind.objects.for_user(alice).values()) for kind in kinds] == before


def test_a_silent_person_has_the_name_of_the_settings_and_nobody_is_named_twice(chat: Chat) -> None:
    orla = chat.tavern.characters.get(name="Orla")
    assert group_chat.participants(chat, Chunk((), ()), orla) == ["Ren", "Pim", "Sefa"]
    chat.tavern.persona_name = "Pim"
    assert group_chat.participants(chat, Chunk((), ()), orla) == ["Pim", "Sefa"]


def test_only_members_of_groups_and_their_chats_can_be_chosen(
    alice: User, alice_client: Client, chat: Chat, model: Connection
) -> None:
    alone = make_character(alice, "Flux", chat.tavern)
    own = make_chat(alone, "alone", lines=LINES)
    page = soup(alice_client.post(PAGE, {**form(chat), "character": str(alone.pk), "chat": str(own.pk)}))
    assert [words(one) for one in page.select("#tc option")] == ["Orla", "Pim", "Sefa"]
    assert [words(one) for one in page.select("#th option")] == ["The millers · vote"]
    # The other prompts read chats with one character, as before.
    page = soup(alice_client.get("/settings/prompts/extraction/try/"))
    assert [words(one) for one in page.select("#th option")] == ["alone"]


def test_without_a_group_it_says_so(alice: User, alice_client: Client, model: Connection) -> None:
    make_chat(make_character(alice), lines=LINES)
    assert "No chat of a group was found." in words(soup(alice_client.get(PAGE)))


def test_words_that_are_not_saved_can_be_tried_and_small_models_use_the_same_prompt(
    alice: User, alice_client: Client, chat: Chat, model: Connection
) -> None:
    model.context_tokens = 6000
    model.save()
    text = f"{prompt_text('extraction_group').text}\nOnly about mills."
    page = words(soup(alice_client.post(PAGE, form(chat, text=text))))
    assert "With the words that are not saved yet." in page
    assert "Only about mills." in page
    assert "another prompt" not in page


def test_strangers_try_nothing_on_a_group_of_others(alice: User, bob_client: Client, chat: Chat) -> None:
    for said in (form(chat), {**form(chat), "do": "ask"}):
        page = words(soup(bob_client.post(PAGE, said), 422))
        assert "mill" not in page
