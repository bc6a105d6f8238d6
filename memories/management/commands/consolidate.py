"""`manage.py consolidate`: put a character's fresh memories together, and apply the result when nothing was lost."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import CommandFailed, ProductCommand, WrongUsage
from accounts.models import User
from jobs.drain import run_until_ended
from memories import consolidation, proposals
from memories.consolidation_plan import is_fresh
from memories.drafts import MergeNeeded
from memories.memory_file import file_for
from memories.models import MemoryFile, Proposal
from memories.prompts import STRATEGIES
from sync.models import Character


class Command(ProductCommand):
    help = "Put the fresh memories of a character together into fewer; the result waits for a review."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--character", required=True, metavar="NAME", help="Name of the character, or its card.")
        parser.add_argument(
            "--strategy", default="balanced", metavar="NAME", help="conservative, balanced, aggressive, or one's own."
        )
        parser.add_argument("--wait", action="store_true", help="Wait for the end; without a worker, do the work here.")
        parser.add_argument("--apply", action="store_true", help="With --wait: apply it if nothing is missing.")

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        if options["apply"] and not options["wait"]:
            raise WrongUsage("--apply needs --wait: a result is applied when it is there.")
        file = _file(person, options["character"])
        try:
            proposal = consolidation.start_consolidation(
                person, file, block_ids=_fresh(file), strategy=_strategy(options["strategy"])
            )
        except ValueError as refusal:
            raise CommandFailed(str(refusal)) from refusal
        if options["wait"]:
            self._wait(proposal)
        revision = _apply(person, proposal) if options["apply"] else None
        self.say(_sentence(file, proposal, revision), _facts(file, proposal, revision))

    def _wait(self, proposal: Proposal) -> None:
        assert proposal.job is not None  # noqa: S101  it was just enqueued
        job = run_until_ended(proposal.job, note=self.stderr.write)
        proposal.refresh_from_db()
        proposals.settle(proposal)
        if proposal.state != Proposal.State.READY:
            raise CommandFailed(f"{job.error or job.get_state_display()} {job.hint}".strip())


def _file(person: User, name: str) -> MemoryFile:
    rows = Character.objects.for_user(person).filter(gone_at=None).select_related("tavern__owner")
    found = list(rows.filter(avatar=name)) or list(rows.filter(name=name))
    if not found:
        raise CommandFailed(f"There is no character named “{name}”.")
    if len(found) > 1:
        cards = ", ".join(one.avatar for one in found)
        raise CommandFailed(f"Several characters are named “{name}”: give the card instead ({cards}).")
    return file_for(found[0])


def _fresh(file: MemoryFile) -> list[Any]:
    blocks = file.blocks.values_list("pk", "origin", "is_locked")
    return [pk for pk, origin, is_locked in blocks if is_fresh(origin, is_locked=is_locked)]


def _strategy(name: str) -> str:
    return next((one for one in STRATEGIES if one == f"consolidation_{name}"), name)


def _apply(person: User, proposal: Proposal) -> int:
    missing = consolidation.undecided(proposal)
    if missing:
        counted = "1 memory is" if len(missing) == 1 else f"{len(missing)} memories are"
        raise CommandFailed(f"{counted} not accounted for; nothing was changed. Look at the review and decide there.")
    try:
        return consolidation.apply(person, proposal).number
    except MergeNeeded as conflict:
        raise CommandFailed("The same memories were changed meanwhile; look at the review.") from conflict
    except ValueError as refusal:
        raise CommandFailed(str(refusal)) from refusal


def _sentence(file: MemoryFile, proposal: Proposal, revision: int | None) -> str:
    name = file.character.name
    text = proposal.report.get("result", {}).get("text")
    if not text:
        return f"{name}: the consolidation is queued."
    end = "It waits for a review." if revision is None else f"Applied as revision {revision}."
    return f"{name}: {text} {end}"


def _facts(file: MemoryFile, proposal: Proposal, revision: int | None) -> dict[str, Any]:
    report = proposal.report
    counts = {name: report.get("result", {}).get(name) for name in ("before", "after", "missing")}
    return {
        "id": str(proposal.pk),
        "character": file.character.name,
        "state": proposal.state,
        **counts,
        "calls": report.get("calls"),
        "cost": report.get("cost"),
        "revision": revision,
    }
