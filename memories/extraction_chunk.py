"""One chunk of an extraction: plan it, ask, judge the bullets, write everything in one transaction."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.run import JobFailed, JobRun
from memories import extraction_plan, queries, watermark
from memories.blocks import timestamp
from memories.extraction_call import Read, TooLong, ask
from memories.extraction_judge import Findings, judge
from memories.extraction_plan import Plan, Question
from memories.file_editor import Editor
from memories.local_time import local_now
from memories.memory_file import change, facts_of, file_for
from memories.models import ExtractedChunk, Memory, MemoryBlock, MemoryFile
from memories.queries import WINDOW, Stretch
from memories.reading import Mark, chunk_key
from memories.transcript import Chunk
from providers.queries import default_connection
from sync.models import Character, Chat

SMALLEST = 100  # tokens of messages below which halving makes no sense any more
SPARE = 8  # messages loaded beyond those that one call reads: some are silent


@dataclass(frozen=True)
class Work:
    """Everything that one chunk needs."""

    run: JobRun
    stretch: Stretch
    character: Character
    plan: Plan


def read_chunk(run: JobRun, stretch: Stretch, character: Character) -> None:
    """Read the beginning of a stretch; smaller pieces when the model's window is too small for it.

    Nothing happens when the chat changed meanwhile: at the next turn it is counted again.
    """
    work = _plan(run, stretch, character)
    while True:
        chunk = _cut(work)
        if queries.has_changed(run.owner, stretch.chat):
            return
        if chunk is None:
            text = _("No unread message was found where one should be. Nothing was lost; press Retry.")
            raise JobFailed(text, error_type="changed")
        if not chunk.lines:
            return _commit_empty(work, chunk)
        try:
            return _read(work, chunk)
        except TooLong:
            work = _smaller(work)


def _plan(run: JobRun, stretch: Stretch, character: Character) -> Work:
    connection = default_connection(run.owner)
    if connection is None:
        raise JobFailed(
            _("No model is connected any more. Everything read before is kept."),
            hint=_("Connect one under Settings, Models, then press Retry."),
            error_type="setup",
        )
    halvings = int(run.params.get("halvings", 0))
    return Work(run, stretch, character, extraction_plan.plan(run.owner, character, connection, halvings=halvings))


def _cut(work: Work) -> Chunk | None:
    count = min(WINDOW, work.plan.per_call + SPARE)
    while True:
        entries = queries.first_entries(work.stretch, count)
        chunk = extraction_plan.first_chunk(work.plan, entries)
        has_more = len(entries) == count < WINDOW
        if chunk is None or len(chunk.entries) < len(entries) or not has_more:
            return chunk
        count = min(WINDOW, 2 * count)


def _smaller(work: Work) -> Work:
    """Half of everything, remembered for the rest of the job."""
    halvings = int(work.run.params.get("halvings", 0)) + 1
    if work.plan.sizes.messages < SMALLEST:
        raise JobFailed(
            _(
                "Not even a part of one message fits into the model’s context window. "
                "Everything read before is kept, and these messages stay unread."
            ),
            hint=_("Choose a model with a larger window, or correct the window in the connection’s settings."),
            error_type="context",
        )
    work.run.keep(halvings=halvings)
    smaller = _plan(work.run, work.stretch, work.character)
    text = _("Too long for the model’s context window; now %(n)d messages at a time.")
    work.run.log(text % {"n": smaller.plan.per_call}, "warn")
    return smaller


def _read(work: Work, chunk: Chunk) -> None:
    run, character = work.run, work.character
    numbers = {"first": chunk.first_index, "last": chunk.last_index}
    if _is_written(work, chunk):
        raise JobFailed(
            _("Messages %(first)d to %(last)d were read before and are not paid for twice.") % numbers,
            hint=_("Mark them as read on the chat’s page; please report this, it should not happen."),
            error_type="repeated",
            retry=False,
        )
    run.progress(doing=_("messages %(first)d to %(last)d") % numbers)
    file = file_for(character)
    known = facts_of(file)
    question = extraction_plan.question_of(work.plan, work.stretch.chat, chunk, [text for _id, text in known])
    read = ask(run, question)
    findings = judge(read.answer, chunk, known, character)
    if _commit(work, file, chunk, findings, read, question):
        _tell(run, findings, numbers)


def _commit(work: Work, file: MemoryFile, chunk: Chunk, findings: Findings, read: Read, question: Question) -> bool:
    """Memories, revision, chunk and watermark, or nothing. False when this very chunk was written already, or when the
    person had the chat forgotten during the call."""
    try:
        return _write(work, file, chunk, findings, read, question)
    except IntegrityError:
        if not _is_written(work, chunk):
            raise
        return False


def _write(work: Work, file: MemoryFile, chunk: Chunk, findings: Findings, read: Read, question: Question) -> bool:
    run, chat = work.run, work.stretch.chat
    with run.commit():
        # Holds the chat's row: who forgets it meanwhile waits, and then erases what is written here too.
        if not Chat.objects.for_user(run.owner).filter(pk=chat.pk, forgotten_at=None).update(forgotten_at=None):
            return False
        reason = _("Extracted from “%(chat)s”, messages %(first)d to %(last)d") % {
            "chat": chat.name,
            "first": chunk.first_index,
            "last": chunk.last_index,
        }
        if findings.blocks:
            with change(file, reason=reason, job=run.job, writes_back=False) as editor:
                _add_blocks(editor, work, chunk, findings, read, question)
        outcome = "memories" if findings.blocks else "nothing"
        _note_read(work, chunk, outcome, memories=findings.memories, call=read.completion.call)
    return True


def _add_blocks(editor: Editor, work: Work, chunk: Chunk, findings: Findings, read: Read, question: Question) -> None:
    date = timestamp(local_now(work.run.owner, timezone.now()))
    present = _still_there(editor, findings)
    for block in findings.blocks:
        editor.add_block(
            work.stretch.chat.name,
            [replace(one, duplicate_of=one.duplicate_of if one.duplicate_of in present else None) for one in block],
            date=date,
            origin=MemoryBlock.Origin.EXTRACTED,
            chat=work.stretch.chat,
            first_index=chunk.first_index,
            last_index=chunk.last_index,
            job=work.run.job,
            call=read.completion.call,
            prompt_version=question.prompt.version,
        )


def _still_there(editor: Editor, findings: Findings) -> set[uuid.UUID]:
    """Which of the memories that new ones resemble were not deleted meanwhile."""
    wanted = {one.duplicate_of for block in findings.blocks for one in block if one.duplicate_of}
    if not wanted:
        return set()
    rows = Memory.objects.for_user(editor.file.owner).filter(pk__in=wanted, block__file=editor.file)
    return set(rows.values_list("pk", flat=True))


def _commit_empty(work: Work, chunk: Chunk) -> None:
    """A stretch without a word for the model is read by looking at it."""
    with work.run.commit():
        _note_read(work, chunk, "empty")


def _note_read(work: Work, chunk: Chunk, outcome: str, **fields: object) -> None:
    run = work.run
    read = [Mark.of(one.identity, one.content, one.role, one.raw_date) for one in chunk.entries]
    watermark.record(
        run.owner,
        work.stretch.chat,
        work.character,
        read,
        first=chunk.first_index,
        last=chunk.last_index,
        outcome=outcome,
        key=_key(work, chunk),
        job=run.job,
        **fields,
    )
    watermark.advance(run.owner, work.stretch, work.character, chunk.entries)
    step = run.job.step + len(chunk.lines)
    run.progress(step=step, total=max(run.job.total, step))


def _is_written(work: Work, chunk: Chunk) -> bool:
    return ExtractedChunk.objects.for_user(work.run.owner).filter(key=_key(work, chunk)).exists()


def _key(work: Work, chunk: Chunk) -> str:
    identities = ((one.identity, one.content) for one in chunk.entries)
    return chunk_key(str(work.stretch.chat.pk), str(work.character.pk), identities)


def _tell(run: JobRun, findings: Findings, numbers: dict[str, int]) -> None:
    """One line of counts for the job's log."""
    count = findings.memories
    text = ngettext(
        "%(n)d memory from messages %(first)d to %(last)d.",
        "%(n)d memories from messages %(first)d to %(last)d.",
        count,
    ) % {**numbers, "n": count}
    notes = [
        (findings.repeated, _("%(n)d known already and left out")),
        (findings.similar, _("%(n)d similar to a known one")),
        (findings.unverified, _("%(n)d with something that no source says")),
    ]
    extra = "; ".join(words % {"n": number} for number, words in notes if number)
    run.log(f"{text} {extra}".strip(), "good" if count else "info")
