"""Extraction: read what was not read yet of a character's chats, one chunk a turn, and keep what is worth keeping.

waiting ──▶ next chunk ──▶ model ──▶ answer ──▶ one transaction: memories + revision + chunk + watermark ──▶ next turn
A chunk that fails leaves everything before it; trying again goes on there. A chunk is paid for once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.enqueue import active_of, enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobFailed, JobRun, Outcome, done
from memories import (
    activity,
    day_budget,
    extraction_chunk,
    extraction_end,
    memory_file,
    queries,
    reading_keys,
    scopes,
    watermark,
)
from memories.automatic_rules import is_passed
from memories.day_budget import DayIsSpentError
from memories.events import ReadingBegan, reading_began
from memories.extraction_wish import check_reader, need_model, wish
from memories.queries import Stretch, Waiting
from memories.reading_limits import Limits, Ranges
from memories.wanted import Wanted
from sync.models import Character, Chat

KIND = "extract"


def waiting(character: Character) -> list[Waiting]:
    """The character's chats with unread messages and how many there are."""
    return queries.waiting(character.tavern.owner, character)


def start_extraction(
    user: User,
    *,
    character: Character,
    chat: Chat | None = None,
    chats: Sequence[Chat] | None = None,
    ranges: Ranges | None = None,
    is_automatic: bool = False,
) -> Job:
    """Queue the reading of all of a character's own chats, or of these, which may be chats of its groups.

    `ranges` are message numbers {chat id: [first, last]}, both included, None to the end of the chat. A job that is
    under way takes the wish along. ValueError with a finished sentence when it cannot start.
    """
    need_model(user)
    named = None if chat is None and chats is None else [*(chats or ()), *([chat] if chat else ())]
    for one in named or ():
        check_reader(user, character, one)
    wanted = wish(user, character, named, ranges, is_automatic=is_automatic)
    return start_wanted(user, character, wanted, is_automatic=is_automatic)


def start_wanted(user: User, character: Character, wanted: Wanted, *, is_automatic: bool) -> Job:
    """As `start_extraction`, for a wish that was checked."""
    found = waiting_of(user, character, wanted)
    fields = part_of(character, wanted, found, is_automatic=is_automatic)
    job, is_new = enqueue(user, KIND, lets_go=not is_automatic, **fields)
    if not is_new and not widen(user, job, wanted, is_automatic=is_automatic):
        job, _new = enqueue(user, KIND, lets_go=not is_automatic, **fields)
    return job


def waiting_of(user: User, character: Character, wanted: Wanted) -> list[Waiting]:
    """The chats in which something that was asked for is unread."""
    limits = Limits(user, character, wanted)
    return list(queries.each_waiting(user, character, wanted.chats, wanted.groups, limits))


def counts_in(found: Sequence[Waiting]) -> Iterator[tuple[UUID, int]]:
    """(chat, messages to read); what a branch shares with its parent, if that is read too, counts there only."""
    chats = {one.chat.pk for one in found}
    for one in found:
        yield one.chat.pk, one.own_messages if one.chat.parent_id in chats else one.messages


def part_of(character: Character, wanted: Wanted, found: Sequence[Waiting], *, is_automatic: bool) -> dict[str, Any]:
    """The fields of a job that reads for one character."""
    return {
        "key": reading_keys.of_character(character.pk),
        "subject": f"character:{character.pk}",
        "label": _("Extract %(name)s") % {"name": character.name},
        "params": {"character": str(character.pk), "automatic": is_automatic, **wanted.params},
        "total": sum(count for _chat, count in counts_in(found)),
    }


def taken_along(user: User, key: str, wanted: Wanted, *, is_automatic: bool, members: Sequence[str] = ()) -> bool:
    """Whether the active job of this key reads this too. A person's wish has one go on that was paused or about to
    stop."""
    active = active_of(user, key, lets_go=not is_automatic)
    return active is not None and widen(user, active, wanted, is_automatic=is_automatic, members=members)


