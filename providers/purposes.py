"""What a person can give to one of their connections: a purpose more is one more row here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from providers.models import PURPOSES

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


@dataclass(frozen=True)
class Purpose:
    """`name` stands in Duty and Request, `text` says what is done; `also` are further words of the ledger for it."""

    name: str
    text: _StrPromise
    also: Sequence[str] = ()

    @property
    def label(self) -> str:
        return str(PURPOSES[self.name])


EXTRACTION, CONSOLIDATION, CONVERSION = "extraction", "consolidation", "conversion"
# No row below: only who was chosen for it does it, never the default, and nobody steps in, because the vectors of two
# models cannot be compared (embedding.py).
EMBEDDINGS = "embeddings"
ROWS = (
    Purpose(EXTRACTION, gettext_lazy("Reads chats and checks what it found"), also=("checking",)),
    Purpose(CONSOLIDATION, gettext_lazy("Puts memories together")),
    Purpose(CONVERSION, gettext_lazy("Reads notes, sorts memories by topic")),
)


def purpose_of(word: str) -> str:
    """The purpose that a call with this word in the ledger belongs to; "" when nobody can give it out."""
    return next((row.name for row in ROWS if word == row.name or word in row.also), "")
