"""Edits, other edits and deletions in every order: what a person wrote is never silently lost, nothing is doubled."""

from __future__ import annotations

import pytest

from accounts.models import User
from memories import drafts, editing, memory_file
from memories.memory_file import change, file_for, render
from memories.merge import MergeNeeded
from memories.models import Draft, MemoryFile
from tests.app.test_drafts_together import again, block_id, lines, reword, text_id
from tests.app.test_drafts_together import file as file
from tests.support.builders import make_character


def save_mine(draft: Draft) -> None:
    """Save, and keep the own text wherever both sides changed something."""
    for one in drafts.merge_of(draft).blocks:
        drafts.choose(draft, one.id, "mine")
    drafts.save(draft)


def test_a_bullet_that_came_after_the_edit_began_and_was_changed_again(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, text_id(file, "one ends."), "one was edited.")
    with change(again(file), reason="extracted") as editor:
        editor.add_block("four", ["four begins.", "four ends."], origin="extracted")
    reword(draft, text_id(file, "four ends."), "four as I have it.")
    with change(again(file), reason="elsewhere") as editor:
        editor.set_text(text_id(file, "four ends."), "four as they have it.")
    with pytest.raises(MergeNeeded) as met:
        drafts.save(draft)
    assert "four as they have it." in met.value.merge.blocks[0].theirs
    assert "four as I have it." in met.value.merge.blocks[0].mine
    assert "four as they have it." in render(again(file))
    drafts.choose(draft, met.value.merge.blocks[0].id, "both")
    drafts.save(draft)
    assert lines(file)["four"] == ["four begins.", "four as they have it.", "four as I have it."]


def test_a_reworded_bullet_that_moved_away_from_a_block_that_others_deleted(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    ends = text_id(file, "one ends.")
    reword(draft, ends, "one in new words.")
    with drafts.step(draft, "move") as editor:
        editor.move_memories([ends], block_id(file, "two"))
    with change(again(file), reason="elsewhere") as editor:
        editor.delete_memory(ends)
    drafts.save(draft)
    assert "one in new words." in lines(file)["two"]


def test_all_bullets_moved_out_of_a_block_that_others_deleted(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "move") as editor:
        editor.merge_blocks([block_id(file, "two"), block_id(file, "one")])
    with change(again(file), reason="elsewhere") as editor:
        editor.delete_block(block_id(file, "two"))
    save_mine(draft)
    assert sorted(text for block in lines(file).values() for text in block) == sorted(
        ["one begins.", "one ends.", "two begins.", "two ends.", "three begins.", "three ends."]
    )


def test_an_edited_bullet_whose_file_was_cleared(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, text_id(file, "one ends."), "one in new words.")
    with drafts.step(draft, "add") as editor:
        editor.add_memory(block_id(file, "two"), "two goes on.")
    with drafts.step(draft, "add") as editor:
        editor.add_block("new", ["new words."], origin="written", after=block_id(file, "two"))
    memory_file.clear(again(file), author=alice)
    with pytest.raises(MergeNeeded):
        drafts.save(draft)
    save_mine(draft)
    kept = lines(file)
    assert "one in new words." in kept["one"]
    assert "two goes on." in kept["two"]
    assert kept["new"] == ["new words."]


def test_added_to_a_block_that_came_after_the_edit_began_and_is_gone(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, text_id(file, "one ends."), "one was edited.")
    with change(again(file), reason="extracted") as editor:
        editor.add_block("four", ["four begins.", "four ends."], origin="extracted")
    with drafts.step(draft, "add") as editor:
        editor.add_memory(block_id(file, "four"), "my own words.")
    with change(again(file), reason="elsewhere") as editor:
        editor.delete_block(block_id(file, "four"))
    save_mine(draft)
    assert "my own words." in render(again(file))


def test_edited_in_a_block_that_came_after_the_edit_began_and_is_gone(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, text_id(file, "one ends."), "one was edited.")
    with change(again(file), reason="extracted") as editor:
        editor.add_block("four", ["four begins.", "four ends."], origin="extracted")
    reword(draft, text_id(file, "four ends."), "my own words.")
    with change(again(file), reason="elsewhere") as editor:
        editor.delete_block(block_id(file, "four"))
    save_mine(draft)
    assert "my own words." in render(again(file))


def test_deleted_here_what_came_after_the_edit_began_and_was_changed(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, text_id(file, "one ends."), "one was edited.")
    with change(again(file), reason="extracted") as editor:
        editor.add_block("four", ["four begins.", "four ends."], origin="extracted")
    with drafts.step(draft, "delete") as editor:
        editor.delete_memories([text_id(file, "four ends.")])
    with change(again(file), reason="elsewhere") as editor:
        editor.set_text(text_id(file, "four ends."), "four as they have it.")
    with pytest.raises(MergeNeeded):
        drafts.save(draft)
    assert "four as they have it." in render(again(file))


def test_a_bullet_sent_elsewhere_that_others_changed(alice: User, file: MemoryFile) -> None:
    other = file_for(make_character(file.character.tavern, "Kaspar"))
    draft = drafts.open_edit(alice, file)
    ends = text_id(file, "one ends.")
    with drafts.step(draft, "send") as editor:
        editor.send_memories([ends], other, copy=False)
    with change(again(file), reason="elsewhere") as editor:
        editor.set_text(ends, "one as they have it.")
    with pytest.raises(MergeNeeded) as met:
        drafts.save(draft)
    drafts.choose(draft, met.value.merge.blocks[0].id, "theirs")
    drafts.save(draft)
    assert lines(file)["one"] == ["one begins.", "one as they have it."]
    assert lines(other)["one"] == ["one ends."]


def test_undo_of_a_batch_after_other_changes(alice: User, file: MemoryFile) -> None:
    other = file_for(make_character(file.character.tavern, "Kaspar"))
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "send") as editor:
        editor.send_memories([text_id(file, "one ends.")], other, copy=False)
    made = drafts.save(draft)
    assert made is not None and made.batch is not None
    with change(again(other), reason="extracted") as editor:
        editor.add_block("later", ["later."], origin="extracted")
    editing.undo_batch(alice, made.batch)
    assert lines(file)["one"] == ["one begins.", "one ends."]
    assert lines(other) == {"later": ["later."]}
    with pytest.raises(ValueError, match="changed since"):
        editing.undo_batch(alice, made.batch)
    assert lines(other) == {"later": ["later."]}
    assert lines(file)["one"] == ["one begins.", "one ends."]


