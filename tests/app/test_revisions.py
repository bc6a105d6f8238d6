"""How revisions are kept: only what changed anew, every state back byte for byte, states of earlier times readable."""

from __future__ import annotations

import json
import uuid

import pytest

from accounts.models import User
from memories import editing, memory_file, revisions
from memories.file_editor import NewMemory, NotInFile
from memories.file_state import dump
from memories.memory_file import change, file_for, render, revision_text
from memories.models import Memory, MemoryBlock, MemoryFile, Revision, RevisionText
from tests.support.story import make_character


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(alice))
    with change(file, reason="extracted") as editor:
        for n in range(6):
            editor.add_block(f"chat {n}", [f"Fact {n}a.", f"Fact {n}b."], date="2026-03-01 18:00", origin="extracted")
    return file


def block_of(file: MemoryFile, label: str) -> MemoryBlock:
    return file.blocks.get(label=label)


def contents(file: MemoryFile) -> int:
    return RevisionText.objects.for_user(file.owner).count()


def check(file: MemoryFile) -> None:
    """The newest revision is the state of the rows."""
    newest = file.revisions.get(number=file.version)
    assert revisions.revision_state(newest) == json.loads(json.dumps(dump(file)))
    assert revision_text(newest) == render(file)
    facts = (newest.blocks, newest.memories)
    assert facts == (file.blocks.count(), Memory.objects.for_user(file.owner).filter(block__file=file).count())


def test_a_change_keeps_the_touched_blocks_and_a_list(file: MemoryFile) -> None:
    before = contents(file)
    with change(file, reason="one bullet") as editor:
        editor.set_text(block_of(file, "chat 3").memories.first().pk, "Fact 3a, reworded.")
    assert contents(file) == before + 2
    check(file)
    with change(file, reason="one place") as editor:
        editor.move_block(block_of(file, "chat 5").pk, 0)
    assert contents(file) == before + 3
    check(file)


def test_rows_changed_without_a_word_are_found_all_the_same(file: MemoryFile) -> None:
    Memory.objects.for_user(file.owner).create(block=block_of(file, "chat 1"), text="Fact 1c.", order=9)
    with change(file, reason="append") as editor:
        editor.add_block("later", ["Later."], origin="extracted")
    check(file)


def test_every_state_comes_back_byte_for_byte(alice: User, file: MemoryFile) -> None:
    evidence = [{"identity": "a" * 32, "index": 3, "quote": "adopted"}]
    with change(file, reason="more") as editor:
        new = NewMemory("Fact 7.", evidence, parents=[str(uuid.uuid4())], is_locked=True)
        editor.add_block("chat 7", [new], origin="consolidated", form={"layout": "bullet", "metadata": True})
    with change(file, reason="moved") as editor:
        fact = block_of(file, "chat 2").memories.first()
        editor.move_memory(fact.pk, block_of(file, "chat 4").pk, 1)
        editor.move_block(block_of(file, "chat 0").pk, 4)
    with change(file, reason="gone") as editor:
        editor.delete_block(block_of(file, "chat 7").pk)
        editor.delete_memory(block_of(file, "chat 1").memories.first().pk)
    kept = {one.number: (revision_text(one), revisions.revision_state(one)) for one in file.revisions.all()}
    for number in (2, 1, 4, 3, 0, 4):
        editing.restore_revision(alice, file.revisions.get(number=number))
        file.refresh_from_db()
        text, state = kept[number]
        assert render(file) == text
        assert json.loads(json.dumps(dump(file))) == state
        check(file)


def test_a_revision_of_earlier_times_is_read_and_restored(alice: User, file: MemoryFile) -> None:
    old = dump(file)
    for block in old["blocks"]:
        del block["form"]
        for memory in block["memories"]:
            del memory["parents"]
    state, text = revisions.pack(file, [json.dumps(old), render(file)])
    before = render(file)
    file.revisions.filter(number=1).update(state=state, text=text)
    with change(file, reason="after") as editor:
        editor.delete_block(block_of(file, "chat 0").pk)
    check(file)
    earlier = file.revisions.get(number=1)
    assert revision_text(earlier) == before
    assert set(revisions.changed_blocks(file, *(map(revisions.manifest_of, file.revisions.all()[:2])))) == {
        old["blocks"][0]["id"]
    }
    editing.restore_revision(alice, earlier)
    file.refresh_from_db()
    assert render(file) == before
    check(file)


def test_text_is_kept_only_where_it_is_not_what_the_state_says(file: MemoryFile) -> None:
    assert file.revisions.get(number=1).text is None
    found = render(file).replace("- Fact 1a.", "* Fact 1a.") + "\n\n\n"
    revision = memory_file.import_text(file, found, reason="Changed in SillyTavern")
    assert revision is not None
    assert revision.text is not None
    assert revision_text(file.revisions.get(number=2)) == found
    plain = memory_file.canonical(file).replace("Fact 2a.", "Fact 2a, reworded.")
    again = memory_file.import_text(file, plain, reason="Changed in SillyTavern")
    assert again is not None
    assert again.text is None
    assert revision_text(again) == plain


