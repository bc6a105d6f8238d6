"""A block that two sides changed."""

from __future__ import annotations

from typing import Any

import pytest

from memories.merge import Merge, added_lines, arranged, is_conflict, merge_block


def block(*texts: str, label: str = "one", date: str = "2026-03-01 18:00", **flags: Any) -> dict[str, Any]:
    memories = [{"id": text, "text": text, **flags} for text in texts]
    return {"id": "b", "label": label, "date": date, "memories": memories}


BASE = block("a", "b")


@pytest.mark.parametrize(
    ("mine", "theirs", "wanted"),
    [
        (block("a", "c"), block("a", "b"), False),
        (block("a", "b"), block("a", "c"), False),
        (block("a", "c"), block("a", "c"), False),
        (block("a", "c"), block("a", "d"), True),
        (block("b", "a"), block("a", "b", "c"), True),
        (None, block("a", "b", "c"), True),
        (block("a"), None, True),
        (None, None, False),
        (block("a", "b", label="two"), block("a", "b", "c"), True),
        (block("a", "b", is_locked=True), block("a", "b", "c"), False),
    ],
)
def test_only_what_both_sides_reworded_is_asked_about(
    mine: dict[str, Any] | None, theirs: dict[str, Any] | None, wanted: bool
) -> None:
    assert is_conflict(BASE, mine, theirs) is wanted


def test_both_sides_are_shown_as_lines_and_the_label_only_where_it_differs() -> None:
    shown = merge_block("b", BASE, block("[X — The oath]", "a"), None, "")
    assert (shown.title, shown.base, shown.mine, shown.theirs) == (
        "X — The oath",
        ["a", "b"],
        ["[X — The oath]", "a"],
        [],
    )
    renamed = merge_block("b", BASE, block("a", label="two"), block("a", "b", "c"), "both")
    assert renamed.mine == ["two · 2026-03-01 18:00", "a"]
    assert renamed.theirs == ["one · 2026-03-01 18:00", "a", "b", "c"]
    assert not Merge([shown, renamed]).is_settled
    assert Merge([renamed]).is_settled


def test_both_adds_what_the_edit_wrote_and_not_what_the_others_deleted() -> None:
    mine, theirs = block("a", "b", "mine"), block("a", "theirs")
    assert [one["text"] for one in added_lines(BASE, mine, theirs)] == ["mine"]
    assert added_lines(BASE, None, theirs) == []


def test_what_was_moved_goes_behind_the_same_neighbour() -> None:
    assert arranged(["a", "b", "c"], [(0.5, "new", "a")]) == ["a", "new", "b", "c"]
    assert arranged(["x", "a", "b"], [(0.5, "b", None), (0.7, "n", "b")]) == ["b", "n", "x", "a"]
    assert arranged(["a"], [(3.0, "n", "gone")]) == ["a", "n"]
