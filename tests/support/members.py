"""Member resolution in the form of conformance cases (tests/data/members.json says what they mean)."""

from __future__ import annotations

from typing import Any

from memories.member_rules import Card, Choice, Resolved, Seat, Speaker, resolve


def resolved(case: dict[str, Any]) -> Resolved:
    """The whole answer for one case."""
    cards = [Card(one["avatar"], one["name"], tuple(one.get("former", ()))) for one in case["cards"]]
    seats = [Seat(one["avatar"], one.get("disabled", False)) for one in case["seats"]]
    speakers = [Speaker(one["name"], one.get("avatar", ""), one["messages"]) for one in case["speakers"]]
    said = case.get("choices", {}).items()
    return resolve(cards, seats, speakers, {key: Choice(one["kind"], one.get("card", "")) for key, one in said})


def resolve_members(case: dict[str, Any]) -> dict[str, Any]:
    """Members, muted ones and unknown keys with their messages."""
    found = resolved(case)
    return {
        "members": [one.avatar for one in found.members],
        "muted": [one.avatar for one in found.members if one.is_muted],
        "unknown": {one.key: one.messages for one in found.unknown},
    }
