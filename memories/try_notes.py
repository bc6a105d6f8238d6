"""Try the prompt of imports on notes: the first call that an import by a model would send, and what becomes of each
line in the answer. Nothing is saved: the proposal that memories/conversion.py plans its call on is never stored."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.models import Job
from jobs.run import JobFailed, JobRun, Outcome, done
from memories import conversion, conversion_made, try_merge
from memories.blocks import is_topic
from memories.consolidation_call import Read
from memories.consolidation_parts import DONE, Tree, answer_of, sources_of
from memories.consolidation_prompt import refs_of
from memories.conversion_databank import text_of
from memories.conversion_result import Findings, NewBlock, known_in
from memories.conversion_source import Source, read_source, reading_of
from memories.conversion_words import why_left
from memories.memory_filters import topic_words
from memories.models import MemoryFile, Proposal, ProposalPart
from memories.similarity import normalise
from memories.try_merge import MergePreview
from memories.try_parts import NotesTrial
from providers.models import Connection
from sync.models import Attachment, Character

LONGEST = 100_000  # characters that can be pasted: they travel with the form


def prepare(user: User, trial: NotesTrial) -> MergePreview:
    """What would be sent first. ValueError with a finished sentence when there are no notes to read."""
    return _preview(user, trial, _planned(user, trial))


def _preview(user: User, trial: NotesTrial, proposal: Proposal) -> MergePreview:
    file = proposal.file
    # Before the first memory there is no file yet, and looking makes none: the marker then rests on the character.
    whose = trial.character if file._state.adding else file
    return try_merge.preview_of(user, trial, list(sources_of(proposal).values()), whose)


def _planned(user: User, trial: NotesTrial) -> Proposal:
    """An import as its job would find it, in memory only."""
    source = _source(user, trial)
    file = MemoryFile.objects.for_user(user).filter(character=trial.character, chat=None).first()
    proposal = Proposal(
        owner=user,
        file=file or MemoryFile(owner=user, character=trial.character),
        kind=Proposal.Kind.CONVERSION,
        params={"format": source.form, "start": 0},
        source_name=source.name,
    )
    reading = reading_of(source.name, source.text, source.form, source.warnings)
    conversion.plan_for_model(proposal, reading, source.text)
    return proposal


def _source(user: User, trial: NotesTrial) -> Source:
    if not trial.attachment:
        if len(trial.notes) > LONGEST:
            text = _("Paste at most %(n)d characters; a longer text can be tried from the Data Bank.")
            raise ValueError(text % {"n": LONGEST})
        return read_source(_("pasted text"), trial.notes)
    attachment = Attachment.objects.for_user(user).filter(pk=trial.attachment, tavern=trial.character.tavern).first()
    if attachment is None:
        raise ValueError(_("This file is not there any more. Choose another one."))
    return read_source(attachment.name, text_of(attachment), attachment=trial.attachment)


def params_of(trial: NotesTrial) -> dict[str, str]:
    """The trial as a job and a form write it down."""
    return {
        "name": trial.name,
        "character": str(trial.character.pk),
        "connection": str(trial.connection.pk),
        "source": trial.attachment,
        "notes": "" if trial.attachment else trial.notes,
        "text": trial.text,
    }


def drop_pasted(jobs: QuerySet[Job]) -> None:
    """What was pasted for earlier tries goes with their answers."""
    for job in jobs.filter(params__has_key="notes").exclude(params__notes=""):
        jobs.filter(pk=job.pk).update(params={**job.params, "notes": ""})


def run(run: JobRun) -> Outcome:
    """One call."""
    trial = _trial(run)
    try:
        proposal = _planned(run.owner, trial)
        preview = _preview(run.owner, trial, proposal)
    except ValueError as error:
        raise JobFailed(str(error), error_type="changed", retry=False) from error
    read = try_merge.ask_once(run, preview)
    with run.commit():
        run.progress(step=1)
    found = _result(read, preview, proposal)
    text = ngettext("%(n)d memory, nothing was saved.", "%(n)d memories, nothing was saved.", found["memories"])
    return done({"text": text % {"n": found["memories"]}, "trial": found})


def _trial(run: JobRun) -> NotesTrial:
    params = run.params
    character = Character.objects.for_user(run.owner).select_related("tavern").filter(pk=params["character"]).first()
    connection = Connection.objects.for_user(run.owner).filter(pk=params["connection"]).first()
    if character is None or connection is None:
        raise JobFailed(_("What you chose is not there any more. Choose again."), error_type="gone", retry=False)
    connection.owner = run.owner
    return NotesTrial(params["name"], character, connection, params["notes"], params["source"], params["text"])


def _result(read: Read, preview: MergePreview, proposal: Proposal) -> dict[str, Any]:
    """What the page shows of the answer, as JSON: read and checked as an import does."""
    found = _findings(read, preview, proposal)
    known = {} if proposal.file._state.adding else known_in(proposal.file)
    bullets = [one for block in found.blocks for one in block.bullets if not is_topic(one.text)]
    left_out = [one.text for one in bullets if normalise(one.text) in known]
    return {
        **try_merge.said_of(read),
        "blocks": [shown for block in found.blocks if (shown := _block(block, left_out))["bullets"]],
        "left": [[line, text, why_left(why)] for line, text, why in _left(found, preview, proposal)],
        "left_out": left_out,
        "unverified": sum(one.is_invented and one.text not in left_out for one in bullets),
        "memories": len(bullets) - len(left_out),
        "notes": preview.count,
    }


def _findings(read: Read, preview: MergePreview, proposal: Proposal) -> Findings:
    """The answer as the only part of an import of these notes."""
    items = preview.items
    answer = answer_of(read.made, items, refs_of(items), preview.trial.name)
    part = ProposalPart(level=0, number="0001", state=DONE, sources=[one.id for one in items], answer=answer)
    return conversion_made.converted(proposal, Tree({one.id: one for one in items}, [part]))


def _left(found: Findings, preview: MergePreview, proposal: Proposal) -> list[tuple[int, str, str]]:
    """Lines in no memory, as far as this call has read."""
    if not preview.beyond:
        return list(found.left)
    last = max(proposal.params["lines"][preview.items[-1].id], default=0)
    return [one for one in found.left if one[0] <= last]


def _block(block: NewBlock, left_out: list[str]) -> dict[str, Any]:
    topic = next((one.text for one in block.bullets if is_topic(one.text)), "")
    return {
        "title": topic_words(topic) or block.label,
        "bullets": [
            {"text": one.text, "is_invented": one.is_invented}
            for one in block.bullets
            if not is_topic(one.text) and one.text not in left_out
        ],
    }
