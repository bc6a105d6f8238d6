"""Which message is which, after everything that SillyTavern and people do to chats."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sync.tavern.align import Key, align
from sync.tavern.identity import IdentityMaker, content_hash, message_identities


def key(role: str, date: str, text: str, *others: str) -> Key:
    return Key(role, date, content_hash(text), frozenset(others))


def test_equals_are_told_apart_by_their_occurrence() -> None:
    ids = message_identities([("user", "d"), ("user", "d"), ("character", "d")])
    assert len(set(ids)) == 3
    assert all(len(one) == 32 for one in ids)


def test_an_identity_that_is_taken_is_not_given_again() -> None:
    (first,) = message_identities([("user", "d")])
    assert IdentityMaker([first])("user", "d") != first


def test_delete_message_3_and_insert_two() -> None:
    old = [key("user", f"d{n}", f"text {n}") for n in range(6)]
    new = [*old[:3], key("user", "n1", "new 1"), key("user", "n2", "new 2"), *old[4:]]
    assert align(old, new) == [0, 1, 2, None, None, 4, 5]


def test_an_edit_keeps_its_row() -> None:
    old = [key("user", f"d{n}", f"text {n}") for n in range(3)]
    new = [old[0], key("user", "d1", "edited"), old[2]]
    assert align(old, new) == [0, 1, 2]


def test_a_swipe_with_another_date_keeps_its_row() -> None:
    old = [key("user", "d0", "hello"), key("character", "d1", "first answer"), key("user", "d2", "on")]
    new = [old[0], key("character", "d9", "second", "d1", content_hash("first answer")), old[2]]
    assert align(old, new) == [0, 1, 2]


def test_a_continued_message_keeps_its_row() -> None:
    old = [key("user", "d0", "hello"), key("character", "d1", "Once")]
    new = [old[0], key("character", "d9", "Once upon a time")]
    assert align(old, new, lambda before, after: (before, after) == (1, 1)) == [0, 1]


def test_a_regenerated_message_is_a_new_one() -> None:
    old = [key("user", "d0", "hello"), key("character", "d1", "first")]
    new = [old[0], key("character", "d9", "quite different")]
    assert align(old, new, lambda before, after: False) == [0, None]


def test_equal_dates_are_told_apart_by_text_when_one_is_deleted() -> None:
    old = [key("user", "2:20pm", "a"), key("user", "2:20pm", "b"), key("user", "2:20pm", "c")]
    assert align(old, [old[0], old[2]]) == [0, 2]


operations = st.lists(
    st.tuples(st.sampled_from(["delete", "insert", "edit", "swipe"]), st.integers(0, 10**6)), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 25), operations)
def test_nothing_is_lost_or_repeated(count: int, todo: list[tuple[str, int]]) -> None:
    """Each surviving message finds its own row; each new one finds none."""
    old = [key("user" if n % 2 else "character", f"d{n}", f"text {n}") for n in range(count)]
    now: list[tuple[Key, int | None]] = [(one, n) for n, one in enumerate(old)]
    for step, (what, where) in enumerate(todo):
        place = where % (len(now) + 1)
        if what == "insert":
            now.insert(place, (key("user", f"new{step}", f"new text {step}"), None))
        elif place < len(now):
            one, row = now[place]
            if what == "delete":
                del now[place]
            elif what == "edit":
                now[place] = (Key(one.role, one.raw_date, content_hash(f"edited {step}")), row)
    found = align(old, [one for one, _row in now])
    assert found == [row for _one, row in now]
