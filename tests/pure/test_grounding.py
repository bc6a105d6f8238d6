"""Which memories say something that no source says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.grounding import is_groundless, numbers, strange_numbers
from memories.names import SourceWords, candidates

SAID = SourceWords(
    ["Wren: I hid the brass lantern behind the organ, in the year 1312.", "Seraphine: It cost me 1,500 crowns."]
)


@pytest.mark.parametrize(
    ("memory", "is_expected"),
    [
        ("Wren hid the brass lantern behind the organ.", False),
        ("The lantern was hidden by Wren behind an organ.", False),
        ("Wren concealed her lantern near some organ pipes.", False),
        ("Wren sold twelve ferries to a wealthy stranger.", True),
        ("Wren left.", False),
        ("ウレンは船を売った。", False),
    ],
)
def test_nearly_no_word_of_it_stands_in_the_sources(memory: str, is_expected: bool) -> None:
    assert is_groundless(memory, candidates(memory), SAID.knows) is is_expected


def test_numbers_are_known_in_any_spelling_and_small_ones_are_left_alone() -> None:
    known = set(numbers(SAID.text))
    assert known == {"1312", "1500"}
    assert strange_numbers("In 1312 it cost 1500 crowns, or 1.500.", known) == []
    assert strange_numbers("In 1313 she paid for 12 lanterns.", known) == ["1313"]


def test_no_fact_of_the_story_is_without_ground() -> None:
    story = Path(__file__).resolve().parents[2] / "sync" / "sample_story"
    facts = json.loads((story / "facts.json").read_text("utf-8"))["facts"]
    lines = {}
    for path in story.rglob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        lines[path.stem] = [f"{row['name']}: {row['mes']}" for row in rows if "mes" in row]
    doubted = []
    for fact in facts:
        first, last = min(fact["messages"]), max(fact["messages"])
        source = SourceWords(lines[fact["chat"]][max(0, first - 8) : last + 9])
        doubted += [fact["text"]] if is_groundless(fact["text"], candidates(fact["text"]), source.knows) else []
    assert len(facts) > 150 and doubted == []


@given(st.text(max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    assert strange_numbers(text, numbers(text)) == []
    is_groundless(text, candidates(text), SAID.knows)
