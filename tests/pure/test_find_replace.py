"""Finding and replacing: what counts as a place, what patterns may do, and what never happens."""

from __future__ import annotations

import resource
from dataclasses import replace as changed

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.blocks import clean_bullet
from memories.find_replace import (
    MAX_FIND,
    Options,
    Refused,
    Search,
    marked,
    pieces_of,
    replaced,
)

TEXT = "Wren told the user that wrens cost $5.00 (wren)."


def after(text: str, options: Options) -> str:
    return replaced(text, Search(options).places(text))


def joined(pieces: list[object]) -> str:
    return "".join(piece.text for piece in pieces)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options("wren", "Ilse"), "Ilse told the user that Ilses cost $5.00 (Ilse)."),
        (Options("wren", "Ilse", is_case_sensitive=True), "Wren told the user that Ilses cost $5.00 (Ilse)."),
        (Options("wren", "Ilse", is_whole_words=True), "Ilse told the user that wrens cost $5.00 (Ilse)."),
        (Options("$5.00", "$&\\1"), "Wren told the user that wrens cost $&\\1 (wren)."),
        (Options("$5.00", "nothing", is_whole_words=True), "Wren told the user that wrens cost nothing (wren)."),
        (Options(r"\bwrens? (\w+)", r"\1 wren", is_pattern=True), "told wren the user that cost wren $5.00 (wren)."),
        (
            Options(r"(?P<who>the user)", r"<\g<who>>", is_pattern=True),
            "Wren told <the user> that wrens cost $5.00 (wren).",
        ),
        (Options("wre|wren", "x", is_pattern=True, is_whole_words=True), "x told the user that wrens cost $5.00 (x)."),
        (Options("user", "a\\b$1", is_pattern=False), "Wren told the a\\b$1 that wrens cost $5.00 (wren)."),
    ],
)
def test_what_is_found_is_replaced(options: Options, expected: str) -> None:
    assert after(TEXT, options) == expected


def test_unspaced_scripts_and_accents_are_found_inside_words() -> None:
    assert after("她搬到了海边", Options("海边", "山上")) == "她搬到了山上"
    assert after("ÓLAFUR and Ólafur", Options("ólafur", "Olaf")) == "Olaf and Olaf"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (Options("(", is_pattern=True), "bad-pattern"),
        (Options("x*", "y", is_pattern=True), "empty"),
        (Options(r"\b", "y", is_pattern=True), "empty"),
        (Options("(wren)", r"\2", is_pattern=True), "bad-replacement"),
        (Options("wren", r"\g<who>", is_pattern=True), "bad-replacement"),
        (Options("(?R)", is_pattern=True), "calls-itself"),
        (Options("(?:(?:a{1000}){1000}){1000}", is_pattern=True), "too-many"),
        (Options("w" * (MAX_FIND + 1)), "too-long"),
        (Options("e", "e" * 2_000), "grows"),
    ],
)
def test_what_cannot_be_done_is_refused(options: Options, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        Search(options).places(TEXT + "e" * 20)
    assert refused.value.reason == reason


def test_an_exploding_pattern_has_one_second_for_all_texts_together() -> None:
    search = Search(Options("(a|aa)+$", is_pattern=True), seconds=0.2)
    with pytest.raises(Refused) as refused:
        for _n in range(1_000):
            search.places("a" * 28 + "!")
    assert refused.value.reason == "too-slow"
    with pytest.raises(Refused):
        search.places("short")


def test_an_exploding_pattern_does_not_fill_the_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for pattern in ("((((a*)*)*)*)*b", "(.*)*(.+)+=(.*)*", "(a|aa)+$", "(?:(?:.*a){90}){90}=b"):
        with pytest.raises(Refused):
            search = Search(Options(f"x?{pattern}|aaaa!", is_pattern=True))
            for _n in range(1_000):
                search.places("a" * 20_000 + "b" * 10)
            raise Refused("too-slow")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


OPTIONS = st.builds(
    Options,
    find=st.text(min_size=1, max_size=12) | st.from_regex(r"[a-c.*+?()\[\]{}|\\^$]{1,12}", fullmatch=True),
    replace=st.text(max_size=8) | st.from_regex(r"[a-c\\$<>g1]{0,8}", fullmatch=True),
    is_case_sensitive=st.booleans(),
    is_whole_words=st.booleans(),
    is_pattern=st.booleans(),
)
TEXTS = st.text(max_size=60) | st.text(alphabet="abc *.$\\<memory>\n", max_size=60)


@settings(deadline=None, max_examples=400)
@given(OPTIONS, TEXTS)
def test_no_search_fails_in_another_way_and_pieces_are_the_texts(options: Options, text: str) -> None:
    try:
        places = Search(options, seconds=0.2).places(text)
    except Refused:
        return
    result = clean_bullet(replaced(text, places))
    old, new = pieces_of(text, result, places)
    assert joined(old) == text  # type: ignore[arg-type]
    assert joined(new) == result  # type: ignore[arg-type]
    assert joined(marked(text, places)) == text  # type: ignore[arg-type]
    assert clean_bullet(result) == result
    if not options.is_pattern and not options.is_whole_words:
        assert bool(places) == bool(Search(changed(options, replace="")).places(text))


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet="ab ", min_size=1, max_size=9), min_size=1, max_size=5), st.sampled_from(["", "b", "ab"])
)
def test_a_plain_replacement_does_what_python_does(bullets: list[str], put: str) -> None:
    options = Options("a", put, is_case_sensitive=True)
    found = [Search(options).places(text) for text in bullets]
    assert [len(places) for places in found] == [text.count("a") for text in bullets]
    done = [replaced(text, places) for text, places in zip(bullets, found, strict=True)]
    assert done == [text.replace("a", put) for text in bullets]
