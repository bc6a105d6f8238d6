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
from memories import memory_file, mirrored, outside_text
from memories.file_state import FILE_FIELDS
from memories.mirrored import Copy, Guest
from memories.models import MemoryFile, MemoryLine, MemoryShare
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
    for copy in mirrored.copies_of(file):
        if copy.attachment is not None:
            vectors.forget(copy.attachment)
    return schedule(file)


def jobs_since(character: Character, moment: datetime) -> list[Job]:
    """Jobs that bring this character's files into the Data Bank: those at work, and those that ended since `moment`."""
    rows = Job.objects.for_user(character.tavern.owner).filter(kind=KIND, subject=f"character:{character.pk}")
    return list(rows.filter(Q(state__in=Job.ACTIVE) | Q(finished_at__gte=moment)).order_by("created_at"))


def key_of(file_id: UUID) -> str:
    """The key under which one file has one job at a time."""
    return f"{KIND}:{file_id}"


def run(job: JobRun) -> Outcome:
    """One file, in every Data Bank it lies in: write what is new, ask for its registration, renew its index."""
    rows = MemoryFile.objects.select_related("owner", "chat", "character__tavern__owner", "attachment__tavern__owner")
    file = rows.filter(pk=job.params["file"]).first()
    if file is None or not may_write(file.character.tavern):
        return done()
    copies = mirrored.copies_of(file)
    results = [_bring_up_to_date(job, file, one) for one in copies if not _is_set_aside(file, one)]
    if any(one.get("conflict") for one in results):
        return done({"conflict": True})
    file.refresh_from_db(fields=["version"])
    if any(one.written_version != file.version for one in copies if not _is_set_aside(file, one)):
        return MORE
    return done({name: all(one[name] for one in results) for name in ("registered", "index")} if results else None)


def _is_set_aside(file: MemoryFile, copy: Copy) -> bool:
    return copy is file and mirrored.is_set_aside(file)


def _bring_up_to_date(job: JobRun, file: MemoryFile, copy: Copy) -> dict[str, bool]:
    job.check()
    attachment = _attachment(file, copy)
    size = _write(file, copy, attachment)
    if size is None:
        job.log(_("The file was changed in SillyTavern too; both texts are kept until you decide."), "warn")
        return {"conflict": True}
    name = file.name if copy is file else attachment.name
    is_asked = registration.ask(attachment, name=name, size=size)
    job.check()
    is_current = vectors.rebuild_index(attachment)
    if not is_current:
        job.log(attachment.index_note, "warn")
    copy.refresh_from_db(fields=["written_version"])
    return {"registered": not is_asked, "index": is_current}


def sweep(news: PassFinished) -> None:
    """After a pass: adopt what a person pasted, and queue files whose copy or index is behind."""
    now = time.monotonic()
    if not news.changed and now - _swept.get(news.tavern_id, -SWEEP_EVERY) < SWEEP_EVERY:
        return
    _swept[news.tavern_id] = now
    with unscoped("files whose Data Bank copy is behind"):
        tavern = Tavern.objects.select_related("owner").filter(pk=news.tavern_id).first()
        if tavern is None or not may_write(tavern):
            return
        for attachment in databank.take_over_pasted(tavern):
            for model in (MemoryFile, MemoryShare, MemoryLine):
                model.objects.filter(attachment=attachment).update(written_version=-1)
        registration.settle(tavern)
        for file in _behind(tavern):
            schedule(file)


def may_write(tavern: Tavern) -> bool:
    """Not while the folder is unlinked, away, or only compared after a restore."""
    is_there = tavern.state in (Tavern.State.OK, Tavern.State.NEW)
    return is_there and not tavern.compare_only and tavern.unlinked_at is None


def _attachment(file: MemoryFile, copy: Copy) -> Attachment:
    """Where the copy is written: tied already, found in the Data Bank, or new."""
    if isinstance(copy, MemoryShare | MemoryLine):
        return _attachment_of_guest(copy)
    if file.chat is not None:
        attachment = databank.of_chat(file.attachment, file.chat, file.character, file.name)
    else:
        found = file.attachment or outside_text.existing(file)
        attachment = found or databank.find_or_create_attachment(file.character, file.name)
    if attachment.pk != file.attachment_id:
        outside_text.tie(file, attachment)
    return attachment


