"""Import of foreign notes, and reformat of memories into blocks by topic (spec/charmemory §5.2, §5.3).

choose ──▶ start ──▶ by rules, at once or as a job when it is large ─┬─▶ check: a draft and a report ──▶ save
                └──▶ by a model: job (memories/consolidation_run.py) ─┘
The source is never touched and nothing reaches the file before a person saved it. A long source comes in parts, as
many memories at a time as somebody can look through.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.registry import JobKind
from jobs.run import JobFailed, JobRun, Outcome, done
from memories import (
    activity,
    consolidation_run,
    conversion_rules,
    conversion_source,
    drafts,
    memory_file,
    proposal_turn,
    proposals,
)
from memories.blocks import clean_loose
from memories.consolidation_plan import Item
from memories.consolidation_reads import items_of
from memories.conversion_choices import add_known, add_lines, close, held, leave_out, new_blocks
from memories.conversion_source import Portion, Source, read_source, reading_of
from memories.file_editor import NewMemory
from memories.formats_types import Reading
from memories.models import Draft, MemoryFile, Proposal, Revision
from memories.own_prompts import text_in_force
from memories.proposals import CONVERT, begin, page_of
from providers.models import Connection
from providers.purposes import CONVERSION
from providers.queries import connection_for

LARGE = 1024 * 1024  # characters; above it reading is left to a job
RULES, MODEL = "rules", "model"

__all__ = [
    "add_known",
    "add_lines",
    "again",
    "close",
    "go_on",
    "held",
    "job_kind",
    "leave_out",
    "new_blocks",
    "save",
    "start_conversion",
    "start_reformat",
    "step_back",
]


def start_conversion(
    user: User,
    file: MemoryFile,
    *,
    source_name: str,
    text: str | bytes,
    by: str = RULES,
    connection: Connection | None = None,
    form: str = "",
    attachment: str = "",
    previous: Proposal | None = None,
    start: int = 0,
) -> Proposal:
    """Read a source for `file`; the proposal is ready at once, or when its job has ended.

    `form` overrides the detected format; `start` is the number of the section to begin with; `attachment` the id of
    the Data Bank file that the text was read from. ValueError with a finished sentence when it holds no notes or no
    model is connected.
    """
    source = read_source(source_name, text, attachment=attachment)
    return _start(user, file, source, by=by, connection=connection, form=form, previous=previous, start=start)


def again(
    user: User, proposal: Proposal, *, form: str = "", by: str = RULES, connection: Connection | None = None
) -> Proposal:
    """Read the same source once more, in another format or by a model; the earlier reading stays below."""
    params = _params(proposal)
    source = Source(
        proposal.source_name,
        conversion_source.text_of(proposal),
        form or params["format"],
        tuple(params.get("decoding", ())),
        params.get("attachment", ""),
    )
    start = int(params.get("start", 0)) if source.form == params["format"] else 0
    return _start(user, proposal.file, source, by=by, connection=connection, previous=proposal, start=start)


def go_on(user: User, proposal: Proposal) -> Proposal | None:
    """The next part of a long source; None when this was the last."""
    following = proposal.report.get("next")
    if following is None:
        return None
    params = _params(proposal)
    text = conversion_source.text_of(proposal)
    source = Source(proposal.source_name, text, params["format"], (), params.get("attachment", ""))
    return _start(user, proposal.file, source, start=int(following))


def _params(proposal: Proposal) -> dict[str, Any]:
    """How its source was read. ValueError for what is no import."""
    if proposal.kind != Proposal.Kind.CONVERSION:
        raise ValueError(_("This is not an import; there is no source to read again."))
    return proposal.params


def start_reformat(
    user: User,
    file: MemoryFile,
    *,
    block_ids: Iterable[object],
    by: str = MODEL,
    connection: Connection | None = None,
) -> Proposal:
    """Bring memories of the file into blocks by topic; what is locked stays out. ValueError when nothing is left."""
    items = items_of(user, file, block_ids)
    if not items:
        raise ValueError(_("Choose at least one block that is not locked; there is nothing to sort yet."))
    params = {"format": "", "sources": [vars(one) for one in items], "blocks": list({one.block: 0 for one in items})}
    proposal = Proposal(
        owner=user,
        file=file,
        kind=Proposal.Kind.REFORMAT,
        params=params,
        source_name=file.name,
        base_version=file.version,
    )
    if by == MODEL:
        return _by_model(user, proposal, connection)
    with transaction.atomic():
        proposal.save(force_insert=True)
        conversion_rules.reformat(proposal, items)
    return proposal


def _start(
    user: User,
    file: MemoryFile,
    source: Source,
    *,
    by: str = RULES,
    connection: Connection | None = None,
    form: str = "",
    previous: Proposal | None = None,
    start: int = 0,
) -> Proposal:
    params: dict[str, Any] = {
        "format": form or source.form,
        "decoding": list(source.warnings),
        "attachment": source.attachment,
        "start": start,
    }
    proposal = Proposal(
        owner=user,
        file=file,
        kind=Proposal.Kind.CONVERSION,
        params=params,
        source_name=source.name[:300],
        source_id=conversion_source.keep_text(file, source.text),
        base_version=file.version,
        previous=previous,
    )
    if by == MODEL:
        reading = reading_of(source.name, source.text, params["format"], source.warnings)
        plan_for_model(proposal, reading, source.text)
        return _by_model(user, proposal, connection)
    if len(source.text) > LARGE:
        return begin(user, proposal)
    reading = reading_of(source.name, source.text, params["format"], source.warnings)
    with transaction.atomic():
        proposal.save(force_insert=True)
        conversion_rules.write(proposal, reading, source.text)
    return proposal


def plan_for_model(proposal: Proposal, reading: Reading, text: str) -> None:
    """The bullets that the rules find are the model's lines, each under the heading it stood under."""
    part = conversion_rules.portion_of(proposal, reading, text)
    items, lines = _items(part)
    if not items:
        raise ValueError(_("No sentence was found in %(name)s. Nothing was imported.") % {"name": proposal.source_name})
    left = [{"line": one.line, "text": one.text, "why": one.why} for one in part.leftovers]
    total = conversion_rules.count_lines(reading, text, part)
    proposal.params |= {
        "sources": [vars(one) for one in items],
        "lines": lines,
        "left": left,
        "total": total,
        "first": part.first,
        "last": part.last,
        "next": part.next,
        "warnings": list(reading.warnings),
    }


