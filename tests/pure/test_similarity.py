"""When two memories are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.similarity import Match, find_duplicate_normalised, normalise

KNOWN = ["Alex adopted Flux from the shelter in May.", "Flux was vaccinated against rabies.", "弗勒斯在五月被收养。"]


def find_duplicate(text: str, known: list[str]) -> Match | None:
    return find_duplicate_normalised(normalise(text), [normalise(one) for one in known])


def test_the_same_words_in_another_dress_are_exact() -> None:
    match = find_duplicate("alex adopted FLUX, from the shelter in May", KNOWN)
    assert match is not None
    assert (match.position, match.is_exact) == (0, True)


def test_nearly_the_same_is_a_possible_duplicate() -> None:
    match = find_duplicate("In May Alex adopted Flux from the shelter.", KNOWN)
    assert match is not None
    assert (match.position, match.is_exact) == (0, False)
    match = find_duplicate("弗勒斯在五月被收养了。", KNOWN)
    assert match is not None
    assert (match.position, match.is_exact) == (2, False)


@pytest.mark.parametrize(
    "text",
    [
        "Flux was not vaccinated against rabies.",
        "Alex moved to Berlin in May.",
        "Flux was afraid of the vacuum cleaner.",
        "Alex adopted Flux from the shelter in May and later gave her to Mike, who lives by the sea.",
    ],
)
def test_a_different_fact_is_no_duplicate(text: str) -> None:
    assert find_duplicate(text, KNOWN) is None


def test_other_numbers_make_another_fact() -> None:
    assert find_duplicate("Alex paid 40 crowns for the lantern.", ["Alex paid 90 crowns for the lantern."]) is None


@given(st.text())
def test_a_text_is_its_own_duplicate(text: str) -> None:
    match = find_duplicate(text, [text])
    assert (match is not None and match.is_exact) == bool(normalise(text))
