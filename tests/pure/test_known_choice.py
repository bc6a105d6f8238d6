"""Which known memories a prompt shows: those that the messages bring up, locked ones, the newest; the card likewise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.extraction_prompt import budget
from memories.known_choice import Index, choose, choose_card, terms
from memories.transcript import Line, plain_lines
from providers.tokens import estimate_tokens
from tests.support.repetitions import make_case

SEEDS = range(8)


def messages(lines: list[Line]) -> list[str]:
    return plain_lines(lines).split("\n\n")


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_what_the_messages_bring_up_is_among_those_shown(language: str) -> None:
    """A thousand memories; at most a quarter of their tokens; 95 of 100 of those that would be repeated."""
    limit = budget(context=None, answer=1000, measure=estimate_tokens).memories
    asked, shown = 0, 0
    for seed in SEEDS:
        case = make_case(seed, language)
        places = choose(case.known, messages(case.lines), limit, estimate_tokens)
        asked += len(case.repeated)
        shown += len(case.repeated & set(places))
        used = sum(estimate_tokens(case.known[place]) for place in places)
        assert used <= limit <= 0.25 * sum(map(estimate_tokens, case.known))
    assert shown >= 0.95 * asked


def test_everything_is_shown_when_it_fits() -> None:
    known = [f"Memory number {n}." for n in range(30)]
    assert choose(known, ["nothing"], 1000, estimate_tokens) == list(range(30))
    assert choose([], ["nothing"], 0, estimate_tokens) == []


def test_locked_memories_come_first_then_the_newest_then_the_closest() -> None:
    known = [f"Nothing particular happened on day {n}." for n in range(400)]
    known[5] = "Robin hid the brass whistle under the stairs."
    known[9] = "A locked memory about a red kite."
    found = choose(known, ["Where is the brass whistle?"], 300, estimate_tokens, locked=[9])
    assert {5, 9, 399} <= set(found)
    assert found == sorted(found)
    tight = choose(known, ["Where is the brass whistle?"], 14, estimate_tokens, locked=[9])
    assert tight == [9], "before all others"
    many = choose(known, ["Where is the brass whistle?"], 100, estimate_tokens, locked=range(200))
    assert many == list(range(200 - len(many), 200)), "the newest of them when not even they fit"


def test_a_rare_name_weighs_more_than_one_that_stands_everywhere() -> None:
    known = [f"Wenna and Robin walked along the shore of lake {n}." for n in range(200)]
    known[3] = "Wenna and Robin heard of Oswin once."
    found = choose(known, ["Wenna: Robin, who is Oswin?"], 250, estimate_tokens)
    assert 3 in found


def test_a_mention_in_one_breath_counts_more_than_words_scattered_over_the_stretch() -> None:
    known = [f"Somebody spoke about matter number {n} in the village." for n in range(200)]
    known[0] = "The silver locket lies in the chapel."
    scattered = ["The silver was polished.", "A locket is jewellery.", "The chapel is closed."]
    together = Index(known).closeness(["Is the silver locket still in the chapel?"])[0]
    assert together > Index(known).closeness(scattered)[0] > 0


def test_words_of_scripts_without_spaces_are_told_apart() -> None:
    assert dict(terms("千鶴は銀の首飾りを隠した")) == {"千鶴": 1, "銀": 1, "首飾": 1, "隠": 1}
    assert [word for word, _times in terms("Wenna’s LANTERNS in Ελλάδα 1874")] == ["wenna", "lanter", "ελλάδα", "1874"]


def test_an_index_grows_with_its_file() -> None:
    known = [f"Memory of the {word} festival, long ago." for word in ("spring", "summer", "autumn")] * 60
    ask = ["The winter festival!"]
    before = choose(known, ask, 200, estimate_tokens)
    grown = [*known, "Memory of the winter festival, long ago.", *known[:20]]
    assert 180 in choose(grown, ask, 200, estimate_tokens)
    assert choose(known, ask, 200, estimate_tokens) == before, "nothing is left over from the longer file"
    changed = ["Robin danced at the winter festival.", *known[1:]]
    assert 0 in choose(changed, ask, 200, estimate_tokens)


def test_a_long_card_keeps_its_beginning_and_what_the_messages_touch() -> None:
    filler = " ".join(f"She owns {n} grey cups and {n} plates." for n in range(400))
    card = f"Wenna is the lamplighter of Ostra. {filler} Her brother Perrin drowned in the mill pond. {filler}"
    shown = choose_card(card, ["Robin: Tell me about Perrin and the mill pond."], 300, estimate_tokens)
    assert shown.startswith("Wenna is the lamplighter of Ostra. She owns 0 grey cups")
    assert "Her brother Perrin drowned in the mill pond." in shown
    assert shown.index("[…]") < shown.index("Perrin")
    assert shown.endswith("[…]")
    assert estimate_tokens(shown) <= 300
    assert choose_card("Short.", [], 300, estimate_tokens) == "Short."


@given(
    st.lists(st.text(max_size=60), max_size=30),
    st.lists(st.text(max_size=80), max_size=5),
    st.integers(0, 200),
    st.sets(st.integers(0, 29)),
)
def test_any_choice_is_in_order_and_within_its_room(
    known: list[str], said: list[str], limit: int, some: set[int]
) -> None:
    locked = {place for place in some if place < len(known)}
    found = choose(known, said, limit, estimate_tokens, locked)
    assert found == sorted(set(found))
    if len(found) < len(known):
        assert sum(estimate_tokens(known[place]) + 2 for place in found) <= limit
    card = " ".join(known)
    assert estimate_tokens(choose_card(card, said, limit, estimate_tokens)) <= max(limit, estimate_tokens(" […]"))
