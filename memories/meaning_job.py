"""Makes vectors of memories in the background: new and reworded ones, all of them after another model was chosen.

Each chunk is one transaction: its vectors, and the pairs of memories that turn out to say the same. When the model
fails, the job waits; nothing else does.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import ScopedQuerySet, unscoped
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobPaused, JobRun, Outcome, Stopped, done
from memories import meaning, meaning_pairs, review
from memories.meaning_space import packed
from memories.models import Memory, MemoryFile, MemoryVector, ReviewPair
from memories.pairs import MEANING, Bullet, Pair
from providers.base import ProviderError
from providers.embedding import CAUSE, Embedder, embed, embedder_for, embedder_of
from providers.models import Duty
from providers.purposes import EMBEDDINGS

KIND = "meaning"
EVERY = 20.0  # seconds between looks for memories without a vector
CHUNK = 256
WAIT = timedelta(minutes=10)  # after a failure that named no time


@dataclass(frozen=True)
class _Row:
    """A memory to measure, and `data` once that is done."""

    pk: uuid.UUID
    text: str
    updated_at: datetime
    file: uuid.UUID
    data: bytes = b""


def waiting(user: User, by: Embedder) -> ScopedQuerySet[Memory]:
    """The memories without a vector of their present words by this embedder."""
    rows = Memory.objects.for_user(user).filter(is_topic=False)
    return rows.filter(~Q(vector__model=by.name) | Q(vector__seen__lt=F("updated_at")))


def sweep() -> None:
    """Queue whoever has memories to measure; what nobody asks for any more is removed."""
    with unscoped("whose memories are measured"):
        duties = Duty.objects.filter(purpose=EMBEDDINGS, place=0).select_related("owner", "connection")
        chosen = list(duties)
        _clear({duty.owner_id for duty in chosen})
        for duty in chosen:
            if duty.owner.is_active and waiting(duty.owner, embedder_of(duty, duty.owner)).exists():
                schedule(duty.owner)


def schedule(user: User) -> Job:
    """Have a person's memories measured soon; one job at a time."""
    job, _new = enqueue(user, KIND, key=KIND, label=_("Measure what memories mean"), lets_go=False)
    return job


def run(job: JobRun) -> Outcome:
    """One chunk."""
    by = embedder_for(job.owner)
    rows = waiting(job.owner, by) if by is not None else None
    left = rows.count() if rows is not None else 0
    if by is None or rows is None or not left:
        return done()
    step = job.job.step
    job.progress(step=step, total=step + math.ceil(left / CHUNK))
    fields = ("pk", "text", "updated_at", "block__file")
    chunk = [_Row(*row) for row in rows.order_by("-updated_at", "pk").values_list(*fields)[:CHUNK]]
    measured = _measured(job, by, chunk)
    found = [_pairs_of(job.owner, by, file, measured) for file in _files(job.owner, measured)]
    try:
        with job.commit():
            _keep(job.owner, by, measured)
            for file, pairs, texts in found:
                review.add(file, pairs, texts)
            job.progress(step=step + 1)
    except IntegrityError:  # a memory was deleted meanwhile
        return MORE
    return MORE


def _measured(job: JobRun, by: Embedder, rows: Sequence[_Row]) -> list[_Row]:
    """The rows with their vectors; words that were measured already are not asked about again."""
    known = _known(job.owner, by, rows)
    asked = [row for row in rows if row.pk not in known]
    job.check()
    try:
        vectors = embed(
            by,
            [row.text for row in asked],
            kind="passage",
            stop=job.should_stop,
            note=job.log,
            job=job.job,
            is_automatic=True,
        )
    except ProviderError as error:
        raise _later(job, error) from error
    fresh = dict(zip((row.pk for row in asked), map(packed, vectors), strict=True))
    return [_Row(row.pk, row.text, row.updated_at, row.file, known.get(row.pk) or fresh[row.pk]) for row in rows]


def _known(user: User, by: Embedder, rows: Sequence[_Row]) -> dict[uuid.UUID, bytes]:
    """Vectors of the same words: a memory may change in other ways."""
    marks = {row.pk: meaning.mark_of(row.text) for row in rows}
    stored = MemoryVector.objects.for_user(user).filter(pk__in=list(marks), model=by.name)
    return {pk: bytes(data) for pk, mark, data in stored.values_list("pk", "mark", "data") if mark == marks[pk]}


def _later(job: JobRun, error: ProviderError) -> Exception:
    """A failure costs nothing but time; another choice of the person ends the wait (assigning.py)."""
    if error.error_type == "stopped":
        job.check()
        return Stopped()
    wait = WAIT if error.retry_after is None else max(WAIT, timedelta(seconds=error.retry_after))
    kept = _("Until then words alone are compared; nothing is lost.")
    return JobPaused(timezone.now() + wait, f"{error.sentence} {kept}", cause=CAUSE)


def _files(user: User, rows: Sequence[_Row]) -> list[MemoryFile]:
    return list(MemoryFile.objects.for_user(user).filter(pk__in={row.file for row in rows}))


def _pairs_of(
    user: User, by: Embedder, file: MemoryFile, rows: Sequence[_Row]
) -> tuple[MemoryFile, list[Pair], dict[str, str]]:
    """The file, the pairs in it that hold one of these memories, and the texts that was decided by."""
    fresh = [(str(row.pk), row.data) for row in rows if row.file == file.pk]
    memories = Memory.objects.for_user(user).filter(block__file=file, is_topic=False)
    bullets: dict[str, Bullet] = {bullet.id: bullet for bullet, _when in review.bullets(memories)}
    still = {str(pk) for pk in waiting(user, by).filter(block__file=file).values_list("pk", flat=True)}
    space = meaning.space_of(user, file, by, fresh, still)
    pairs = meaning_pairs.pairs(space, bullets, [key for key, _data in fresh])
    return file, pairs, {key: bullet.text for key, bullet in bullets.items()}


def _keep(user: User, by: Embedder, rows: Sequence[_Row]) -> None:
    """Write the vectors of memories that are still there in the same words."""
    present = dict(Memory.objects.for_user(user).filter(pk__in=[row.pk for row in rows]).values_list("pk", "text"))
    MemoryVector.objects.bulk_create(
        [
            MemoryVector(
                owner=user,
                memory_id=row.pk,
                model=by.name,
                mark=meaning.mark_of(row.text),
                seen=row.updated_at,
                data=row.data,
            )
            for row in rows
            if present.get(row.pk) == row.text
        ],
        update_conflicts=True,
        unique_fields=["memory"],
        update_fields=["model", "mark", "seen", "data"],
    )


def _clear(owners: Collection[uuid.UUID]) -> None:
    """Without somebody who measures there are no vectors, and no open pairs that only they suggested."""
    left = MemoryVector.objects.exclude(owner__in=owners)
    if left.exists():
        pairs = ReviewPair.objects.filter(reason=MEANING, decision="")
        pairs.exclude(file__owner__in=owners).delete()
        left.delete()


def page_of(job: Job) -> str:
    """Where it was chosen who measures."""
    return f"{reverse('providers:list')}#embeddings"


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(kind=KIND, title=_("Measure what memories mean"), run=run, page=page_of)
