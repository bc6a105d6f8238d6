"""Revisions, what they changed, and bringing one back."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories import editing
from memories.memory_file import file_for
from memories.models import MemoryFile
from memories.word_diff import line_rows, word_diff
from tests.support.builders import make_character, make_tavern
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
