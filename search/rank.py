"""How well a row answers a query, the same on every database engine. Pure."""

from __future__ import annotations

from math import log1p, sqrt

from search.query import Query, Term

READ = 2000  # letters of a row's index text that the order looks at
TYPICAL = 30.0  # words


def score(query: Query, text: str) -> float:
    """0 and up, from the index text of a row: how often each term stands in it, for its length; whole words count
    more than beginnings, and the terms standing in the order of the query most."""
    inside = f" {text} "
    length = 0.5 + 0.5 * (inside.count(" ") - 1) / TYPICAL
    each = sum(log1p(_times(term, inside)) for term in query.wanted)
    whole = " ".join(word for term in query.wanted for word in term.words)
    bonus = 1.0 if len(query.wanted) > 1 and f" {whole}" in inside else 0.0
    return (each + bonus) / sqrt(length)


def _times(term: Term, inside: str) -> float:
    phrase = " ".join(term.words)
    exact = inside.count(f" {phrase} ")
    return exact + 0.5 * (inside.count(f" {phrase}") - exact) if term.goes_on else float(exact)