def _items(part: Portion) -> tuple[list[Item], dict[str, list[int]]]:
    items, lines = [], {}
    for place, section in enumerate(part.sections, 1):
        for number, bullet in enumerate(section.bullets, 1):
            one = Item(f"s{place}.{number}", bullet.text, f"s{place}", section.label, section.date)
            items.append(one)
            lines[one.id] = list(bullet.lines)
    return items, lines


def _by_model(user: User, proposal: Proposal, connection: Connection | None) -> Proposal:
    connection = connection or connection_for(user, CONVERSION)
    if connection is None:
        raise ValueError(_("No model is connected yet. Choose one under Settings, Models; nothing was imported."))
    prompt = text_in_force(user, "conversion", proposal.file.character)
    proposal.params |= {"strategy": "conversion", "prompt": prompt.text}
    proposal.connection, proposal.model, proposal.prompt_version = connection, connection.model, prompt.version
    return begin(user, proposal)


def save(user: User, proposal: Proposal, *, file: MemoryFile | None = None) -> Revision:
    """Make the result part of its file, or of another one, as one revision.

    ValueError when there is nothing to save; drafts.MergeNeeded when the same blocks were changed meanwhile.
    """
    draft = held(proposal)
    if file is not None and file.pk != proposal.file_id:
        draft = _move(proposal, draft, file)
    with transaction.atomic():
        revision = drafts.save(draft)
        if revision is None:
            raise ValueError(_("There is nothing to save: no new memory is left."))
        close(proposal, Proposal.State.APPLIED)
        _replace_original(user, proposal)
    return revision


