"""Forgetting a chat: nothing of its text is left anywhere, memories keep their own words, the mirror stays away."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.models import JobEvent
from memories import ancestors, editing, forgetting, memory_file
from memories.memory_file import NewMemory
from memories.models import Ancestor, DraftStep, ExtractedChunk, Memory, Watermark
from search import index
from sync import mirror_chats
from sync.events import ChatForgotten, chat_forgotten
from sync.models import Chat
from tests.support.builders import make_character, make_chat, make_draft, make_job, make_tavern, make_trash
from tests.support.pages import soup, toast, words
from tests.support.st_folder import MARA, StFolder

CANARY = "zephyrmarigold"


def everything() -> str:
    """All rows of all tables as text, packed columns unpacked."""
    found: list[str] = []
    with unscoped("the canary is looked for"):
        for model in apps.get_models():
            for row in model._base_manager.values():
                for value in row.values():
                    found.append(_text(value))
    return "\n".join(found)


def _text(value: Any) -> str:
    if not isinstance(value, (bytes, memoryview)):
        return str(value)
    try:
        return zlib.decompress(bytes(value)).decode("utf-8", "replace")
    except zlib.error:
        return bytes(value).decode("utf-8", "replace")


@pytest.fixture
def chat(alice: User) -> Chat:
    chat = make_chat(make_character(make_tavern(alice), "Mira"), 6)
    for message in chat.messages.all():
        message.text = f"The {CANARY} stood on sill number {message.index}."
        message.save()
    return chat


@pytest.fixture
def known(alice: User, chat: Chat) -> Memory:
    """A memory that quotes the chat, was edited, stands in an ancestor, a draft and the trash, and has a log."""
    assert chat.character is not None
    source = chat.messages.get(index=2)
    item = {"identity": source.identity, "index": 2, "quote": source.text, "content": source.content}
    file = memory_file.file_for(chat.character)
    job = make_job(alice)
    JobEvent.objects.create(job=job, text=f"Read {CANARY}")
    with memory_file.change(file, reason="test", author=alice) as editor:
        new = NewMemory("Mira keeps a flower.", evidence=[item])
        editor.add_block("Scene", [new], origin="extracted", chat=chat, job=job, first_index=0, last_index=5)
    memory = Memory.objects.for_user(alice).select_related("block__file__character", "block__chat").get()
    ancestors.keep(file, [memory])
    editing.edit_memory(alice, memory, "Mira keeps a yellow flower.")
    make_trash(file)
    step = {"row": "memory", "id": str(memory.pk), "before": None, "after": {"evidence": [item], "text": "x"}}
    DraftStep.objects.create(draft=make_draft(file), number=7, label="x", changes=[step])
    values = {"first_index": 0, "last_index": 5, "job": job}
    ExtractedChunk.objects.create(owner=alice, key="k", chat=chat, character=chat.character, **values)
    return memory


def test_nothing_of_the_text_is_left_and_the_memory_stays(alice: User, chat: Chat, known: Memory) -> None:
    index.step()
    assert CANARY in everything()
    forgetting.forget(alice, chat)
    assert CANARY not in everything()
    assert Memory.objects.for_user(alice).get().text == "Mira keeps a yellow flower."
    assert [row.text for row in Ancestor.objects.for_user(alice)] == ["Mira keeps a flower."]


@pytest.mark.django_db(transaction=True)
def test_the_bytes_of_the_database_do_not_hold_it_either(alice: User, chat: Chat, known: Memory) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("one file of SQLite is looked through")
    forgetting.forget(alice, chat)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    assert CANARY.encode() not in connection.connection.serialize()


def test_every_old_revision_can_still_be_restored(alice: User, chat: Chat, known: Memory) -> None:
    file = known.block.file
    before = [(one.number, memory_file.revision_text(one)) for one in file.revisions.order_by("number")]
    forgetting.forget(alice, chat)
    assert [(one.number, memory_file.revision_text(one)) for one in file.revisions.order_by("number")] == before
    editing.restore_revision(alice, file.revisions.get(number=1))
    row = Memory.objects.for_user(alice).get()
    assert row.text == "Mira keeps a flower."
    assert [item["index"] for item in row.evidence] == [2]


def test_states_that_become_equal_are_both_kept(alice: User, chat: Chat, known: Memory) -> None:
    file = known.block.file
    editing.edit_memory(alice, known, "Mira keeps a flower.")  # as at first, but for the quote below
    newest = file.revisions.first()
    with memory_file.change(file, reason="test", author=alice) as editor:
        row = editor.memory(known.pk)
        row.evidence = [{**one, "quote": f"{CANARY} too"} for one in row.evidence]
        row.save()
        editor.touch()
    forgetting.forget(alice, chat)
    assert CANARY not in everything()
    states = [memory_file.revision_state(one)["blocks"] for one in (newest, file.revisions.first())]
    assert states[0] == states[1]


def test_quotes_of_other_chats_stay(alice: User, chat: Chat, known: Memory) -> None:
    other = make_chat(chat.character, 3, name="Other")
    source = other.messages.get(index=1)
    item = {"identity": source.identity, "index": 1, "quote": source.text, "content": source.content}
    with memory_file.change(known.block.file, reason="test", author=alice) as editor:
        editor.add_block("Scene", [NewMemory("Other.", evidence=[item])], origin="extracted", chat=other)
    forgetting.forget(alice, chat)
    assert Memory.objects.for_user(alice).get(text="Other.").evidence == [item]
    assert other.messages.count() == 3


def test_its_memories_go_too_when_asked_and_history_brings_them_back(
    alice: User, alice_client: Client, chat: Chat, known: Memory
) -> None:
    page = soup(alice_client.get(f"/chats/{chat.pk}/forget/"))
    assert words(page.select_one(".forget-list .num")) == "6"
    alice_client.post(f"/chats/{chat.pk}/forget/", {"memories": "yes"})
    assert "forgotten" in words(toast(alice_client))
    assert not Memory.objects.for_user(alice).exists()
    file = known.block.file
    editing.restore_revision(alice, file.revisions.get(number=2))
    assert Memory.objects.for_user(alice).get().text == "Mira keeps a yellow flower."
    assert CANARY not in everything()


def test_the_reader_and_the_list_say_that_it_was_forgotten(alice_client: Client, alice: User, chat: Chat) -> None:
    forgetting.forget(alice, chat)
    assert "You had this chat forgotten" in words(soup(alice_client.get(f"/chats/{chat.pk}/")))
    row = words(soup(alice_client.get(f"/characters/{chat.character_id}/chats/")).select_one(".chat-table tbody"))
    assert row.endswith("forgotten")


def test_whoever_keeps_more_of_it_is_told(alice: User, chat: Chat) -> None:
    heard: list[ChatForgotten] = []
    chat_forgotten.connect(heard.append)
    try:
        forgetting.forget(alice, chat)
    finally:
        chat_forgotten._listeners.remove(heard.append)
    assert [news.chat_id for news in heard] == [chat.pk]


def test_a_big_chat_is_forgotten_by_a_job(alice: User, chat: Chat, known: Memory, monkeypatch: Any) -> None:
    monkeypatch.setattr(forgetting, "AT_ONCE", 2)
    job = forgetting.forget(alice, chat)
    assert job is not None
    assert Chat.objects.for_user(alice).get(pk=chat.pk).forgotten_at is not None, "the mirror stays away at once"
    run_until_idle(alice)
    assert CANARY not in everything()


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> StFolder:
    folder = StFolder(alice, tmp_path / "wren")
    folder.change(say_canary)
    folder.look()
    return folder


def say_canary(lines: list[dict[str, Any]]) -> None:
    lines[-1]["mes"] = f"The {CANARY} blooms."


def say_more(lines: list[dict[str, Any]]) -> None:
    lines.append({**lines[-1], "mes": f"The {CANARY} fades.", "send_date": "2025-07-01T10:00:00.000Z"})


def test_the_mirror_leaves_a_forgotten_chat_alone_until_asked(alice: User, folder: StFolder) -> None:
    chat = folder.chat()
    count = chat.messages.count()
    forgetting.forget(alice, chat)
    folder.change(say_more)
    assert folder.look().files_read == 0
    assert folder.texts() == []
    assert not folder.look().changed
    forgetting.read_again(alice, chat)
    folder.look()
    assert len(folder.texts()) == count + 1
    assert folder.chat().forgotten_at is None


def test_a_forgotten_chat_is_known_again_under_another_name(alice: User, folder: StFolder) -> None:
    chat = folder.chat()
    forgetting.forget(alice, chat)
    new = MARA.replace(".jsonl", " renamed.jsonl")
    (folder.root / MARA).rename(folder.root / new)
    folder.look()
    assert folder.chat(new).pk == chat.pk
    assert folder.texts(new) == []


def test_forgetting_in_the_middle_of_a_pass_wins(
    alice: User, folder: StFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = mirror_chats.write_messages

    def forget_first(row: Chat, *args: Any, **named: Any) -> Any:
        forgetting.forget(alice, folder.chat())
        return write(row, *args, **named)

    folder.change(say_more)
    monkeypatch.setattr(mirror_chats, "write_messages", forget_first)
    folder.look()
    assert folder.texts() == []
    assert folder.chat().forgotten_at is not None


def test_nothing_waits_to_be_read_in_a_forgotten_chat(alice: User, chat: Chat) -> None:
    Watermark.objects.create(chat=chat, character=chat.character, index=1, waiting=4, unread_to=5)
    forgetting.forget(alice, chat)
    mark = Watermark.objects.for_user(alice).get()
    assert (mark.waiting, mark.unread_to) == (0, -1)
