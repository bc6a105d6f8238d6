"""The result of reading a stretch again: a draft with the new memories, and what becomes of the old ones.

`Proposal.report`: {"mode": "replace" | "add", "old": {id: {"text", "block", "label", "date", "reason": why it stays
whatever is chosen, "keep": the person keeps it, "into": [ids of new ones that say it]}}, "new": {id in the draft:
{"from": [ids of old ones]}}, "left_out", "calls", "cost", "warnings", "result"}.

The old memories go out in a step of their own when the result is applied, so that it can be chosen until then
whether they do.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from rapidfuzz import fuzz, process

from memories import drafts
from memories.again_range import Old, Range, memories_from
from memories.blocks import is_topic, timestamp
from memories.consolidation_parts import DONE
from memories.drafts import DraftEditor
from memories.file_editor import NewMemory
from memories.local_time import local_now
from memories.models import Draft, DraftStep, Memory, MemoryBlock, Proposal, ProposalPart
from providers.models import Call
from sync.models import Chat

ALIKE = 62.0  # rapidfuzz token_sort_ratio: an old memory and the new one that says it
TAKEN_OUT = gettext_lazy("Old memories of the stretch taken out")


def make_draft(proposal: Proposal) -> Draft:
    """The draft with the new blocks. What an earlier attempt left behind, which nobody has seen, is made anew."""
    if proposal.draft is not None:
        proposal.draft.delete()
    chat = Chat.objects.for_user(proposal.owner).get(pk=proposal.params["chat"])
    numbers = {"chat": chat.name, "first": proposal.params["first"], "last": proposal.params["last"]}
    title = _("Read again: “%(chat)s”, messages %(first)d to %(last)d") % numbers
    draft = drafts.start(proposal.owner, proposal.file, kind=Draft.Kind.REREAD, title=title)
    proposal.draft = draft
    proposal.save(update_fields=["draft", "updated_at"])
    olds = {str(old.memory.pk): old.memory.text for old in _olds(proposal) if not _reason(old)}
    with drafts.step(draft, _("Reading again")) as editor:
        for part in proposal.parts.filter(state=DONE).select_related("call"):
            for block in part.answer["blocks"]:
                _add(editor, proposal, part, chat, [_new(row, olds) for row in block])
    return draft


def publish(proposal: Proposal, draft: Draft) -> dict[str, Any]:
    """Write the report, and let the result wait for its review; what the job keeps of it."""
    made = {one: row for one, row in drafts.view(draft).rows.memories(_made(draft)).items() if not row["is_topic"]}
    olds = {str(old.memory.pk): _old(old, made) for old in _olds(proposal)}
    answers = list(proposal.parts.filter(state=DONE).values_list("answer", flat=True))
    spent = (
        Call.objects.for_user(proposal.owner).filter(job=proposal.job).aggregate(calls=Count("pk"), cost=Sum("cost"))
    )
    proposal.report = {
        "mode": proposal.report.get("mode", "replace"),
        "old": olds,
        "new": {one: {"from": row["parents"]} for one, row in made.items()},
        "left_out": sum(answer["left_out"] for answer in answers),
        "calls": spent["calls"],
        "cost": None if spent["cost"] is None else str(spent["cost"]),
        "warnings": [],
        "result": {"text": _said(len(made), len(olds)), "memories": len(made), "old": len(olds)},
    }
    proposal.state, proposal.base_version = Proposal.State.READY, draft.base_version
    proposal.save(update_fields=["report", "state", "base_version", "updated_at"])
    result: dict[str, Any] = proposal.report["result"]
    return result


def _said(new: int, old: int) -> str:
    made = ngettext("%(n)d memory was found.", "%(n)d memories were found.", new) % {"n": new}
    before = ngettext("%(n)d came from there before.", "%(n)d came from there before.", old) % {"n": old}
    return f"{made} {before}"


def _olds(proposal: Proposal) -> list[Old]:
    chat = Chat.objects.for_user(proposal.owner).select_related("parent").get(pk=proposal.params["chat"])
    stretch = Range(chat, proposal.params["first"], proposal.params["last"], proposal.params["identities"])
    return memories_from(proposal.owner, proposal.file, stretch)


def _reason(old: Old) -> str:
    """Why an old memory stays whatever is chosen; "" when it may be replaced."""
    if old.is_locked:
        return _("It is locked.")
    return _("It also comes from messages outside of this stretch.") if old.also else ""


def _old(old: Old, made: dict[str, dict[str, Any]]) -> dict[str, Any]:
    row = old.memory
    return {
        "text": row.text,
        "block": str(row.block_id),
        "label": row.block.label,
        "date": row.block.date,
        "reason": _reason(old),
        "keep": False,
        "into": [one for one, new in made.items() if str(row.pk) in new["parents"]],
    }


def _add(editor: DraftEditor, proposal: Proposal, part: ProposalPart, chat: Chat, block: list[NewMemory]) -> None:
    answer = part.answer
    editor.add_block(
        chat.name,
        block,
        date=timestamp(local_now(proposal.owner, timezone.now())),
        origin=MemoryBlock.Origin.EXTRACTED,
        chat=chat,
        first_index=answer["first"],
        last_index=answer["last"],
        job=proposal.job,
        call=part.call,
        prompt_version=proposal.prompt_version,
    )


def _new(row: dict[str, Any], olds: dict[str, str]) -> NewMemory:
    """A bullet of an answer; the old memory that it says again becomes its parent."""
    fields = {**row, "duplicate_of": None if row["duplicate_of"] is None else uuid.UUID(row["duplicate_of"])}
    if not is_topic(row["text"]):
        found = process.extractOne(row["text"], olds, scorer=fuzz.token_sort_ratio, score_cutoff=ALIKE)
        fields["parents"] = [found[2]] if found else []
    return NewMemory(**fields)


def _made(draft: Draft) -> list[str]:
    """The bullets that the draft brings."""
    return [one for one, change in drafts.view(draft).overlay.memories.items() if change.is_made]


def goes(proposal: Proposal, facts: dict[str, Any]) -> bool:
    """Whether applying takes an old memory out, as the choices are now."""
    return proposal.report["mode"] == "replace" and not facts["reason"] and not facts["keep"]


def unchanged(proposal: Proposal, ids: Iterable[str]) -> list[str]:
    """Those of the old memories that stand in the file as they were when the result was made."""
    rows = Memory.objects.for_user(proposal.owner).filter(block__file=proposal.file, pk__in=list(ids))
    facts = proposal.report["old"]
    return [
        str(row.pk)
        for row in rows.select_related("block")
        if not row.is_locked and not row.block.is_locked and row.text == facts[str(row.pk)]["text"]
    ]


def take_out(proposal: Proposal, draft: Draft) -> None:
    """The step that takes the replaced memories out, and with the last memory of a block its topic tag."""
    put_back(draft)
    gone = unchanged(proposal, [one for one, facts in proposal.report["old"].items() if goes(proposal, facts)])
    if not gone:
        return
    blocks = Memory.objects.for_user(proposal.owner).filter(pk__in=gone).values_list("block", flat=True)
    with drafts.step(draft, str(TAKEN_OUT)) as editor:
        editor.delete_memories(gone)
        for block in editor.rows.blocks(map(str, set(blocks))):
            left = editor.rows.memories([place[2] for place in editor.rows.bullet_places(block)])
            if left and all(row["is_topic"] and not row["is_locked"] for row in left.values()):
                editor.delete_memories(left)


def put_back(draft: Draft) -> None:
    """Undo that step, when the result was not saved after it."""
    last = DraftStep.objects.for_user(draft.owner).filter(draft=draft, number=draft.pointer).first()
    if last is not None and last.number > 1 and last.label == str(TAKEN_OUT):
        drafts.undo(draft)
