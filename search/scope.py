"""Words of the index that say whose a row is, what it is and where it belongs, so that a filter needs no second look
at every row. They are short, so two ids may share one: the rows that are found are compared with the full ids. Pure.
"""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID


def of_person(person: UUID) -> str:
    return f"o{person.hex[:8]}"


def of_kind(name: str) -> str:
    return f"k{name}"


def of_character(character: UUID) -> str:
    return f"c{character.hex[:8]}"


def of_chat(chat: UUID) -> str:
    return f"h{chat.hex[:8]}"


def of_time(day: date | datetime) -> str:
    """The scope words of a moment (in UTC): its year and its month."""
    return f"t{day.year:04} t{day.year:04}{day.month:02}"


def container_scope(owner: UUID, kind: str, character: UUID | None, chat: UUID | None) -> str:
    """The scope words of everything inside one container."""
    found = [of_person(owner), of_kind(kind)]
    if character:
        found.append(of_character(character))
    if chat:
        found.append(of_chat(chat))
    return " ".join(found)


def between(since: date, until: date) -> list[str]:
    """Words for the time from the month of `since` to the month of `until`: whole years, and months at both ends."""
    return [
        word
        for year in range(since.year, until.year + 1)
        for word in _of_year(year, since.month if year == since.year else 1, until.month if year == until.year else 12)
    ]


def _of_year(year: int, first: int, last: int) -> list[str]:
    if (first, last) == (1, 12):
        return [f"t{year:04}"]
    return [f"t{year:04}{month:02}" for month in range(first, last + 1)]
