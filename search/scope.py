"""Words of the index that say whose a row is, what it is and where it belongs, so that a filter needs no second look
at every row. They are short, so two ids may share one: the rows that are found are compared with the full ids. Pure.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date, datetime, timedelta
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
    """The scope words of a moment (in UTC): its year, its month, its day."""
    return f"t{day:%Y} t{day:%Y%m} t{day:%Y%m%d}"


def container_scope(owner: UUID, kind: str, character: UUID | None, chat: UUID | None) -> str:
    """The scope words of everything inside one container."""
    found = [of_person(owner), of_kind(kind)]
    if character:
        found.append(of_character(character))
    if chat:
        found.append(of_chat(chat))
    return " ".join(found)


def between(since: date, until: date) -> list[str]:
    """Words for the time from `since` to `until`, both inclusive: whole years, whole months, and days at both ends."""
    found, day = [], since
    while day <= until:
        month_end = day.replace(day=monthrange(day.year, day.month)[1])
        if day == day.replace(month=1, day=1) and day.replace(month=12, day=31) <= until:
            found.append(f"t{day:%Y}")
            day = day.replace(month=12, day=31)
        elif day.day == 1 and month_end <= until:
            found.append(f"t{day:%Y%m}")
            day = month_end
        else:
            found.append(f"t{day:%Y%m%d}")
        day += timedelta(days=1)
    return found
