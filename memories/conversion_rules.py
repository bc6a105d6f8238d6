"""An import and a reformat by rules: what reading finds becomes a draft, nothing is sent anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memories import conversion_result
from memories.consolidation_plan import Item, in_blocks
from memories.conversion_result import Findings, NewBlock, NewBullet
from memories.conversion_source import Portion, portion
from memories.formats_types import Reading
from memories.models import Memory, Proposal

MOST_BULLETS = 5  # of one block besides its topic: more are cut into several with the same topic


def portion_of(proposal: Proposal, reading: Reading, text: str) -> Portion:
    """The part of the source that this proposal takes up."""
    return portion(reading, int(proposal.params.get("start", 0)), _shown(reading, text).count("\n") + 1)


def count_lines(reading: Reading, text: str, part: Portion) -> int:
    """Lines of that part that are not blank."""
    lines = _shown(reading, text).split("\n")[part.first - 1 : part.last]
    return sum(bool(line.strip()) for line in lines)


def _shown(reading: Reading, text: str) -> str:
    return text if reading.shown is None else reading.shown


def write(proposal: Proposal, reading: Reading, text: str) -> dict[str, Any]:
    """Draft and report of an import. Call inside a transaction."""
    part = portion_of(proposal, reading, text)
    name = proposal.file.character.name
    blocks = [
        NewBlock(
            section.label,
            section.date,
            [NewBullet(bullet.text.replace("{{char}}", name), bullet.lines) for bullet in section.bullets],
            heads=section.lines,
        )
        for section in part.sections
    ]
    findings = Findings(
        blocks,
        [(one.line, one.text, one.why) for one in part.leftovers],
        total=count_lines(reading, text, part),
        first=part.first,
        last=part.last,
        next=part.next,
        warnings=reading.warnings,
    )
    return conversion_result.write(proposal, findings, _shown(reading, text).split("\n"))


def reformat(proposal: Proposal, items: Sequence[Item]) -> dict[str, Any]:
    """Blocks without a topic get one from their label; long ones are cut. Every word stays as it is."""
    name = proposal.file.character.name
    rows = Memory.objects.for_user(proposal.owner).filter(pk__in=[one.id for one in items])
    known = {str(row.pk): row for row in rows.select_related("block__chat", "block__job", "block__call")}
    wanted = [block for block in in_blocks(items) if not block[0].topic or len(block) > MOST_BULLETS]
    blocks = [new for block in wanted for new in _cut(block, known, name)]
    gone = [item.id for block in wanted for item in block]
    facts = {"reason": "", "nearest": None, "fate": "merged"}
    sources = {
        item.id: {"text": item.text, "label": item.label, "date": item.date, "block": item.block, **facts}
        for block in wanted
        for item in block
    }
    return conversion_result.write(proposal, Findings(blocks, total=len(items), gone=gone, sources=sources), [])


def _cut(block: Sequence[Item], known: dict[str, Memory], name: str) -> list[NewBlock]:
    first = block[0]
    topic = first.topic or f"[{name} — {first.label}]"
    row = known[first.id].block
    facts = {
        "chat": row.chat,
        "first_index": row.first_index,
        "last_index": row.last_index,
        "origin": row.origin,
        "job": row.job,
        "call": row.call,
        "prompt_version": row.prompt_version,
    }
    pieces = [block[at : at + MOST_BULLETS] for at in range(0, len(block), MOST_BULLETS)]
    return [
        NewBlock(first.label, first.date, [NewBullet(topic), *(_same(item, known) for item in piece)], facts=facts)
        for piece in pieces
    ]


def _same(item: Item, known: dict[str, Memory]) -> NewBullet:
    return NewBullet(item.text, (), (item.id,), evidence=tuple(known[item.id].evidence))
