"""The index follows what a person owns, and finds it: memories, messages, lorebook entries, and nobody else's."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts import people
from accounts.models import User
from accounts.ownership import unscoped
from charmem_site.backup.archive import write
from charmem_site.backup.restoring import restore
from jobs.clock import run_in_turn
from memories import editing
from memories.memory_file import change, file_for
from search import engines, index
from search import find as finding
from search.find import behind, find, scope_of, size_of
from search.models import SearchContainer, SearchEntry
from search.query import parse
from sync.models import Chat, Lorebook, Message
from tests.support.builders import (
    make_character,
    make_chat,
    make_group,
    make_lorebook,
    make_memory_file,
    make_tavern,
    make_world,
)


def keys(user: User, text: str, **narrowed: Any) -> dict[str, list[str]]:
    return {one.kind: [hit.key for hit in one.hits] for one in find(user, text, **narrowed) if one.hits}


def counts(user: User, text: str, **narrowed: Any) -> dict[str, int]:
    return {kind: len(found) for kind, found in keys(user, text, **narrowed).items()}


def touch(chat: Chat) -> None:
    """What a pass of the mirror does to a chat whose messages changed."""
    with unscoped("a test plays the mirror"):
        Chat.objects.filter(pk=chat.pk).update(version=chat.version + 1, message_count=chat.messages.count())
    chat.refresh_from_db()


def add_message(chat: Chat, text: str, **fields: Any) -> Message:
    number = chat.messages.count()
    values = {"role": "user", "identity": f"{number:032}", "content": text[:32], "index": number}
    message = Message.objects.create(chat=chat, text=text, **{**values, **fields})
    touch(chat)
    return message


def test_memories_messages_and_lorebooks_are_found_by_their_words(alice: User) -> None:
    tavern = make_tavern(alice)
    seraphine = make_character(tavern)
    chat = make_chat(seraphine, ["Two hands, she says.", "I hold the lantern over the water."])
    group_chat = make_chat(make_group(tavern, seraphine), ["He sets his Lantern on the ice."])
    file = make_memory_file(
        seraphine, [("The lantern oath", ["Swore on the brass lantern.", "Calls Wren little tide."])]
    )
    book = make_lorebook(tavern, "The Brass Lantern", "It burns whale oil.")
    assert index.step()

    block = file.blocks.get()
    bullet = block.memories.get(order=0)
    found = keys(alice, "lantern")
    assert set(found["memories"]) == {f"b{block.pk}", f"m{bullet.pk}"}
    assert set(found["messages"]) == {str(chat.messages.get(index=1).pk), str(group_chat.messages.get().pk)}
    assert found["lore"] == [str(book.entries.get().pk)]
    assert keys(alice, "whale") == {"lore": [str(book.entries.get().pk)]}
    assert size_of(alice) == 3 + 3 + 1
    assert behind(alice) == 0


def test_two_chinese_letters_are_found_inside_a_sentence(alice: User) -> None:
    chat = make_chat(make_character(make_tavern(alice)), ["她搬到了海边", "图书馆"])
    index.step()
    assert keys(alice, "海边") == {"messages": [str(chat.messages.get(index=0).pk)]}
    assert keys(alice, "海") == {"messages": [str(chat.messages.get(index=0).pk)]}
    assert keys(alice, "边海") == {}


def test_nobody_finds_what_others_own(alice: User, bob: User, charlie: User) -> None:
    make_world(alice, "alicecanary")
    make_world(bob, "bobcanary")
    index.step()
    assert sum(counts(alice, "alicecanary").values()) >= 9
    assert counts(bob, "alicecanary") == {}
    assert counts(charlie, "alicecanary") == {}
    assert counts(bob, "bobcanary") == counts(alice, "alicecanary")
    assert size_of(charlie) == 0


def test_the_scope_words_of_another_person_open_nothing(
    alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scope words are short and may meet; the full owner is compared as well."""
    make_world(alice, "alicecanary")
    index.step()
    monkeypatch.setattr(finding.scope, "of_person", lambda person: f"o{alice.pk.hex[:8]}")
    assert counts(bob, "alicecanary") == {}


