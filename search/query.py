"""What a person types, as terms, and the terms as a question to SQLite FTS5 or PostgreSQL. Pure.

Every word must occur; "words in quotes" must stand side by side; a minus before a word leaves rows with it out; the
last word may go on (lan finds lantern). Words hold letters and digits only, so no question can be a syntax error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex

from search.tokens import SINGLE, Token, words

LONGEST = 400  # letters of a question
MOST_TERMS = 12
MOST_WORDS = 40  # of one term
SHORTEST_BEGINNING = 2  # letters of a last word that may go on
PIECE = regex.compile(r'(?P<minus>(?<!\S)[-−])?(?:["“„«](?P<phrase>[^"“”„«»]*)["”“»]?|(?P<word>[^\s"“”„«»]+))')


@dataclass(frozen=True)
class Term:
    """Words that stand side by side. `goes_on`: the last of them may be the beginning of a longer word."""

    words: tuple[str, ...]
    goes_on: bool = False


@dataclass(frozen=True)
class Query:
    """What must occur and what must not."""

    wanted: tuple[Term, ...] = ()
    unwanted: tuple[Term, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.wanted


def parse(text: str) -> Query:
    """Terms of what was typed; never fails. Without a wanted word the query is empty."""
    wanted: list[Term] = []
    unwanted: list[Term] = []
    pieces = list(PIECE.finditer(text[:LONGEST]))
    for piece in pieces:
        found = tuple(words(piece["phrase"] or piece["word"] or "")[:MOST_WORDS])
        if not found:
            continue
        goes_on = piece is pieces[-1] and piece["word"] is not None and not piece["minus"] and _may_go_on(found[-1])
        (unwanted if piece["minus"] else wanted).append(Term(found, goes_on))
    return Query(tuple(wanted[:MOST_TERMS]), tuple(unwanted[:MOST_TERMS]))


def _may_go_on(word: str) -> bool:
    return len(word) >= SHORTEST_BEGINNING and not SINGLE.match(word)


def for_fts5(query: Query, scope: Sequence[Iterable[str]]) -> str:
    """A MATCH expression. `scope` narrows it: of each group of scope words (search/scope.py) one must stand there."""
    parts = [f"words : ({' AND '.join(map(_fts5_term, query.wanted))})"]
    for group in scope:
        parts.append(f"scope : ({' OR '.join(map(_quoted, group))})")
    found = " AND ".join(f"({part})" for part in parts)
    if query.unwanted:
        return f"({found}) NOT (words : ({' OR '.join(map(_fts5_term, query.unwanted))}))"
    return found


def _quoted(word: str) -> str:
    return f'"{word}"'


def _fts5_term(term: Term) -> str:
    return f'"{" ".join(term.words)}"{" *" if term.goes_on else ""}'


def for_postgresql(query: Query, scope: Sequence[Iterable[str]]) -> str:
    """The same as the text of a tsquery. Scope words carry a "=" there, so that no text can hold them."""
    parts = [_tsquery_term(term) for term in query.wanted]
    parts += [f"!{_tsquery_term(term)}" for term in query.unwanted]
    for group in scope:
        either = " | ".join(f"'={word}'" for word in group)
        parts.append(f"({either})")
    return " & ".join(parts)


def _tsquery_term(term: Term) -> str:
    whole = " <-> ".join(f"'{word}'" for word in term.words)
    return f"({whole}{':*' if term.goes_on else ''})"


def matches(term: Term, found: Sequence[Token], at: int) -> bool:
    """Whether the term stands in `found` from position `at` on."""
    end = at + len(term.words)
    if end > len(found):
        return False
    last = found[end - 1].word
    is_last = last.startswith(term.words[-1]) if term.goes_on else last == term.words[-1]
    return is_last and all(found[at + n].word == word for n, word in enumerate(term.words[:-1]))
