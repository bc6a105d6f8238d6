"""Reading a stretch of a chat again: what comes out waits for a review, beside the memories that are there already.

choose ──▶ start ──▶ job (memories/again_run.py) ──▶ review: a draft with the new memories ──▶ apply: one revision
The person decides whether the new memories replace the old ones of this stretch or stand beside them. Until then
nothing is written; put aside, nothing has changed.

`Proposal.params`: {"chat", "character", "first", "last", "messages", "identities"}; `report`: memories/again_result.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.registry import JobKind
from memories import activity, again_run, drafts, watermark
from memories.again_range import Range
from memories.again_result import goes, put_back, take_out
from memories.consolidation_parts import DONE
from memories.extraction_wish import need_model
from memories.models import Draft, Proposal, Revision
from memories.proposals import begin, page_of
from memories.proposals import rows as rows_of
from memories.reading import Mark
from memories.scopes import file_of_reading
from sync.models import Character, Chat

REPLACE, ADD = "replace", "add"
MODES = (REPLACE, ADD)


def start_again(user: User, stretch: Range, character: Character, *, mode: str = REPLACE) -> Proposal:
    """Queue the reading of a stretch that was read before; what it finds waits for a review.

    ValueError with a finished sentence when no model is connected or nothing in it has words.
    """
    connection = need_model(user)
    if not stretch.speaking:
        raise ValueError(_("No message in this stretch has words to read. Choose another stretch; nothing was read."))
    file = file_of_reading(character, stretch.chat, stretch.last)
    file.owner = user
    params = {
        "chat": str(stretch.chat.pk),
        "character": str(character.pk),
        "first": stretch.first,
        "last": stretch.last,
        "messages": stretch.speaking,
        "identities": stretch.identities,
    }
    proposal = Proposal(
        owner=user,
        file=file,
        kind=Proposal.Kind.REREAD,
        base_version=file.version,
        params=params,
        report={"mode": mode if mode in MODES else REPLACE},
        source_name=stretch.chat.name[:300],
        connection=connection,
        model=connection.model,
    )
    return begin(user, proposal)


def choose_mode(proposal: Proposal, mode: str) -> None:
    """Replace the old memories of the stretch, or add the new ones beside them."""
    draft = held(proposal)
    if mode not in MODES:
        raise ValueError(_("Choose whether to replace or to add."))
    put_back(draft)
    with transaction.atomic():
        _hold(proposal)
        proposal.report["mode"] = mode
        rows_of(proposal).update(report=proposal.report)


def keep(proposal: Proposal, ids: Iterable[str], *, is_kept: bool) -> None:
    """Keep old memories although the others are replaced, or let them go with the others after all."""
    put_back(held(proposal))
    with transaction.atomic():
        _hold(proposal)
        for one in ids:
            if one in proposal.report["old"]:
                proposal.report["old"][one]["keep"] = is_kept
        rows_of(proposal).update(report=proposal.report)


def _hold(proposal: Proposal) -> None:
    """The report as it is now, while no other tab can change it."""
    rows = rows_of(proposal)
    rows.update(state=proposal.state)
    proposal.report = rows.values_list("report", flat=True).get()


def apply(user: User, proposal: Proposal) -> Revision | None:
    """Make the result the file's, and count the stretch as read by it: one revision, None when it changes no memory.

    Old memories that were reworded, locked or moved since stay. ValueError when it does not wait for a review;
    drafts.MergeNeeded when the same blocks were changed meanwhile.
    """
    draft = held(proposal)
    take_out(proposal, draft)
    with transaction.atomic():
        revision = drafts.save(draft)
        settle(user, proposal)
    return revision


def settle(user: User, proposal: Proposal) -> None:
    """The result was saved: its messages count as read by it. Nothing happens a second time."""
    rows = rows_of(proposal).filter(state=Proposal.State.READY)
    with transaction.atomic():
        if not rows.update(state=Proposal.State.APPLIED):
            return
        proposal.state = Proposal.State.APPLIED
        chat = Chat.objects.for_user(user).filter(pk=proposal.params["chat"], forgotten_at=None).first()
        character = Character.objects.for_user(user).filter(pk=proposal.params["character"]).first()
        if chat is None or character is None:
            return
        for part in proposal.parts.filter(state=DONE).select_related("call"):
            answer = part.answer
            watermark.record(
                user,
                chat,
                character,
                [Mark(*mark) for mark in answer["marks"]],
                first=answer["first"],
                last=answer["last"],
                outcome="memories" if answer["blocks"] else "nothing",
                key=f"again-{proposal.pk.hex}-{part.pk}"[:64],
                memories=answer["memories"],
                job=proposal.job,
                call=part.call,
            )
        watermark.recount(user, chat, character)


def held(proposal: Proposal) -> Draft:
    """The draft of a result that waits for a person; ValueError when there is none."""
    proposal.refresh_from_db(fields=["state", "report", "draft"])
    is_ours = proposal.kind == Proposal.Kind.REREAD
    if not is_ours or proposal.state != Proposal.State.READY or proposal.draft is None:
        raise ValueError(_("This reading is not waiting for a review."))
    draft = proposal.draft
    draft.file, draft.owner = proposal.file, proposal.owner
    return draft


def replaced(proposal: Proposal) -> list[str]:
    """The old memories that applying would take out now."""
    return [one for one, facts in proposal.report["old"].items() if goes(proposal, facts)]


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(again_run.KIND, _("Read again"), activity.telling(again_run.run), page_of, "messages")
