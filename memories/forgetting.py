"""Forget a chat for good: its mirrored messages, the passages quoted from them, and what else holds its text.

The chat's row stays with `forgotten_at`, so that the mirror does not read its file again. Memories stay in their own
words unless the person wants them gone too, which is a revision like any other. Nothing of this can be undone; the
file in SillyTavern is not touched, and `read_again` lets the mirror read it afresh.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, models, transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from jobs.enqueue import enqueue
from jobs.models import Job, JobEvent
from jobs.registry import JobKind
from jobs.run import JobRun, Outcome, done
from memories import activity_texts, memory_file, revisions, try_it
from memories.models import (
    Ancestor,
    DraftStep,
    ExtractedChunk,
    HeldMemory,
    Memory,
    MemoryBlock,
    MemoryFile,
    Proposal,
    ProposalPart,
    Revision,
    RevisionText,
    Snapshot,
    Watermark,
)
from memories.quote_eraser import Eraser
from search import index
from sync.events import ChatForgotten, chat_forgotten
from sync.models import Chat, Message
from sync.search_rows import MESSAGES

KIND = "forget"
AT_ONCE = 1_000  # messages and revisions that are erased while the person waits; more is a job
BATCH = 500


@dataclass(frozen=True)
class Extent:
    """What forgetting a chat erases, in numbers, and what it leaves."""

    messages: int
    memories: int
    quoted: int
    revisions: int


def extent(user: User, chat: Chat) -> Extent:
    """Count before asking."""
    memories = Memory.objects.for_user(user).filter(block__chat=chat, is_topic=False)
    files = MemoryFile.objects.for_user(user).filter(blocks__chat=chat)
    return Extent(
        Message.objects.for_user(user).filter(chat=chat).count(),
        memories.count(),
        memories.exclude(evidence=[]).count() + Ancestor.objects.for_user(user).filter(chat=chat).count(),
        Revision.objects.for_user(user).filter(file__in=files.values("pk")).count(),
    )


def forget(user: User, chat: Chat, *, with_memories: bool = False) -> Job | None:
    """Forget the chat now, or by a job when there is much of it (the job is given back then).

    From this moment on the mirror leaves the file alone.
    """
    Chat.objects.for_user(user).filter(pk=chat.pk).update(forgotten_at=timezone.now())
    size = extent(user, chat)
    if size.messages + size.revisions <= AT_ONCE:
        erase(user, chat, with_memories=with_memories)
        return None
    job, _new = enqueue(
        user,
        KIND,
        key=f"{KIND}:{chat.pk}",
        subject=f"chat:{chat.pk}",
        label=_("Forget a chat"),
        params={"chat": str(chat.pk), "with_memories": with_memories},
    )
    return job


def read_again(user: User, chat: Chat) -> None:
    """Let the mirror read the file of a forgotten chat at its next pass."""
    with transaction.atomic():
        rows = Chat.objects.for_user(user).filter(pk=chat.pk, forgotten_at__isnull=False)
        if rows.update(forgotten_at=None, content_hash="", version=F("version") + 1):
            chat.tavern.scanned_files.filter(path=chat.path).delete()


def erase(user: User, chat: Chat, *, with_memories: bool = False) -> None:
    """Take the text away wherever it is. May be called again after it was broken off."""
    with _overwriting():
        identities = set(Message.objects.for_user(user).filter(chat=chat).values_list("identity", flat=True))
        if with_memories:
            _delete_memories(user, chat)
        eraser = Eraser(str(chat.pk), identities)
        _erase_rows(user, eraser)
        _erase_states(user, eraser)
        _erase_work(user, eraser)
        HeldMemory.objects.for_user(user).filter(chat=chat).delete()
        Snapshot.objects.for_user(user).filter(chat=chat).delete()
        try_it.forget(user, chat)
        activity_texts.erase(user, None if with_memories else chat)  # every prompt names known memories
        jobs = ExtractedChunk.objects.for_user(user).filter(chat=chat, job__isnull=False).values("job")
        JobEvent.objects.for_user(user).filter(job__in=jobs).delete()
        _erase_messages(user, chat)
    index.forget(MESSAGES, str(chat.pk))
    chat_forgotten.send(ChatForgotten(chat.tavern_id, chat.pk, user.pk))


def _delete_memories(user: User, chat: Chat) -> None:
    files = MemoryFile.objects.for_user(user).filter(blocks__chat=chat).distinct().select_related("owner", "character")
    for file in files:
        with memory_file.change(file, reason=_("Memories of a forgotten chat deleted"), author=user) as editor:
            for block in MemoryBlock.objects.for_user(user).filter(file=file, chat=chat):
                editor.delete_block(block.pk)


def _erase_rows(user: User, eraser: Eraser) -> None:
    """Evidence of memories and of what they replaced."""
    memories = Memory.objects.for_user(user).exclude(evidence=[])
    for part in _parts(memories.select_related("block").only("pk", "evidence", "doubts", "block__chat")):
        changed = [row for row in part if _clean(row, eraser, row.block.chat_id) | _clean_doubts(row, eraser)]
        for row in changed:
            row.is_source_changed = False
        with unscoped("rows that were read as this person's"):
            Memory.objects.bulk_update(changed, ["evidence", "doubts", "is_source_changed"])
    ancestors = Ancestor.objects.for_user(user).exclude(evidence=[])
    for part in _parts(ancestors.only("pk", "evidence", "chat")):
        ancestors.bulk_update([row for row in part if _clean(row, eraser, row.chat_id)], ["evidence"])


def _clean_doubts(row: Memory, eraser: Eraser) -> bool:
    before = row.doubts
    row.doubts = eraser.doubts(before, chat=str(row.block.chat_id))
    return bool(row.doubts != before)


def _clean(row: Any, eraser: Eraser, chat: Any) -> bool:
    cleaned = eraser.evidence(row.evidence, chat=str(chat) if chat else None)
    is_changed = cleaned is not row.evidence
    row.evidence = cleaned
    return is_changed


def _erase_states(user: User, eraser: Eraser) -> None:
    """Old states of memory files: their texts stay, the quotes in them go."""
    for part in _parts(RevisionText.objects.for_user(user), size=20):
        for row in part:
            _erase_state(user, row, eraser)


def _erase_state(user: User, row: RevisionText, eraser: Eraser) -> None:
    """Rewritten where it stands: other states name it by its id."""
    plain = revisions.unpack(row.data)
    if '"evidence"' not in plain:
        return
    try:
        before = json.loads(plain)
    except ValueError:  # the text of a file, not a state
        return
    after = eraser.plain(before)
    if after == before:
        return
    data = revisions.to_json(after).encode("utf-8", "surrogatepass")
    rows = RevisionText.objects.for_user(user)
    digest = hashlib.sha256(data).hexdigest()
    if rows.filter(digest=digest).exists():  # equal by now, but both are in use
        digest = hashlib.sha256(data + str(row.pk).encode()).hexdigest()
    rows.filter(pk=row.pk).update(data=zlib.compress(data, 1), digest=digest)


def _erase_work(user: User, eraser: Eraser) -> None:
    """Edits in progress and proposals carry evidence of what they change."""
    kinds: list[tuple[Any, str]] = [(DraftStep, "changes"), (Proposal, "report"), (ProposalPart, "answer")]
    for model, field in kinds:
        rows = model.objects.for_user(user)
        for part in _parts(rows):
            changed = []
            for row in part:
                before = getattr(row, field)
                setattr(row, field, eraser.plain(before))
                changed += [row] if getattr(row, field) != before else []
            with unscoped("rows that were read as this person's"):
                model.objects.bulk_update(changed, [field])


def _erase_messages(user: User, chat: Chat) -> None:
    rows = Message.objects.for_user(user).filter(chat=chat)
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        rows.filter(pk__in=ids).delete()
    version = F("version") + 1
    Chat.objects.for_user(user).filter(pk=chat.pk).update(message_count=0, content_hash="", version=version)
    now = Chat.objects.for_user(user).values_list("version", flat=True).get(pk=chat.pk)
    Watermark.objects.for_user(user).filter(chat=chat).update(waiting=0, unread_to=-1, counted_version=now)


def _parts(rows: models.QuerySet[Any], size: int = BATCH) -> Iterator[list[Any]]:
    """All rows by their keys, a few at a time."""
    last = None
    while part := list((rows if last is None else rows.filter(pk__gt=last)).order_by("pk")[:size]):
        last = part[-1].pk
        yield part


@contextmanager
def _overwriting() -> Iterator[None]:
    """SQLite leaves deleted text in free pages of its file unless it is told to overwrite it."""
    _pragma("secure_delete = ON")
    try:
        yield
    finally:
        _pragma("secure_delete = OFF")
        if not connection.in_atomic_block:
            _pragma("wal_checkpoint(TRUNCATE)")


def _pragma(text: str) -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA {text}")


def run(job: JobRun) -> Outcome:
    """A big chat; a run that was broken off begins again, which is harmless."""
    chat = Chat.objects.select_related("tavern").filter(pk=job.params["chat"], forgotten_at__isnull=False).first()
    if chat is None:
        return done()
    job.check()
    erase(job.owner, chat, with_memories=bool(job.params.get("with_memories")))
    return done({"forgotten": 1})


def page_of(job: Job) -> str:
    """The chat that was forgotten."""
    return reverse("memories:chat", args=[job.subject.partition(":")[2]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Forget a chat"), run=run, page=page_of)
