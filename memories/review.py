"""Keep the pairs that a person should look at (models.ReviewPair) in step with a memory file.

After each revision only new and changed bullets are compared with the others (memories/pairs.py). A decision belongs
to two wordings: it outlives restores and edits of other bullets, and a reworded bullet is looked at afresh.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.queries import at_work
from jobs.registry import JobKind
from jobs.run import JobRun, Outcome, done
from memories import source_changes
from memories.extraction import KIND as READING
from memories.models import Memory, MemoryFile, ReviewPair
from memories.pairs import DUPLICATE, MEANING, Bullet, Index, Pair

KIND = "review"
EVERY = 10.0  # seconds between looks for files that changed
REMEMBERED = 3  # indexes kept in memory, one for each file
BATCH = 500
# Decisions that took one of the two away; when both are there again, somebody undid it.
TAKEN = ("older", "newer", "merged")
_Key = tuple[str, frozenset[str]]  # kind and both ids


@dataclass
class _Known:
    """The index of one file, and when the newest row in it was written."""

    index: Index
    seen: datetime


_known: OrderedDict[uuid.UUID, _Known] = OrderedDict()
_lock = threading.Lock()


def schedule(file: MemoryFile) -> Job:
    """Have the bullets that changed compared soon; one job for each file at a time."""
    job, _new = enqueue(
        file.owner,
        KIND,
        key=f"{KIND}:{file.pk}",
        subject=f"character:{file.character_id}",
        label=_("Compare the memories of %(name)s") % {"name": file.character.name},
        params={"file": str(file.pk)},
    )
    return job


def sweep() -> None:
    """Queue every file that changed since its bullets were compared; many changes in a row are one job.

    A file that is being filled waits until the reading is over: comparing after each chunk would slow it down.
    """
    with unscoped("files whose memories were not compared yet"):
        reading = Job.objects.filter(at_work(timezone.now()), kind=READING).values_list("subject", flat=True)
        filled = [uuid.UUID(subject.partition(":")[2]) for subject in reading if subject]
        rows = MemoryFile.objects.filter(owner__is_active=True, version__gt=0).exclude(version=F("reviewed_version"))
        for file in rows.exclude(character__in=filled).select_related("owner", "character")[:BATCH]:
            schedule(file)


def run(job: JobRun) -> Outcome:
    """One file."""
    file = MemoryFile.objects.select_related("owner", "character__tavern").filter(pk=job.params["file"]).first()
    if file is None:
        return done()
    job.check()
    return done({"compared": compare(file)})


def compare(file: MemoryFile) -> int:
    """Compare what changed since the last time, and write down the pairs; how many bullets were compared."""
    version, since = file.version, _reviewed_at(file)
    index, changed = _index_of(file, since)
    if changed:
        with _lock:
            found = index.pairs() if since is None else index.pairs_of(changed)
            texts = {one: bullet.text for one, bullet in index.bullets.items()}
        _store(file, changed, [*found, *_of_extraction(file, changed)], texts)
        source_changes.check_memories(file, changed)
    with unscoped("a memory file was compared"):
        MemoryFile.objects.filter(pk=file.pk, reviewed_version__lt=version).update(reviewed_version=version)
    return len(changed)


def digest_of(one: str, other: str) -> str:
    """Names two wordings, whichever is the older."""
    return hashlib.sha256("\x00".join(sorted((one, other))).encode("utf-8", "surrogatepass")).hexdigest()


def _reviewed_at(file: MemoryFile) -> datetime | None:
    rows = file.revisions.filter(number=file.reviewed_version)
    return rows.values_list("created_at", flat=True).first()


def _index_of(file: MemoryFile, since: datetime | None) -> tuple[Index, list[str]]:
    """The index, brought up to date, and the ids of bullets that changed since (of all, without a time)."""
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, is_topic=False)
    with _lock:
        known = _known.pop(file.pk, None)
        fresh = bullets(rows if known is None else rows.filter(updated_at__gte=known.seen))
        if known is None:
            people = [file.character.name, file.character.tavern.persona_name]
            known = _Known(Index((), people), max((when for _one, when in fresh), default=file.created_at))
        for bullet, when in fresh:
            known.index.discard(bullet.id)
            known.index.add(bullet)
            known.seen = max(known.seen, when)
        if rows.count() != len(known.index.bullets):
            present = {str(pk) for pk in rows.values_list("pk", flat=True)}
            for gone in known.index.bullets.keys() - present:
                known.index.discard(gone)
        _known[file.pk] = known
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    if since is None:
        return known.index, list(known.index.bullets)
    ids = rows.filter(updated_at__gt=since).values_list("pk", flat=True)
    return known.index, [str(pk) for pk in ids if str(pk) in known.index.bullets]


def bullets(rows: QuerySet[Memory]) -> list[tuple[Bullet, datetime]]:
    """Bullets in file order; the story time of a block without a date is that of the block before it."""
    found, date = [], ""
    order = ("block__order", "block__created_at", "order", "created_at")
    fields = ("pk", "text", "block__date", "block__order", "order", "updated_at")
    for pk, text, own, block, place, when in rows.order_by(*order).values_list(*fields):
        date = own or date
        found.append((Bullet(str(pk), text, (date[:16], block, place)), when))
    return found


def _of_extraction(file: MemoryFile, changed: Iterable[str]) -> list[Pair]:
    """What an extraction found when it wrote a bullet down."""
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, duplicate_of__isnull=False)
    wanted = set(changed)
    return [
        Pair(DUPLICATE, str(other), str(pk), 0.9, "alike")
        for pk, other in rows.values_list("pk", "duplicate_of")
        if str(pk) in wanted
    ]


def _store(file: MemoryFile, changed: list[str], pairs: list[Pair], texts: dict[str, str]) -> None:
    """Add the pairs that are new, look afresh at reworded ones, drop open ones that are none any more."""
    rows = _stored(file, None if len(changed) == len(texts) else changed)
    stored = {(row.kind, frozenset((str(row.older), str(row.newer)))): row for row in rows}
    found = {(pair.kind, frozenset((pair.older, pair.newer))): pair for pair in pairs}
    new, reopened = _news(file, found, stored, texts)
    again = set(changed)
    stale = [
        row.pk
        for (kind, ids), row in stored.items()
        if not row.decision and (kind, ids) not in found and (ids & again or ids - texts.keys())
        if not _is_of_meaning(row, texts)
    ]
    _write(file, new, reopened, stale)


def add(file: MemoryFile, pairs: list[Pair], texts: dict[str, str]) -> None:
    """Add pairs that were found in another way than by words; what words told about the same two stays."""
    ids = [one for pair in pairs for one in (pair.older, pair.newer)]
    stored = {(row.kind, frozenset((str(row.older), str(row.newer)))): row for row in _stored(file, ids)}
    told = {both for kind, both in stored if kind != DUPLICATE}
    found = {(pair.kind, frozenset((pair.older, pair.newer))): pair for pair in pairs}
    new, reopened = _news(file, {key: pair for key, pair in found.items() if key[1] not in told}, stored, texts)
    _write(file, new, reopened, [])


def _is_of_meaning(row: ReviewPair, texts: dict[str, str]) -> bool:
    """Words do not see such a pair, and say nothing against it while both keep their wording."""
    older, newer = texts.get(str(row.older)), texts.get(str(row.newer))
    return row.reason == MEANING and older is not None and newer is not None and digest_of(older, newer) == row.digest


def _news(
    file: MemoryFile, found: dict[_Key, Pair], stored: dict[_Key, ReviewPair], texts: dict[str, str]
) -> tuple[list[ReviewPair], list[ReviewPair]]:
    """Rows that are new, and those that are looked at afresh."""
    new, reopened = [], []
    for key, pair in found.items():
        if pair.older not in texts or pair.newer not in texts:
            continue
        digest, row = digest_of(texts[pair.older], texts[pair.newer]), stored.get(key)
        if row is None:
            new.append(_row(file, pair, digest))
        elif row.digest != digest or row.decision in TAKEN:
            row.digest, row.score, row.reason, row.decision, row.decided_at = digest, pair.score, pair.reason, "", None
            reopened.append(row)
    return new, reopened


def _write(file: MemoryFile, new: list[ReviewPair], reopened: list[ReviewPair], stale: list[uuid.UUID]) -> None:
    for start in range(0, max(len(new), len(stale), len(reopened)), BATCH):
        part = slice(start, start + BATCH)
        with transaction.atomic():
            ReviewPair.objects.bulk_create(new[part], ignore_conflicts=True)
            fields = ["digest", "score", "reason", "decision", "decided_at"]
            file.review_pairs.bulk_update(reopened[part], fields)
            file.review_pairs.filter(pk__in=stale[part]).delete()


def _stored(file: MemoryFile, ids: list[str] | None) -> list[ReviewPair]:
    """The pairs that hold one of these bullets; all of them without ids."""
    if ids is None:
        return list(file.review_pairs.all())
    found: dict[uuid.UUID, ReviewPair] = {}
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        for wanted in (Q(older__in=part), Q(newer__in=part)):
            found |= {row.pk: row for row in file.review_pairs.filter(wanted)}
    return list(found.values())


def _row(file: MemoryFile, pair: Pair, digest: str) -> ReviewPair:
    return ReviewPair(
        file=file,
        kind=pair.kind,
        older=uuid.UUID(pair.older),
        newer=uuid.UUID(pair.newer),
        digest=digest,
        score=pair.score,
        reason=pair.reason,
    )


def page_of(job: Job) -> str:
    """The queue of duplicates of the character."""
    return reverse("memories:review", args=[job.subject.partition(":")[2], "duplicates"])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Compare memories"), run=run, page=page_of, unit="files")
