"""What other apps know about a person, told to the People pages without importing upward (attached in wires.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from accounts.models import User


@dataclass(frozen=True)
class PeopleFact:
    """One column of the list of people. Counts, sizes, money and error types only: never anything a person wrote.

    `of` receives the ids of all people and answers with one short text for each that has one.
    """

    key: str
    label: Any
    of: Callable[[Sequence[UUID]], Mapping[UUID, str]]
    is_number: bool = False
    in_list: bool = True
    on_phone: bool = False
    none: Any = "–"

    @property
    def css(self) -> str:
        """Classes of its cells: where numbers stand, and whether a narrow page keeps them."""
        return f"{'r ' if self.is_number else ''}{'' if self.on_phone else 'hide-m'}".strip()


@dataclass(frozen=True)
class Removal:
    """What removing an account does to one kind of thing.

    `tell` says it in sentences, with numbers; `remove` does it before the account's row goes.
    """

    tell: Callable[[User], list[str]]
    remove: Callable[[User], None] = lambda person: None


people_facts: list[PeopleFact] = []
removals: list[Removal] = []
