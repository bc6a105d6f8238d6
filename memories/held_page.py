"""The queue of bullets that a check held back, as its page shows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator

from accounts.models import User
from memories import doubts
from memories.evidence_page import Quote, quotes_of
from memories.held import kind_of
from memories.models import HeldMemory
from memories.review_queries import PAIRS_A_PAGE, held_to_check
from sync.models import Character


@dataclass(frozen=True)
class HeldRow:
    """One bullet with the messages that it came from, and why it waits."""

    held: HeldMemory
    quotes: list[Quote]

    @property
    def reasons(self) -> list[str]:
        return doubts.reasons(self.held)


@dataclass(frozen=True)
class HeldKind:
    """The bullets that wait for the same reason first of all."""

    check: str
    count: int
    is_current: bool

    @property
    def name(self) -> str:
        return doubts.name(self.check)


def context(user: User, character: Character, check: str, number: str | None) -> dict[str, Any]:
    """One page of the queue, all of it or what one `check` held back, with the kinds to choose from."""
    rows = list(held_to_check(user, character))
    kinds = Counter(map(kind_of, rows))
    chosen = check if check in kinds else ""
    wanted = [one for one in rows if not chosen or kind_of(one) == chosen]
    page = Paginator(wanted, PAIRS_A_PAGE).get_page(number)
    quoted = quotes_of(user, [(one.chat_id, one.evidence) for one in page])
    return {
        "page": page,
        "held_rows": [HeldRow(one, quotes) for one, (quotes, _gone) in zip(page, quoted, strict=True)],
        "kinds": [HeldKind(one, count, one == chosen) for one, count in kinds.most_common()],
        "check": chosen,
        "chosen_count": kinds[chosen] if chosen else sum(kinds.values()),
    }