def _attachment_of_guest(guest: Guest) -> Attachment:
    """The character's own Data Bank file, which goes back to its own memories when the guest leaves."""
    if guest.attachment is None:
        own = memory_file.file_for(guest.character)
        guest.attachment = _attachment(own, own)
        guest.save(update_fields=["attachment"])
    return guest.attachment


def _write(file: MemoryFile, copy: Copy, attachment: Attachment) -> int | None:
    """Write the newest text; its bytes, or None when it met somebody else's edit and the person has to decide."""
    if mirrored.open_conflict(copy) is not None:
        return None
    try:
        for _attempt in range(3):
            with transaction.atomic():
                file.refresh_from_db(fields=["version", "written_version", *FILE_FIELDS])
                copy.refresh_from_db(fields=["written_version"])
                version, text = file.version, memory_file.render(file)
            size = len(text.encode("utf-8", "replace"))
            if version == copy.written_version and attachment.file_present:
                return size
            outcome = outbox.write_file(attachment, text)
            if isinstance(outcome, outbox.Written):
                mirrored.note_written(copy, version)
                return size
            if not outside_text.take(file, attachment, outcome.theirs, outcome.digest):
                return None
    except outbox.WriteFailed as problem:
        raise JobFailed(problem.message, hint=problem.hint, error_type="write") from problem
    return None


def _behind(tavern: Tavern) -> list[MemoryFile]:
    """Files with a text that was not written, or an index that could be current and is not, in any of its copies."""
    rows = MemoryFile.objects.filter(character__tavern=tavern, character__gone_at__isnull=True)
    rows = rows.filter(Q(attachment__isnull=False) | Q(version__gt=0)).select_related(
        "owner", "attachment__tavern", "attachment__registration"
    )
    guests = mirrored.guests_in([tavern.pk], tavern.owner)
    recent = Job.objects.filter(kind=KIND, owner=tavern.owner, finished_at__gt=timezone.now() - RETRY_AFTER)
    tried = set(recent.exclude(state=Job.State.DONE).values_list("key", flat=True)) | set(
        recent.filter(result__index=False).values_list("key", flat=True)
    )
    asked = _asked(tavern)
    set_aside = {guest.character_id for guest in guests}
    can_build = vectors.can_build(tavern)
    found: list[tuple[MemoryFile, Copy]] = [(guest.file, guest) for guest in guests]
    found += [(file, file) for file in rows if file.chat_id or file.character_id not in set_aside]
    behind = {
        file.pk: file
        for file, copy in found
        if copy.attachment_id not in asked and _needs_work(file, copy, tried, can_build)
    }
    return list(behind.values())


def _asked(tavern: Tavern) -> set[UUID]:
    """Data Bank files about which a question is open."""
    rows = Attachment.objects.filter(tavern=tavern, conflicts__decided_at__isnull=True, conflicts__isnull=False)
    return set(rows.values_list("pk", flat=True))


def _needs_work(file: MemoryFile, copy: Copy, tried: set[str], can_build: bool) -> bool:
    is_tried = key_of(file.pk) in tried
    if file.version != copy.written_version and file.version > 0:
        return not is_tried
    attachment = copy.attachment
    if attachment is None or not attachment.file_present:
        return False
    if not attachment.is_registered and getattr(attachment, "registration", None) is None:
        return not is_tried  # an open tab saved its settings over the entry
    if vectors.is_current(attachment):
        return False
    if not can_build and vectors.was_looked_at(attachment):
        return False
    return not is_tried or attachment.index_state == Attachment.Index.CURRENT


def page_of(job: Job) -> str:
    """The character whose file it is."""
    return reverse("memories:character", args=[job.subject.partition(":")[2]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Update the Data Bank"), run=run, page=page_of)