def _replace_original(user: User, proposal: Proposal) -> None:
    """When the source was the memory file's own text (an older form of it), that text goes: its memories stand there
    now. A revision of its own, so that History brings the text back. Lines that were written there since stay."""
    file = proposal.file
    if not file.attachment_id or proposal.params.get("attachment") != str(file.attachment_id):
        return
    if proposal.report.get("next") is not None or not file.loose_text:
        return
    with memory_file.change(file, reason=_("Text of the older form taken out"), author=user) as editor:
        file.loose_text = _without(file.loose_text, conversion_source.text_of(proposal))
        editor.touch()


def _without(loose: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Hand-written text without the lines of `text`."""
    known = {"", *(line.strip() for line in clean_loose(text).splitlines())}
    rest = (
        one | {"text": "".join(line for line in one["text"].splitlines(True) if line.strip() not in known)}
        for one in loose
    )
    return [one for one in rest if one["text"]]


def _move(proposal: Proposal, draft: Draft, file: MemoryFile) -> Draft:
    """The same new blocks in a draft of another file."""
    if proposal.kind != Proposal.Kind.CONVERSION:
        raise ValueError(_("Memories are sorted into topics in their own file."))
    moved = drafts.start(proposal.owner, file, kind=draft.kind, title=draft.title)
    with drafts.step(moved, _("Import")) as editor:
        for block in new_blocks(draft):
            new = [_again(one) for one in block.memories]
            facts = {"chat": block.chat_id, "job": block.job_id, "call": block.call_id, "is_locked": block.is_locked}
            facts["prompt_version"] = block.prompt_version
            editor.add_block(block.label, new, date=block.date, origin=block.origin, **facts)
    with transaction.atomic():
        drafts.leave(draft)
        Proposal.objects.for_user(proposal.owner).filter(pk=proposal.pk).update(draft=moved, file=file)
    proposal.draft, proposal.file = moved, file
    return moved


def _again(row: Any) -> NewMemory:
    """The bullet with all that the check and the person said about it."""
    names = ("evidence", "parents", "is_unverified", "unverified_names", "doubts", "is_locked")
    return NewMemory(row.text, **{name: getattr(row, name) for name in names})


def step_back(proposal: Proposal) -> Proposal:
    """Back to the reading before; this one is put aside. ValueError when there is none."""
    before = proposal.previous
    if before is None or before.state != Proposal.State.READY:
        raise ValueError(_("There is no reading before this one."))
    proposals.discard(proposal)
    return before


def run(run: JobRun) -> Outcome:
    """One turn of the job: a model's call, or all of the reading by rules."""
    rows = Proposal.objects.for_user(run.owner).filter(pk=run.params["proposal"])
    proposal = rows.select_related("file__character", "source").first()
    if proposal is None:
        raise JobFailed(_("This import was deleted; nothing was changed."), error_type="gone", retry=False)
    if proposal.model:
        return consolidation_run.run(run)
    proposal.owner = proposal.file.owner = run.owner
    if proposal.state in (Proposal.State.READY, Proposal.State.APPLIED, Proposal.State.DISCARDED):
        return done(proposal.report.get("result", {}))
    proposal_turn.set_state(proposal, Proposal.State.RUNNING)
    run.progress(doing=_("reading %(name)s") % {"name": proposal.source_name})
    text = conversion_source.text_of(proposal)
    try:
        reading = reading_of(proposal.source_name, text, proposal.params["format"], proposal.params["decoding"])
    except ValueError as error:
        proposal_turn.set_state(proposal, Proposal.State.FAILED)
        raise JobFailed(str(error), error_type="source", retry=False) from error
    run.check()
    with run.commit():
        result = conversion_rules.write(proposal, reading, text)
    return done(result)


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(CONVERT, _("Import notes"), activity.telling(run), page_of, "chunks")