def widen(user: User, job: Job, wanted: Wanted, *, is_automatic: bool, members: Sequence[str] = ()) -> bool:
    """Have an active job read this too, for these `members` of a group too; False when it ended meanwhile."""
    with transaction.atomic():
        rows = Job.objects.for_user(user).filter(pk=job.pk, state__in=Job.ACTIVE)
        rows.update(updated_at=timezone.now())  # holds the row, so that two wishes at once are both kept
        now = rows.values_list("params", flat=True).first()
        if now is None:
            return False
        more: dict[str, Any] = Wanted.of(now).and_also(wanted).params
        more["automatic"] = is_automatic and bool(now.get("automatic"))
        if members:
            more["members"] = list(dict.fromkeys([*now.get("members", []), *members]))
        rows.update(params={**now, **more})
    job.refresh_from_db()
    return job.is_active


def tell_of_beginning(run: JobRun, chat: Chat) -> None:
    """Say once for a job that it began with a chat."""
    told = run.params.get("began", [])
    if str(chat.pk) not in told:
        run.keep(began=[*told, str(chat.pk)])
        reading_began.send(ReadingBegan(run.owner.pk, [chat.pk]))


def run(run: JobRun) -> Outcome:
    """One chunk of the job: the first unread stretch of the first chat that has one."""
    rows = Character.objects.select_related("tavern", *scopes.ONES).filter(pk=run.params["character"]).order_by()
    character = rows.first()
    if character is None:
        raise _gone()
    character.tavern.owner = run.owner
    wanted = Wanted.of(run.params)
    stretch = _next_stretch(run, character, wanted)
    if stretch is None or must_end(run, stretch.chat):
        return ended(run, [character], wanted)
    stretch = replace(stretch, last=scopes.end_of_line(character, stretch.chat, stretch.first, stretch.last))
    tell_of_beginning(run, stretch.chat)
    try:
        is_automatic = str(stretch.chat.pk) in wanted.careful
        extraction_chunk.read_chunk(run, stretch, character, is_automatic=is_automatic)
    except DayIsSpentError as reason:
        return day_over(run, [character], wanted, reason)
    except (IntegrityError, memory_file.VersionConflict) as error:
        if Character.objects.filter(pk=character.pk).exists():
            raise
        raise _gone() from error
    return MORE


def must_end(run: JobRun, chat: Chat) -> bool:
    """Whether a job that nobody asked for has used up its day's budget; the rest is begun by itself another day."""
    left = day_budget.left_today(run.owner, chat) if run.params.get("automatic") else None
    if left is None or not is_passed(left):
        return False
    run.log(_("Today’s budget for what is read by itself is used up. The rest is read another day."), "warn")
    return True


def day_over(run: JobRun, characters: Sequence[Character], wanted: Wanted, reason: DayIsSpentError) -> Outcome:
    """The end of a job whose next call could pass the day's budget; what that call may take is kept for the next
    decision (automatic_rules)."""
    run.keep(day_need=str(reason.need))
    text = _("The next call could pass today’s budget for what is read by itself. The rest is read another day.")
    run.log(text, "warn")
    return ended(run, characters, wanted)


def ended(run: JobRun, characters: Sequence[Character], wanted: Wanted) -> Outcome:
    """The end of the job, unless somebody asked for more meanwhile."""
    result = extraction_end.finish(run, characters, wanted)
    now = Job.objects.for_user(run.owner).filter(pk=run.job.pk).values_list("params", flat=True).first()
    if now is not None and (Wanted.of(now) != wanted or now.get("members") != run.params.get("members")):
        return MORE
    return done(result, now)


def _gone() -> JobFailed:
    return JobFailed(
        _("This character is no longer in CharMem; nothing more was read."), error_type="gone", retry=False
    )


def _next_stretch(run: JobRun, character: Character, wanted: Wanted) -> Stretch | None:
    """Of the chat that was being read, else of the first chat with something unread."""
    limits = Limits(run.owner, character, wanted)
    if rest := queries.rest_of_stretch(character, wanted, limits):
        return rest
    chats = queries.each_waiting(run.owner, character, wanted.chats, wanted.groups, limits)
    return next(filter(None, (watermark.next_stretch(run.owner, one, character) for one in chats)), None)


def page_of(job: Job) -> str:
    """The character that is read."""
    return reverse("memories:character", args=[job.subject.partition(":")[2]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Extract memories"), run=activity.telling(run), page=page_of, unit="messages")
