"""What was deleted lies in the trash for 30 days and comes back with everything that was known about it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.models import User
from memories import drafts, editing, memory_file, trash
from memories.file_editor import NewMemory
from memories.file_state import dump
from memories.memory_file import change, file_for, render
from memories.models import MemoryFile, TrashItem
from tests.support.story import make_character


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(alice))
    with change(file, reason="extracted") as editor:
        for n in range(3):
            new = NewMemory(f"Fact {n}.", [{"identity": "a", "index": n, "quote": "q"}])
            editor.add_block(f"chat {n}", [f"[Flux — night {n}]", new], origin="extracted")
    return file


def labels(file: MemoryFile) -> list[str]:
    return [block.label for block in file.blocks.order_by("order")]


def test_a_deleted_block_comes_back_as_it_was(alice: User, file: MemoryFile) -> None:
    before = dump(file)
    editing.delete_block(alice, file.blocks.get(label="chat 1"))
    item = trash.items(alice).get()
    assert (item.kind, item.title, item.memories, item.revision) == ("block", "night 1", 1, 2)
    file.refresh_from_db()
    assert labels(file) == ["chat 0", "chat 2"]
    revision = trash.put_back(alice, item)
    assert revision is not None
    file.refresh_from_db()
    assert dump(file) == before
    assert not trash.items(alice).exists()
    with pytest.raises(ValueError, match="put back already"):
        trash.put_back(alice, item)


def test_undo_brings_it_back_too_and_empties_the_trash(alice: User, file: MemoryFile) -> None:
    editing.delete_block(alice, file.blocks.get(label="chat 1"))
    file.refresh_from_db()
    editing.undo_last(alice, file)
    assert labels(file) == ["chat 0", "chat 1", "chat 2"]
    assert not trash.items(alice).exists()


def test_undo_behind_an_extraction_counts_as_well(alice: User, file: MemoryFile) -> None:
    revision = editing.delete_block(alice, file.blocks.get(label="chat 1"))
    assert revision is not None
    with change(MemoryFile.objects.for_user(alice).get(pk=file.pk), reason="extracted") as editor:
        editor.add_block("later", ["Later."], origin="extracted")
    file.refresh_from_db()
    editing.undo(alice, file, revision.number)
    assert labels(file) == ["chat 0", "chat 1", "chat 2", "later"]
    assert not trash.items(alice).exists()


def test_the_last_bullet_takes_its_block_into_the_trash(alice: User, file: MemoryFile) -> None:
    block = file.blocks.get(label="chat 2")
    for memory in block.memories.order_by("order"):
        editing.delete_memory(alice, memory)
    assert [item.memories for item in trash.items(alice)] == [1]
    assert labels(MemoryFile.objects.for_user(alice).get(pk=file.pk)) == ["chat 0", "chat 1"]


def test_a_block_deleted_in_an_edit_goes_there_when_it_is_saved(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    gone, merged = file.blocks.get(label="chat 0"), file.blocks.get(label="chat 1")
    with drafts.step(draft, "Delete") as editor:
        editor.delete_block(gone.pk)
        editor.merge_blocks([merged.pk, file.blocks.get(label="chat 2").pk])
    assert not trash.items(alice).exists()
    drafts.save(draft)
    assert [item.title for item in trash.items(alice)] == ["night 0"]
    file.refresh_from_db()
    trash.put_back(alice, trash.items(alice).get())
    assert labels(file) == ["chat 0", "chat 1"]


def test_clear_is_a_revision_and_an_item(alice: User, file: MemoryFile) -> None:
    before = render(file)
    with change(file, reason="x") as editor:
        editor.file.loose_text = [{"before": None, "text": "\n\nMy own words."}]
        editor.touch([])
    revision = memory_file.clear(file, author=alice)
    assert revision is not None
    assert revision.removed == 6
    assert render(file) == "\n\nMy own words."
    item = trash.items(alice).get()
    assert (item.kind, item.memories) == ("file", 3)
    trash.put_back(alice, item)
    file.refresh_from_db()
    assert render(file).startswith(before)
    assert memory_file.clear(file_for(make_character(alice, "Mike")), author=alice) is None


def test_put_back_adds_only_what_is_missing(alice: User, file: MemoryFile) -> None:
    memory_file.clear(file, author=alice)
    item = trash.items(alice).get()
    memory_file.restore_block(file, file.revisions.get(number=1), str(dump_ids(file)[1]), author=alice)
    file.refresh_from_db()
    trash.put_back(alice, item)
    file.refresh_from_db()
    assert sorted(labels(file)) == ["chat 0", "chat 1", "chat 2"]
    assert sum(block.memories.count() for block in file.blocks.all()) == 6


def dump_ids(file: MemoryFile) -> list[str]:
    state = memory_file.revision_state(file.revisions.get(number=1))
    return [block["id"] for block in state["blocks"]]


def test_locked_words_are_not_deleted_by_a_person(alice: User, file: MemoryFile) -> None:
    block = file.blocks.get(label="chat 0")
    with change(file, reason="lock") as editor:
        editor.set_block(block.pk, is_locked=True)
    for act in (
        lambda: editing.delete_block(alice, block),
        lambda: editing.edit_memory(alice, block.memories.get(is_topic=False), "Other."),
        lambda: editing.delete_memory(alice, block.memories.get(is_topic=False)),
    ):
        with pytest.raises(ValueError, match="Unlock it first"):
            act()
    assert not trash.items(alice).exists()
    assert file.version == 2


def test_thirty_days_later_it_is_gone_for_everybody(alice: User, file: MemoryFile) -> None:
    editing.delete_block(alice, file.blocks.get(label="chat 1"))
    with time_machine.travel(timezone.now() + timedelta(days=29), tick=False):
        trash.purge()
        assert trash.items(alice).count() == 1
    with time_machine.travel(timezone.now() + timedelta(days=31), tick=False):
        assert not trash.items(alice).exists()
        trash.purge()
    assert not TrashItem.objects.for_user(alice).exists()


def test_a_stranger_puts_nothing_back(alice: User, charlie: User, file: MemoryFile) -> None:
    editing.delete_block(alice, file.blocks.get(label="chat 1"))
    assert not trash.items(charlie).exists()
    with pytest.raises(PermissionError):
        trash.put_back(charlie, trash.items(alice).get())
