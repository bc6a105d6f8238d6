"""One chunk of an extraction: plan it, ask, judge the bullets, write everything in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError
from django.db.models import Q
from django.utils.translation import gettext as _

from jobs.run import JobFailed, JobRun
from memories import activity, extraction_plan, meaning, queries, scopes
from memories.chat_hold import hold_chat
from memories.extraction_call import TooLong, ask
from memories.extraction_judge import Fact, settle
from memories.extraction_plan import Plan
from memories.extraction_write import (
    Share,
    is_taken,
    is_written,
    note_read,
    passed,
    refuse_repetition,
    tell,
    write_share,
)
from memories.group_chat import Scene
from memories.models import Memory, MemoryFile
from memories.prompts import PromptText
from memories.queries import WINDOW, Stretch
from memories.transcript import Chunk
from providers.models import Call, Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat

SMALLEST = 100  # tokens of messages below which halving makes no sense any more
SPARE = 8  # messages loaded beyond those that one call reads: some are silent


@dataclass(frozen=True)
class Work:
    """Everything that one chunk needs. `scene` belongs to a group's chat."""

    run: JobRun
    stretch: Stretch
    character: Character
    plan: Plan
    scene: Scene | None
    is_automatic: bool


def read_chunk(run: JobRun, stretch: Stretch, character: Character, *, is_automatic: bool = False) -> None:
    """Read the beginning of a stretch; smaller pieces when the model's window is too small for it.

    Nothing happens when the chat changed meanwhile: at the next turn it is counted again.
    """
    scene = Scene.of(run.owner, stretch.chat)
    activity.trace(run).concerns(character, stretch.chat)
    while True:
        work = Work(run, stretch, character, plan_of(run, stretch.chat, character), scene, is_automatic)
        chunk = cut(work.plan, stretch)
        if queries.has_changed(run.owner, stretch.chat):
            return
        if chunk is None:
            raise no_message()
        chunk, outcome = _seen(work, chunk)
        if outcome:
            return _commit_unseen(work, chunk, outcome)
        try:
            return _read(work, chunk)
        except TooLong:
            smaller(run, work.plan)


def plan_of(run: JobRun, chat: Chat, character: Character, template: PromptText | None = None) -> Plan:
    """How the job reads a chat now, with what it learned of the model's window; `template` in place of the usual text.
    JobFailed when no model is connected any more."""
    halvings = int(run.params.get("halvings", 0))
    connection = _connection(run)
    return extraction_plan.plan(run.owner, character, connection, chat=chat, halvings=halvings, template=template)


def _connection(run: JobRun) -> Connection:
    connection = connection_for(run.owner, EXTRACTION)
    if connection is None:
        raise JobFailed(
            _("No model is connected any more. Everything read before is kept."),
            hint=_("Connect one under Settings, Models, then press Retry."),
            error_type="setup",
        )
    return connection


def cut(plan: Plan, stretch: Stretch) -> Chunk | None:
    """As much of the beginning of a stretch as one call reads."""
    count = min(WINDOW, plan.per_call + SPARE)
    while True:
        entries = queries.first_entries(stretch, count)
        chunk = extraction_plan.first_chunk(plan, entries)
        has_more = len(entries) == count < WINDOW
        if chunk is None or len(chunk.entries) < len(entries) or not has_more:
            return chunk
        count = min(WINDOW, 2 * count)


def no_message() -> JobFailed:
    """The stretch is empty although the chat did not change."""
    text = _("No unread message was found where one should be. Nothing was lost; press Retry.")
    return JobFailed(text, error_type="changed")


def _seen(work: Work, chunk: Chunk) -> tuple[Chunk, str]:
    """What of a chunk the character is asked about; else with which outcome it is passed over without a call."""
    if not chunk.lines:
        return chunk, "empty"
    if work.scene is None or not work.plan.choices.asks_present_only:
        return chunk, ""
    part, is_there = work.scene.witnessed(chunk, work.character, work.plan.per_call)
    return part, "" if is_there else "absent"


def smaller(run: JobRun, plan: Plan) -> None:
    """Less of everything from now on, remembered for the rest of the job. JobFailed when nothing is left to halve."""
    if plan.sizes.messages < SMALLEST:
        raise JobFailed(
            _(
                "Not even a part of one message fits into the model’s context window. "
                "Everything read before is kept, and these messages stay unread."
            ),
            hint=_("Choose a model with a larger window, or correct the window in the connection’s settings."),
            error_type="context",
        )
    halvings = int(run.params.get("halvings", 0)) + 1
    run.keep(halvings=halvings)
    if halvings == 1:  # memories/extraction_plan.py: card and memories first
        run.log(_("Too long for the model’s context window; now with less of the card and the memories."), "warn")
    else:
        text = _("Too long for the model’s context window; now %(n)d messages at a time.")
        run.log(text % {"n": max(1, plan.per_call // 2)}, "warn")


def _read(work: Work, chunk: Chunk) -> None:
    run, character, chat = work.run, work.character, work.stretch.chat
    refuse_repetition(run, chat, character, chunk)
    run.progress(doing=doing(chunk))
    activity.trace(run).collected(chunk)
    others = work.scene.participants(chunk, [character]) if work.scene else []
    file = scopes.file_of_reading(character, chat, chunk.last_index)
    known = scopes.known_facts(file, character, chat)
    texts, locked = [text for _id, text in known], places_of_locked(work.plan, file, known)
    near = meaning.closeness(run, file, known, is_automatic=work.is_automatic)
    question = extraction_plan.question_of(
        work.plan, chat, chunk, texts, others, locked, is_automatic=work.is_automatic, meaning=near
    )
    read = ask(run, question)
    findings = settle(run, question, read, chunk, known, character, others, work.plan.choices, chat=chat)
    share = Share(work.stretch, character, file, findings, question.prompt.version)
    if _commit(work, chunk, share, read.completion.call):
        tell(run, findings, chunk)


def places_of_locked(plan: Plan, file: MemoryFile, known: Sequence[Fact]) -> list[int]:
    """Where among the known memories those stand that a person locked; not looked up while all of them fit."""
    if sum(len(text) for _id, text in known) < plan.sizes.memories:  # a token has at least one letter
        return []
    rows = Memory.objects.for_user(file.owner).filter(Q(is_locked=True) | Q(block__is_locked=True), block__file=file)
    locked = set(rows.values_list("pk", flat=True))
    return [place for place, (pk, _text) in enumerate(known) if pk in locked]


def doing(chunk: Chunk) -> str:
    """What the job says while it reads a chunk."""
    return _("messages %(first)d to %(last)d") % {"first": chunk.first_index, "last": chunk.last_index}


def _commit(work: Work, chunk: Chunk, share: Share, call: Call) -> bool:
    """Memories, revision, chunk and watermark, or nothing. False when this very chunk was written already, or when the
    person had the chat forgotten during the call."""
    run, chat = work.run, work.stretch.chat
    try:
        with run.commit():
            if not hold_chat(run.owner, chat.pk) or is_taken(run, work.stretch, work.character, chunk):
                return False
            write_share(run, chunk, share, call)
            passed(run, chunk)
    except IntegrityError:
        if not is_written(run, chat, work.character, chunk):
            raise
        return False
    return True


def _commit_unseen(work: Work, chunk: Chunk, outcome: str) -> None:
    """A stretch without a word for the model, or without the member, is read by looking at it."""
    with work.run.commit():
        note_read(work.run, work.stretch, work.character, chunk, outcome)
        passed(work.run, chunk)
