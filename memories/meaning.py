"""What memories mean: vectors that a person's embedding model made of their words, and what they are good for.

They are a second opinion beside the words: which memories say the same, which ones messages bring up. Nothing waits
for them and nothing is lost without them; they are made in the background (memories/meaning_job.py).
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from django.db.models import Count, Max

from accounts.models import User
from accounts.ownership import ScopedQuerySet
from jobs.run import JobRun
from memories.meaning_space import Space, packed
from memories.models import MemoryFile, MemoryVector
from providers.base import ProviderError, Stop
from providers.embedding import Embedder, embed, embedder_for

Fact = tuple[uuid.UUID, str]  # a memory: id and text
Closeness = Callable[[Sequence[str]], list[float] | None]
PATIENCE = 15.0  # seconds that a prompt waits for vectors of its messages
REST = 300.0  # seconds without asking again after that failed
PIECE, MOST_PIECES = 1000, 32  # letters, and texts, into which the messages of a prompt are put together
MOST_NEAR = 100  # memories near one text that a prompt may want
FAR = -1.0
REMEMBERED = 3  # files whose vectors are kept at hand
_resting: dict[uuid.UUID, float] = {}
_lock = threading.Lock()
_spaces: dict[tuple[uuid.UUID, str], tuple[object, Space]] = {}


@dataclass(frozen=True)
class Near:
    """A memory and how near it is to a question, -1 to 1; 0 is no nearer than any."""

    memory: uuid.UUID
    score: float


def nearest(user: User, file: MemoryFile, text: str, count: int, *, stop: Stop | None = None) -> list[Near]:
    """The memories of this person's file that mean most the same as `text`, the nearest first; one call of a model.

    Empty when nobody was chosen to make vectors, or none are there yet. Raises ProviderError when the model fails.
    """
    by = embedder_for(user)
    space = space_of(user, file, by) if by is not None else None
    if by is None or not space or not text.strip():
        return []
    asked = packed(embed(by, [text], kind="query", stop=_in_time(stop), tries=1, patience=PATIENCE)[0])
    return [Near(uuid.UUID(key), round(score, 4)) for key, score in space.nearest(asked, count)]


def closeness(run: JobRun, file: MemoryFile, known: Sequence[Fact], *, is_automatic: bool = False) -> Closeness:
    """For a prompt: how near each of the known memories of a file is to the nearest of its messages, asked for only
    where not all of them fit. None in place of numbers when there are no vectors or the model fails."""

    def measure(messages: Sequence[str]) -> list[float] | None:
        by = embedder_for(run.owner)
        if by is None or _resting.get(by.connection.pk, 0.0) > time.monotonic():
            return None
        space = space_of(run.owner, file, by)
        if not space:
            return None
        try:
            asked = embed(
                by,
                pieces(messages),
                kind="query",
                stop=_in_time(run.should_stop),
                tries=1,
                patience=PATIENCE,
                job=run.job,
                subject=f"character:{file.character_id}",
                is_automatic=is_automatic,
            )
        except ProviderError:
            run.check()
            _resting[by.connection.pk] = time.monotonic() + REST
            return None
        return _best(space, [packed(one) for one in asked], [str(pk) for pk, _text in known])

    return measure


def space_of(
    user: User, file: MemoryFile, by: Embedder, fresh: Sequence[tuple[str, bytes]] = (), stale: Collection[str] = ()
) -> Space:
    """The vectors of one file that this embedder made, with `fresh` ones that are not stored yet and without those of
    the ids in `stale`."""
    rows = MemoryVector.objects.for_user(user).filter(memory__block__file=file, model=by.name)
    if not fresh and not stale:
        return _remembered(rows, (file.pk, by.name))
    kept = [(str(pk), bytes(data)) for pk, data in rows.order_by("pk").values_list("pk", "data")]
    left = {key for key, _data in fresh} | set(stale)
    return Space([*(one for one in kept if one[0] not in left), *fresh])


def _in_time(stop: Stop | None) -> Stop:
    """Also a wait for a free place at a busy model comes to an end."""
    until = time.monotonic() + PATIENCE
    return lambda: time.monotonic() > until or (stop is not None and stop())


def _remembered(rows: ScopedQuerySet[MemoryVector], whose: tuple[uuid.UUID, str]) -> Space:
    """The vectors as they are stored, read again when one was added, renewed or deleted since the last time."""
    now = rows.aggregate(n=Count("pk"), last=Max("seen"))
    stamp = (now["n"], now["last"])
    known = _spaces.get(whose)
    if known is None or known[0] != stamp:
        known = (stamp, Space((str(pk), bytes(data)) for pk, data in rows.order_by("pk").values_list("pk", "data")))
    with _lock:
        _spaces.pop(whose, None)
        _spaces[whose] = known
        while len(_spaces) > REMEMBERED:
            del _spaces[next(iter(_spaces))]
    return known[1]


def mark_of(text: str) -> str:
    """Names one wording."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def pieces(messages: Sequence[str]) -> list[str]:
    """Neighbouring short messages put together, so that fewer texts are measured."""
    found: list[str] = []
    for one in messages:
        if found and len(found[-1]) + len(one) < PIECE:
            found[-1] += f"\n{one}"
        elif one.strip():
            found.append(one)
    return found[:MOST_PIECES]


def _best(space: Space, asked: Sequence[bytes], ids: Sequence[str]) -> list[float]:
    """For each id its best score among the nearest; all others, and those without a vector, are far."""
    best: dict[str, float] = {}
    for one in asked:
        for key, score in space.nearest(one, MOST_NEAR):
            best[key] = max(score, best.get(key, FAR))
    return [best.get(one, FAR) for one in ids]
