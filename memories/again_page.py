"""The review of a stretch that was read again: the old memories with their fate, beside the new ones as the draft has
them now."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from memories import drafts
from memories.again_result import goes, unchanged
from memories.draft_cards import DraftCard, whole
from memories.models import Draft, Proposal
from sync.models import Chat

SHOWN = 200  # old memories on the page; all of them are decided about


@dataclass(frozen=True)
class OldRow:
    """One old memory: what becomes of it. `says` are the words of the new ones that say it again."""

    id: str
    text: str
    label: str
    date: str
    goes: bool
    is_kept: bool
    reason: str
    says: list[str]


class AgainReview:
    """Everything that the review page shows."""

    def __init__(self, proposal: Proposal, draft: Draft) -> None:
        self.proposal = proposal
        self.draft = draft
        self.report: dict[str, Any] = proposal.report
        self.view = drafts.view(draft)

    @property
    def mode(self) -> str:
        return str(self.report["mode"])

    @cached_property
    def chat(self) -> Chat | None:
        return Chat.objects.for_user(self.proposal.owner).filter(pk=self.proposal.params["chat"]).first()

    @cached_property
    def cards(self) -> list[DraftCard]:
        """The new blocks in file order."""
        made = {key for key, change in self.view.overlay.blocks.items() if change.is_made}
        return whole(self.draft, self.view, [one for one in self.view.block_ids() if str(one) in made])

    @cached_property
    def new_memories(self) -> int:
        return sum(len(card.bullets) for card in self.cards)

    @cached_property
    def olds(self) -> list[OldRow]:
        here = {str(bullet.memory.id): bullet.memory.text for card in self.cards for bullet in card.bullets}
        present = self._present
        return [
            OldRow(
                one,
                facts["text"],
                facts["label"],
                facts["date"],
                goes(self.proposal, facts) and one in present,
                bool(facts["keep"]),
                facts["reason"] or self._why(one),
                [here[made] for made in facts["into"] if made in here],
            )
            for one, facts in self.report["old"].items()
        ]

    @cached_property
    def _present(self) -> set[str]:
        free = [one for one, facts in self.report["old"].items() if not facts["reason"]]
        return set(unchanged(self.proposal, free))

    def _why(self, one: str) -> str:
        """An old memory that was reworded, locked or deleted since."""
        return "" if one in self._present else _("It was changed meanwhile and is left alone.")

    @property
    def shown_olds(self) -> list[OldRow]:
        return self.olds[:SHOWN]

    @property
    def going(self) -> int:
        """How many old memories applying takes out."""
        return sum(one.goes for one in self.olds)

    @property
    def lost(self) -> int:
        """How many of those no new memory says again."""
        return sum(one.goes and not one.says for one in self.olds)

    @property
    def cost(self) -> Decimal | None:
        return None if self.report.get("cost") is None else Decimal(self.report["cost"])
