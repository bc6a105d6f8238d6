"""The memory file of a character: adoption, changes, outside edits, conservation."""

from __future__ import annotations

import json
import random

import pytest

from accounts.models import User
from memories import memory_file
from memories.blocks import parse
from memories.file_editor import NewMemory
from memories.file_state import blocks_of, document_of, dump, format_of
from memories.memory_file import VersionConflict, change, file_for, import_text, render, revision_text
from memories.models import MemoryFile, RevisionText
from tests.support.story import make_character, make_chat

FOUND = (
    "My own header\r\n\r\n"
    '<memory chat="first chat" date="2025-06-15 15:30">\n- [Flux, Alex — adoption day]\n'
    "* Alex adopted Flux.\n</memory>\n"
    "a note between\n"
    '<memory chat="Vet" date="2025-07-01 09:00">\n- Flux was vaccinated.\n</memory>\n\ntrailing words'
)


@pytest.fixture
def file(alice: User) -> MemoryFile:
    return file_for(make_character(alice))


def texts(file: MemoryFile) -> list[str]:
    return [memory.text for memory in memory_file.memories_of(file)]


def check_conservation(file: MemoryFile) -> None:
    """What is written reads back as the state of the rows, and equals the newest revision."""
    text = render(file)
    newest = file.revisions.get(number=file.version)
    assert memory_file.revision_state(newest) == json.loads(json.dumps(dump(file)))
    assert parse(text, format_of(file)) == document_of(dump(file))
    assert revision_text(newest) == text


def test_a_new_file_has_the_automatic_name_and_begins_empty(file: MemoryFile) -> None:
    assert (file.name, file.version, render(file)) == ("Flux-memories.md", 0, "")
    with change(file, reason="first") as editor:
        editor.add_block("first chat", ["Alex adopted Flux."], date="2026-01-01 10:00", origin="extracted")
    assert file.version == 1
    assert [r.number for r in file.revisions.all()] == [1, 0]
    assert revision_text(file.revisions.get(number=0)) == ""
    assert render(file) == '<memory chat="first chat" date="2026-01-01 10:00">\n- Alex adopted Flux.\n</memory>'
    check_conservation(file)


def test_adoption_keeps_the_text_exactly_and_hand_written_words_for_ever(file: MemoryFile) -> None:
    chat = make_chat(file.character)
    revision = import_text(file, FOUND, reason="Adopted")
    assert revision is not None
    assert revision.number == 0
    assert revision_text(revision) == FOUND
    assert (file.version, file.written_version) == (0, 0)
    assert texts(file) == ["[Flux, Alex — adoption day]", "Alex adopted Flux.", "Flux was vaccinated."]
    assert {block.origin for block in file.blocks.all()} == {"imported"}
    assert file.blocks.get(label="first chat").chat == chat
    with change(file, reason="extracted") as editor:
        editor.add_block("later", ["Flux moved."], origin="extracted")
    for words in ("My own header\r\n\r\n", "\na note between\n", "\n\ntrailing words"):
        assert words in render(file)
    check_conservation(file)
    with change(file, reason="deleted") as editor:
        editor.delete_block(file.blocks.get(label="Vet").pk)
    assert "a note between" in render(file)
    check_conservation(file)


def test_a_file_of_notes_only_gets_its_first_block_below_them(file: MemoryFile) -> None:
    import_text(file, "Just notes.", reason="Adopted")
    with change(file, reason="x") as editor:
        editor.add_block("c", ["One."], origin="extracted")
    assert render(file).startswith("Just notes.\n\n<memory ")
    check_conservation(file)


def test_an_outside_edit_keeps_where_memories_came_from(file: MemoryFile) -> None:
    evidence = [{"identity": "a" * 32, "index": 3, "quote": "adopted"}]
    with change(file, reason="x") as editor:
        editor.add_block(
            "one", [NewMemory("Alex adopted Flux.", evidence), "Flux slept."], date="d", origin="extracted"
        )
        editor.add_block("two", ["Mike visited on Friday evening."], date="d", origin="pinned")
    edited = (
        render(file)
        .replace("Mike visited on Friday evening.", "Mike visited on Saturday evening.")
        .replace("- Flux slept.\n", "- Alex bought a red bowl.\n")
    )
    revision = import_text(file, edited, reason="Changed in SillyTavern")
    assert revision is not None
    assert (revision.number, revision.added, revision.removed) == (2, 1, 1)
    assert file.written_version == 2
    assert [block.origin for block in blocks_of(file)] == ["extracted", "pinned"]
    first = memory_file.memories_of(file)[0]
    assert first.evidence == evidence
    assert texts(file) == ["Alex adopted Flux.", "Alex bought a red bowl.", "Mike visited on Saturday evening."]
    check_conservation(file)


