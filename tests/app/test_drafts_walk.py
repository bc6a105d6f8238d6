"""Any sequence of steps, undo and redo shows what a plain list shows, and saves it; lists and filters agree with it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from memories import drafts, memory_file
from memories.draft_editor import DraftEditor
from memories.file_state import dump
from memories.memory_file import change, file_for, render, revision_text
from memories.memory_filters import Filters
from memories.models import Draft, Memory, MemoryBlock, MemoryFile, RevisionText
from tests.support.story import make_character

Model = list[tuple[str, list[str]]]  # blocks in file order: (id, ids of bullets)


class Walk:
    """Random verbs, done to the draft and to lists of ids."""

    def __init__(self, draft: Draft, seed: int) -> None:
        self.draft, self.dice = draft, random.Random(seed)
        self.words: dict[str, str] = {}
        self.model: Model = []
        view = drafts.view(draft)
        for block in view.blocks(view.block_ids()):
            self.model.append((str(block.id), [str(row.id) for row in block.memories]))
            self.words |= {str(row.id): row.text for row in block.memories}

    def block(self) -> tuple[str, list[str]]:
        return self.dice.choice(self.model)

    def bullets(self) -> list[str]:
        every = [one for _block, ids in self.model for one in ids]
        return self.dice.sample(every, min(len(every), self.dice.randint(1, 3)))

    def take_out(self, ids: list[str]) -> None:
        self.model = [(block, [one for one in rows if one not in ids]) for block, rows in self.model]

    def settle(self) -> None:
        self.model = [(block, rows) for block, rows in self.model if rows]

    def step(self, number: int) -> None:
        verbs: list[Callable[[DraftEditor, int], None]] = [
            self.reword, self.add, self.delete, self.move, self.copy, self.block_moved, self.split, self.merge, self.new
        ]  # fmt: skip
        verb = self.dice.choice(verbs) if len(self.model) > 1 else self.new
        with drafts.step(self.draft, f"step {number}") as editor:
            verb(editor, number)
        self.settle()

    def reword(self, editor: DraftEditor, number: int) -> None:
        (one, *_rest) = self.bullets()
        self.words[one] = f"reworded {number}"
        editor.set_text(one, self.words[one])

    def add(self, editor: DraftEditor, number: int) -> None:
        block, rows = self.block()
        at = self.dice.randint(0, len(rows))
        made = editor.add_memory(block, f"added {number}", at)
        self.words[made] = f"added {number}"
        rows.insert(at, made)

    def delete(self, editor: DraftEditor, number: int) -> None:
        ids = self.bullets()
        editor.delete_memories(ids)
        self.take_out(ids)

    def move(self, editor: DraftEditor, number: int) -> None:
        ids, (block, _rows) = self.bullets(), self.block()
        at = self.dice.randint(0, 3)
        editor.move_memories(ids, block, at)
        self.take_out(ids)
        rows = next(rows for one, rows in self.model if one == block)
        rows[at:at] = ids

    def copy(self, editor: DraftEditor, number: int) -> None:
        ids, (block, rows) = self.bullets(), self.block()
        made = editor.copy_memories(ids, block)
        self.words |= {new: self.words[old] for new, old in zip(made, ids, strict=True)}
        rows += made

    def block_moved(self, editor: DraftEditor, number: int) -> None:
        moved, (before, _rows) = self.block(), self.block()
        if moved[0] != before:
            editor.move_block(moved[0], before=before)
            self.model.remove(moved)
            self.model.insert([one for one, _rows in self.model].index(before), moved)

    def split(self, editor: DraftEditor, number: int) -> None:
        block, rows = self.block()
        if len(rows) > 1:
            at = self.dice.randint(1, len(rows) - 1)
            made = editor.split_block(block, rows[at], f"split {number}")
            self.model.insert([one for one, _rows in self.model].index(block) + 1, (made, rows[at:]))
            del rows[at:]

    def merge(self, editor: DraftEditor, number: int) -> None:
        first, second = sorted(self.dice.sample(range(len(self.model)), 2))
        editor.merge_blocks([self.model[second][0], self.model[first][0]])
        self.model[first][1].extend(self.model[second][1])
        del self.model[second]

    def new(self, editor: DraftEditor, number: int) -> None:
        after = self.block()[0] if self.model else None
        made = editor.add_block(f"new {number}", [f"new {number}"], origin="written", after=after)
        assert made is not None
        row = str(editor.rows.bullet_places(made)[0][2])
        self.words[row] = f"new {number}"
        at = len(self.model) if after is None else [one for one, _rows in self.model].index(after) + 1
        self.model.insert(at, (made, [row]))


def shown(draft: Draft) -> tuple[Model, dict[str, str]]:
    view = drafts.view(draft)
    blocks = view.blocks(view.block_ids())
    model = [(str(block.id), [str(row.id) for row in block.memories]) for block in blocks]
    return model, {str(row.id): row.text for block in blocks for row in block.memories}


def stored(file: MemoryFile) -> tuple[Model, dict[str, str]]:
    blocks = dump(file)["blocks"]
    model = [(block["id"], [row["id"] for row in block["memories"]]) for block in blocks]
    return model, {row["id"]: row["text"] for block in blocks for row in block["memories"]}


def check_lists(draft: Draft) -> None:
    """Counts and filters are those of the bullets one by one."""
    view = drafts.view(draft)
    blocks = view.blocks(view.block_ids())
    assert view.listing(newest=False) == [(block.id, len(block.memories)) for block in blocks]
    for filters in (Filters(text="added"), Filters(text="new"), Filters(origin="written"), Filters(flag="locked")):
        counts = [(block.id, sum(filters.holds(row, block, "") for row in block.memories)) for block in blocks]
        assert view.listing(filters) == [one for one in reversed(counts) if one[1]]


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(alice))
    with change(file, reason="extracted") as editor:
        for n in range(4):
            editor.add_block(f"chat {n}", [f"Fact {n}a.", f"Fact {n}b.", f"Fact {n}c."], origin="extracted")
    return file


@pytest.mark.parametrize("seed", range(4))
def test_a_long_edit_is_what_a_plain_list_is(alice: User, file: MemoryFile, seed: int) -> None:
    before, draft = render(file), drafts.open_edit(alice, file)
    walk = Walk(draft, seed)
    states = [(copy.deepcopy(walk.model), dict(walk.words))]
    for number in range(30):
        at = draft.pointer
        walk.step(number)
        states = states[: at + 1]
        if draft.pointer > at:
            states.append((copy.deepcopy(walk.model), dict(walk.words)))
        model, words = shown(draft)
        assert model == walk.model, number
        assert words == {one: walk.words[one] for one in words}
        if walk.dice.random() < 0.3:
            for _turn in range(walk.dice.randint(1, 4)):
                drafts.undo(draft)
            if walk.dice.random() < 0.5:
                drafts.redo(draft)
            walk.model, walk.words = copy.deepcopy(states[draft.pointer])
            assert shown(draft)[0] == walk.model
    check_lists(draft)
    assert render(file) == before
    revision = drafts.save(draft)
    assert revision is not None
    file.refresh_from_db()
    model, words = stored(file)
    assert model == walk.model
    assert words == {one: walk.words[one] for one in words}
    assert revision_text(revision) == render(file)
    assert memory_file.revision_state(revision) == json.loads(json.dumps(dump(file)))
    memory_file.restore(file, file.revisions.get(number=1), author=alice, reason="back")
    assert render(file) == before


def make_large(file: MemoryFile, blocks: int, bullets: int) -> None:
    """Rows made at once, as the verbs would one by one."""
    made = [MemoryBlock(file=file, label=f"large {n}", order=n + 10, origin="extracted") for n in range(blocks)]
    rows = [
        Memory(block=block, order=k, text=f"Large {n}, number {k}.")
        for n, block in enumerate(made)
        for k in range(bullets)
    ]
    with change(file, reason="made large") as editor:
        MemoryBlock.objects.bulk_create(made)
        Memory.objects.bulk_create(rows, batch_size=500)
        editor.touch(added=len(rows))


def test_ten_thousand_bullets_are_edited_without_loading_them(alice: User, file: MemoryFile) -> None:
    make_large(file, 2000, 5)
    before, draft = render(file), drafts.open_edit(alice, file)
    one = Memory.objects.for_user(alice).get(text="Large 1234, number 3.")
    contents = RevisionText.objects.for_user(alice).count()
    with (
        CaptureQueriesContext(
            connection,
        ) as edit,
        drafts.step(draft, "Edit") as editor,
    ):
        editor.set_text(one.pk, "Reworded.")
        editor.move_memories([one.pk], one.block_id, 0)
        editor.move_block(one.block_id, before=editor.rows.block_places()[0][2])
    assert len(edit) < 20
    step = draft.steps.get()
    assert len(json.dumps(step.changes)) < 1500
    view = drafts.view(draft)
    with CaptureQueriesContext(connection) as listing:
        found = view.listing()
        first = view.blocks([found[-1][0]])[0]
    assert (first.memories[0].text, len(found)) == ("Reworded.", 2004)
    assert len(listing) < 8
    assert [n for _block, n in drafts.view(draft).listing(Filters(text="Large 1234,"))] == [4]
    revision = drafts.save(draft)
    assert revision is not None
    assert RevisionText.objects.for_user(alice).count() == contents + 2
    assert render(MemoryFile.objects.for_user(alice).get(pk=file.pk)).count("\n- ") == 10_012
    file.refresh_from_db()
    memory_file.restore(file, file.revisions.get(number=2), author=alice, reason="back")
    assert render(file) == before


def test_one_block_of_ten_thousand_bullets_is_read_in_parts(alice: User, file: MemoryFile) -> None:
    make_large(file, 1, 10_000)
    block, draft = file.blocks.get(label="large 0"), drafts.open_edit(alice, file)
    view = drafts.view(draft)
    with CaptureQueriesContext(connection) as reads:
        rows = view.bullets(block.pk, 5000, 5120)
    assert [row.text for row in rows][:2] == ["Large 0, number 5000.", "Large 0, number 5001."]
    assert (len(rows), len(reads) < 6) == (120, True)
    with drafts.step(draft, "Add") as editor:
        editor.add_memory(block.pk, "In the middle.", 5000)
    assert drafts.view(draft).bullets(block.pk, 5000, 5001)[0].text == "In the middle."
    assert len(json.dumps(draft.steps.get().changes)) < 1500