@pytest.mark.parametrize("what", ["bullet", "block"])
def test_words_that_were_locked_meanwhile_are_asked_about(alice: User, file: MemoryFile, what: str) -> None:
    draft = drafts.open_edit(alice, file)
    block = block_id(file, "one")
    reword(draft, text_id(file, "one ends."), "one in new words.")
    if what == "block":
        with change(again(file), reason="locked") as editor:
            editor.set_block(block, is_locked=True)
    else:
        other = drafts.start(alice, again(file), kind=Draft.Kind.REFORMAT, title="locked")
        with drafts.step(other, "lock") as step:
            step.set_memories([text_id(file, "one ends.")], is_locked=True)
        drafts.save(other)
    with pytest.raises(MergeNeeded):
        drafts.save(draft)
    drafts.choose(draft, block, "theirs")
    drafts.save(draft)
    assert lines(file)["one"] == ["one begins.", "one ends."]


def test_unlocked_reworded_and_locked_again_in_one_edit(alice: User, file: MemoryFile) -> None:
    with change(file, reason="locked") as editor:
        editor.set_block(block_id(file, "one"), is_locked=True)
    draft = drafts.open_edit(alice, again(file))
    block = block_id(file, "one")
    with drafts.step(draft, "unlock") as step:
        step.set_block(block, is_locked=False)
    reword(draft, text_id(file, "one ends."), "one in new words.")
    with drafts.step(draft, "lock") as step:
        step.set_block(block, is_locked=True)
    with change(again(file), reason="elsewhere") as editor:
        editor.add_block("four", ["four begins."], origin="extracted")
    drafts.save(draft)
    assert lines(file)["one"] == ["one begins.", "one in new words."]
