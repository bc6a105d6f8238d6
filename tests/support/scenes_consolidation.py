"""Consolidations at every stage, made by a small server that merges pairs, for looking at pages."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from jobs.drain import run_until_idle
from memories import consolidation, proposals
from memories.memory_file import file_for
from memories.models import MemoryFile, Proposal
from providers.models import Connection
from sync.models import Tavern
from tests.support.builders import make_block, make_character, make_connection
from tests.support.consolidating import Merger

NIGHTS = {
    "The lantern oath": (
        "Only wardens may carry the brass lantern while it burns.",
        "The lantern may be carried by wardens only.",
        "Halvard swore on the brass lantern never again to read aloud below the waterline.",
        "He let Wren carry the lantern up the last flight of the tower.",
    ),
    "Maren": (
        "Halvard lost his sister Maren in the seventh stack eleven years ago.",
        "Maren was his older sister.",
        "He still counts the two hundred and nine steps of the seventh stack under his breath.",
    ),
    "Debts between the wardens": (
        "Ólafur’s second letter arrived with the seal already broken.",
        "Halvard owes Ólafur one crossing of the ice in return for the tide tables.",
    ),
    "Small habits": (
        "He drinks his tea cold and salted, and offers the first cup to the empty chair.",
        "Halvard has never learned to swim, and Wren does not know.",
        "Smells of lamp oil and bergamot.",
    ),
}


def add_consolidations(alice: User, tavern: Tavern) -> dict[str, Any]:
    """Two results over the same blocks, one with lost memories, one run that was stopped."""
    file = file_for(make_character(tavern, "Halvard, Keeper of the Seventh Stack"))
    for n, (topic, facts) in enumerate(NIGHTS.items()):
        block = make_block(file, topic, [f"[Halvard, Wren — {topic}]", *facts], order=n, date=f"2026-03-{n + 10} 21:00")
        block.memories.filter(text__startswith="[").update(is_topic=True)
    with Merger() as fake:
        paid = make_connection(
            alice, preset="local", name="At home", base_url=fake.base_url, model="fake-small", is_default=False
        )
        first = _run(alice, file, paid)
        fake.lose = {facts[at] for facts, at in ((NIGHTS["Small habits"], 1), (NIGHTS["Debts between the wardens"], 0))}
        fake.drop = {"Maren was his older sister.": "says the same as b2.1"}
        second = _run(alice, file, paid, previous=first)
        stopped = consolidation.start_consolidation(alice, file, block_ids=_blocks(file)[:2], connection=paid)
        proposals.stop(stopped)
    return {"consolidated": first, "lossy": second, "stopped-run": stopped}


def _run(alice: User, file: MemoryFile, paid: Connection, **more: Any) -> Proposal:
    proposal = consolidation.start_consolidation(alice, file, block_ids=_blocks(file), connection=paid, **more)
    run_until_idle(alice)
    proposal.refresh_from_db()
    return proposal


def _blocks(file: MemoryFile) -> list[Any]:
    return [block.pk for block in file.blocks.order_by("order")]


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """Pages of consolidations."""
    first, second, stopped = (scene[name] for name in ("consolidated", "lossy", "stopped-run"))
    return {
        "consolidate": f"/characters/{first.file.character_id}/consolidate/",
        "consolidate-review": f"/proposals/{second.pk}/",
        "consolidate-again": f"/proposals/{second.pk}/again/",
        "consolidate-compare": f"/proposals/{first.pk}/compare/{second.pk}/",
        "consolidate-stopped": f"/proposals/{stopped.pk}/",
    }
