"""Conservation: every source has exactly one fate, whatever the model claims."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.conservation import BY_STRATEGY, Conservation, Result, check

SOURCES = {
    "adopt": "Alex adopted Flux from the shelter in Harrow.",
    "vacuum": "Flux distrusts vacuum cleaners.",
    "key": "Alex keeps the brass key in the blue teapot.",
    "swim": "Alex never learned to swim.",
    "boat": "Alex paid 30 crowns for the boat.",
    "sleep": "Flux slept on the windowsill.",
}


def fates(found: Conservation) -> dict[str, str]:
    return {source: one.fate for source, one in found.fates.items()}


def claims(*ids: str) -> frozenset[str]:
    return frozenset(ids)


def test_kept_merged_dropped_and_missing() -> None:
    found = check(
        SOURCES,
        [
            Result(
                "Alex adopted Flux from a shelter in Harrow, where the cat feared vacuum cleaners.",
                claims("adopt", "vacuum"),
            ),
            Result("Alex keeps the brass key in the blue teapot.", claims("key")),
            Result("Alex, who never learned to swim, paid 30 crowns for the boat.", claims("swim", "boat")),
        ],
        {"sleep": "a passing moment"},
    )
    assert fates(found) == {
        "adopt": "merged",
        "vacuum": "merged",
        "key": "kept",
        "swim": "merged",
        "boat": "merged",
        "sleep": "dropped",
    }
    assert found.fates["sleep"].reason == "a passing moment"
    assert found.sources == [["adopt", "vacuum"], ["key"], ["swim", "boat"]]
    assert found.missing == [] and found.invented == []


@pytest.mark.parametrize("strategy", [None, *BY_STRATEGY])
def test_one_dropped_and_one_invented_under_its_id(strategy: str | None) -> None:
    results = [Result(text, claims(one)) for one, text in SOURCES.items() if one != "key"]
    made_up = Result("Alex keeps the silver dagger in the oak chest.", claims("key"))
    found = check(SOURCES, [*results, made_up], {}, BY_STRATEGY.get(strategy) if strategy else None)
    assert found.missing == ["key"]
    assert found.invented == [len(results)]
    nearest = found.fates["key"].nearest
    assert nearest is not None and nearest[0] == len(results) and 0 < nearest[1] < 1


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Alex paid 20 crowns for the boat.", "boat"),  # another number
        ("Alex learned to swim.", "swim"),  # the "never" is gone
        ("Flux never slept on the windowsill.", "sleep"),  # a "never" that nobody wrote
        ("Somebody adopted a cat from the shelter in the town.", "adopt"),  # no name is left
        ("Many things happened in those years.", "key"),
    ],
)
def test_a_claim_that_the_words_do_not_bear_out(text: str, source: str) -> None:
    found = check(SOURCES, [Result(text, claims(source))])
    assert found.fates[source].fate == "missing"
    assert found.sources == [[]]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Alex keeps the brass key in the blue teapot.", "key"),
        ("alex KEEPS the brass key, in the blue teapot", "key"),
        ("One day Flux distrusts vacuum cleaners. All is well.", "vacuum"),
    ],
)
def test_what_stands_there_counts_without_a_claim(text: str, source: str) -> None:
    found = check(SOURCES, [Result(text)])
    assert found.fates[source].fate == "kept"
    assert found.sources == [[source]]


def test_a_forgotten_id_is_found_by_the_words() -> None:
    merged = "Alex never learned to swim and keeps the brass key hidden in the old blue teapot."
    assert fates(check(SOURCES, [Result(merged)]))["key"] == "merged"


def test_leaving_out_needs_a_reason_and_a_kept_one_was_not_left_out() -> None:
    reasons = {"key": "unimportant", "boat": "  ", "sleep": "mood"}
    found = fates(check(SOURCES, [Result(SOURCES["key"], claims("key"))], reasons))
    assert (found["key"], found["boat"], found["sleep"]) == ("kept", "missing", "dropped")


def test_claims_of_ids_that_do_not_exist_change_nothing() -> None:
    found = check(SOURCES, [Result("A dragon came.", claims("nobody", "key"))])
    assert found.invented == [0] and len(found.missing) == len(SOURCES)


def test_scripts_without_spaces() -> None:
    sources = {"a": "她搬到了海边的小屋。", "b": "他害怕黑暗的森林。"}
    found = check(sources, [Result("她搬到了海边的小屋，并且开始画画。", claims("a", "b"))])
    assert fates(found) == {"a": "kept", "b": "missing"}


def test_equal_sources_share_one_result() -> None:
    found = check({"a": "Flux slept.", "b": "Flux slept."}, [Result("Flux slept.", claims("a"))])
    assert fates(found) == {"a": "kept", "b": "kept"}
    assert found.sources == [["a", "b"]]


WORDS = st.sampled_from(
    "Alex Flux key boat 30 never swim blue teapot harbour Harrow slept not and the 她搬到了海边 … 12".split()
)
TEXTS = st.lists(WORDS, max_size=7).map(" ".join) | st.text(max_size=20)
IDS = st.sampled_from("abcdefgh")


@settings(deadline=None)
@given(
    st.dictionaries(IDS, TEXTS, max_size=8),
    st.lists(st.builds(Result, TEXTS, st.frozensets(IDS, max_size=4)), max_size=6),
    st.dictionaries(IDS, st.text(max_size=5), max_size=3),
)
def test_every_source_has_one_fate(sources: dict[str, str], results: list[Result], dropped: dict[str, str]) -> None:
    found = check(sources, results, dropped)
    assert list(found.fates) == list(sources)
    assert sum(found.count(fate) for fate in ("kept", "merged", "dropped", "missing")) == len(sources)
    for source, one in found.fates.items():
        assert bool(one.into) == (one.fate in ("kept", "merged"))
        assert (one.fate == "dropped") <= bool(dropped.get(source, "").strip())
        assert {place for place, held in enumerate(found.sources) if source in held} == set(one.into)
    assert len(found.sources) == len(results)


@given(st.dictionaries(IDS, TEXTS, max_size=8))
def test_a_copy_keeps_everything_that_has_a_word(sources: dict[str, str]) -> None:
    found = check(sources, [Result(text) for text in sources.values()])
    lost = [one for one in found.missing if any(letter.isalnum() for letter in sources[one])]
    assert lost == []
