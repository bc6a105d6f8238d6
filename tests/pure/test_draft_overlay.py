"""Steps of an edit fold into one change a row: checked against a plain list of states with undo and redo."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memories.draft_overlay import Change, collide, difference, fold

Rows = dict[str, dict[str, Any]]
WORDS = st.sampled_from(["oath", "lantern", "harbour", ""])


class Edit(RuleBasedStateMachine):
    """The file has some rows; an edit sets, adds, deletes and brings back rows, several in one step, and is undone."""

    def __init__(self) -> None:
        super().__init__()
        self.base: Rows = {}
        self.steps: list[list[Change]] = []
        self.states: list[Rows] = []  # states[n] = all rows after n steps
        self.at = 0
        self.made = 0

    @initialize(texts=st.lists(WORDS, max_size=5))
    def begin(self, texts: list[str]) -> None:
        self.base = {f"old{n}": {"text": text, "order": float(n)} for n, text in enumerate(texts)}
        self.states = [copy.deepcopy(self.base)]

    def do(self, *states: Rows) -> None:
        """One step through these states."""
        changes: list[Change] = []
        before = self.states[self.at]
        for after in states:
            for row_id in {**before, **after}:
                if change := difference("memory", row_id, before.get(row_id), after.get(row_id)):
                    changes.append(change)
            before = after
        own = fold([changes]).changes()
        self.steps[self.at :] = [own]
        self.states[self.at + 1 :] = [copy.deepcopy(before)]
        self.at += 1

    @property
    def now(self) -> Rows:
        return copy.deepcopy(self.states[self.at])

    @rule(text=WORDS, order=st.floats(-5, 5), data=st.data())
    @precondition(lambda self: self.states and self.states[self.at])
    def set_row(self, text: str, order: float, data: st.DataObject) -> None:
        state = self.now
        row_id = data.draw(st.sampled_from(sorted(state)))
        state[row_id] = {"text": text, "order": order}
        self.do(state)

    @rule(text=WORDS)
    @precondition(lambda self: self.states)
    def add_and_reword(self, text: str) -> None:
        self.made += 1
        first, second = self.now, self.now
        first[f"new{self.made}"] = {"text": text, "order": 0.5}
        second[f"new{self.made}"] = {"text": text + "!", "order": 0.5}
        self.do(first, second)

    @rule(data=st.data())
    @precondition(lambda self: self.states and self.states[self.at])
    def delete(self, data: st.DataObject) -> None:
        state = self.now
        del state[data.draw(st.sampled_from(sorted(state)))]
        self.do(state)

    @rule(text=WORDS)
    @precondition(lambda self: self.base)
    def bring_back(self, text: str) -> None:
        state = self.now
        state[next(iter(self.base))] = {"text": text, "order": 0.0}
        self.do(state)

    @rule()
    @precondition(lambda self: self.at > 0)
    def undo(self) -> None:
        self.at -= 1

    @rule()
    @precondition(lambda self: self.at < len(self.steps))
    def redo(self) -> None:
        self.at += 1

    @invariant()
    def the_overlay_shows_the_state(self) -> None:
        if not self.states:
            return
        overlay = fold(self.steps[: self.at])
        ids = {*self.base, *overlay.memories}
        seen = {one: overlay.seen("memory", one, self.base.get(one)) for one in ids}
        assert {one: row for one, row in seen.items() if row is not None} == self.states[self.at]

    @invariant()
    def it_keeps_nothing_that_is_as_it_was(self) -> None:
        if self.states and self.states[self.at] == self.base:
            assert not fold(self.steps[: self.at])


TestEdit = Edit.TestCase
TestEdit.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def change(row_id: str, before: dict[str, Any] | None, after: dict[str, Any] | None, row: str = "memory") -> Change:
    return {"row": row, "id": row_id, "before": before, "after": after}


def test_steps_of_two_tabs_collide_only_when_they_touch_the_same() -> None:
    reword = [change("m1", {"text": "a"}, {"text": "b"})]
    other = [change("m2", {"text": "a"}, {"text": "b"})]
    into_b1 = [change("m3", None, {"block": "b1", "text": "c"})]
    without_b1 = [change("b1", {"label": "x"}, None, "block"), change("m1", {"text": "a", "block": "b1"}, None)]
    assert not collide(reword, other)
    assert collide(reword, reword)
    assert not collide(into_b1, other)
    assert collide(into_b1, without_b1)
    assert collide(without_b1, into_b1)


def test_a_row_made_and_deleted_in_one_edit_leaves_nothing() -> None:
    made, gone = change("m", None, {"text": "a"}), change("m", {"text": "a"}, None)
    assert not fold([[made], [gone]])
    assert fold([[made]])