def test_a_moved_bullet_keeps_its_row(file: MemoryFile) -> None:
    with change(file, reason="x") as editor:
        editor.add_block("one", ["A happened.", "B happened."], origin="extracted")
        editor.add_block("two", ["C happened."], origin="extracted")
    before = {memory.text: memory.pk for memory in memory_file.memories_of(file)}
    moved = render(file).replace("- A happened.\n", "").replace("- C happened.", "- C happened.\n- A happened.")
    import_text(file, moved, reason="outside")
    assert {memory.text: memory.pk for memory in memory_file.memories_of(file)} == before
    assert texts(file) == ["B happened.", "C happened.", "A happened."]


def test_the_same_text_again_makes_no_revision(file: MemoryFile) -> None:
    import_text(file, FOUND, reason="Adopted")
    assert import_text(file, FOUND, reason="again") is None
    assert import_text(file, render(file), reason="again") is None
    assert (file.version, file.revisions.count()) == (0, 1)


def test_two_savers_meet_and_nothing_is_overwritten(file: MemoryFile) -> None:
    with change(file, reason="x") as editor:
        editor.add_block("one", ["A happened."], origin="written")
    mine, theirs = MemoryFile.objects.for_user(file.owner).get(pk=file.pk), file
    with change(theirs, reason="theirs") as editor:
        editor.add_block("two", ["B happened."], origin="written")
    refused = pytest.raises(VersionConflict, match="Nothing was overwritten")
    with refused, change(mine, reason="mine", expected_version=1) as editor:
        editor.add_block("three", ["C happened."], origin="written")
    assert texts(file) == ["A happened.", "B happened."]
    assert mine.version == 1


def test_a_change_that_fails_leaves_nothing(file: MemoryFile) -> None:
    with change(file, reason="x") as editor:
        editor.add_block("one", ["A happened."], origin="written")
    with pytest.raises(RuntimeError), change(file, reason="y") as editor:
        editor.add_block("two", ["B happened."], origin="written")
        raise RuntimeError
    assert (texts(file), file.version, file.revisions.count()) == (["A happened."], 1, 2)


def test_a_change_without_effect_leaves_no_trace(file: MemoryFile) -> None:
    with change(file, reason="x") as editor:
        editor.add_block("one", ["A happened."], origin="written")
    with change(file, reason="nothing") as editor:
        editor.add_block("two", ["  "], origin="written")
        editor.set_text(memory_file.memories_of(file)[0].pk, " A happened. ")
    assert (file.version, file.revisions.count()) == (1, 2)


def test_equal_text_is_stored_once(file: MemoryFile) -> None:
    with change(file, reason="x") as editor:
        block = editor.add_block("one", ["A happened.", "B happened."], origin="written")
        assert block is not None
    memory = memory_file.memories_of(file)[1]
    with change(file, reason="delete") as editor:
        editor.delete_memory(memory.pk)
    memory_file.restore(file, file.revisions.get(number=1), author=None, reason="back")
    numbers = dict(file.revisions.values_list("number", "state_id"))
    assert numbers[1] == numbers[3] != numbers[2]
    assert RevisionText.objects.for_user(file.owner).filter(pk=numbers[1]).count() == 1


def test_many_random_changes_conserve_the_state(file: MemoryFile) -> None:
    import_text(file, FOUND, reason="Adopted")
    dice = random.Random(20260301)
    for step in range(40):
        with change(file, reason=f"step {step}") as editor:
            blocks = editor.blocks
            action = dice.randrange(6)
            if action == 0 or not blocks:
                editor.add_block(f"label {step}", [f"Fact {step}.", f"- dash {step}"], origin="written")
            elif action == 1:
                editor.delete_block(dice.choice(blocks).pk)
            elif action == 2:
                editor.move_block(dice.choice(blocks).pk, dice.randrange(5))
            elif action == 3:
                editor.add_memory(dice.choice(blocks).pk, f"Added {step} </memory>", dice.randrange(3))
            elif action == 4:
                editor.delete_memory(dice.choice(memory_file.memories_of(file)).pk)
            else:
                memory = dice.choice(memory_file.memories_of(file))
                editor.move_memory(memory.pk, dice.choice(blocks).pk, dice.randrange(3))
        check_conservation(file)
    assert "My own header" in render(file)
