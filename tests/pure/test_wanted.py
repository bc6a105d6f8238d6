"""What a reading was asked for: stretches that survive changes, and two wishes put together."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.reading import TAIL, Mark, replayed
from memories.wanted import NOWHERE, Span, Wanted, is_inside

STORY = [f"m{n}" for n in range(60)]
NUMBERS = list(range(60))
ends = st.one_of(st.none(), st.integers(0, 59))


@given(ends, ends)
def test_a_span_finds_its_ends_where_nothing_changed(first: int | None, last: int | None) -> None:
    begin, end = first or 0, 59 if last is None else last
    if begin > end:
        with pytest.raises(ValueError, match=r"^$"):
            Span.of(STORY, NUMBERS, first, last)
        return
    assert Span.of(STORY, NUMBERS, first, last).ends(STORY, NUMBERS) == (begin, end)


def test_a_span_moves_with_its_messages() -> None:
    span = Span.of(STORY, NUMBERS, 10, 20)
    inserted = ["new", *STORY]
    assert span.ends(inserted, list(range(61))) == (11, 21)
    without = [one for one in STORY if one not in ("m10", "m11", "m20")]
    assert span.ends(without, list(range(57))) == (10, 17)
    assert span.ends([], []) == NOWHERE
    assert span.ends(STORY[30:], list(range(30))) == NOWHERE


def test_open_ends_grow_with_the_chat() -> None:
    assert Span.of(STORY, NUMBERS, 50, None).ends([*STORY, "m60"], list(range(61))) == (50, 60)
    assert Span.of(STORY, NUMBERS, None, 3).ends(["new", *STORY], list(range(61))) == (0, 4)
    assert len(Span.of(STORY, NUMBERS, 0, 59).first or ()) == TAIL


def test_a_wish_is_kept_as_json() -> None:
    wish = Wanted(("a",), ("g",), {"a": (Span.of(STORY, NUMBERS, 3, 5),)}, frozenset("a"))
    assert Wanted.of(json.loads(json.dumps(wish.params))) == wish
    assert Wanted.of({}) == Wanted() and Wanted.of({"chats": None, "character": "x"}) == Wanted()


def test_where_one_wish_has_no_limit_there_is_none() -> None:
    one, two = Span.of(STORY, NUMBERS, 1, 2), Span.of(STORY, NUMBERS, 4, 5)
    limited, other = Wanted(("a",), spans={"a": (one,)}), Wanted(("a",), spans={"a": (two,)})
    assert limited.and_also(other).spans == {"a": (one, two)}
    assert limited.and_also(limited) == limited
    assert limited.and_also(Wanted(("a",))).spans == {}
    assert limited.and_also(Wanted()).spans == {} and limited.and_also(Wanted()).chats is None
    assert limited.and_also(Wanted(("b",))) == Wanted(("a", "b"), spans={"a": (one,)})
    assert Wanted(None, ("g",)).and_also(Wanted(("a",))) == Wanted(None, ("g",))


def test_what_somebody_asked_for_is_not_read_carefully() -> None:
    careful = Wanted(("a",), careful=frozenset("a"))
    assert careful.and_also(Wanted(("a",))).careful == frozenset()
    assert careful.and_also(Wanted(("b",))).careful == frozenset("a")
    assert careful.and_also(careful) == careful


def test_inside() -> None:
    assert [n for n in range(9) if is_inside(n, [(1, 2), (5, 5), NOWHERE])] == [1, 2, 5]


def test_rows_are_replayed_in_order() -> None:
    a, b, edited = Mark("a", "1"), Mark("b", "1"), Mark("a", "2")
    assert replayed([(False, [a, b]), (True, [a])]) == [b]
    assert replayed([(False, [a, b]), (True, [edited]), (False, [edited])]) == [b, edited]
    assert replayed([(True, [a])], [a, b]) == [b]
    assert set(replayed([(False, [edited])], [a])) == {a, edited}