def test_blocks_with_an_earlier_layout_are_written_in_it(file: MemoryFile) -> None:
    form = {"layout": "block", "separator": "\n\n", "metadata": False}
    with change(file, reason="new blocks only") as editor:
        for block in editor.blocks:
            editor.set_block(block.pk, form=form)
        editor.set_layout(layout="bullet", separator="\n\n", with_metadata=True)
        editor.add_block("new", ["New one.", "New two."], date="2026-04-01 09:00", origin="extracted")
    text = render(file)
    assert '<memory chat="chat 5" date="2026-03-01 18:00">\n- Fact 5a.\n- Fact 5b.\n</memory>\n\n<memory' in text
    assert "\n[2026-04-01 09:00 | new] - New one.\n\n[2026-04-01 09:00 | new] - New two.\n</memory>" in text
    check(file)


def test_one_block_of_a_revision_comes_back_beside_its_old_neighbours(alice: User, file: MemoryFile) -> None:
    wanted = str(block_of(file, "chat 2").pk)
    with change(file, reason="away") as editor:
        editor.delete_block(wanted)
        editor.set_text(block_of(file, "chat 4").memories.first().pk, "Stays reworded.")
    first = file.revisions.get(number=1)
    made = memory_file.restore_block(file, first, wanted, author=alice)
    assert made is not None
    assert [block.label for block in file.blocks.order_by("order")] == [f"chat {n}" for n in range(6)]
    assert [one.text for one in file.blocks.get(pk=wanted).memories.all()] == ["Fact 2a.", "Fact 2b."]
    assert "Stays reworded." in render(file)
    check(file)
    assert memory_file.restore_block(file, first, wanted, author=alice) is None
    with pytest.raises(NotInFile):
        memory_file.restore_block(file, first, str(uuid.uuid4()), author=alice)


def test_a_bullet_that_moved_on_stays_there_when_its_block_is_restored(alice: User, file: MemoryFile) -> None:
    moved = block_of(file, "chat 2").memories.first()
    with change(file, reason="moved") as editor:
        editor.move_memory(moved.pk, block_of(file, "chat 5").pk, 0)
    memory_file.restore_block(file, file.revisions.get(number=1), str(block_of(file, "chat 2").pk), author=alice)
    moved.refresh_from_db()
    assert moved.block.label == "chat 5"
    check(file)


def test_a_batch_is_taken_back_in_all_files_or_in_none(alice: User, file: MemoryFile) -> None:
    other = file_for(make_character(alice, "Mike"))
    with change(other, reason="x") as editor:
        editor.add_block("chat", ["Mike came."], origin="extracted")
    before = (render(file), render(other))

    def replace(batch: uuid.UUID) -> None:
        for one in (file, other):
            with change(one, reason="Replaced", author=alice, batch=batch) as editor:
                editor.set_text(memory_file.memories_of(one)[0].pk, f"Replaced {batch}.")

    replace(first := uuid.uuid4())
    assert len(editing.undo_batch(alice, first)) == 2
    file.refresh_from_db()
    other.refresh_from_db()
    assert (render(file), render(other)) == before
    replace(second := uuid.uuid4())
    with change(other, reason="later") as editor:
        editor.set_text(memory_file.memories_of(other)[0].pk, "Something else.")
    now = (render(file), render(other), Revision.objects.for_user(alice).count())
    with pytest.raises(ValueError, match=r"Mike-memories\.md was changed since"):
        editing.undo_batch(alice, second)
    file.refresh_from_db()
    other.refresh_from_db()
    assert (render(file), render(other), Revision.objects.for_user(alice).count()) == now


def test_a_stranger_takes_nothing_back(alice: User, charlie: User, file: MemoryFile) -> None:
    batch = uuid.uuid4()
    with change(file, reason="x", author=alice, batch=batch) as editor:
        editor.delete_block(block_of(file, "chat 0").pk)
    assert editing.undo_batch(charlie, batch) == []
    assert not file.blocks.filter(label="chat 0").exists()


def test_a_text_found_outside_comes_back_byte_for_byte(alice: User) -> None:
    file = file_for(make_character(alice))
    found = "\ufeff# Notes\r\n<memory chat='First' date=\"2026-03-01 10:00\">\r\n* Lit a lamp.\r\n</memory>\r\nby hand"
    memory_file.import_text(file, found, reason="Found in SillyTavern")
    assert memory_file.render(file) == found
    with memory_file.change(file, reason="more") as editor:
        editor.add_block("Second", ["Swore an oath."], origin="written")
    assert memory_file.render(file) != found
    first = file.revisions.get(number=0)
    made = memory_file.restore(file, first, author=alice, reason="back")
    assert made is not None and memory_file.render(file) == memory_file.revision_text(made) == found
    assert memory_file.restore(file, first, author=alice, reason="again") is None
    with memory_file.change(file, reason="more again") as editor:
        editor.add_block("Third", ["Counts steps."], origin="written")
    editing.undo_last(alice, file)
    assert memory_file.render(file) == found
