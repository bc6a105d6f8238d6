"""What alice does on the page: edit, add, delete, reorder, undo, restore."""

from __future__ import annotations

import pytest

from accounts.models import User
from memories import editing, memory_file
from memories.file_editor import NewMemory
from memories.memory_file import VersionConflict, change, file_for
from memories.models import MemoryFile
from tests.support.story import make_character


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(alice))
    with change(file, reason="extracted") as editor:
        evidence = [{"identity": "b" * 32, "index": 1, "quote": "the shelter"}]
        editor.add_block(
            "one", ["[Flux, Alex — adoption]", NewMemory("Alex adopted Flux.", evidence)], origin="extracted"
        )
        editor.add_block(
            "two", [NewMemory("Zed bought a boat.", unverified_names=["Zed"], is_unverified=True)], origin="extracted"
        )
    return file


def lines(file: MemoryFile) -> list[list[str]]:
    return [[memory.text for memory in block.memories.all()] for block in file.blocks.all()]


def test_edit_keeps_the_source_and_takes_the_warning_away(alice: User, file: MemoryFile) -> None:
    memory = memory_file.memories_of(file)[2]
    revision = editing.edit_memory(alice, memory, "Alex bought\na boat.")
    assert revision is not None
    assert (revision.number, revision.author, str(revision.reason)) == (2, alice, "Memory edited")
    memory.refresh_from_db()
    assert (memory.text, memory.is_unverified, memory.unverified_names) == ("Alex bought a boat.", False, [])
    with pytest.raises(ValueError, match="A memory needs some text"):
        editing.edit_memory(alice, memory, "  \n ")


def test_add_delete_and_reorder(alice: User, file: MemoryFile) -> None:
    first, second = file.blocks.all()
    editing.add_memory(alice, first, "Flux purred.", position=1)
    editing.move_block(alice, second, 1)
    assert lines(file) == [
        ["Zed bought a boat."],
        ["[Flux, Alex — adoption]", "Flux purred.", "Alex adopted Flux."],
    ]
    editing.delete_memory(alice, second.memories.get())
    assert [block.label for block in file.blocks.all()] == ["one"]
    editing.add_block(alice, file.character, "Written", ["I wrote this.", " "])
    block = file.blocks.get(label="Written")
    assert (block.origin, len(block.date)) == ("written", 16)
    assert lines(file)[1] == ["[Flux — Written]", "I wrote this."]
    editing.move_block(alice, block, 1)
    assert [one.label for one in file.blocks.all()] == ["Written", "one"]
    editing.move_block(alice, block, -1)
    assert [one.label for one in file.blocks.all()] == ["one", "Written"]
    editing.delete_memory(alice, block.memories.first())
    editing.move_memory(alice, block.memories.get(), first, 0)
    assert lines(file) == [["I wrote this.", "[Flux, Alex — adoption]", "Flux purred.", "Alex adopted Flux."]]
    editing.move_memory(alice, first.memories.first(), first, 3)
    assert lines(file) == [["[Flux, Alex — adoption]", "Flux purred.", "Alex adopted Flux.", "I wrote this."]]


def test_a_page_that_is_out_of_date_overwrites_nothing(alice: User, file: MemoryFile) -> None:
    memory = memory_file.memories_of(file)[1]
    editing.edit_memory(alice, memory, "Alex adopted Flux in May.", expected_version=1)
    with pytest.raises(VersionConflict):
        editing.edit_memory(alice, memory, "Alex adopted Flux in June.", expected_version=1)
    memory.refresh_from_db()
    assert memory.text == "Alex adopted Flux in May."


def test_undo_walks_back_step_by_step_and_brings_the_source_back(alice: User, file: MemoryFile) -> None:
    memory = memory_file.memories_of(file)[1]
    editing.delete_block(alice, file.blocks.get(label="two"))
    editing.delete_memory(alice, memory)
    assert lines(file) == []  # a topic tag alone says nothing
    editing.undo_last(alice, file)
    back = memory_file.memories_of(file)[1]
    assert (back.pk, back.evidence[0]["quote"]) == (memory.pk, "the shelter")
    editing.undo_last(alice, file)
    assert lines(file) == [["[Flux, Alex — adoption]", "Alex adopted Flux."], ["Zed bought a boat."]]
    assert memory_file.memories_of(file)[2].unverified_names == ["Zed"]
    editing.undo_last(alice, file)
    assert lines(file) == []
    assert editing.undo_last(alice, file) is None
    assert file.revisions.count() == 7


def test_any_revision_can_come_back_at_any_time(alice: User, file: MemoryFile) -> None:
    wanted = file.revisions.get(number=1)
    editing.delete_block(alice, file.blocks.get(label="one"))
    editing.edit_memory(alice, memory_file.memories_of(file)[0], "Alex sold the boat.")
    revision = editing.restore_revision(alice, wanted)
    assert revision is not None
    assert (revision.restored, revision.added, revision.removed) == (1, 3, 1)
    assert memory_file.revision_text(revision) == memory_file.revision_text(wanted)
    assert editing.restore_revision(alice, wanted) is None


def test_only_the_owner_changes_a_file(bob: User, file: MemoryFile) -> None:
    with pytest.raises(PermissionError):
        editing.delete_block(bob, file.blocks.get(label="one"))


def test_undo_takes_back_its_own_change_and_leaves_what_an_extraction_added(alice: User, file: MemoryFile) -> None:
    deleted = editing.delete_memory(alice, memory_file.memories_of(file)[1])
    assert deleted is not None
    with change(file, reason="extracted") as editor:
        editor.add_block("three", ["Flux met a fox."], origin="extracted")
    made = editing.undo(alice, file, deleted.number)
    assert made is not None and (made.added, made.removed) == (2, 0)
    texts = [["[Flux, Alex — adoption]", "Alex adopted Flux."], ["Zed bought a boat."], ["Flux met a fox."]]
    assert lines(file) == texts
    assert memory_file.memories_of(file)[1].evidence
    with pytest.raises(ValueError, match="There were other changes since"):
        editing.undo(alice, file, deleted.number)
    assert lines(file) == texts
    assert file.version == file.revisions.count() - 1