def test_one_new_message_in_a_long_chat_is_one_new_row(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = make_chat(make_character(make_tavern(alice)), 700)
    index.step()
    made: list[str] = []
    cut = index.index_text
    monkeypatch.setattr(index, "index_text", lambda text: made.append(text) or cut(text))

    add_message(chat, "The lantern went out.")
    index.step()

    assert made == ["The lantern went out."]
    assert counts(alice, "lantern") == {"messages": 1}
    index.step()
    assert len(made) == 1


def test_edited_deleted_and_moved_rows_follow(alice: User) -> None:
    chat = make_chat(make_character(make_tavern(alice)), ["The lantern burns.", "The lantern hums.", "Silence."])
    index.step()
    assert counts(alice, "lantern") == {"messages": 2}
    chat.messages.filter(index=0).update(text="The candle burns.", content="candle")
    chat.messages.filter(index=1).delete()
    touch(chat)
    index.step()
    assert counts(alice, "lantern") == {}
    assert counts(alice, "candle") == {"messages": 1}
    assert size_of(alice) == 2
    other = make_character(chat.tavern, "Rook")
    assert counts(alice, "candle", character=other.pk) == {}
    Chat.objects.for_user(alice).update(character=other)
    index.step()
    assert counts(alice, "candle", character=other.pk) == {"messages": 1}


def test_memories_follow_edits_and_renamed_topics(alice: User) -> None:
    file = file_for(make_character(make_tavern(alice)))
    editing.add_block(alice, file, "First night", ["[Seraphine — The oath]", "Swore on the lantern."])
    index.step()
    assert counts(alice, "oath") == {"memories": 1}
    bullet = file.blocks.get().memories.get(is_topic=False)
    editing.edit_memory(alice, bullet, "Swore on the candle.")
    index.step()
    assert counts(alice, "lantern") == {}
    assert keys(alice, "candle") == {"memories": [f"m{bullet.pk}"]}
    with change(file, reason="gone") as editor:
        editor.delete_block(bullet.block_id)
    index.step()
    assert size_of(alice) == 0


def test_a_forgotten_chat_and_a_lorebook_that_is_gone_leave_the_index(alice: User) -> None:
    tavern = make_tavern(alice)
    chat = make_chat(make_character(tavern), ["The lantern burns."])
    make_lorebook(tavern, "Lantern")
    index.step()
    assert counts(alice, "lantern") == {"messages": 1, "lore": 1}
    with unscoped("a test forgets"):
        Chat.objects.filter(pk=chat.pk).update(forgotten_at=timezone.now())
        Lorebook.objects.update(gone_at=timezone.now())
    index.forget("messages", str(chat.pk))
    assert counts(alice, "lantern") == {"lore": 1}
    index.step()
    assert counts(alice, "lantern") == {}
    with unscoped("a test looks"):
        assert not SearchEntry.objects.exists()


def test_what_was_forgotten_is_in_no_part_of_the_index(alice: User) -> None:
    chat = make_chat(make_character(make_tavern(alice)), ["The xylophonium sang."])
    make_world(alice)
    index.step()
    add_message(chat, "It sang on.")
    index.step()
    index.forget("messages", str(chat.pk))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM search_searchentry WHERE words LIKE '%xylophonium%'")
        assert cursor.fetchone() == (0,)
        if connection.vendor == "sqlite":
            cursor.execute("SELECT count(*) FROM search_index_data WHERE instr(block, CAST('xyloph' AS BLOB))")
            assert cursor.fetchone() == (0,)


def test_the_clock_takes_up_a_new_memory(alice: User) -> None:
    assert index.EVERY <= 10
    make_memory_file(make_character(make_tavern(alice)), [("Night", ["Keeps a lantern."])])
    assert run_in_turn("search")
    assert counts(alice, "lantern") == {"memories": 1}


@pytest.mark.django_db(transaction=True)
def test_a_restored_backup_is_searchable_again(alice: User, bob: User, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    make_memory_file(make_character(make_tavern(alice)), [("Night", ["Keeps a lantern."])])
    index.step()
    made = write(tmp_path / "b.zip")
    people.remove(bob)
    make_memory_file(make_character(make_tavern(alice), "Rook"), [("Night", ["Keeps a candle."])])
    index.step()
    restore(made.path)
    assert (counts(alice, "lantern"), counts(alice, "candle"), size_of(alice)) == ({}, {}, 0)
    index.step()
    assert counts(alice, "lantern") == {"memories": 1}
    assert counts(alice, "candle") == {}


def test_messages_of_a_chat_that_is_gone_from_sillytavern_stay(alice: User) -> None:
    make_chat(make_character(make_tavern(alice)), ["The lantern burns."], gone_at=timezone.now())
    index.step()
    assert counts(alice, "lantern") == {"messages": 1}


def test_a_removed_account_leaves_no_word_behind(alice: User, bob: User) -> None:
    make_world(bob, "bobcanary")
    make_world(alice, "alicecanary")
    index.step()
    people.remove(bob)
    with unscoped("a test looks"):
        assert set(SearchContainer.objects.values_list("owner", flat=True)) == {alice.pk}
        assert not SearchEntry.objects.filter(words__contains="bobcanary").exists()
    assert engines.newest(parse("bobcanary"), [], 10) == []
    assert engines.newest(parse("alicecanary"), [], 100) != []


def test_filters_narrow_by_character_chat_kind_and_day(alice: User) -> None:
    tavern = make_tavern(alice)
    one, two = make_character(tavern, "Seraphine"), make_character(tavern, "Rook")
    chat, other = make_chat(one, ["A lantern."] * 3), make_chat(two, ["A lantern."] * 2)
    block = make_memory_file(one, [("Night", ["Keeps a lantern."])]).blocks.get()
    block.chat = chat
    block.save()
    other.messages.update(sent_at=datetime(2025, 12, 31, 23, 30, tzinfo=UTC))
    index.step()
    assert counts(alice, "lantern") == {"memories": 1, "messages": 5}
    assert counts(alice, "lantern", wanted=["messages"]) == {"messages": 5}
    assert counts(alice, "lantern", character=one.pk) == {"memories": 1, "messages": 3}
    assert counts(alice, "lantern", chat=chat.pk) == {"memories": 1, "messages": 3}
    assert counts(alice, "lantern", chat=other.pk) == {"messages": 2}
    assert counts(alice, "lantern", wanted=["messages"], since=date(2026, 1, 1)) == {"messages": 3}
    assert counts(alice, "lantern", wanted=["messages"], until=date(2025, 12, 31)) == {"messages": 2}
    with timezone.override("Asia/Tokyo"):  # the new year has begun there
        assert counts(alice, "lantern", wanted=["messages"], since=date(2026, 1, 1)) == {"messages": 5}


def test_a_word_in_too_many_places_says_so_and_shows_the_newest(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = make_chat(make_character(make_tavern(alice)), [f"The lantern {n}." for n in range(12)])
    index.step()
    monkeypatch.setattr(finding, "MOST", 10)
    (found,) = find(alice, "lantern", wanted=["messages"])
    assert (found.count, found.is_more) == (10, True)
    newest = {str(pk) for pk in chat.messages.filter(index__gte=2).values_list("pk", flat=True)}
    assert {hit.key for hit in found.hits} == newest


def test_older_chats_are_indexed_first_so_that_the_newest_entries_are_the_newest(alice: User) -> None:
    character = make_character(make_tavern(alice))
    new = make_chat(character, ["lantern new"], last_at=timezone.now())
    make_chat(character, ["lantern old"], last_at=timezone.now() - timedelta(days=90))
    index.step()
    ids = engines.newest(parse("lantern"), [], 10)
    with unscoped("a test looks"):
        assert SearchEntry.objects.get(pk=ids[0]).key == str(new.messages.get().pk)


def test_a_look_that_runs_out_of_time_goes_on_next_time(alice: User) -> None:
    make_chat(make_character(make_tavern(alice)), ["The lantern burns."])
    assert index.step(seconds=-1) is False
    assert behind(alice) == 1
    assert index.step()
    assert behind(alice) == 0
    assert counts(alice, "lantern") == {"messages": 1}


@pytest.mark.parametrize("text", ["", "   ", "-", '"', "-lantern", "'\"%s;--", "\x00", "a AND (", "*"])
def test_strange_questions_find_nothing_or_something_but_never_fail(alice: User, text: str) -> None:
    make_world(alice)
    index.step()
    find(alice, text)


@pytest.mark.parametrize("narrowed", [{}, {"since": date(2026, 1, 1)}])
def test_the_plan_of_a_question_uses_the_full_text_index(alice: User, narrowed: dict[str, Any]) -> None:
    make_world(alice)
    index.step()
    for text in ("lantern", "lant", '"brass lantern" -oil', "海边"):
        plan = engines.plan(parse(text), scope_of(alice, **narrowed), 1001)
        if connection.vendor == "sqlite":
            assert "VIRTUAL TABLE INDEX" in plan
            assert "SCAN search_searchentry" not in plan
        else:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL enable_seqscan = off")
                cursor.execute("SET LOCAL enable_indexscan = off")
            assert "search_entry_body" in engines.plan(parse(text), scope_of(alice, **narrowed), 1001)


def test_without_fts5_search_says_so_and_the_rest_goes_on(
    alice: User, alice_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "has_full_text", lambda: False)
    make_world(alice)
    from search.checks import full_text_index_is_there

    assert [warning.id for warning in full_text_index_is_there(None)] == ["search.W001"]
    assert index.step()
    assert find(alice, "lantern") == []
    assert "full-text index FTS5" in alice_client.get("/search/?q=lantern").content.decode()
