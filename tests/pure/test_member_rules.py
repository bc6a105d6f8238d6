"""Who is who in a group: the reported cases as data, and what holds for any group."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memories.member_rules import CARD, Card, Choice, Seat, Speaker, resolve
from tests.support.members import resolved

CASES = json.loads((Path(__file__).parents[1] / "data" / "members.json").read_text("utf-8"))["cases"]
NAMES = st.sampled_from(["Lilith", "lilith ", "Flux", "白川ゆき", ""])
AVATARS = st.sampled_from(["a.png", "b.png", "c.png", "d.png"])


def test_the_keys_and_messages_of_a_renamed_card_come_together() -> None:
    case = next(one for one in CASES if one["name"].startswith("a renamed card"))
    (vael,) = resolved(case["input"]).members
    assert vael.keys == {"Seraphine.png", "Vael.png"} and vael.messages == 5


def test_who_is_left_out_stays_out_under_other_names() -> None:
    case = next(one for one in CASES if one["name"] == "what a person said wins")
    kinds = {one.key: one.kind for one in resolved(case["input"]).entries}
    assert kinds["name:Narrator"] == kinds["narrator.png"] == "left_out"
    assert kinds["name:Wren"] == "persona"


@given(
    cards=st.lists(st.builds(Card, AVATARS, NAMES), unique_by=lambda one: one.avatar),
    seats=st.lists(st.builds(Seat, AVATARS, st.booleans())),
    speakers=st.lists(st.builds(Speaker, NAMES, st.one_of(st.just(""), AVATARS), st.integers(0, 50))),
)
def test_every_seat_and_every_spoken_message_is_accounted_for_once(
    cards: list[Card], seats: list[Seat], speakers: list[Speaker]
) -> None:
    found = resolve(cards, seats, speakers, {})
    there = {one.avatar for one in cards}
    assert {one.avatar for one in found.members} >= {one.avatar for one in seats} & there
    assert sum(one.messages for one in found.members) + sum(one.messages for one in found.unknown) == sum(
        one.messages for one in speakers if one.avatar or one.name.strip()
    )
    keys = [key for one in found.members for key in one.keys]
    assert len(keys) == len(set(keys)), "nobody shares a key with somebody else"
    assert all(key == one.avatar or key.startswith("name:") for one in found.members for key in one.keys)


@given(st.sampled_from(["persona", "left_out", CARD]))
def test_a_choice_holds_whatever_the_group_file_says(kind: str) -> None:
    cards = [Card("a.png", "A"), Card("b.png", "B")]
    choices = {"a.png": Choice(kind, "b.png" if kind == CARD else "")}
    for seats in ([], [Seat("a.png")], [Seat("a.png", is_muted=True), Seat("b.png")]):
        found = resolve(cards, seats, [Speaker("A", "a.png", 3)], choices)
        assert "a.png" not in {one.avatar for one in found.members}
        assert found.unknown == []
