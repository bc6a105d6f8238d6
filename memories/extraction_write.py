"""What an answer leaves behind for one reader of a chunk: memories, chunk and watermark. Called inside a commit."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.run import JobFailed, JobRun
from memories import activity, gate_counts, held, scopes, watermark
from memories.activity_words import fates
from memories.blocks import timestamp
from memories.extraction_judge import Findings
from memories.extraction_verdict import REPEATED, marked
from memories.file_editor import Editor, NewMemory
from memories.local_time import local_now
from memories.memory_file import change
from memories.models import ExtractedChunk, Memory, MemoryBlock, MemoryFile
from memories.queries import Stretch
from memories.reading import Mark, chunk_key
from memories.transcript import Chunk
from providers.models import Call
from sync.models import Character, Chat

PASSED_OVER = ("empty", "absent")  # outcomes of messages that no model was shown


@dataclass(frozen=True)
class Share:
    """What one character keeps of a chunk: its file, what was found for it, and by which prompt."""

    stretch: Stretch
    character: Character
    file: MemoryFile
    findings: Findings
    prompt_version: str


def write_share(run: JobRun, chunk: Chunk, share: Share, call: Call) -> None:
    """One reader's memories, revision, chunk and watermark."""
    findings = share.findings
    if findings.blocks:
        reason = _("Extracted from “%(chat)s”, messages %(first)d to %(last)d") % {
            "chat": share.stretch.chat.name,
            "first": chunk.first_index,
            "last": chunk.last_index,
        }
        with change(share.file, reason=reason, job=run.job, writes_back=False) as editor:
            made = _add_blocks(editor, run, chunk, share, call)
        scopes.pass_on(share.file, share.character, share.stretch.chat, chunk.first_index, made)
    if findings.held:
        held.write(
            share.file,
            findings,
            chat=share.stretch.chat,
            label=share.stretch.chat.name,
            date=_date(run),
            first_index=chunk.first_index,
            last_index=chunk.last_index,
            job=run.job,
            call=call,
            prompt_version=share.prompt_version,
        )
    gate_counts.count(run.owner, call.model, findings)
    activity.trace(run).judged(share.character, findings)
    outcome = "memories" if findings.blocks else "nothing"
    note_read(
        run,
        share.stretch,
        share.character,
        chunk,
        outcome,
        memories=findings.memories,
        left_out=findings.repeated,
        call=call,
    )


def _add_blocks(editor: Editor, run: JobRun, chunk: Chunk, share: Share, call: Call) -> list[uuid.UUID]:
    present = _still_there(editor, share.findings)
    made = (
        editor.add_block(
            share.stretch.chat.name,
            [linked(one, present) for one in block],
            date=_date(run),
            origin=MemoryBlock.Origin.EXTRACTED,
            chat=share.stretch.chat,
            first_index=chunk.first_index,
            last_index=chunk.last_index,
            job=run.job,
            call=call,
            prompt_version=share.prompt_version,
        )
        for block in share.findings.blocks
    )
    return [block.pk for block in made if block is not None]


def _date(run: JobRun) -> str:
    return timestamp(local_now(run.owner, timezone.now()))


def _still_there(editor: Editor, findings: Findings) -> dict[uuid.UUID, str]:
    """Which of the memories that new ones resemble were not deleted meanwhile: "" in this file, else their text."""
    wanted = {one.duplicate_of for block in findings.blocks for one in block if one.duplicate_of}
    if not wanted:
        return {}
    rows = Memory.objects.for_user(editor.file.owner).filter(pk__in=wanted)
    found = rows.values_list("pk", "block__file", "text")
    return {pk: "" if file == editor.file.pk else text for pk, file, text in found}


def linked(new: NewMemory, present: Mapping[uuid.UUID, str]) -> NewMemory:
    """The bullet as it can be written: links do not leave a file, so what is repeated elsewhere is said in words."""
    if new.duplicate_of is None or present.get(new.duplicate_of) == "":
        return new
    text = present.get(new.duplicate_of)
    if text is None:
        return replace(new, duplicate_of=None)
    return marked(replace(new, duplicate_of=None), REPEATED, text)


def note_read(
    run: JobRun, stretch: Stretch, character: Character, chunk: Chunk, outcome: str, **fields: object
) -> None:
    """Count a chunk as read for a character; each message is told of once in the job's progress by `passed`."""
    watermark.record(
        run.owner,
        stretch.chat,
        character,
        [Mark.of(one.identity, one.content, one.role, one.raw_date) for one in chunk.entries],
        first=chunk.first_index,
        last=chunk.last_index,
        outcome=outcome,
        key=key_of(stretch.chat, character, chunk),
        job=run.job,
        **fields,
    )
    watermark.advance(run.owner, stretch, character, chunk.entries)
    if outcome in PASSED_OVER:
        activity.trace(run).skipped(character, chunk, outcome)


def passed(run: JobRun, chunk: Chunk) -> None:
    """Move the job's progress over a chunk, and write its lines of the activity log."""
    step = run.job.step + len(chunk.lines)
    run.progress(step=step, total=max(run.job.total, step))
    activity.trace(run).keep()


def key_of(chat: Chat, character: Character, chunk: Chunk) -> str:
    """What a chunk is paid for under."""
    return chunk_key(str(chat.pk), str(character.pk), ((one.identity, one.content) for one in chunk.entries))


def is_written(run: JobRun, chat: Chat, character: Character, chunk: Chunk) -> bool:
    """Whether this very chunk was paid for."""
    return ExtractedChunk.objects.for_user(run.owner).filter(key=key_of(chat, character, chunk)).exists()


def is_taken(run: JobRun, stretch: Stretch, character: Character, chunk: Chunk) -> bool:
    """Whether another job asked about these messages for the same member since the stretch was found.

    That can only be in a group's chat: a member's own job and one for all members do not know of each other.
    """
    if stretch.chat.group_id is None:
        return False
    rows = ExtractedChunk.objects.for_user(run.owner).filter(chat=stretch.chat, character=character)
    rows = rows.filter(first_index__lte=chunk.last_index, last_index__gte=chunk.first_index)
    asked = rows.filter(outcome__in=("memories", "nothing"), created_at__gte=stretch.found_at)
    return asked.exclude(job=run.job).exists()


def refuse_repetition(run: JobRun, chat: Chat, character: Character, chunk: Chunk) -> None:
    """JobFailed when this very chunk was paid for."""
    if is_written(run, chat, character, chunk):
        raise JobFailed(
            _("Messages %(first)d to %(last)d were read before and are not paid for twice.")
            % {"first": chunk.first_index, "last": chunk.last_index},
            hint=_("Mark them as read on the chat’s page; please report this, it should not happen."),
            error_type="repeated",
            retry=False,
        )


def tell(run: JobRun, findings: Findings, chunk: Chunk, whose: str = "") -> None:
    """One line of counts for the job's log; `whose` names the member where one call was for several."""
    count = findings.memories
    text = ngettext(
        "%(n)d memory from messages %(first)d to %(last)d.",
        "%(n)d memories from messages %(first)d to %(last)d.",
        count,
    ) % {"first": chunk.first_index, "last": chunk.last_index, "n": count}
    text = f"{whose}: {text}" if whose else text
    run.log(f"{text} {fates(findings)}".strip(), "good" if count else "info")
