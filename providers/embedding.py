"""What texts mean, as vectors: the connection that a person chose for it is asked with an embedding model of its own.

Everything around a call is that of complete.py: a free place, retries, budgets, a row of the ledger. Nobody is asked
unless a person chose somebody, and nobody steps in.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, Protocol

from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from providers import adapters, built_in_embedding, gemini_embeddings, openai_embeddings, retry
from providers.answers import shape_of
from providers.base import Note, ProviderError, Reply, Request, Stop, Usage
from providers.catalogue import PRESETS
from providers.complete import complete
from providers.models import Connection, Duty
from providers.purposes import EMBEDDINGS

CAUSE = EMBEDDINGS  # why a job is paused
BATCH = 32  # texts of one call
LONGEST = 1500  # letters of a text that are sent: small models take 512 tokens
LARGEST = 8192  # numbers of a vector
Kind = Literal["query", "passage"]
Vector = list[float]
# What is asked where nothing was typed.
USUAL = {
    "gemini": "gemini-embedding-001",
    "mistral": "mistral-embed",
    "nanogpt": "text-embedding-3-small",
    "openai": "text-embedding-3-small",
    "openrouter": "openai/text-embedding-3-small",
}
LOCAL = ("bge-m3", "embeddinggemma", "mxbai-embed-large", "nomic-embed-text")  # as Ollama names them
# Families of models that were taught with words in front of each text.
_PREFIXES = (
    (re.compile(r"(?:^|[/_-])e5(?:[_.-]|$)", re.IGNORECASE), {"query": "query: ", "passage": "passage: "}),
    (re.compile(r"nomic-embed", re.IGNORECASE), {"query": "search_query: ", "passage": "search_document: "}),
)


class Wire(Protocol):
    """How one kind of server is asked for vectors. `read` may raise what odd JSON makes Python raise."""

    def path(self, model: str) -> str: ...

    def body_of(self, texts: Sequence[str], model: str, kind: str) -> dict[str, Any]: ...

    def read(self, data: dict[str, Any]) -> tuple[list[Any], Usage]: ...


WIRES: dict[str, Wire] = {"openai": openai_embeddings, "gemini": gemini_embeddings}


@dataclass(frozen=True)
class Embedder:
    """Who makes vectors: a connection of a person, and the embedding model that it is asked for."""

    connection: Connection
    model: str

    @property
    def name(self) -> str:
        """Stands with each vector: those of two names cannot be compared."""
        place = f"{self.connection.preset} {self.connection.base_url}"
        return f"{self.model[:150]} {blake2b(place.encode(), digest_size=4).hexdigest()}"


@dataclass
class _Asked:
    """One batch on its way; `vectors` are there when it was answered."""

    texts: Sequence[str]
    kind: Kind
    patience: float | None
    vectors: list[Vector] = field(default_factory=list)

    def ask(self, connection: Connection, _request: Request, stop: Stop, _again: Callable[[], None]) -> Reply:
        """One try, as complete.py wants it."""
        if connection.preset == "builtin":
            found: list[Any] = built_in_embedding.vectors(self.texts, self.kind, stop)
            usage = Usage(None, 0)
        else:
            found, usage = self._over_the_wire(connection, stop)
        with shape_of(connection.name):
            self.vectors = _checked(found, len(self.texts))
        return Reply("", model=connection.model, usage=usage)

    def _over_the_wire(self, connection: Connection, stop: Stop) -> tuple[list[Any], Usage]:
        wire = _wire_of(connection)
        if wire is None:
            raise ProviderError(why_not(connection), retryable=False, error_type="setup")
        texts = [prefix_of(connection.model, self.kind) + text for text in self.texts]
        body = wire.body_of(texts, connection.model, self.kind)
        return adapters.post(connection, wire.path(connection.model), body, wire.read, stop, self.patience)


def embed(
    by: Embedder,
    texts: Sequence[str],
    *,
    kind: Kind,
    stop: Stop | None = None,
    note: Note | None = None,
    tries: int = retry.MOST_TRIES,
    patience: float | None = None,
    job: Job | None = None,
    subject: str = "",
    is_automatic: bool = False,
) -> list[Vector]:
    """A vector for each text, all of one length: a "passage" is what is found, a "query" what it is looked for with.

    One call for each 32 texts. `patience`: seconds that a call may take. Raises ProviderError; holds no transaction.
    """
    connection = _asking_for(by)
    found: list[Vector] = []
    for start in range(0, len(texts), BATCH):
        part = [text[:LONGEST].strip() or "-" for text in texts[start : start + BATCH]]
        asked = _Asked(part, kind, patience)
        request = Request(
            "", "\n".join(part), 0, purpose=EMBEDDINGS, subject=subject, job=job, is_automatic=is_automatic
        )
        complete(connection, request, stop=stop, note=note, tries=tries, ask=asked.ask)
        found += asked.vectors
    return found


def embedder_for(user: User) -> Embedder | None:
    """Whom a person chose to make vectors; None: nobody, words alone are compared. One query."""
    duty = Duty.objects.for_user(user).filter(purpose=EMBEDDINGS, place=0).select_related("connection").first()
    return embedder_of(duty, user) if duty is not None else None


def embedder_of(duty: Duty, user: User) -> Embedder:
    """The embedder that a row names."""
    duty.connection.owner = user
    return Embedder(duty.connection, duty.model)


def can_embed(connection: Connection) -> bool:
    """Whether this kind of connection makes vectors."""
    return not why_not(connection)


def why_not(connection: Connection) -> str:
    """Why this kind of connection makes no vectors, as a sentence; "" when it does."""
    if connection.preset == "builtin":
        return "" if built_in_embedding.is_available() else built_in_embedding.missing().message
    if _wire_of(connection) is None:
        return _("%(name)s offers no embeddings. Choose another connection for them.") % {"name": connection.name}
    return ""


def fitting_model(connection: Connection, typed: str) -> str:
    """The embedding model to ask for: the typed one, else the usual one. ValueError with a finished sentence."""
    if why := why_not(connection):
        raise ValueError(why)
    model = built_in_embedding.NAME if connection.preset == "builtin" else typed.strip() or usual_model(connection)
    if not model:
        raise ValueError(_("Type the name of an embedding model of %(name)s.") % {"name": connection.name})
    if len(model) > 200 or not model.isprintable():
        raise ValueError(_("This is too long or holds odd characters. Nothing was changed."))
    return model


def usual_model(connection: Connection) -> str:
    """The embedding model that most people use there; "" where there is none."""
    return USUAL.get(connection.preset, "")


def known_models(connection: Connection) -> tuple[str, ...]:
    """Names to offer where one can be typed."""
    usual = usual_model(connection)
    return (usual,) if usual else LOCAL if connection.preset == "local" else ()


def prefix_of(model: str, kind: Kind) -> str:
    """What models of this family want to read before a text."""
    return next((words[kind] for pattern, words in _PREFIXES if pattern.search(model)), "")


def _wire_of(connection: Connection) -> Wire | None:
    preset = PRESETS.get(connection.preset)
    return WIRES.get(preset.wire) if preset is not None else None


def _asking_for(by: Embedder) -> Connection:
    """The connection with the embedding model in place of its own, whose typed price and prompt are for chats."""
    row = copy.copy(by.connection)
    row.model, row.system_prompt, row.price_in, row.price_out = by.model, "", None, None
    return row


def _checked(rows: list[Any], wanted: int) -> list[Vector]:
    """Vectors that can be compared; ValueError for anything else."""
    found = [[float(number) for number in row] for row in rows]
    size = len(found[0]) if found else 0
    if len(found) != wanted or not 0 < size <= LARGEST or any(len(row) != size for row in found):
        raise ValueError("not one vector for each text")
    if not all(math.isfinite(number) for row in found for number in row) or not all(any(row) for row in found):
        raise ValueError("a vector without a direction")
    return found
