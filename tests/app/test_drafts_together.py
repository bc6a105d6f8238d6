"""Two tabs, two edits, an extraction in between: nothing is overwritten and nothing is saved twice."""

from __future__ import annotations

import pytest

from accounts.models import User
from memories import drafts
from memories.memory_file import change, file_for, render
from memories.models import Draft, DraftStep, MemoryFile
from tests.support.story import make_character


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(alice))
    with change(file, reason="extracted") as editor:
        for label in ("one", "two", "three"):
            editor.add_block(label, [f"{label} begins.", f"{label} ends."], origin="extracted")
    return file


def again(file: MemoryFile) -> MemoryFile:
    return MemoryFile.objects.for_user(file.owner).get(pk=file.pk)


def tab(draft: Draft) -> Draft:
    return Draft.objects.for_user(draft.owner).get(pk=draft.pk)


def text_id(file: MemoryFile, text: str) -> str:
    return str(next(m.pk for block in file.blocks.all() for m in block.memories.all() if m.text == text))


def block_id(file: MemoryFile, label: str) -> str:
    return str(file.blocks.get(label=label).pk)


def lines(file: MemoryFile) -> dict[str, list[str]]:
    return {block.label: [one.text for one in block.memories.all()] for block in file.blocks.all()}


def reword(draft: Draft, memory_id: str, text: str, label: str = "Edit") -> None:
    with drafts.step(draft, label) as editor:
        editor.set_text(memory_id, text)


def test_two_tabs_share_one_edit(alice: User, file: MemoryFile) -> None:
    left = drafts.open_edit(alice, file)
    right = drafts.open_edit(alice, again(file))
    assert left.pk == right.pk
    one, two = text_id(file, "one ends."), text_id(file, "two ends.")
    with drafts.step(left, "left") as editor:
        reword(right, two, "right was here.", "right")
        editor.set_text(one, "left was here.")
    assert list(DraftStep.objects.for_user(alice).values_list("number", "label")) == [(1, "right"), (2, "left")]
    drafts.save(left)
    assert lines(file)["one"][1] == "left was here."
    assert lines(file)["two"][1] == "right was here."


def test_the_same_bullet_in_two_tabs_at_the_same_moment(alice: User, file: MemoryFile) -> None:
    left = drafts.open_edit(alice, file)
    right, one = tab(left), text_id(file, "one ends.")
    with pytest.raises(ValueError, match="another tab"), drafts.step(left, "left") as editor:
        reword(right, one, "right was first.")
        editor.set_text(one, "left came second.")
    assert drafts.view(tab(left)).memory(one).text == "right was first."


def test_a_bullet_for_a_block_that_another_tab_deletes(alice: User, file: MemoryFile) -> None:
    left = drafts.open_edit(alice, file)
    right, one = tab(left), block_id(file, "one")
    with pytest.raises(ValueError, match="another tab"), drafts.step(left, "left") as editor:
        with drafts.step(right, "right") as other:
            other.delete_block(one)
        editor.add_memory(one, "Too late.")


def test_an_undo_in_another_tab_does_not_lose_a_step(alice: User, file: MemoryFile) -> None:
    left = drafts.open_edit(alice, file)
    one, two = text_id(file, "one ends."), text_id(file, "two ends.")
    reword(left, one, "first.")
    right = tab(left)
    with drafts.step(left, "left") as editor:
        assert drafts.undo(right) == "Edit"
        editor.set_text(two, "second.")
    view = drafts.view(tab(left))
    assert (view.memory(one).text, view.memory(two).text, view.changes) == ("one ends.", "second.", 1)


def test_a_step_that_another_tab_put_in_the_place_of_an_undone_one(alice: User, file: MemoryFile) -> None:
    left = drafts.open_edit(alice, file)
    one, two, three = (text_id(file, f"{label} ends.") for label in ("one", "two", "three"))
    reword(left, one, "first.")
    right = tab(left)
    with drafts.step(left, "left") as editor:
        drafts.undo(right)
        reword(right, two, "instead.")
        editor.set_text(three, "third.")
    view = drafts.view(tab(left))
    assert [view.memory(pk).text for pk in (one, two, three)] == ["one ends.", "instead.", "third."]


