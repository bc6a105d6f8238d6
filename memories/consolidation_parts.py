"""The parts of a consolidation: what went into each call, what came out, and what each result was made from.

Level 0 reads the memories of the file (map), each level above reads what the level below made (reduce). An item of
level 0 has the id of its memory, an item that a part made has the place where it stands: "level/number/block.bullet".

`ProposalPart.answer` of a part that is done: {"blocks": [{"label", "topic", "date", "bullets": [{"text", "from":
[item ids]}]}], "dropped": {item id: reason}}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.conservation import BY_STRATEGY, Conservation, Result, Strictness, check
from memories.consolidation_answer import Made
from memories.consolidation_plan import Item
from memories.date_span import merge
from memories.models import Proposal, ProposalPart

DONE, SPLIT, FAILED, WAITING = "done", "split", "failed", "waiting"
REF = re.compile(r"\bb\d{1,5}\.\d{1,5}\b")
QUOTED = 60


@dataclass(frozen=True)
class Tree:
    """All parts of a proposal. `sources` are the memories that were chosen, by id in file order."""

    sources: dict[str, Item]
    parts: list[ProposalPart]

    @classmethod
    def of(cls, proposal: Proposal) -> Tree:
        """Read from the rows."""
        return cls(sources_of(proposal), list(proposal.parts.order_by("level", "number").select_related("call")))

    @property
    def height(self) -> int:
        """The highest level that has parts; -1 before there are any."""
        return max((part.level for part in self.parts), default=-1)

    def level(self, level: int) -> list[ProposalPart]:
        """The parts of a level that count: one that was split is stood for by its halves."""
        return [part for part in self.parts if part.level == level and part.state != SPLIT]

    def items_of(self, part: ProposalPart) -> list[Item]:
        """What goes into a part."""
        known = self.sources if part.level == 0 else {item.id: item for item in self.made(part.level - 1)}
        return [known[one] for one in part.sources if one in known]

    def made(self, level: int) -> list[Item]:
        """What a level made, in order. What could not be read in a reduce goes on as it was; memories of the file that
        could not be read stay in the file and go no further."""
        found: list[Item] = []
        for part in self.level(level):
            if part.state == DONE:
                found += _made_by(part)
            elif part.state == FAILED and level > 0:
                found += self.items_of(part)
        return found

    def untouched(self) -> list[str]:
        """The memories that no part could read."""
        return [one for part in self.level(0) if part.state == FAILED for one in part.sources]

    def roots(self) -> dict[str, frozenset[str]]:
        """For each item the memories of the file that it says it was made from."""
        found = {one: frozenset((one,)) for one in self.sources}
        for part in self.parts:
            if part.state == DONE:
                for item, bullet in _bullets(part):
                    found[item] = frozenset().union(*(found.get(one, frozenset()) for one in bullet["from"]))
        return found

    def dropped(self) -> dict[str, str]:
        """Reasons for memories that were left out on purpose, at whatever level."""
        roots = self.roots()
        found: dict[str, str] = {}
        for part in self.parts:
            if part.state == DONE:
                for item, reason in part.answer.get("dropped", {}).items():
                    found |= dict.fromkeys(roots.get(item, ()), reason)
        return found

    def check(self, strategy: str) -> Conservation:
        """What became of each memory in what the highest level made; those that no part could read are left out."""
        roots, untouched = self.roots(), set(self.untouched())
        texts = {one: item.text for one, item in self.sources.items() if one not in untouched}
        results = [Result(item.text, roots[item.id]) for item in self.made(self.height)]
        return check(texts, results, self.dropped(), strictness(strategy))


def strictness(strategy: str) -> Strictness:
    """How strictly the results of a strategy are compared with their sources."""
    return BY_STRATEGY.get(strategy, Strictness())


def sources_of(proposal: Proposal) -> dict[str, Item]:
    """The memories that were chosen, as they stood when the consolidation began."""
    return {one["id"]: Item(**one) for one in proposal.params["sources"]}


def fates_of(proposal: Proposal) -> dict[str, dict[str, Any]]:
    """What the report says of each old memory, in file order: a database may keep the keys in an order of its own."""
    found: dict[str, dict[str, Any]] = proposal.report.get("sources", {})
    return {one["id"]: found[one["id"]] for one in proposal.params.get("sources", ()) if one["id"] in found} | found


def answer_of(made: Made, items: Sequence[Item], refs: Mapping[str, str], strategy: str) -> dict[str, Any]:
    """A model's answer as a part keeps it: short ids replaced by item ids, claims completed by what the texts say."""
    by_id = {item.id: item for item in items}
    bullets = [bullet for block in made.blocks for bullet in block.bullets]
    results = [Result(one.text, frozenset(refs[ref] for ref in one.refs)) for one in bullets]
    found = check({item.id: item.text for item in items}, results, {}, strictness(strategy))
    sources = [_in_order(by_id, {*one.claims, *held}) for one, held in zip(results, found.sources, strict=True)]
    blocks, at = [], 0
    for block in made.blocks:
        own = sources[at : at + len(block.bullets)]
        at += len(block.bullets)
        blocks.append(
            {
                "label": block.label,
                "topic": block.topic,
                "date": merge(by_id[one].date for of_bullet in own for one in of_bullet),
                "bullets": [{"text": b.text, "from": of} for b, of in zip(block.bullets, own, strict=True)],
            }
        )
    reasons = {refs[ref]: _in_words(reason, refs, by_id) for ref, reason in made.dropped.items()}
    return {"blocks": blocks, "dropped": reasons}


def _in_order(known: Mapping[str, Item], wanted: set[str]) -> list[str]:
    return [one for one in known if one in wanted]


def _in_words(reason: str, refs: Mapping[str, str], items: Mapping[str, Item]) -> str:
    """A reason that people can read: a quote in place of each short id."""

    def quote(match: re.Match[str]) -> str:
        item = items.get(refs.get(match[0].lower(), ""))
        if item is None:
            return match[0]
        return f"“{item.text}”" if len(item.text) <= QUOTED else f"“{item.text[:QUOTED].rstrip()}…”"

    return REF.sub(quote, reason)


def _bullets(part: ProposalPart) -> Iterable[tuple[str, dict[str, Any]]]:
    for n, block in enumerate(part.answer["blocks"], 1):
        for m, bullet in enumerate(block["bullets"], 1):
            yield f"{part.level}/{part.number}/{n}.{m}", bullet


def _made_by(part: ProposalPart) -> list[Item]:
    found = []
    for n, block in enumerate(part.answer["blocks"], 1):
        place = f"{part.level}/{part.number}/{n}"
        facts = {"block": place, "label": block["label"], "date": block["date"], "topic": block["topic"]}
        found += [Item(f"{place}.{m}", bullet["text"], **facts) for m, bullet in enumerate(block["bullets"], 1)]
    return found
