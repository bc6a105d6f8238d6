"""Revisions, what they changed, and bringing one back."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories import editing
from memories.memory_file import file_for, render
from memories.models import MemoryFile, TrashItem, Watermark
from memories.watermark import mark_read
from memories.word_diff import in_line, line_rows, lines_in_line, word_diff
from tests.support.builders import make_character, make_chat, make_connection, make_tavern
from tests.support.pages import soup, toast, words


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(make_tavern(alice), "Seraphine"))
    editing.add_block(alice, file, "Descent", ["[Seraphine — The oath]", "She let the user carry it.", "Counts steps."])
    file.refresh_from_db()
    memory = next(row for row in file.blocks.get().memories.all() if "user" in row.text)
    editing.edit_memory(alice, memory, "She let Wren carry it.")
    file.refresh_from_db()
    return file


def texts(file: MemoryFile) -> list[str]:
    return [row.text for row in file.blocks.get().memories.filter(is_topic=False)]


def test_the_newest_revision_shows_the_changed_words_side_by_side(alice_client: Client, file: MemoryFile) -> None:
    page = soup(alice_client.get(f"/characters/{file.character_id}/history/"))
    row = page.select_one("section.diff-row")
    assert words(row.h3) == "The oath"
    assert [words(part) for part in row.select("del")] == ["the user"]
    assert [words(part) for part in row.select("ins")] == ["Wren"]
    assert [words(item) for item in row.select(".diff-old li")] == ["She let the user carry it.", "Counts steps."]
    entries = [words(entry) for entry in page.select("a.rev")]
    assert "You" in entries[0] and "Memory edited" in entries[0]


def test_an_earlier_revision_comes_back_and_the_present_one_stays_in_the_list(
    alice_client: Client, file: MemoryFile
) -> None:
    first = file.revisions.get(number=1)
    page = soup(alice_client.get(f"/revisions/{first.pk}/"))
    button = page.select_one("button.is-primary")
    assert words(button) == "Restore revision 1"
    alice_client.post(button.find_parent("form")["action"])
    assert texts(file) == ["She let the user carry it.", "Counts steps."]
    assert "Revision 1 is back." in words(toast(alice_client))
    assert len(soup(alice_client.get(f"/characters/{file.character_id}/history/")).select("a.rev")) == 4


def test_without_any_change_the_page_says_what_will_be_here(alice: User, alice_client: Client) -> None:
    rook = make_character(make_tavern(alice), "Rook")
    page = soup(alice_client.get(f"/characters/{rook.pk}/history/"))
    assert "No history yet" in words(page.select_one(".empty"))


def test_strangers_get_404(charlie_client: Client, file: MemoryFile) -> None:
    revision = file.revisions.first()
    assert revision is not None
    assert charlie_client.get(f"/characters/{file.character_id}/history/").status_code == 404
    assert charlie_client.get(f"/revisions/{revision.pk}/").status_code == 404
    assert charlie_client.post(f"/revisions/{revision.pk}/restore/").status_code == 404


def test_words_are_compared_and_nothing_of_either_text_is_lost() -> None:
    old, new = "Calls Wren “little tide”, but only when frightened.", "Calls Wren “little tide”  and means it."
    left, right = word_diff(old, new)
    assert "".join(piece.text for piece in left) == old
    assert "".join(piece.text for piece in right) == new
    assert {piece.kind for piece in left} == {"same", "del"}


def test_very_long_texts_are_not_compared_word_by_word() -> None:
    left, right = word_diff("word " * 5_000, "other " * 5_000)
    assert [piece.kind for piece in (*left, *right)] == ["del", "ins"]


def test_lines_that_came_or_went_have_an_empty_side() -> None:
    rows = line_rows(["a", "b"], ["a", "b", "c"])
    assert [row.is_same for row in rows] == [True, True, False]
    assert rows[2].old == [] and rows[2].new[0].text == "c"


def test_one_block_comes_back_and_the_others_stay(alice: User, alice_client: Client, file: MemoryFile) -> None:
    editing.add_block(alice, file, "Ascent", ["[Seraphine — Up]", "Climbed alone."])
    file.refresh_from_db()
    climbed = file.blocks.order_by("order").last()
    assert climbed is not None
    editing.edit_memory(alice, climbed.memories.get(text="Climbed alone."), "Climbed with Wren.")
    page = soup(alice_client.get(f"/revisions/{file.revisions.get(number=2).pk}/"))
    button = page.select_one("section.diff-row form button")
    assert "as it was in revision 1" in words(button)
    alice_client.post(button.find_parent("form")["action"])
    assert [row.text for block in file.blocks.order_by("order") for row in block.memories.filter(is_topic=False)] == [
        "She let the user carry it.",
        "Counts steps.",
        "Climbed with Wren.",
    ]
    assert "The block is back as it was in revision 1." in words(toast(alice_client))


def test_what_happened_to_a_block_is_said(alice: User, alice_client: Client, file: MemoryFile) -> None:
    block = file.blocks.get()
    editing.delete_memory(alice, block.memories.get(text="Counts steps."))
    newest = soup(alice_client.get(f"/characters/{file.character_id}/history/"))
    assert "1 memory less" in words(newest.select_one(".diff-head"))
    block.refresh_from_db()
    editing.delete_block(alice, block)
    newest = soup(alice_client.get(f"/characters/{file.character_id}/history/"))
    assert "gone" in words(newest.select_one(".diff-head"))
    assert words(newest.select_one(".diff-new")) == ""


def test_a_deleted_block_lies_in_the_trash_and_is_put_back(alice: User, alice_client: Client, file: MemoryFile) -> None:
    editing.delete_block(alice, file.blocks.get())
    url = f"/characters/{file.character_id}/trash/"
    page = soup(alice_client.get(url))
    assert words(page.h2) == "1 deleted thing can be put back"
    alice_client.post(page.select_one(".trash-list form")["action"])
    assert texts(file) == ["She let Wren carry it.", "Counts steps."]
    assert "Put back" in words(toast(alice_client))
    assert words(soup(alice_client.get(url)).h2) == "The trash is empty"


def test_clearing_shows_its_numbers_first_and_can_be_undone(alice_client: Client, file: MemoryFile) -> None:
    url = f"/characters/{file.character_id}/clear/"
    assert words(soup(alice_client.get(url)).h2) == "2 memories would go, 1 block"
    alice_client.post(url)
    assert not file.blocks.exists()
    said = toast(alice_client)
    assert "stay in the trash for 30 days" in words(said)
    alice_client.post(said.form["action"])
    assert texts(file) == ["She let Wren carry it.", "Counts steps."]
    alice_client.post(url)
    trash = soup(alice_client.get(f"/characters/{file.character_id}/trash/"))
    alice_client.post(trash.select_one(".trash-list form")["action"])
    assert texts(file) == ["She let Wren carry it.", "Counts steps."]
    assert words(soup(alice_client.get(f"/characters/{file.character_id}/history/")).select_one("a.rev .muted")) != ""


def test_reset_clears_and_has_every_chat_read_again(alice: User, alice_client: Client, file: MemoryFile) -> None:
    chat = make_chat(file.character, 6)
    mark_read(alice, chat, file.character, 5)
    assert Watermark.objects.for_user(alice).get(chat=chat).index == 5
    make_connection(alice, price_in="2", price_out="2")
    page = words(soup(alice_client.get(f"/characters/{file.character_id}/clear/")))
    assert "After a reset 6 messages are unread; reading them again would take 1 call, about" in page
    assert "≈" in page
    alice_client.post(f"/characters/{file.character_id}/clear/", {"again": "1"})
    assert not file.blocks.exists()
    assert not Watermark.objects.for_user(alice).filter(chat=chat, index__gte=0).exists()
    assert file.revisions.first().reason.startswith("Reset")


@pytest.mark.parametrize("way", ["undo", "put back", "restore"])
def test_taking_a_reset_back_counts_the_chats_as_read_again(
    alice: User, alice_client: Client, file: MemoryFile, way: str
) -> None:
    chat, text = make_chat(file.character, 6), render(file)
    mark_read(alice, chat, file.character, 5)
    alice_client.post(f"/characters/{file.character_id}/clear/", {"again": "1"})
    assert not Watermark.objects.for_user(alice).filter(chat=chat, index__gte=0).exists()
    if way == "undo":
        alice_client.post(toast(alice_client).select_one("form")["action"])
    elif way == "put back":
        alice_client.post(f"/trash/{TrashItem.objects.for_user(alice).get(restored_at=None).pk}/put-back/")
    else:
        before = file.revisions.all()[1]
        alice_client.post(f"/revisions/{before.pk}/restore/")
    assert render(file) == text
    assert Watermark.objects.for_user(alice).get(chat=chat).index == 5


def test_of_several_files_only_the_chosen_ones_are_cleared(alice: User, alice_client: Client, file: MemoryFile) -> None:
    chat = make_chat(file.character, 2, name="By the fire")
    other = file_for(file.character, chat)
    editing.add_block(alice, other, "Fire", ["[Seraphine — Fire]", "Burned a letter."])
    page = soup(alice_client.get(f"/characters/{file.character_id}/clear/"))
    assert len(page.select("[name=file]")) == 2
    alice_client.post(f"/characters/{file.character_id}/clear/", {"file": [str(other.pk)]})
    assert not other.blocks.exists() and file.blocks.exists()
    history = soup(alice_client.get(f"/characters/{file.character_id}/history/?file={other.pk}"))
    assert "All memories cleared" in words(history.select_one("a.rev"))


def test_both_wordings_can_be_read_in_one_line() -> None:
    assert [(piece.kind, piece.text) for piece in in_line("Lit a lamp.", "Lit two lamps.")] == [
        ("same", "Lit "),
        ("del", "a"),
        ("ins", "two"),
        ("same", " "),
        ("del", "lamp"),
        ("ins", "lamps"),
        ("same", "."),
    ]
    rows = lines_in_line(["Stays.", "Goes."], ["Stays.", "Comes.", "Too."])
    assert ["".join(piece.text for piece in row if piece.kind != "del") for row in rows] == ["Stays.", "Comes.", "Too."]
