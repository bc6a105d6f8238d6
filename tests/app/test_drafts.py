"""Edits in progress: steps, undo and redo, saving, and what happened to the file meanwhile."""

from __future__ import annotations

import pytest

from accounts.models import User
from memories import drafts, memory_file
from memories.file_editor import NewMemory
from memories.memory_file import change, file_for, render
from memories.models import Draft, MemoryFile
from tests.support.story import make_character


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(alice))
    with change(file, reason="extracted") as editor:
        for label in ("one", "two", "three"):
            editor.add_block(label, [f"{label} begins.", f"{label} goes on.", f"{label} ends."], origin="extracted")
    return file


def lines(draft: Draft) -> dict[str, list[str]]:
    view = drafts.view(draft)
    return {block.label: [row.text for row in block.memories] for block in view.blocks(view.block_ids())}


def lines_of(file: MemoryFile) -> dict[str, list[str]]:
    rows = file.blocks.order_by("order").prefetch_related("memories")
    return {block.label: [row.text for row in block.memories.all()] for block in rows}


def block_id(draft: Draft, label: str) -> str:
    view = drafts.view(draft)
    return next(str(block.id) for block in view.blocks(view.block_ids()) if block.label == label)


def memory_id(draft: Draft, text: str) -> str:
    view = drafts.view(draft)
    rows = [row for block in view.blocks(view.block_ids()) for row in block.memories]
    return next(str(row.id) for row in rows if row.text == text)


