"""Two texts of one memory file, side by side: only what differs is shown in full."""

from __future__ import annotations

from memories.two_texts import Line, sides

SHARED = (
    '<memory chat="First &quot;night&quot;" date="2026-03-01 18:00">\n- [Wren — The lantern oath]\n- Swore an oath.\n'
)


def test_each_side_shows_its_own_lines_and_folds_what_both_have() -> None:
    ours, theirs = sides(SHARED + "- Lit a lamp.\n</memory>\n", SHARED + "- Lit the lamp.\n- Left.\n</memory>\n")
    start = [Line("same", count=2), Line("memory", "Swore an oath.")]
    assert ours == [*start, Line("memory", "Lit a lamp.", is_only=True)]
    assert theirs == [*start, Line("memory", "Lit the lamp.", is_only=True), Line("memory", "Left.", is_only=True)]


def test_what_comes_after_a_difference_is_folded_too() -> None:
    tail = "- One.\n- Two.\n</memory>"
    ours, theirs = sides(SHARED + "- Mine.\n" + tail, SHARED + tail)
    assert ours[2:] == [Line("memory", "Mine.", is_only=True), Line("same", count=2)]
    assert theirs[2:] == [Line("same", count=2)]


def test_labels_and_topics_read_without_their_marks() -> None:
    ours, theirs = sides(SHARED + "</memory>", "")
    assert theirs == []
    assert [(line.kind, line.text) for line in ours] == [
        ("label", 'First "night"'),
        ("topic", "Wren — The lantern oath"),
        ("memory", "Swore an oath."),
    ]


def test_texts_that_differ_in_spaces_only_have_no_line_of_their_own() -> None:
    ours, theirs = sides(SHARED + "</memory>", SHARED.replace("- Swore", "-  Swore") + "\n\n</memory>\n")
    assert ours == theirs == [Line("same", count=3)]


def test_loose_text_stays_as_it_is() -> None:
    assert sides("A note.", "Another note.")[0] == [Line("loose", "A note.", is_only=True)]
