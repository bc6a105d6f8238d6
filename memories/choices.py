"""What a person may choose for extraction: names, usual values and limits (pure; spec/charmemory §1).

A character or a group may have choices of its own; whatever it leaves open is as the person chose for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any

CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
EACH, TOGETHER = "each", "together"
ACCEPT, FLAG, QUEUE, REPAIR = "accept", "flag", "queue", "repair"
ACTIONS = (ACCEPT, FLAG, QUEUE, REPAIR)
# What the quality gate looks for, and what happens to a bullet by itself (memories/quality.py).
CHECKS: dict[str, str] = {
    "non_memory": QUEUE,
    "invented_name": FLAG,
    "unsupported": FLAG,
    "reversed_actor": FLAG,
    "repeat_existing": FLAG,
    "recall_echo": FLAG,
    "card_leak": FLAG,
    "play_by_play": FLAG,
    "meta_narration": FLAG,
    "temporary": FLAG,
    "form": ACCEPT,  # person, tense, more than five bullets in one block
}


@dataclass(frozen=True)
class Choices:
    """The choices in force for one character or group. Minutes, messages, tokens; `daily_budget` in dollars."""

    is_automatic: bool = True
    interval: int = 20  # character messages before a chat is read by itself
    lag: int = 0  # further ones to wait for
    cooldown_minutes: int = 10  # at least so long between two readings of a chat
    leaves_newest: bool = False  # automatic reading leaves the newest `newest` messages alone
    newest: int = 4
    messages_per_call: int = 20
    response_tokens: int = 1000
    merge_chunks: bool = False
    quiet_from: str = ""  # "HH:MM" in the person's time zone; nothing is read by itself until `quiet_until`
    quiet_until: str = ""
    idle_minutes: int = 0  # read only when no message came for so long; 0 = at once
    daily_budget: Decimal | None = None  # for what is read by itself
    reads_backlog: bool = False  # also begin long chats that were never read
    asks_present_only: bool = True  # a group's member is asked only about stretches it took part in
    group_calls: str = EACH  # one call for each member, or one for all of them together
    checks_with_model: bool = False
    gate: Mapping[str, str] = field(default_factory=dict)

    def action(self, check: str) -> str:
        """What happens to a bullet that `check` doubts."""
        return self.gate.get(check, CHECKS.get(check, FLAG))

    @property
    def protected(self) -> int:
        """How many of the newest messages automatic reading leaves alone."""
        return self.newest if self.leaves_newest else 0


LIMITS: dict[str, tuple[int, int]] = {
    "interval": (3, 100),
    "lag": (0, 20),
    "cooldown_minutes": (0, 30),
    "newest": (1, 20),
    "messages_per_call": (10, 200),
    "response_tokens": (100, 4000),
    "idle_minutes": (0, 120),
}
NAMES = tuple(one.name for one in fields(Choices))
USUAL = Choices()


def with_values(choices: Choices, values: Mapping[str, Any]) -> Choices:
    """`choices` with those of `values` that are valid; unknown names and broken values change nothing.

    Numbers outside their limits are taken to the nearest limit, as the sliders of the extension do.
    """
    kept = {}
    for name in NAMES:
        if name in values and (found := _valid(name, values[name])) is not _BROKEN:
            kept[name] = found
    return replace(choices, **kept)


_BROKEN = object()


def _valid(name: str, value: Any) -> Any:
    usual = getattr(USUAL, name)
    if name == "daily_budget":
        return _money(value)
    if name == "gate":
        is_fine = isinstance(value, Mapping)
        return {str(k): v for k, v in value.items() if k in CHECKS and v in ACTIONS} if is_fine else _BROKEN
    if isinstance(usual, bool):
        return value if isinstance(value, bool) else _BROKEN
    if isinstance(usual, int):
        return _number(name, value)
    if name == "group_calls":
        return value if value in (EACH, TOGETHER) else _BROKEN
    return value if isinstance(value, str) and (value == "" or CLOCK.fullmatch(value)) else _BROKEN


def _number(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return _BROKEN
    low, high = LIMITS[name]
    return int(min(high, max(low, value)))


def _money(value: Any) -> Any:
    if value is None or value == "":
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return _BROKEN
    return found if found.is_finite() and found >= 0 else _BROKEN
