"""Reading a group's chat for all its members with one call (Choices.group_calls): the next stretch that several of
them have unread at the same place, one prompt that names them, and each one's blocks into its own file.

Presence is looked at for a chunk as a whole: who takes no part in it is not named in the prompt and gets nothing of the
answer. Points, memories and chunks of all of them are written in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.db import IntegrityError
from django.urls import reverse
from django.utils.translation import gettext as _

from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobFailed, JobRun, Outcome
from memories import (
    activity,
    extraction,
    extraction_chunk,
    meaning,
    queries,
    scopes,
    together_prompt,
    watermark,
)
from memories.chat_hold import hold_chat
from memories.day_budget import DayIsSpentError
from memories.extraction_call import MOST_ANSWER, Read, TooLong, ask
from memories.extraction_judge import Fact, settle
from memories.extraction_plan import Plan, Question, seed_of
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
from memories.models import MemoryFile
from memories.own_prompts import text_in_force
from memories.queries import Stretch
from memories.reading_limits import Limits
from memories.together_answer import distinct, read_together
from memories.together_prompt import Asked
from memories.transcript import Chunk
from memories.wanted import Wanted
from providers.models import Call
from sync.models import Character, Chat, Group

KIND = "extract_together"
PROMPT = "extraction_together"


@dataclass(frozen=True)
class Turn:
    """Who reads the same stretch of a chat now, each with its own point."""

    chat: Chat
    stretches: dict[Character, Stretch]
    is_automatic: bool = False


@dataclass(frozen=True)
class Reader:
    """A member that is asked about, with its file and what is known in it."""

    character: Character
    name: str  # as the prompt calls it
    file: MemoryFile
    known: Sequence[Fact]


def run(run: JobRun) -> Outcome:
    """One chunk of the job, for all who have it unread."""
    members = _members(run)
    wanted = Wanted.of(run.params)
    turn = _next_turn(run, members, wanted)
    if turn is None or extraction.must_end(run, turn.chat):
        return extraction.ended(run, members, wanted)
    extraction.tell_of_beginning(run, turn.chat)
    try:
        _read_turn(run, turn)
    except DayIsSpentError as reason:
        return extraction.day_over(run, members, wanted, reason)
    except IntegrityError:
        _members(run)  # says so when somebody went away meanwhile
        raise
    return MORE


def _members(run: JobRun) -> list[Character]:
    """As the job began with them. JobFailed when nobody, or no group, is left."""
    rows = Character.objects.for_user(run.owner).select_related("tavern", *scopes.ONES)
    found = {str(one.pk): one for one in rows.filter(pk__in=run.params["members"])}
    if not found or not Group.objects.for_user(run.owner).filter(pk=run.params["group"]).exists():
        raise JobFailed(
            _("This group or all of its members are no longer in CharMem; nothing more was read."),
            error_type="gone",
            retry=False,
        )
    for one in found.values():
        one.tavern.owner = run.owner
    return [found[pk] for pk in run.params["members"] if pk in found]


def _next_turn(run: JobRun, members: Sequence[Character], wanted: Wanted) -> Turn | None:
    for chat, stretches in _unread(run, members, wanted):
        first = min(one.first for one in stretches.values())
        others = [one.first - 1 for one in stretches.values() if one.first > first]
        same = {who: one for who, one in stretches.items() if one.first == first}
        last = min([*(one.last for one in same.values()), *others])
        last = min(scopes.end_of_line(who, chat, first, last) for who in same)
        same = {who: replace(one, last=last) for who, one in same.items()}
        return Turn(chat, same, str(chat.pk) in wanted.careful)
    return None


def _unread(
    run: JobRun, members: Sequence[Character], wanted: Wanted
) -> Iterator[tuple[Chat, dict[Character, Stretch]]]:
    """Chats with something unread, and where each member's first unread stretch lies."""
    limits = Limits(run.owner, members[0], wanted)
    rest = {one: queries.rest_of_stretch(one, wanted, limits) for one in members}
    known = {one: stretch for one, stretch in rest.items() if stretch is not None}
    if len(known) == len(members) and len({one.chat.pk for one in known.values()}) == 1:
        yield known[members[0]].chat, known
    for chat in queries.chats_to_read(run.owner, members[0], (), wanted.groups):
        ends = limits.of(chat)
        found = {}
        for character, reading in zip(members, queries.readings_of(run.owner, chat, members), strict=True):
            stretch = queries.next_of(reading, watermark.of_reading(reading, character), ends)
            if stretch is not None:
                found[character] = stretch
            elif not reading.waiting:
                watermark.remember(run.owner, reading, character)
        if found:
            yield chat, found


