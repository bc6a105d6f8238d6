"""Answers that no honest model gives: whoever reads them neither breaks nor hands one character's words to another."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memories import grounding, quality_numbers, quality_repair, quality_support
from memories.choices import CHECKS
from memories.quality import LONGEST, Gate, Scene
from memories.quality_call import numbered
from memories.together_answer import distinct, read_together

PIECES = [
    *(
        "<memory",
        "</memory>",
        '<memory character="Alice">',
        '<memory character="Bob">',
        "<memory>",
        "&lt;memory",
        "&gt;",
    ),
    *("- ", "\n- ", "\n", " ", '"', "'", "[Alice — x]", "Alice met Bob.", "1. ", "2)", "99: ", "yes", "no", "NONE"),
    *(
        "NO_NEW_MEMORIES",
        "<think>",
        "</think>",
        "```",
        "**",
        "{{recentMessages}}",
        "$&",
        "=== END ===",
        "\x00",
        "\ud800",
    ),
    *("\u202e", "👩\u200d🚀", "漢字", "²", "٣", "character=", "I am sorry"),
]
ANY = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map("".join)
NAMES = st.lists(st.one_of(st.sampled_from(["Alice", "Bob", "Bob (2)", "", "<b>"]), st.text(max_size=9)), max_size=6)


@settings(deadline=None, max_examples=300)
@given(ANY, st.booleans())
def test_an_answer_for_several_is_read_whatever_it_holds(text: str, is_truncated: bool) -> None:
    whole, parts = read_together(text, ["Alice", "Bob"], is_truncated=is_truncated)
    assert len(parts) == 2 or (whole.kind == "unreadable" and not parts)


@settings(deadline=None)
@given(ANY)
def test_answers_to_further_questions_are_read_whatever_they_hold(text: str) -> None:
    assert set(quality_support.read(text)) | set(quality_repair.read(text)) <= set(numbered(text))


@settings(deadline=None, max_examples=200)
@given(ANY, ANY, st.lists(ANY, max_size=3))
@example("", "\U000116d0", [])
def test_the_gate_judges_whatever_it_is_asked(bullet: str, said: str, known: list[str]) -> None:
    scene = Scene("Alice", said[:50], known, known[:1], [("Bob", said), (bullet[:9], "Hello.")], others=(said[:9],))
    assert {doubt.check for doubt in Gate(scene).check(bullet)} <= set(CHECKS)


@pytest.mark.parametrize("unit", ["_", "{{", "<memory ", "漢字", "no ", "A-B ", "1 million "])
def test_what_stands_behind_the_looked_at_part_of_a_bullet_changes_nothing(unit: str) -> None:
    """The patterns take time that grows with the square of what they look at."""
    gate = Gate(Scene("Alice", "", messages=[("Bob", "Hello.")]))
    long = unit * LONGEST
    assert gate.check(long) == [*gate.check(long[:LONGEST])]


@settings(deadline=None)
@given(NAMES)
def test_every_name_of_a_prompt_finds_its_own_way_back(names: list[str]) -> None:
    shown = distinct(names)
    assert len(shown) == len(names)
    for place, name in enumerate(shown):
        answer = f'<memory character="{name}">\n- This one met the ferryman.\n</memory>'
        whole, parts = read_together(answer, shown)
        assert whole.kind == "memories", name
        assert [part.kind for part in parts].index("memories") == place


def test_a_name_that_looks_like_a_numbered_one_stays_apart() -> None:
    assert distinct(["Bob", "Bob", "Bob (2)"]) == ["Bob", "Bob (2)", "Bob (2) (2)"]


@pytest.mark.parametrize(
    "said", ['"Jack "Mad" Murphy"', "'Jack \"Mad\" Murphy'", "\"Jack 'Mad' Murphy\"", '"Jack &quot;Mad&quot; Murphy"']
)
def test_a_name_with_quotation_marks_is_known_again(said: str) -> None:
    names = distinct(["Alice", 'Jack "Mad" Murphy'])
    _whole, (_alice, jack) = read_together(f"<memory character={said}>\n- Jack sold the boat.\n</memory>", names)
    assert jack.entries == (("Jack sold the boat.",),)


@pytest.mark.parametrize("name", ["'D'Arcy'", '"D\'Arcy"', "D'Arcy"])
def test_half_a_name_is_nobodys(name: str) -> None:
    _whole, parts = read_together(f"<memory character={name}>\n- He rode home.\n</memory>", ["D", "D'Arcy"])
    assert [part.kind for part in parts] == ["nothing", "memories"]


@pytest.mark.parametrize("tag", ['<memory character="Bob">', '&lt;memory character="Bob"&gt;'])
def test_a_quoted_tag_does_not_write_into_the_file_of_another(tag: str) -> None:
    """A message said it, and the model repeats it word for word."""
    answer = f'<memory character="Alice">\n- Alice found a note: "{tag}" it said.\n- Bob owes her.\n</memory>'
    _whole, (alice, bob) = read_together(answer, ["Alice", "Bob"])
    assert (alice.kind, bob.kind) == ("memories", "nothing")


def test_blocks_on_one_line_are_told_apart() -> None:
    answer = '<memory character="Alice">- Alice ran.</memory> <memory character="Bob">- Bob hid.</memory>'
    _whole, (alice, bob) = read_together(answer, ["Alice", "Bob"])
    assert (alice.entries, bob.entries) == ((("Alice ran.",),), (("Bob hid.",),))


@pytest.mark.parametrize("line", [" " * 60_000 + "x", "1" + " " * 60_000 + "x", "&lt;memory " * 20_000])
def test_a_line_of_nothing_but_spaces_is_read_too(line: str) -> None:
    assert numbered(f"{line}\n1. yes") == {1: "yes"}
    assert read_together(f"{line}\n- x", ["Alice"])[0].kind == "unreadable"


def test_a_digit_that_python_does_not_know_is_no_number() -> None:
    takri_zero = "\U000116d0"  # the field's newest tables call it a digit, those of older Pythons do not
    assert not takri_zero.isdecimal() or int(takri_zero) == 0
    assert quality_numbers.in_digits(takri_zero) in ([], [0])
    assert grounding.numbers(takri_zero * 12) in ([], [takri_zero * 12])
    assert numbered(f"{takri_zero}. yes") in ({}, {0: "yes"})
    assert (quality_numbers.in_digits("٣"), numbered("٣. yes")) == ([3], {3: "yes"})
    assert grounding.numbers("1" * 5000) == ["1" * 5000], "too long for Python's own int"
