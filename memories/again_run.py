"""The job behind reading a stretch again: one call a turn, each answer kept as soon as it is there.

planned ──▶ cut into parts as an extraction would ──▶ each part: model ──▶ kept ──▶ ready to review
A part that is too long for the model is cut in two. Broken off, the work goes on behind what was answered.

The answer of a part: {"blocks": [[fields of NewMemory]], "memories", "left_out", "first", "last", "marks", "messages",
"chat"}.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.run import MORE, JobFailed, JobRun, Outcome, Stopped, done
from memories import again_result, extraction_chunk, extraction_plan, scopes
from memories.again_range import memories_from, range_of
from memories.consolidation_parts import DONE, SPLIT, WAITING
from memories.extraction_call import TooLong, ask
from memories.extraction_judge import Fact, Findings, settle
from memories.extraction_plan import Plan
from memories.file_editor import NewMemory
from memories.group_chat import participants
from memories.models import Proposal, ProposalPart
from memories.proposal_turn import take_turn
from memories.reading import Mark
from memories.transcript import Chunk, Entry
from providers.models import Call
from sync.models import Character, Chat

KIND = "reread"
FIELDS = ("index", "role", "name", "text", "identity", "content", "raw_date", "is_hidden", "sender_avatar")
AT_ONCE = 500


@dataclass(frozen=True)
class Work:
    """What a turn needs."""

    run: JobRun
    proposal: Proposal
    chat: Chat
    character: Character
    plan: Plan


def run(run: JobRun) -> Outcome:
    """One turn: cut into parts, or one call, or the result."""
    return take_turn(run, partial(_turn, run), gone=_("This reading was deleted; nothing was changed."))


def _turn(run: JobRun, proposal: Proposal) -> Outcome:
    work = _work(run, proposal)
    if not proposal.parts.exists():
        _cut(work)
        return MORE
    waiting = proposal.parts.filter(state=WAITING).first()
    if waiting is not None:
        _read(work, waiting)
        return MORE
    draft = again_result.make_draft(proposal)
    with run.commit():
        result = again_result.publish(proposal, draft)
        run.progress(step=run.job.total)
    return done(result)


def _work(run: JobRun, proposal: Proposal) -> Work:
    chats = Chat.objects.for_user(run.owner).filter(pk=proposal.params["chat"], forgotten_at=None)
    chat = chats.select_related("group", "tavern", "parent").first()
    characters = Character.objects.for_user(run.owner).filter(pk=proposal.params["character"])
    character = characters.select_related("tavern").first()
    if chat is None or character is None:
        text = _("This chat or its reader is no longer in CharMem. Nothing was changed.")
        raise JobFailed(text, error_type="gone", retry=False)
    if proposal.connection is None:
        raise JobFailed(
            _("The model of this reading is no longer connected. What was answered is kept."),
            hint=_("Read the stretch again with another model."),
            error_type="setup",
            retry=False,
        )
    proposal.connection.owner = chat.tavern.owner = character.tavern.owner = run.owner
    halvings = int(run.params.get("halvings", 0))
    plan = extraction_plan.plan(run.owner, character, proposal.connection, chat=chat, halvings=halvings)
    return Work(run, proposal, chat, character, plan)


def _cut(work: Work) -> None:
    """The stretch in parts, as many messages in each as one call reads."""
    entries = _entries(work, work.proposal.params["identities"])
    rows: list[ProposalPart] = []
    while entries:
        chunk = extraction_plan.first_chunk(work.plan, entries)
        if chunk is None:
            break
        entries = entries[len(chunk.entries) :]
        if chunk.lines:
            sources = [one.identity for one in chunk.entries]
            rows.append(ProposalPart(proposal=work.proposal, number=f"{len(rows) + 1:04d}", sources=sources))
    if not rows:
        text = _("None of these messages is there any more. Nothing was changed.")
        raise JobFailed(text, error_type="changed", retry=False)
    with work.run.commit():
        ProposalPart.objects.bulk_create(rows, batch_size=200)
        work.run.progress(step=0, total=work.proposal.params["messages"])


def _entries(work: Work, identities: Sequence[str]) -> list[Entry]:
    """Those of the messages that are there, as they are now."""
    found: list[Entry] = []
    for start in range(0, len(identities), AT_ONCE):
        rows = work.chat.messages.filter(identity__in=identities[start : start + AT_ONCE])
        found += [Entry(*row) for row in rows.order_by("index").values_list(*FIELDS)]
    return sorted(found, key=lambda one: one.index)


def _read(work: Work, part: ProposalPart) -> None:
    """One call about one part."""
    entries = _entries(work, part.sources)
    chunk = extraction_plan.first_chunk(work.plan, entries) if entries else None
    if chunk is None or not chunk.lines:
        return _keep(work, part, entries, Findings([]), None)
    if len(chunk.entries) < len(entries):  # messages were edited, or the model takes less than was thought
        return _split(work, part, len(chunk.entries))
    work.run.progress(doing=extraction_chunk.doing(chunk))
    known = _known(work)
    others = participants(work.chat, chunk, work.character)
    locked = extraction_chunk.places_of_locked(work.plan, work.proposal.file, known)
    texts = [text for _id, text in known]
    question = extraction_plan.question_of(work.plan, work.chat, chunk, texts, others, locked)
    try:
        read = ask(work.run, question)
    except TooLong:
        return extraction_chunk.smaller(work.run, work.plan)
    choices, character = work.plan.choices, work.character
    findings = settle(work.run, question, read, chunk, known, character, others, choices, chat=work.chat)
    _keep(work, part, chunk.entries, findings, read.completion.call, question.prompt.version)
    _tell(work, chunk, findings)


def _known(work: Work) -> list[Fact]:
    """What a model is told to be known already: all memories but those of this stretch, which it shall make anew, and
    what earlier parts of this reading said."""
    proposal = work.proposal
    stretch = range_of(work.run.owner, work.chat, proposal.params["first"], proposal.params["last"])
    stretch.identities = proposal.params["identities"]
    own = {old.memory.pk for old in memories_from(work.run.owner, proposal.file, stretch) if old.is_replaceable}
    known = scopes.known_facts(proposal.file, work.character, work.chat)
    facts = [fact for fact in known if fact[0] not in own]
    answers = proposal.parts.filter(state=DONE).values_list("answer", flat=True)
    said = [row["text"] for answer in answers for block in answer.get("blocks", []) for row in block]
    return [*facts, *((uuid.uuid5(proposal.pk, text), text) for text in said)]


def _keep(
    work: Work,
    part: ProposalPart,
    entries: Sequence[Entry],
    findings: Findings,
    call: Call | None,
    version: str = "",
) -> None:
    """Keep an answer, if the part still waits: two workers never end it twice."""
    answer = {
        "chat": str(work.chat.pk),
        "blocks": [[_plain(one) for one in block] for block in (*findings.blocks, *_doubted(findings))],
        "memories": findings.memories + len(findings.held),
        "left_out": findings.repeated,
        "first": entries[0].index if entries else work.proposal.params["first"],
        "last": entries[-1].index if entries else work.proposal.params["first"],
        "marks": [list(Mark.of(one.identity, one.content, one.role, one.raw_date)) for one in entries],
        "messages": len(entries),
    }
    with work.run.commit():
        rows = work.proposal.parts.filter(pk=part.pk, state=WAITING)
        if not rows.update(state=DONE, answer=answer, call=call, attempts=part.attempts + 1, problem=""):
            raise Stopped
        if version and version != work.proposal.prompt_version:
            Proposal.objects.for_user(work.run.owner).filter(pk=work.proposal.pk).update(prompt_version=version)
        step = work.run.job.step + len(entries)
        work.run.progress(step=step, total=max(work.run.job.total, step))


def _doubted(findings: Findings) -> list[list[NewMemory]]:
    """What a check would hold back is shown with its doubts: everything of this answer is looked at by a person."""
    return [[one.new for one in findings.held]] if findings.held else []


def _plain(one: NewMemory) -> dict[str, Any]:
    """The fields of a new memory as JSON."""
    row = asdict(one)
    return row | {"duplicate_of": None if one.duplicate_of is None else str(one.duplicate_of)}


def _split(work: Work, part: ProposalPart, at: int) -> None:
    """What one call reads now, and the rest."""
    halves = (part.sources[:at], part.sources[at:])
    rows = [
        ProposalPart(proposal=work.proposal, level=part.level, number=f"{part.number}.{n}", sources=half)
        for n, half in enumerate(halves, 1)
    ]
    with work.run.commit():
        if not work.proposal.parts.filter(pk=part.pk, state=WAITING).update(state=SPLIT):
            raise Stopped
        ProposalPart.objects.bulk_create(rows)


def _tell(work: Work, chunk: Chunk, findings: Findings) -> None:
    """One line of counts for the job's log."""
    count = findings.memories
    text = ngettext(
        "%(n)d memory from messages %(first)d to %(last)d, for the review.",
        "%(n)d memories from messages %(first)d to %(last)d, for the review.",
        count,
    )
    numbers = {"n": count, "first": chunk.first_index, "last": chunk.last_index}
    work.run.log(text % numbers, "good" if count else "info")
