"""The piece of a text around what was found, with the places to mark. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from search.query import Query, Term, matches
from search.tokens import SINGLE, Token, tokens

LETTERS = 240
BEFORE = 60  # letters shown before the first place, at most
FAR = 20_000  # letters of a text that are looked at; behind that its beginning is shown


@dataclass(frozen=True)
class Piece:
    """A stretch of a snippet; `is_hit` when it was searched for."""

    text: str
    is_hit: bool = False


def snippet(text: str, query: Query, letters: int = LETTERS) -> list[Piece]:
    """At most about `letters` letters of `text` around the first place where the query stands; "…" where it goes on."""
    places = spans(text[:FAR], query)
    start, end = _window(text, places, letters)
    pieces = [Piece("… ")] if start else []
    at = start
    for first, last in places:
        if first >= at and last <= end:
            pieces += [Piece(text[at:first]), Piece(text[first:last], True)]
            at = last
    pieces += [Piece(text[at:end]), Piece(" …" if end < len(text) else "")]
    return [piece for piece in pieces if piece.text]


def spans(text: str, query: Query) -> list[tuple[int, int]]:
    """(start, end) of all places, in order, none overlapping another."""
    found = list(tokens(text))
    places = sorted(place for term in query.wanted for place in _places(term, text, found))
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _places(term: Term, text: str, found: list[Token]) -> list[tuple[int, int]]:
    if len(term.words) == 1 and SINGLE.fullmatch(term.words[0]):
        return [(n, n + 1) for n, letter in enumerate(text) if letter == term.words[0]]
    size = len(term.words) - 1
    return [(found[n].start, found[n + size].end) for n in range(len(found)) if matches(term, found, n)]


def _window(text: str, places: list[tuple[int, int]], letters: int) -> tuple[int, int]:
    """Where the snippet begins and ends: at blanks where there are some."""
    if len(text) <= letters:
        return 0, len(text)
    first, last = places[0] if places else (0, 0)
    start = max(0, first - BEFORE)
    if start:
        start = next((n + 1 for n in range(start, first) if text[n].isspace()), start)
    end = min(len(text), max(start + letters, last))
    if end < len(text):
        end = next((n for n in range(end, max(last, end - BEFORE), -1) if text[n].isspace()), end)
    return start, end
