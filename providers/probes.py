"""What a test of a connection asks and what it thinks of the answer: the app that knows what a memory is registers it.

Only one app does. The question is a real one, made as the connection's own questions are made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from providers.models import Connection


@dataclass(frozen=True)
class Judgement:
    """What an answer is worth. `text` is a few words, `quote` a piece of the answer, `hint` a sentence or ""."""

    follows: bool
    text: str
    quote: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Probe:
    """A question whose right answer is known. `rooms` are tokens for the answer: of the first try, and of a second
    one when the first was used up. `judge` gets the answer's text and whether it was cut off there; `too_short` is
    what to do when even the last room was not enough."""

    system: str
    user: str
    grammar: str | None
    rooms: tuple[int, ...]
    judge: Callable[[str, bool], Judgement]
    too_short: str


Make = Callable[[Connection], Probe]
_makes: list[Make] = []


def register(make: Make) -> None:
    """This makes the question from now on."""
    _makes[:] = [make]


def probe_for(connection: Connection) -> Probe:
    """The question for this connection."""
    return _makes[0](connection)