def test_a_step_after_undo_drops_what_was_undone(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    one = text_id(file, "one ends.")
    for number in range(5):
        reword(draft, one, f"version {number}.")
    for _turn in range(3):
        drafts.undo(draft)
    reword(draft, one, "another way.")
    assert drafts.redo(draft) is None
    assert drafts.undo(draft) is not None
    assert drafts.view(draft).memory(one).text == "version 1."


def test_a_step_that_changes_nothing_is_none(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "nothing") as editor:
        editor.set_text(text_id(file, "one ends."), " one ends. ")
        editor.move_block(block_id(file, "one"), before=block_id(file, "two"))
        editor.move_memories([text_id(file, "one ends.")], block_id(file, "one"))
        editor.set_memories([text_id(file, "one ends.")], is_locked=False)
    assert (draft.pointer, draft.steps.count()) == (0, 0)
    assert drafts.save(draft) is None


def test_two_tabs_save_at_once(alice: User, file: MemoryFile) -> None:
    left = drafts.open_edit(alice, file)
    reword(left, text_id(file, "one ends."), "saved once.")
    right = tab(left)
    assert drafts.save(left) is not None
    with pytest.raises(ValueError, match="saved or left already"):
        drafts.save(right)
    with pytest.raises(ValueError, match="saved or left already"), drafts.step(right, "late") as editor:
        editor.set_text(text_id(file, "two ends."), "too late.")
    assert again(file).version == 2


def test_two_edits_of_the_same_block_meet_at_the_second_save(alice: User, file: MemoryFile) -> None:
    mine = drafts.open_edit(alice, file)
    other = drafts.start(alice, again(file), kind=Draft.Kind.CONSOLIDATION, title="Consolidated")
    reword(mine, text_id(file, "one ends."), "mine.")
    reword(other, text_id(file, "one begins."), "theirs.")
    reword(other, text_id(file, "three ends."), "theirs too.")
    assert drafts.save(other) is not None
    with pytest.raises(drafts.MergeNeeded) as needed:
        drafts.save(mine)
    assert [(block.mine, block.theirs) for block in needed.value.merge.blocks] == [
        (["one begins.", "mine."], ["theirs.", "one ends."])
    ]
    drafts.choose(mine, block_id(file, "one"), "both")
    assert drafts.save(mine) is not None
    assert lines(again(file))["one"] == ["theirs.", "one ends.", "mine."]
    assert lines(again(file))["three"][1] == "theirs too."
    assert drafts.saved_notes(mine) == ["One change that was made to the file meanwhile was kept too."]


def test_a_choice_counts_for_what_was_looked_at(alice: User, file: MemoryFile) -> None:
    mine = drafts.open_edit(alice, file)
    one = block_id(file, "one")
    reword(mine, text_id(file, "one ends."), "mine.")
    for version, text in ((2, "first."), (3, "second.")):
        with change(again(file), reason="other") as other:
            other.add_memory(one, text)
        drafts.choose(mine, one, "mine", seen=2)
        assert drafts.merge_of(mine).blocks[0].choice == ("mine" if version == 2 else "")
    with pytest.raises(drafts.MergeNeeded):
        drafts.save(mine)
    with change(again(file), reason="elsewhere") as other:
        other.add_block("four", ["four."], origin="extracted")
    drafts.choose(mine, one, "both", seen=3)
    drafts.save(mine)
    assert lines(again(file))["one"] == ["one begins.", "one ends.", "first.", "second.", "mine."]


@pytest.mark.parametrize("choice", ["mine", "theirs", "both"])
def test_deleted_on_one_side_and_changed_on_the_other(alice: User, file: MemoryFile, choice: str) -> None:
    mine = drafts.open_edit(alice, file)
    with drafts.step(mine, "Delete") as editor:
        editor.delete_block(block_id(file, "two"))
    reword(mine, text_id(file, "three ends."), "reworded.")
    two, three = block_id(file, "two"), block_id(file, "three")
    with change(again(file), reason="other") as other:
        other.add_memory(two, "extracted.")
        other.delete_block(three)
    merge = drafts.merge_of(mine)
    assert {block.id: (bool(block.mine), bool(block.theirs)) for block in merge.blocks} == {
        two: (False, True),
        three: (True, False),
    }
    for block in merge.blocks:
        drafts.choose(mine, block.id, choice)
    drafts.save(mine)
    found = lines(again(file))
    assert ("two" in found) is (choice != "mine")
    assert found.get("three") == (None if choice == "theirs" else ["three begins.", "reworded."])
    assert list(found) == sorted(found, key=["one", "two", "three"].index)


def test_bullets_moved_out_of_a_block_that_changed(alice: User, file: MemoryFile) -> None:
    mine = drafts.open_edit(alice, file)
    moved = text_id(file, "one ends.")
    with drafts.step(mine, "Move") as editor:
        editor.move_memories([moved], block_id(file, "two"), 0)
    with change(again(file), reason="other") as other:
        other.add_memory(block_id(file, "one"), "extracted.")
    drafts.choose(mine, block_id(file, "one"), "theirs")
    drafts.save(mine)
    assert lines(again(file))["one"] == ["one begins.", "one ends.", "extracted."]
    assert lines(again(file))["two"] == ["two begins.", "two ends."]


def test_an_edit_of_the_whole_order_meets_a_restored_file(alice: User, file: MemoryFile) -> None:
    with change(file, reason="moved") as editor:
        editor.move_block(block_id(file, "three"), 1)
    mine = drafts.open_edit(alice, file)
    with drafts.step(mine, "Add") as step:
        step.add_block("new", ["new."], origin="written", after=block_id(file, "three"))
    from memories import memory_file

    fresh = again(file)
    memory_file.restore(fresh, fresh.revisions.get(number=1), author=alice, reason="back")
    drafts.save(mine)
    assert [block.label for block in file.blocks.order_by("order")] == ["one", "two", "three", "new"]


def test_left_and_taken_up_again(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, text_id(file, "one ends."), "kept.")
    drafts.leave(draft)
    assert lines(again(file))["one"][1] == "one ends."
    other = drafts.open_edit(alice, again(file))
    assert other.pk != draft.pk
    drafts.resume(draft)
    assert drafts.open_edit(alice, again(file)).pk == draft.pk
    drafts.leave(draft)
    busy = drafts.open_edit(alice, again(file))
    reword(busy, text_id(file, "two ends."), "busy.")
    with pytest.raises(ValueError, match="Another edit"):
        drafts.resume(draft)


def test_an_edit_without_steps_begins_from_the_newest_version(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    with change(again(file), reason="extracted") as editor:
        editor.add_block("four", ["four."], origin="extracted")
    assert drafts.open_edit(alice, again(file)).base_version == 2
    assert tab(draft).base_version == 2


def test_only_the_owner_edits(bob: User, file: MemoryFile) -> None:
    with pytest.raises(PermissionError):
        drafts.open_edit(bob, file)
    with pytest.raises(PermissionError):
        drafts.start(bob, file, kind=Draft.Kind.REFORMAT, title="x")


def test_undo_of_a_saved_edit_is_the_undo_of_its_revision(alice: User, file: MemoryFile) -> None:
    from memories import editing

    before = render(file)
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Much") as editor:
        editor.merge_blocks([block_id(file, "one"), block_id(file, "three")])
        editor.delete_memories([text_id(file, "two begins.")])
    revision = drafts.save(draft)
    assert revision is not None
    with change(again(file), reason="extracted") as other:
        other.add_block("four", ["four."], origin="extracted")
    editing.undo(alice, again(file), revision.number)
    assert render(again(file)).startswith(before)
    assert "four." in render(again(file))
