"""What a person decides about an import while checking it: lines that are left over, what is there already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories import drafts
from memories.file_editor import NewMemory
from memories.models import Draft, Proposal


def add_lines(proposal: Proposal, numbers: Iterable[int]) -> int:
    """Make memories of these left-over lines, in a block of their own; one step. How many were added."""
    draft = held(proposal)
    wanted = [one for one in _open_lines(proposal) if one["place"] in set(numbers)]
    if not wanted:
        return 0
    label = ngettext("Added “%(text)s”", "Added %(n)d lines", len(wanted))
    made: dict[int, str] = {}
    with drafts.step(draft, label % {"n": len(wanted), "text": wanted[0]["text"][:60]}) as editor:
        new = [NewMemory(one["text"], evidence=_evidence(proposal, one)) for one in wanted]
        block = editor.add_block(proposal.source_name or _("Left over"), new, date="", origin="imported")
        if block is not None:
            ids = [place[2] for place in editor.rows.bullet_places(block)]
            made = dict(zip((one["place"] for one in wanted), ids, strict=False))
    _note(proposal, "lines", {place: {"state": "added", "memory": one} for place, one in made.items()})
    return len(made)


def leave_out(proposal: Proposal, numbers: Iterable[int] | None = None) -> int:
    """The person does without these left-over lines (all of them when None). How many there were."""
    held(proposal)
    chosen = None if numbers is None else set(numbers)
    places = [one["place"] for one in _open_lines(proposal) if chosen is None or one["place"] in chosen]
    _note(proposal, "lines", {place: {"state": "left_out"} for place in places})
    return len(places)


def add_known(proposal: Proposal, places: Iterable[int]) -> int:
    """Take memories in that the file has word for word already. How many were added."""
    draft = held(proposal)
    known, chosen = proposal.report["known"], set(places)
    wanted = [(place, one) for place, one in enumerate(known) if place in chosen and not one["state"]]
    with drafts.step(draft, _("Added again what is there already")) as editor:
        for _place, one in wanted:
            editor.add_block(one["label"], [one["text"]], date="", origin="imported")
    _note(proposal, "known", {place: {"state": "added"} for place, _one in wanted})
    return len(wanted)


def _open_lines(proposal: Proposal) -> list[dict[str, Any]]:
    rows = ({**one, "place": place} for place, one in enumerate(proposal.report["lines"]))
    return [one for one in rows if not one["state"]]


def _evidence(proposal: Proposal, line: dict[str, Any]) -> list[dict[str, Any]]:
    if not line["n"]:
        return []
    return [{"source": proposal.source_name, "line": line["n"], "quote": line["text"][:400]}]


def _note(proposal: Proposal, name: str, changes: dict[int, dict[str, Any]]) -> None:
    """Write decisions into the report, beside what another tab wrote meanwhile."""
    with transaction.atomic():
        rows = Proposal.objects.for_user(proposal.owner).filter(pk=proposal.pk)
        rows.update(state=proposal.state)  # holds the row
        report = rows.values_list("report", flat=True).get()
        for place, fields in changes.items():
            report[name][place] |= fields
        rows.update(report=report)
    proposal.report = report


def held(proposal: Proposal) -> Draft:
    """The draft of a result that waits for a person; ValueError when there is none."""
    proposal.refresh_from_db(fields=["state", "report", "draft", "file"])
    is_ours = proposal.kind in (Proposal.Kind.CONVERSION, Proposal.Kind.REFORMAT)
    if not is_ours or proposal.state != Proposal.State.READY or proposal.draft is None:
        raise ValueError(_("This import is not waiting to be checked any more."))
    draft = proposal.draft
    draft.file, draft.owner = proposal.file, proposal.owner
    return draft


def new_blocks(draft: Draft) -> list[Any]:
    """The blocks that the draft adds, in file order."""
    view = drafts.view(draft)
    made = {key for key, change in view.overlay.blocks.items() if change.is_made}
    return view.blocks([one for one in view.block_ids() if str(one) in made])


def close(proposal: Proposal, state: str) -> None:
    """The proposal is decided, and so are the earlier readings of the same source."""
    one: Proposal | None = proposal
    while one is not None:
        wanted = state if one.pk == proposal.pk else Proposal.State.DISCARDED
        rows = Proposal.objects.for_user(proposal.owner).filter(pk=one.pk)
        if rows.exclude(state__in=(Proposal.State.APPLIED, Proposal.State.DISCARDED)).update(state=wanted):
            one.state = wanted
            if one.pk != proposal.pk and one.draft is not None:
                drafts.leave(one.draft)
        one = one.previous
