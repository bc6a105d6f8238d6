"""Bring the Data Bank copy of a memory file up to date: file, registration, vector index. One job for each file.

A job that runs already is not queued a second time; it looks at the version again when it ends, and `sweep()` finds
what fell between.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobFailed, JobRun, Outcome, done
from memories import memory_file, outside_text
from memories.file_state import FILE_FIELDS
from memories.models import MemoryFile
from sync import databank, outbox, registration, vectors
from sync.events import PassFinished
from sync.models import Attachment, Character, Tavern

KIND = "write_back"
RETRY_AFTER = timedelta(minutes=5)
SWEEP_EVERY = 60.0  # seconds between looks when nothing changed
_swept: dict[UUID, float] = {}


def schedule(file: MemoryFile) -> Job:
    """Have the Data Bank copy of `file` brought up to date soon."""
    job, _new = enqueue(
        file.owner,
        KIND,
        key=key_of(file.pk),
        subject=f"character:{file.character_id}",
        label=_("Write down %(name)s") % {"name": file.character.name},
        params={"file": str(file.pk)},
    )
    return job


def rebuild(file: MemoryFile) -> Job:
    """Have the vector index built anew, even if it looks current (the Rebuild button)."""
    if file.attachment is not None:
        vectors.forget(file.attachment)
    return schedule(file)


def jobs_since(character: Character, moment: datetime) -> list[Job]:
    """Jobs that bring this character's files into the Data Bank: those at work, and those that ended since `moment`."""
    rows = Job.objects.for_user(character.tavern.owner).filter(kind=KIND, subject=f"character:{character.pk}")
    return list(rows.filter(Q(state__in=Job.ACTIVE) | Q(finished_at__gte=moment)).order_by("created_at"))


def key_of(file_id: UUID) -> str:
    """The key under which one file has one job at a time."""
    return f"{KIND}:{file_id}"


def run(job: JobRun) -> Outcome:
    """One file: write what is new, ask for its registration, renew its index."""
    rows = MemoryFile.objects.select_related("owner", "character__tavern__owner", "attachment__tavern__owner")
    file = rows.filter(pk=job.params["file"]).first()
    if file is None or not _may_write(file.character.tavern):
        return done()
    job.check()
    attachment = _attachment(file)
    size = _write(file, attachment)
    if size is None:
        job.log(_("The file was changed in SillyTavern too; both texts are kept until you decide."), "warn")
        return done({"conflict": True})
    is_asked = registration.ask(attachment, name=file.name, size=size)
    job.check()
    is_current = vectors.rebuild_index(attachment)
    if not is_current:
        job.log(attachment.index_note, "warn")
    file.refresh_from_db(fields=["version", "written_version"])
    if file.version != file.written_version:
        return MORE
    return done({"registered": not is_asked, "index": is_current})


def sweep(news: PassFinished) -> None:
    """After a pass: adopt what a person pasted, and queue files whose copy or index is behind."""
    now = time.monotonic()
    if not news.changed and now - _swept.get(news.tavern_id, -SWEEP_EVERY) < SWEEP_EVERY:
        return
    _swept[news.tavern_id] = now
    with unscoped("files whose Data Bank copy is behind"):
        tavern = Tavern.objects.select_related("owner").filter(pk=news.tavern_id).first()
        if tavern is None or not _may_write(tavern):
            return
        for attachment in databank.take_over_pasted(tavern):
            MemoryFile.objects.filter(attachment=attachment).update(written_version=-1)
        registration.settle(tavern)
        for file in _behind(tavern):
            schedule(file)


def _may_write(tavern: Tavern) -> bool:
    """Not while the folder is unlinked, away, or only compared after a restore."""
    is_there = tavern.state in (Tavern.State.OK, Tavern.State.NEW)
    return is_there and not tavern.compare_only and tavern.unlinked_at is None


def _attachment(file: MemoryFile) -> Attachment:
    """Where the file is written: tied already, found in the Data Bank, or new."""
    if file.attachment is not None:
        return file.attachment
    found = None if file.chat_id else outside_text.existing(file)
    attachment = found or databank.find_or_create_attachment(file.character, file.name)
    outside_text.tie(file, attachment)
    return attachment


def _write(file: MemoryFile, attachment: Attachment) -> int | None:
    """Write the newest text; its bytes, or None when it met somebody else's edit and the person has to decide."""
    if outside_text.open_conflict(file) is not None:
        return None
    try:
        for _attempt in range(3):
            with transaction.atomic():
                file.refresh_from_db(fields=["version", "written_version", *FILE_FIELDS])
                version, text = file.version, memory_file.render(file)
            size = len(text.encode("utf-8", "replace"))
            if version == file.written_version and attachment.file_present:
                return size
            outcome = outbox.write_file(attachment, text)
            if isinstance(outcome, outbox.Written):
                _note_written(file, version)
                return size
            if not outside_text.take(file, attachment, outcome.theirs, outcome.digest):
                return None
    except outbox.WriteFailed as problem:
        raise JobFailed(problem.message, hint=problem.hint, error_type="write") from problem
    return None


def _note_written(file: MemoryFile, version: int) -> None:
    """Only ever forward: an older text was not written over a newer one."""
    rows = MemoryFile.objects.filter(pk=file.pk, written_version__lt=version)
    rows.update(written_version=version)
    file.written_version = version


def _behind(tavern: Tavern) -> list[MemoryFile]:
    """Files with a text that was not written, or an index that could be current and is not."""
    rows = MemoryFile.objects.filter(character__tavern=tavern, character__gone_at__isnull=True)
    rows = rows.filter(Q(attachment__isnull=False) | Q(version__gt=0)).select_related(
        "owner", "attachment__tavern", "attachment__registration"
    )
    recent = Job.objects.filter(kind=KIND, owner=tavern.owner, finished_at__gt=timezone.now() - RETRY_AFTER)
    tried = set(recent.exclude(state=Job.State.DONE).values_list("key", flat=True)) | set(
        recent.filter(result__index=False).values_list("key", flat=True)
    )
    asked = set(
        MemoryFile.objects.filter(
            attachment__conflicts__decided_at__isnull=True, attachment__conflicts__isnull=False
        ).values_list("pk", flat=True)
    )
    can_build = vectors.can_build(tavern)
    return [file for file in rows if file.pk not in asked and _needs_work(file, tried, can_build)]


def _needs_work(file: MemoryFile, tried: set[str], can_build: bool) -> bool:
    is_tried = key_of(file.pk) in tried
    if file.version != file.written_version and file.version > 0:
        return not is_tried
    attachment = file.attachment
    if attachment is None or not attachment.file_present:
        return False
    if not attachment.is_registered and getattr(attachment, "registration", None) is None:
        return not is_tried  # an open tab saved its settings over the entry
    if not can_build or vectors.is_current(attachment):
        return False
    return not is_tried or attachment.index_state == Attachment.Index.CURRENT


def page_of(job: Job) -> str:
    """The character whose file it is."""
    return reverse("memories:character", args=[job.subject.partition(":")[2]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Update the Data Bank"), run=run, page=page_of)