def test_an_edit_is_undone_redone_and_saved_as_one_revision(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    before = render(file)
    with drafts.step(draft, "Edit") as editor:
        editor.set_text(memory_id(draft, "one ends."), "one ends well.")
    with drafts.step(draft, "Delete") as editor:
        editor.delete_memories([memory_id(draft, "two begins.")])
    with drafts.step(draft, "Move") as editor:
        editor.move_block(block_id(draft, "three"), before=block_id(draft, "one"))
    assert render(file) == before
    wanted = {
        "three": ["three begins.", "three goes on.", "three ends."],
        "one": ["one begins.", "one goes on.", "one ends well."],
        "two": ["two goes on.", "two ends."],
    }
    assert lines(draft) == wanted
    assert list(lines(draft)) == list(wanted)
    assert [drafts.undo(draft), drafts.undo(draft)] == ["Move", "Delete"]
    again = drafts.open_edit(alice, MemoryFile.objects.for_user(alice).get(pk=file.pk))
    assert again.pk == draft.pk
    assert lines(again)["two"] == ["two begins.", "two goes on.", "two ends."]
    assert [drafts.redo(again), drafts.redo(again), drafts.redo(again)] == ["Delete", "Move", None]
    revision = drafts.save(again)
    assert revision is not None
    assert (revision.number, revision.author, revision.added, revision.removed) == (2, alice, 1, 2)
    file.refresh_from_db()
    assert lines_of(file) == wanted
    assert list(lines_of(file)) == list(wanted)
    assert memory_file.revision_text(revision) == render(file)
    memory_file.restore(file, file.revisions.get(number=1), author=alice, reason="back")
    assert render(file) == before


def test_every_verb(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Add") as editor:
        added = editor.add_memory(block_id(draft, "one"), "one and a half.", 1)
        made = editor.add_block("four", ["four begins."], origin="written", after=block_id(draft, "one"))
    assert made is not None
    assert list(lines(draft)) == ["one", "four", "two", "three"]
    assert lines(draft)["one"][1] == "one and a half."
    with drafts.step(draft, "Move bullets") as editor:
        editor.move_memories([memory_id(draft, "two ends."), memory_id(draft, "two begins.")], made, 0)
    assert lines(draft)["four"] == ["two ends.", "two begins.", "four begins."]
    with drafts.step(draft, "Copy") as editor:
        editor.copy_memories([added], made)
    with drafts.step(draft, "Split") as editor:
        editor.split_block(made, memory_id(draft, "two begins."), "five")
    assert lines(draft)["five"] == ["two begins.", "four begins.", "one and a half."]
    with drafts.step(draft, "Merge blocks") as editor:
        editor.merge_blocks([block_id(draft, "three"), block_id(draft, "one")])
    assert list(lines(draft)) == ["one", "four", "five", "two"]
    with drafts.step(draft, "Merge") as editor:
        editor.merge_memories([memory_id(draft, "one begins."), memory_id(draft, "three ends.")], "One and three.")
    assert lines(draft)["one"][0] == "One and three."
    with drafts.step(draft, "Last one") as editor:
        editor.move_memories([memory_id(draft, "two goes on.")], block_id(draft, "one"))
    assert list(lines(draft)) == ["one", "four", "five"]
    before = lines(draft)
    drafts.save(draft)
    file.refresh_from_db()
    assert lines_of(file) == before
    assert {one.text for one in file.ancestors.all()} == {"one begins.", "three ends."}


def test_locked_words_stay(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    one = memory_id(draft, "one begins.")
    with drafts.step(draft, "Lock") as editor:
        editor.set_memories([one], is_locked=True)
        editor.set_block(block_id(draft, "two"), is_locked=True)
    with pytest.raises(ValueError, match="locked"), drafts.step(draft, "x") as editor:
        editor.set_text(one, "other")
    with pytest.raises(ValueError, match="locked"), drafts.step(draft, "x") as editor:
        editor.delete_block(block_id(draft, "two"))
    with pytest.raises(ValueError, match="locked"), drafts.step(draft, "x") as editor:
        editor.delete_memories([memory_id(draft, "two ends.")])
    assert draft.pointer == 1


def test_an_extraction_meets_an_edit_of_another_block(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Edit") as editor:
        editor.set_text(memory_id(draft, "one ends."), "one ends well.")
        editor.add_block("mine", ["mine."], origin="written", after=block_id(draft, "one"))
    with change(MemoryFile.objects.for_user(alice).get(pk=file.pk), reason="extracted") as other:
        other.add_block("theirs", ["theirs."], origin="extracted")
    assert drafts.merge_of(draft).blocks == []
    assert drafts.save(draft) is not None
    file.refresh_from_db()
    assert list(lines_of(file)) == ["one", "mine", "two", "three", "theirs"]


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("mine", ["one begins.", "one ends well.", "mine."]),
        ("theirs", ["one begins.", "one goes on.", "one ends badly.", "extracted."]),
        ("both", ["one begins.", "one goes on.", "one ends badly.", "extracted.", "one ends well.", "mine."]),
    ],
)
def test_the_same_block_changed_on_both_sides(alice: User, file: MemoryFile, choice: str, wanted: list[str]) -> None:
    draft = drafts.open_edit(alice, file)
    one, end = block_id(draft, "one"), memory_id(draft, "one ends.")
    with drafts.step(draft, "Edit") as editor:
        editor.set_text(end, "one ends well.")
        editor.add_memory(one, "mine.")
        editor.delete_memories([memory_id(draft, "one goes on.")])
    with change(MemoryFile.objects.for_user(alice).get(pk=file.pk), reason="extracted") as other:
        other.set_text(end, "one ends badly.")
        other.add_memory(one, "extracted.")
    theirs = render(MemoryFile.objects.for_user(alice).get(pk=file.pk))
    with pytest.raises(drafts.MergeNeeded) as needed:
        drafts.save(draft)
    (block,) = needed.value.merge.blocks
    assert (block.id, block.base) == (one, ["one begins.", "one goes on.", "one ends."])
    assert block.mine == ["one begins.", "one ends well.", "mine."]
    assert block.theirs == ["one begins.", "one goes on.", "one ends badly.", "extracted."]
    file.refresh_from_db()
    assert render(file) == theirs
    draft.refresh_from_db()
    assert draft.state == Draft.State.OPEN
    drafts.choose(draft, one, choice)
    drafts.save(draft)
    assert lines_of(file)["one"] == wanted


def test_bullets_sent_to_another_file_arrive_with_the_save(alice: User, file: MemoryFile) -> None:
    other = file_for(make_character(alice, "Mike"))
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Send") as editor:
        editor.send_memories([memory_id(draft, "one begins."), memory_id(draft, "two ends.")], other, copy=False)
    assert not other.blocks.exists()
    revision = drafts.save(draft)
    assert revision is not None
    assert lines_of(other) == {"one": ["one begins."], "two": ["two ends."]}
    assert lines_of(file)["one"] == ["one goes on.", "one ends."]
    assert other.revisions.first().batch == revision.batch is not None


def test_provenance_of_new_bullets_is_kept(alice: User, file: MemoryFile) -> None:
    draft = drafts.start(alice, file, kind=Draft.Kind.CONSOLIDATION, title="Consolidated")
    sources = [memory_id(draft, "one begins."), memory_id(draft, "one ends.")]
    with drafts.step(draft, "Consolidated") as editor:
        editor.add_block(
            "all",
            [NewMemory("One.", parents=sources, evidence=[{"index": 1}])],
            origin="consolidated",
            prompt_version="x 1",
        )
        editor.delete_memories(sources)
    revision = drafts.save(draft)
    assert revision is not None
    assert revision.reason == "Consolidated"
    made = file.blocks.get(label="all").memories.get()
    assert (made.parents, made.evidence) == (sources, [{"index": 1}])
    assert sorted(str(one.memory) for one in file.ancestors.all()) == sorted(sources)
