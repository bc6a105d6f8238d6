"""Bullets that a check held back: written beside the file, and decided by a person later.

A decision concerns one bullet or many; those of many are one revision of each file. `decided_at` is the same for all of
them, so that one Undo finds them again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories import editing, memory_file
from memories.blocks import clean_bullet
from memories.extraction_verdict import INVENTED, Findings
from memories.file_editor import Editor, NewMemory
from memories.models import HeldMemory, Memory, MemoryBlock, MemoryFile

ACCEPT, REFUSE = "accept", "refuse"
STATES = {ACCEPT: HeldMemory.State.ACCEPTED, REFUSE: HeldMemory.State.REFUSED}
AT_ONCE = 500  # decisions in one transaction
SAME_BLOCK = ("chat", "label", "first_index", "last_index", "job")


@dataclass(frozen=True)
class Decided:
    """What a decision did: how many bullets, and what an Undo needs."""

    count: int
    at: datetime
    batch: uuid.UUID


def write(file: MemoryFile, findings: Findings, **origin: Any) -> int:
    """Keep what was held back of one answer, and how many rows that made. Call inside the commit of its chunk.

    `origin` are fields of HeldMemory: chat, label, date, first_index, last_index, job, call, prompt_version. A text
    that the person refused before is not held again: it counts as refused (`findings` says so afterwards).
    """
    wanted = {clean_bullet(one.new.text): one for one in findings.held}
    before = HeldMemory.objects.for_user(file.owner).filter(file=file, text__in=list(wanted))
    known = dict(before.exclude(state=HeldMemory.State.ACCEPTED).values_list("text", "state"))
    refused = {text for text, state in known.items() if state == HeldMemory.State.REFUSED}
    findings.refused += len(refused)
    findings.held = [one for text, one in wanted.items() if text not in refused]
    rows = [
        HeldMemory(
            owner=file.owner,
            file=file,
            text=text,
            topic=one.topic,
            doubts=one.new.doubts,
            evidence=one.new.evidence,
            unverified_names=one.new.unverified_names,
            **origin,
        )
        for text, one in wanted.items()
        if text not in known
    ]
    HeldMemory.objects.bulk_create(rows)
    return len(rows)


def kind_of(row: HeldMemory) -> str:
    """The check that held it back first of all."""
    checks = [str(one.get("check", "")) for one in row.doubts]
    return next(iter(checks), INVENTED)


def decide(user: User, rows: Iterable[HeldMemory], decision: str, text: str | None = None) -> Decided:
    """Accept (into the file, one of them with other words: `text`) or refuse what waits; all of it or nothing.

    ValueError with a finished sentence for an unknown decision, an empty text, or when all was decided already.
    """
    if decision not in STATES:
        raise ValueError(_("Accept the memory or refuse it."))
    if text is not None and not clean_bullet(text):
        raise ValueError(_("A memory needs some text."))
    done = Decided(0, timezone.now(), uuid.uuid4())
    with transaction.atomic():
        taken = _take(user, list(rows)[:AT_ONCE], STATES[decision], done.at)
        if not taken:
            raise ValueError(_("This was decided already. Nothing was changed."))
        if decision == ACCEPT:
            _add(user, taken, done, text)
    return Decided(len(taken), done.at, done.batch)


def undo(user: User, at: datetime, batch: uuid.UUID) -> int:
    """Let what was decided at that moment wait again; what it added to files is taken back. How many bullets.

    ValueError with a sentence when a file was changed since in a way that cannot be told apart.
    """
    with transaction.atomic():
        editing.undo_batch(user, batch)
        rows = HeldMemory.objects.for_user(user).filter(decided_at=at).exclude(state=HeldMemory.State.WAITING)
        return rows.update(state=HeldMemory.State.WAITING, decided_at=None, memory=None)


def _take(user: User, rows: Sequence[HeldMemory], state: str, at: datetime) -> list[HeldMemory]:
    """Those that still wait, and are ours to decide from now on."""
    waiting = HeldMemory.objects.for_user(user).filter(pk__in=[one.pk for one in rows], state=HeldMemory.State.WAITING)
    waiting.update(state=state, decided_at=at)
    ours = HeldMemory.objects.for_user(user).filter(pk__in=[one.pk for one in rows], state=state, decided_at=at)
    return list(ours.select_related("file__owner", "file__character__tavern").order_by("created_at", "pk"))


def _add(user: User, rows: Sequence[HeldMemory], done: Decided, text: str | None) -> None:
    """One revision for each file."""
    files: dict[uuid.UUID, list[HeldMemory]] = {}
    for row in rows:
        files.setdefault(row.file_id, []).append(row)
    for group in files.values():
        reason = _("Accepted after a check held it back")
        with memory_file.change(group[0].file, reason=reason, author=user, batch=done.batch) as editor:
            for row in group:
                row.memory = _added(editor, row, text).pk
                HeldMemory.objects.for_user(user).filter(pk=row.pk).update(memory=row.memory)


def _added(editor: Editor, row: HeldMemory, text: str | None) -> Memory:
    """The person has looked at it, so it comes without marks."""
    new = NewMemory(row.text if text is None else text, evidence=row.evidence)
    block = _home(editor, row)
    if block is not None:
        return editor.add_memory(block.pk, new)
    names = ("chat", "first_index", "last_index", "job", "call", "prompt_version")
    facts: Mapping[str, Any] = {name: getattr(row, name) for name in names}
    bullets = [NewMemory(row.topic)] if row.topic else []
    origin = MemoryBlock.Origin.EXTRACTED
    made = editor.add_block(row.label, [*bullets, new], date=row.date, origin=origin, **facts)
    if made is None:
        raise ValueError(_("A memory needs some text."))
    return made.memories.get(is_topic=False)


def _home(editor: Editor, row: HeldMemory) -> MemoryBlock | None:
    """The block that it came with, while that is there, is open and has the same topic."""
    same = {name: getattr(row, name) for name in SAME_BLOCK}
    for block in editor.file.blocks.filter(is_locked=False, **same).order_by("order", "created_at"):
        topic = block.memories.filter(is_topic=True).values_list("text", flat=True).first()
        if (topic or "") == row.topic:
            return block
    return None
