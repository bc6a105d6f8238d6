"""Two texts of one file merged by block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.blocks import Block, Format, parse, serialize_memories
from memories.outside_merge import Trio, merged, trios

FORM = Format()
OATH = Block("Descent", "2026-03-01 18:00", ("[Wren — Oath]", "Swore an oath.", "Lit a lamp."))
HABIT = Block("Ascent", "2026-03-02 18:00", ("[Wren — Habits]", "Drinks tea.", "Counts steps."))
SEA = Block("Sea", "2026-03-03 18:00", ("[Wren — Sea]", "Sang."))


def text(*blocks: Block) -> str:
    return serialize_memories(blocks)


def reworded(block: Block, old: str, new: str) -> Block:
    return Block(block.chat, block.date, tuple(new if one == old else one for one in block.bullets))


def put_together(base: str, mine: str, theirs: str, choice: str = "") -> list[Block]:
    rows = trios(base, mine, theirs, FORM)
    choices = {row.key: choice for row in rows if row.is_conflict}
    return list(parse(merged(rows, choices, theirs, FORM)).blocks)


def conflicts(rows: list[Trio]) -> list[str]:
    return [row.shown().title for row in rows if row.is_conflict]


def test_what_one_side_changed_is_taken_from_that_side() -> None:
    mine = reworded(OATH, "Lit a lamp.", "Lit two lamps.")
    theirs = reworded(HABIT, "Drinks tea.", "Drinks cold tea.")
    rows = trios(text(OATH, HABIT), text(mine, HABIT, SEA), text(OATH, theirs), FORM)
    assert conflicts(rows) == []
    assert put_together(text(OATH, HABIT), text(mine, HABIT, SEA), text(OATH, theirs)) == [mine, theirs, SEA]


def test_what_was_deleted_outside_and_not_touched_here_goes() -> None:
    assert put_together(text(OATH, HABIT), text(OATH, HABIT, SEA), text(OATH)) == [OATH, SEA]
    assert put_together(text(OATH, HABIT), text(HABIT), text(OATH, HABIT, SEA)) == [HABIT, SEA]


@pytest.mark.parametrize(
    ("choice", "lines"),
    [
        ("mine", ["Lit two lamps."]),
        ("theirs", ["Lit a green lamp."]),
        ("both", ["Lit a green lamp.", "Lit two lamps."]),
        ("", ["Lit two lamps."]),
    ],
)
def test_what_both_changed_is_as_chosen(choice: str, lines: list[str]) -> None:
    mine = reworded(OATH, "Lit a lamp.", "Lit two lamps.")
    theirs = reworded(OATH, "Lit a lamp.", "Lit a green lamp.")
    rows = trios(text(OATH, HABIT), text(mine, HABIT), text(theirs, HABIT), FORM)
    assert conflicts(rows) == ["Wren — Oath"]
    found = put_together(text(OATH, HABIT), text(mine, HABIT), text(theirs, HABIT), choice)
    assert [one for one in found[0].bullets if "amp" in one] == lines
    assert found[1:] == [HABIT]


def test_deleted_here_and_changed_outside_is_a_question_and_stays_unless_chosen() -> None:
    theirs = reworded(OATH, "Lit a lamp.", "Lit a green lamp.")
    texts = text(OATH, HABIT), text(HABIT), text(theirs, HABIT)
    assert conflicts(trios(*texts, FORM)) == ["Wren — Oath"]
    assert put_together(*texts) == [theirs, HABIT]
    assert put_together(*texts, "mine") == [HABIT]


def test_without_a_common_beginning_nothing_is_lost() -> None:
    assert put_together("", text(OATH, SEA), text(OATH, HABIT)) == [OATH, HABIT, SEA]


def test_text_around_the_blocks_stays_where_it_was_written_outside() -> None:
    theirs = f"My notes.\n\n{text(OATH)}\n\nMore notes.\n\n{text(HABIT)}"
    rows = trios(text(OATH, HABIT), text(OATH, HABIT, SEA), theirs, FORM)
    found = merged(rows, {}, theirs, FORM)
    assert found.index("My notes.") < found.index("Descent") < found.index("More notes.") < found.index("Ascent")
    assert list(parse(found).blocks) == [OATH, HABIT, SEA]


words = st.text(st.characters(categories=("Ll", "Nd")), min_size=1, max_size=8)
blocks = st.lists(
    st.builds(Block, words, st.just("2026-03-01 18:00"), st.lists(words, min_size=1, max_size=4).map(tuple)), max_size=5
)


@given(blocks, blocks, blocks)
def test_no_bullet_that_one_side_added_is_lost_when_both_are_kept(
    base: list[Block], mine: list[Block], theirs: list[Block]
) -> None:
    rows = trios(text(*base), text(*mine), text(*theirs), FORM)
    made = parse(merged(rows, {row.key: "both" for row in rows}, text(*theirs), FORM)).blocks
    kept = {one for block in made for one in block.bullets}
    old = {one for block in base for one in block.bullets}
    assert {one for side in (mine, theirs) for block in side for one in block.bullets} - old <= kept


@given(blocks, blocks)
def test_a_side_that_changed_nothing_leaves_the_other_as_it_is(base: list[Block], theirs: list[Block]) -> None:
    same = text(*base)
    assert sorted(map(str, put_together(same, same, text(*theirs)))) == sorted(map(str, parse(text(*theirs)).blocks))
