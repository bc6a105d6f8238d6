"""Reads for the People pages: who is here, when they were last seen, and what other apps count about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from accounts.models import User
from accounts.ownership import unscoped
from accounts.registries import PeopleFact, people_facts


@dataclass
class PersonRow:
    """One line of the list of people; `facts` in the order of `columns()`."""

    person: User
    seen_at: datetime | None
    facts: list[tuple[PeopleFact, str]] = field(default_factory=list)


def columns() -> list[PeopleFact]:
    """The columns of the list that come from other apps."""
    return [fact for fact in people_facts if fact.in_list]


def people() -> list[PersonRow]:
    """Everybody, the first to come first, in a fixed number of queries."""
    rows = list(User.objects.annotate(seen=Max("sign_ins__seen_at")).order_by("date_joined"))
    answers = _answers([row.pk for row in rows], columns())
    return [
        PersonRow(row, row.seen or row.last_login, [(fact, found.get(row.pk, "")) for fact, found in answers])
        for row in rows
    ]


def person_facts(person: User) -> list[tuple[PeopleFact, str]]:
    """Everything that other apps count about one person."""
    return [(fact, found.get(person.pk, "")) for fact, found in _answers([person.pk], people_facts)]


def _answers(ids: Sequence[UUID], facts: list[PeopleFact]) -> list[tuple[PeopleFact, Mapping[UUID, str]]]:
    with unscoped("counts, sizes, spending and error types for the admin, nothing that a person wrote"):
        return [(fact, fact.of(ids)) for fact in facts]
