"""Evidence: quotes that open in the reader, earlier wordings, and all that a memory replaced."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories import ancestors, editing, memory_file
from memories.ancestry import ancestry
from memories.memory_file import NewMemory
from memories.models import Ancestor, Memory, MemoryFile
from sync.models import Character, Chat
from tests.support.builders import make_call, make_character, make_chat, make_job, make_tavern
from tests.support.pages import soup, words


@pytest.fixture
def mira(alice: User) -> Character:
    return make_character(make_tavern(alice), "Mira")


@pytest.fixture
def chat(mira: Character) -> Chat:
    texts = [f"Line {n}. She *swore* on lamp {n}. He stayed." for n in range(250)]
    return make_chat(mira, texts)


def item(chat: Chat, index: int, quote: str = "") -> dict[str, Any]:
    source = chat.messages.get(index=index)
    return {"identity": source.identity, "index": index, "quote": quote or source.text, "content": source.content}


def write(mira: Character, *new: NewMemory, origin: str = "extracted", **fields: Any) -> list[Memory]:
    file = memory_file.file_for(mira)
    with memory_file.change(file, reason="test", author=file.owner) as editor:
        block = editor.add_block("Scene", list(new), origin=origin, date="2026-01-02 10:00", **fields)
    assert block is not None
    related = ("block__file", "block__chat", "block__call")
    return list(Memory.objects.for_user(file.owner).filter(block=block).select_related(*related).order_by("order"))


def replace(mira: Character, old: list[Memory], text: str, origin: str = "consolidated") -> Memory:
    """One bullet in place of several, as a consolidation, a conversion or a merge leaves it."""
    file: MemoryFile = old[0].block.file
    ancestors.keep(file, old)
    made = write(mira, NewMemory(text, parents=[str(one.pk) for one in old]), origin=origin)[0]
    Memory.objects.for_user(file.owner).filter(pk__in=[one.pk for one in old]).delete()
    return made


def test_a_quote_opens_the_reader_at_its_message_with_the_passage_marked(
    alice_client: Client, mira: Character, chat: Chat
) -> None:
    memory = write(mira, NewMemory("Swore.", evidence=[item(chat, 203, "She *swore* on lamp 203.")]), chat=chat)[0]
    link = soup(alice_client.get(f"/memories/{memory.pk}/")).select_one(".quote-head a")["href"]
    assert link.endswith("#m203")
    page = soup(alice_client.get(link.partition("#")[0]))
    message = page.select_one("#m203")
    assert "is-quoted" in message["class"]
    assert message["aria-current"] == "true"
    assert "".join(one.get_text() for one in message.select("mark")) == "She swore on lamp 203"
    assert page.select(".is-quoted") == [message]


def test_a_mark_of_somebody_else_marks_nothing(bob_client: Client, bob: User, mira: Character, chat: Chat) -> None:
    memory = write(mira, NewMemory("Swore.", evidence=[item(chat, 3)]), chat=chat)[0]
    his = make_chat(make_character(make_tavern(bob), "Ora"), 5)
    for mark in (memory.pk, "nonsense", ""):
        assert not soup(bob_client.get(f"/chats/{his.pk}/?at=3&mark={mark}")).select(".is-quoted")


def test_after_two_consolidations_a_merge_and_a_conversion_every_source_is_there_with_its_quote(
    alice: User, alice_client: Client, mira: Character, chat: Chat
) -> None:
    bullets = [NewMemory(f"Fact {n}.", evidence=[item(chat, n)]) for n in range(12)]
    first = write(mira, *bullets, chat=chat)
    once = [replace(mira, first[n : n + 3], f"Facts from {n}.") for n in range(0, 12, 3)]
    twice = [replace(mira, once[:2], "Early."), replace(mira, once[2:], "Late.")]
    last = replace(mira, twice, "All of it.", origin="converted")
    found = ancestry(alice, last)
    assert [source.text for source in found.leaves] == [f"Fact {n}." for n in range(12)]
    assert {source.depth for source in found.leaves} == {3}
    assert found.missing == 0
    page = soup(alice_client.get(f"/memories/{last.pk}/sources/"))
    assert {words(one) for one in page.select(".quote-head a")} == {f"#{n}" for n in range(12)}
    link = page.select_one(".quote-head a")["href"].partition("#")[0]
    assert len(soup(alice_client.get(link)).select(".is-quoted")) == 1


def test_model_prompt_job_and_cost_of_what_was_replaced_are_told(
    alice: User, alice_client: Client, mira: Character, chat: Chat
) -> None:
    job = make_job(alice)
    call = make_call(alice, job=job, model="deep-one", prompt_tokens=4210, completion_tokens=77, cost="0.0123")
    made_by = {"chat": chat, "job": job, "call": call, "prompt_version": "yours 3"}
    old = write(mira, NewMemory("Swore.", evidence=[item(chat, 3)]), **made_by)
    once = replace(mira, old, "Swore an oath.")
    page = soup(alice_client.get(f"/memories/{replace(mira, [once], 'Oath.').pk}/"))
    told = words(page.select(".source")[1])
    assert "deep-one" in told and "yours 3" in told and "4,210 + 77 tokens, 1.2 ¢" in told
    assert page.select(".source")[1].select_one(f"a[href='/jobs/{job.pk}/']") is not None


def test_lines_of_an_imported_file_stay_known_after_a_consolidation(alice_client: Client, mira: Character) -> None:
    lines = [{"source": "diary.md", "line": 12, "quote": "* owes Wren a crossing"}]
    old = write(mira, NewMemory("Owes Wren a crossing.", evidence=lines), origin="imported")
    page = soup(alice_client.get(f"/memories/{replace(mira, old, 'Owes a crossing.').pk}/"))
    told = words(page.select_one(".source"))
    assert "line 12 diary.md * owes Wren a crossing" in told


def test_a_circle_is_walked_once_and_a_lost_one_is_counted(alice: User, mira: Character) -> None:
    one, other = write(mira, NewMemory("One."), NewMemory("Other."))
    one.parents, other.parents = [str(other.pk), "not an id"], [str(one.pk), "00000000-0000-4000-8000-000000000001"]
    one.save()
    other.save()
    found = ancestry(alice, one)
    assert [source.text for source in found.sources] == ["Other."]
    assert found.missing == 1


def test_hundreds_of_sources_are_paged_and_read_in_few_queries(
    alice: User, alice_client: Client, mira: Character, chat: Chat, django_assert_max_num_queries: Any
) -> None:
    old = write(mira, *(NewMemory(f"Fact {n}.", evidence=[item(chat, n % 250)]) for n in range(300)), chat=chat)
    last = replace(mira, old, "All of it.")
    with django_assert_max_num_queries(25):
        page = soup(alice_client.get(f"/memories/{last.pk}/sources/?page=2"))
    assert len(page.select(".source")) == 50
    drawer = soup(alice_client.get(f"/memories/{last.pk}/"))
    assert len(drawer.select(".source")) == 10
    assert "Made from 300 memories" in words(drawer)


def test_ancestors_of_others_are_not_shown(alice: User, bob: User, mira: Character) -> None:
    old, new = write(mira, NewMemory("Old."), NewMemory("New."))
    made = replace(mira, [old], "Made.")
    Ancestor.objects.for_user(alice).update(owner=bob)
    assert ancestry(alice, made).sources == []
    assert new.parents == []


def test_earlier_wordings_are_shown_newest_first(alice: User, alice_client: Client, mira: Character) -> None:
    memory = write(mira, NewMemory("Keeps a lamp."))[0]
    editing.edit_memory(alice, memory, "Keeps two lamps.")
    editing.edit_memory(alice, memory, "Keeps three lamps.")
    page = soup(alice_client.get(f"/memories/{memory.pk}/"))
    assert [words(one) for one in page.select(".wordings .memory-text")] == ["Keeps two lamps.", "Keeps a lamp."]


@pytest.mark.parametrize("origin", ["pinned", "written", "imported", "consolidated", "converted"])
def test_memories_without_messages_have_a_page_too(origin: str, alice_client: Client, mira: Character) -> None:
    memory = write(mira, NewMemory("Keeps a lamp."), origin=origin)[0]
    assert "Keeps a lamp." in words(soup(alice_client.get(f"/memories/{memory.pk}/")))


def test_similar_memories_are_linked(alice_client: Client, mira: Character) -> None:
    lamp, _other, rain = write(
        mira,
        NewMemory("Only wardens may carry the brass lamp at night."),
        NewMemory("The wardens alone may carry the brass lamp by night."),
        NewMemory("It rained in Ostra."),
    )
    page = soup(alice_client.get(f"/memories/{lamp.pk}/"))
    assert [words(one) for one in page.select(".similar a")] == ["The wardens alone may carry the brass lamp by night."]
    assert not soup(alice_client.get(f"/memories/{rain.pk}/")).select(".similar")