def _read_turn(run: JobRun, turn: Turn) -> None:
    """Read the beginning of the stretch; nothing happens when the chat changed meanwhile."""
    scene = Scene.of(run.owner, turn.chat)
    if scene is None:
        raise extraction_chunk.no_message()
    everybody = list(turn.stretches)
    activity.trace(run).concerns(None, turn.chat)
    while True:
        template = text_in_force(run.owner, PROMPT).template
        plan = extraction_chunk.plan_of(run, turn.chat, everybody[0], template)
        chunk = extraction_chunk.cut(plan, turn.stretches[everybody[0]])
        if queries.has_changed(run.owner, turn.chat):
            return
        if chunk is None:
            raise extraction_chunk.no_message()
        present = everybody
        if plan.choices.asks_present_only:
            present = [one for one in everybody if any(scene.signs(chunk.lines, one))]
        if not chunk.lines or not present:
            return _commit_unseen(run, turn, chunk)
        try:
            return _ask_and_write(run, turn, plan, scene, chunk, present)
        except TooLong:
            extraction_chunk.smaller(run, plan)


def _ask_and_write(
    run: JobRun, turn: Turn, plan: Plan, scene: Scene, chunk: Chunk, present: Sequence[Character]
) -> None:
    for one in present:
        refuse_repetition(run, turn.chat, one, chunk)
    run.progress(doing=extraction_chunk.doing(chunk))
    activity.trace(run).collected(chunk)
    readers = _readers(turn.chat, present, chunk.last_index)
    question = _question(run, turn, plan, scene, chunk, readers)
    read = ask(run, question)
    shares = _shares(run, turn, plan, scene, chunk, readers, question, read)
    absent = [one for one in turn.stretches if one not in present]
    if _commit(run, turn, chunk, shares, absent, read.completion.call):
        for share in shares:
            tell(run, share.findings, chunk, share.character.name)


def _readers(chat: Chat, present: Sequence[Character], last: int) -> list[Reader]:
    found = []
    for character, name in zip(present, distinct([one.name for one in present]), strict=True):
        file = scopes.file_of_reading(character, chat, last)
        found.append(Reader(character, name, file, scopes.known_facts(file, character, chat)))
    return found


def _question(run: JobRun, turn: Turn, plan: Plan, scene: Scene, chunk: Chunk, readers: Sequence[Reader]) -> Question:
    asked = [
        Asked(
            one.name,
            one.character.card_text,
            [text for _id, text in one.known],
            extraction_chunk.places_of_locked(plan, one.file, one.known),
            meaning.closeness(run, one.file, one.known, is_automatic=turn.is_automatic),
        )
        for one in readers
    ]
    prompt = together_prompt.build(
        asked,
        lines=chunk.lines,
        sizes=plan.sizes,
        seed=seed_of(plan.owner, turn.chat, chunk.first_index, chunk.last_index),
        measure=plan.size,
        participants=scene.participants(chunk, [one.character for one in readers]),
    )
    subject = f"group:{turn.chat.group_id}/chat:{turn.chat.pk}"
    # Each of them may have as much to say as one who is asked alone.
    room = min(plan.answer_tokens * len(readers), max(plan.answer_tokens, MOST_ANSWER))
    names = tuple(one.name for one in readers)
    day = plan.choices.daily_budget
    return Question(prompt, plan.connection, room, subject, turn.chat, turn.is_automatic, day, names)


def _shares(
    run: JobRun,
    turn: Turn,
    plan: Plan,
    scene: Scene,
    chunk: Chunk,
    readers: Sequence[Reader],
    question: Question,
    read: Read,
) -> list[Share]:
    """What each of them keeps, judged by its own card and memories."""
    done, names = read.completion, [one.name for one in readers]
    _whole, answers = read_together(done.text, names, is_truncated=done.is_truncated, ignore=question.prompt.examples)
    shares = []
    for one, answer in zip(readers, answers, strict=True):
        others = scene.participants(chunk, [one.character])
        own = Read(answer, done)
        findings = settle(run, question, own, chunk, one.known, one.character, others, plan.choices, chat=turn.chat)
        shares.append(Share(turn.stretches[one.character], one.character, one.file, findings, question.prompt.version))
    return shares


def _commit(
    run: JobRun, turn: Turn, chunk: Chunk, shares: Sequence[Share], absent: Sequence[Character], call: Call
) -> bool:
    """All of it or nothing. False when it was written already, or the person had the chat forgotten meanwhile."""
    try:
        with run.commit():
            if not hold_chat(run.owner, turn.chat.pk):
                return False
            for share in shares:
                if not is_taken(run, share.stretch, share.character, chunk):
                    write_share(run, chunk, share, call)
            for one in absent:
                note_read(run, turn.stretches[one], one, chunk, "absent")
            passed(run, chunk)
    except IntegrityError:
        if not any(is_written(run, turn.chat, share.character, chunk) for share in shares):
            raise
        return False
    return True


def _commit_unseen(run: JobRun, turn: Turn, chunk: Chunk) -> None:
    """Nothing to show, or nobody there: read by looking at it."""
    with run.commit():
        for one, stretch in turn.stretches.items():
            note_read(run, stretch, one, chunk, "absent" if chunk.lines else "empty")
        passed(run, chunk)


def page_of(job: Job) -> str:
    """The group that is read."""
    return reverse("memories:group", args=[job.subject.partition(":")[2]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(
        kind=KIND, title=_("Extract memories of a group"), run=activity.telling(run), page=page_of, unit="messages"
    )
