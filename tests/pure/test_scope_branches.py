"""Whatever a story branches into: a line knows a memory exactly when it still holds every message behind it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from memories.scope_branches import Family, Part, Source


@dataclass
class Story:
    """Chats by number, as lists of message names; the first `forks[n]` of a branch are its parent's."""

    chats: list[list[str]]
    parents: list[int | None]
    forks: list[int]

    def family(self, *, dated: bool) -> Family:
        return Family(
            {NAMES[n]: (NAMES[p], self.forks[n] - 1) for n, p in enumerate(self.parents) if p is not None},
            {NAMES[n]: {one: (number, dated) for number, one in enumerate(chat)} for n, chat in enumerate(self.chats)},
            {NAMES[n]: "2026-03-01 18:00" for n, p in enumerate(self.parents) if p is not None},
        )


NAMES = [uuid.UUID(int=n) for n in range(12)]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    chats = [[f"0-{n}" for n in range(draw(st.integers(1, 8)))]]
    parents: list[int | None] = [None]
    forks = [0]
    for number in range(1, draw(st.integers(2, 7))):
        parent = draw(st.integers(0, number - 1))
        fork = draw(st.integers(1, len(chats[parent])))
        own = [f"{number}-{n}" for n in range(draw(st.integers(0, 5)))]
        chats.append([*chats[parent][:fork], *own])
        parents.append(parent)
        forks.append(fork)
    return Story(chats, parents, forks)


@given(stories(), st.data())
@settings(max_examples=300, deadline=None)
def test_a_line_knows_what_it_holds_and_nothing_else(story: Story, data: st.DataObject) -> None:
    family = story.family(dated=data.draw(st.booleans()))
    teller = data.draw(st.integers(0, len(story.chats) - 1))
    chat = story.chats[teller]
    places = data.draw(st.sets(st.integers(0, len(chat) - 1), min_size=1, max_size=3))
    with_evidence = data.draw(st.booleans())
    behind = {chat[n] for n in places}
    part = Part(NAMES[teller], max(places), frozenset(behind) if with_evidence else frozenset())
    source = Source((part,))
    for number, other in enumerate(story.chats):
        holds = chat[: max(places) + 1] == other[: max(places) + 1]
        assert family.knows(NAMES[number], source) is (holds or number == teller)
    home = NAMES.index(family.home(source))  # type: ignore[arg-type]
    assert chat[max(places)] in story.chats[home]
    parent = story.parents[home]
    assert parent is None or chat[max(places)] not in story.chats[parent]


@given(stories(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_memory_of_several_lines_is_known_where_all_of_them_meet(story: Story, data: st.DataObject) -> None:
    family = story.family(dated=True)
    tellers = data.draw(st.lists(st.integers(0, len(story.chats) - 1), min_size=2, max_size=3))
    ends = [(n, len(story.chats[n]) - 1) for n in tellers]
    source = Source(tuple(Part(NAMES[n], last, frozenset({story.chats[n][last]})) for n, last in ends))
    for number, other in enumerate(story.chats):
        holds = all(number == n or story.chats[n][last] in other for n, last in ends)
        assert family.knows(NAMES[number], source) is holds


def test_what_no_chat_tells_is_known_when_it_is_older() -> None:
    family = Story([["a", "b"], ["a", "c"]], [None, 0], [0, 1]).family(dated=True)
    assert family.knows(NAMES[1], Source(made="2026-03-01 17:59"))
    assert not family.knows(NAMES[1], Source(made="2026-03-01 18:01"))
    assert family.knows(NAMES[1], Source((Part(uuid.uuid4(), 3, made="2026-02-01 10:00"),), "2026-05-01 10:00"))
    assert family.home(Source(made="2026-03-01 17:59")) is None
