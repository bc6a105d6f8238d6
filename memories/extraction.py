"""Extraction: read what was not read yet of a character's chats, one chunk a turn, and keep what is worth keeping.

waiting ──▶ next chunk ──▶ model ──▶ answer ──▶ one transaction: memories + revision + chunk + watermark ──▶ next turn
A chunk that fails leaves everything before it; trying again goes on there. A chunk is paid for once.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobFailed, JobRun, Outcome, done
from memories import extraction_chunk, memory_file, queries, watermark, write_back
from memories.models import ExtractedChunk
from memories.queries import Stretch, Waiting
from providers.queries import default_connection
from sync.models import Character, Chat

KIND = "extract"


def waiting(character: Character) -> list[Waiting]:
    """The character's chats with unread messages and how many there are."""
    return queries.waiting(character.tavern.owner, character)


def start_extraction(user: User, *, character: Character, chat: Chat | None = None) -> Job:
    """Queue the reading of all chats of a character, or of one. A job that is under way takes the chat along.

    ValueError with a finished sentence when no model is connected or the chat is a group's.
    """
    if default_connection(user) is None:
        raise ValueError(_("No model is connected yet. Choose one under Settings, Models; nothing was read."))
    if chat is not None and chat.character_id != character.pk:
        raise ValueError(_("This chat is not one of %(name)s’s own chats.") % {"name": character.name})
    only = None if chat is None else [str(chat.pk)]
    job, is_new = _enqueue(user, character, only)
    if not is_new and not _widen(user, job, only):
        job, _new = _enqueue(user, character, only)
    return job


def _enqueue(user: User, character: Character, only: list[str] | None) -> tuple[Job, bool]:
    return enqueue(
        user,
        KIND,
        key=f"{KIND}:{character.pk}",
        subject=f"character:{character.pk}",
        label=_("Extract %(name)s") % {"name": character.name},
        params={"character": str(character.pk), "chats": only},
        total=sum(one.messages for one in queries.waiting(user, character, only)),
    )


def _widen(user: User, job: Job, only: list[str] | None) -> bool:
    """Have an active job read these chats too; False when it ended meanwhile."""
    present = job.params.get("chats")
    if present is not None:
        chats = None if only is None else sorted({*present, *only})
        rows = Job.objects.for_user(user).filter(pk=job.pk, state__in=Job.ACTIVE)
        if not rows.update(params={**job.params, "chats": chats}):
            return False
    job.refresh_from_db()
    return job.is_active


def run(run: JobRun) -> Outcome:
    """One chunk of the job: the first unread stretch of the first chat that has one."""
    character = Character.objects.select_related("tavern").filter(pk=run.params["character"]).order_by().first()
    if character is None:
        raise _gone()
    character.tavern.owner = run.owner
    stretch = _next_stretch(run, character)
    if stretch is None:
        _write_back(character)
        return done(_result(run))
    try:
        extraction_chunk.read_chunk(run, stretch, character)
    except (IntegrityError, memory_file.VersionConflict) as error:
        if Character.objects.filter(pk=character.pk).exists():
            raise
        raise _gone() from error
    return MORE


def _gone() -> JobFailed:
    return JobFailed(
        _("This character is no longer in CharMem; nothing more was read."), error_type="gone", retry=False
    )


def _next_stretch(run: JobRun, character: Character) -> Stretch | None:
    """Of the chat that was being read, else of the first chat with something unread."""
    if rest := queries.rest_of_stretch(character, run.params.get("chats")):
        return rest
    chats = queries.each_waiting(run.owner, character, run.params.get("chats"))
    return next(filter(None, (watermark.next_stretch(run.owner, one, character) for one in chats)), None)


def _write_back(character: Character) -> None:
    """Once for the whole job: until then, and when it fails, the pass that looks for files behind takes care."""
    file = memory_file.file_for(character)
    if file.version != file.written_version and file.version > 0:
        write_back.schedule(file)


def _result(run: JobRun) -> dict[str, Any]:
    chunks = ExtractedChunk.objects.for_user(run.owner).filter(job=run.job)
    counts = list(chunks.values_list("memories", "messages"))
    memories, messages = sum(one[0] for one in counts), sum(one[1] for one in counts)
    if not counts:
        text = _("There was nothing new to read.")
    else:
        text = ngettext(
            "%(memories)d new memory from %(messages)d messages.",
            "%(memories)d new memories from %(messages)d messages.",
            memories,
        ) % {"memories": memories, "messages": messages}
    return {"memories": memories, "messages": messages, "chunks": len(counts), "text": text}


def page_of(job: Job) -> str:
    """The character that is read."""
    return reverse("memories:character", args=[job.subject.partition(":")[2]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Extract memories"), run=run, page=page_of, unit="messages")
