"""Consolidation: many memories become fewer, under a person's eyes (spec/charmemory §5.1).

choose ──▶ start ──▶ job (memories/consolidation_run.py) ──▶ review: a draft and a report ──▶ apply: one revision
Nothing starts by itself and nothing is applied unseen. What the result does not account for is named, can be put back
word for word, and keeps a consolidation from being applied until a person has decided about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.registry import JobKind
from memories import activity, consolidation_result, consolidation_run, drafts, proposals
from memories.consolidation_old import add_back
from memories.consolidation_plan import Item
from memories.consolidation_reads import compare, estimate, items_of, stack, undecided, view_of
from memories.models import MemoryFile, Proposal, Revision
from memories.own_prompts import NoSuchPrompt, text_in_force
from memories.prompt_words import SHORT
from memories.prompts import BALANCED
from memories.proposals import begin, page_of
from memories.proposals import rows as rows_of
from providers.models import Connection
from providers.purposes import CONSOLIDATION
from providers.queries import connection_for

FEWEST = 2  # memories that can be put together

__all__ = [
    "apply",
    "compare",
    "estimate",
    "let_go",
    "put_back",
    "rerun",
    "stack",
    "start_consolidation",
    "undecided",
]


def start_consolidation(
    user: User,
    file: MemoryFile,
    *,
    block_ids: Iterable[object],
    strategy: str = BALANCED,
    connection: Connection | None = None,
    previous: Proposal | None = None,
) -> Proposal:
    """Queue the consolidation of these blocks; locked blocks and bullets among them stay out.

    `strategy` is a prompt's name: one of prompts.STRATEGIES, or "consolidation:<id>" of one's own. `previous` is the
    run that this one is laid upon. ValueError with a finished sentence when there is nothing to do or nobody to do it.
    """
    connection = connection or connection_for(user, CONSOLIDATION)
    if connection is None:
        raise ValueError(_("No model is connected yet. Choose one under Settings, Models; nothing was changed."))
    items = items_of(user, file, block_ids)
    if len(items) < FEWEST:
        raise ValueError(_("Choose at least two memories that are not locked; there is nothing to put together yet."))
    return begin(user, _proposal(user, file, items, strategy, connection, previous))


def rerun(user: User, proposal: Proposal, *, strategy: str = "", connection: Connection | None = None) -> Proposal:
    """Consolidate the same blocks once more, as they are now; the earlier result stays on the stack below."""
    return start_consolidation(
        user,
        proposal.file,
        block_ids=proposal.params["blocks"],
        strategy=strategy or proposal.params["strategy"],
        connection=connection or proposal.connection,
        previous=proposal,
    )


def put_back(proposal: Proposal, source_ids: Iterable[object]) -> list[str]:
    """Put these memories back into the result, word for word, each in a block with its own label and date; one step.

    Gives the ids that they have in the draft. Those that stand in it already are passed over.
    """
    draft = _draft(proposal)
    sources = proposal.report["sources"]
    present = set(view_of(proposal).rows.memories(_put_back_ids(sources)))
    wanted = [one for one in map(str, source_ids) if one in sources and not _stands(sources[one], present)]
    if not wanted:
        return []
    label = ngettext("Put back “%(text)s”", "Put back %(n)d memories", len(wanted))
    with drafts.step(draft, label % {"n": len(wanted), "text": sources[wanted[0]]["text"][:60]}) as editor:
        made = add_back(editor, proposal, wanted)
    _note(proposal, {one: {"fate": "put_back", "into": [made[one]]} for one in wanted}, new=made)
    return list(made.values())


def let_go(proposal: Proposal, source_ids: Iterable[object]) -> None:
    """The person has seen that these memories are not accounted for, and lets them go."""
    _draft(proposal)
    open_ones = set(undecided(proposal))
    wanted = [one for one in map(str, source_ids) if one in open_ones]
    _note(proposal, {one: {"fate": "let_go", "into": []} for one in wanted})


def apply(user: User, proposal: Proposal, *, lose: bool = False) -> Revision:
    """Make the result the file's, as one revision. With `lose`, what is not accounted for goes.

    ValueError while memories are neither accounted for nor decided about, or when there is nothing to apply;
    drafts.MergeNeeded when the same blocks were changed in the file meanwhile.
    """
    draft = _draft(proposal)
    missing = undecided(proposal)
    if missing and not lose:
        text = ngettext(
            "%(n)d memory is not accounted for. Put it back or let it go first; nothing was changed.",
            "%(n)d memories are not accounted for. Put them back or let them go first; nothing was changed.",
            len(missing),
        )
        raise ValueError(text % {"n": len(missing)})
    if missing:
        let_go(proposal, missing)
    reason = _reason(proposal)
    with transaction.atomic():
        revision = drafts.save(draft, reason=reason)
        if revision is None:
            raise ValueError(_("There is nothing to apply: the result leaves the memories as they are."))
        rows = Proposal.objects.for_user(user).filter(pk=proposal.pk, state=Proposal.State.READY)
        rows.update(state=Proposal.State.APPLIED)
    proposal.state = Proposal.State.APPLIED
    for other in stack(proposal):
        if other.pk != proposal.pk:
            proposals.discard(other)
    return revision


def _reason(proposal: Proposal) -> str:
    after = len(view_of(proposal).rows.memories(proposal.report["new"]))
    return consolidation_result.reason(proposal.report["result"]["before"], after)


def _proposal(
    user: User,
    file: MemoryFile,
    items: Sequence[Item],
    strategy: str,
    connection: Connection,
    previous: Proposal | None,
) -> Proposal:
    try:
        prompt = text_in_force(user, strategy, file.character)
    except NoSuchPrompt as unknown:
        raise ValueError(str(unknown)) from unknown
    params = {
        "strategy": strategy,
        "title": prompt.override.title if prompt.override and prompt.override.title else str(SHORT.get(strategy, "")),
        "prompt": prompt.text,
        "blocks": list(dict.fromkeys(item.block for item in items)),
        "sources": [vars(item) for item in items],
    }
    return Proposal(
        owner=user,
        file=file,
        kind=Proposal.Kind.CONSOLIDATION,
        base_version=file.version,
        params=params,
        connection=connection,
        model=connection.model,
        prompt_version=prompt.version,
        previous=previous,
    )


def _draft(proposal: Proposal) -> drafts.Draft:
    """The draft of a result that waits for a person; ValueError when there is none."""
    proposal.refresh_from_db(fields=["state", "report", "draft"])
    if proposal.state != Proposal.State.READY or proposal.draft is None:
        raise ValueError(_("This consolidation is not waiting for a review."))
    draft = proposal.draft
    draft.file, draft.owner = proposal.file, proposal.owner
    return draft


def _put_back_ids(sources: dict[str, Any]) -> list[str]:
    return [into for one in sources.values() if one["fate"] == "put_back" for into in one["into"]]


def _stands(source: dict[str, Any], present: set[str]) -> bool:
    return source["fate"] == "put_back" and any(one in present for one in source["into"])


def _note(proposal: Proposal, fates: dict[str, dict[str, Any]], new: dict[str, str] | None = None) -> None:
    """Write decisions into the report, beside what another tab wrote meanwhile."""
    with transaction.atomic():
        rows = rows_of(proposal)
        rows.update(state=proposal.state)  # holds the row
        report = rows.values_list("report", flat=True).get()
        for one, fate in fates.items():
            report["sources"][one] |= fate
        report["new"] |= {made: {"from": [one], "is_invented": False} for one, made in (new or {}).items()}
        rows.update(report=report)
    proposal.report = report


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(
        consolidation_run.KIND, _("Consolidate memories"), activity.telling(consolidation_run.run), page_of, "chunks"
    )
