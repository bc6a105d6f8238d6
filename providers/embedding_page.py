"""“What memories mean” on Settings → Models: who makes vectors, with which model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import User
from providers import assigning, built_in_embedding, connecting, embedding, queries
from providers.base import ProviderError
from providers.connecting import Wish
from providers.embedding import Embedder
from providers.models import Connection, Duty
from providers.purposes import EMBEDDINGS

BUILT_IN = "builtin"  # the choice where a person has no such connection yet
TRIED = "The lamp stands in the window."
PATIENCE = 20.0  # seconds of the try after saving


@dataclass(frozen=True)
class EmbeddingPage:
    """`chosen` is the id of the connection ("": nobody), `offers_built_in` whether a choice makes that connection."""

    connections: list[Connection]
    chosen: str
    model: str
    suggestions: list[str]
    offers_built_in: bool
    has_built_in: bool


def embedding_page(connections: Sequence[Connection], duties: Sequence[Duty]) -> EmbeddingPage:
    """The section."""
    able = [one for one in connections if embedding.can_embed(one)]
    duty = next((one for one in duties if one.purpose == EMBEDDINGS), None)
    is_there = built_in_embedding.is_available()
    return EmbeddingPage(
        able,
        str(duty.connection_id) if duty else "",
        duty.model if duty and duty.model != built_in_embedding.NAME else "",
        sorted({name for one in able for name in embedding.known_models(one)}),
        is_there and all(one.preset != BUILT_IN for one in able),
        is_there,
    )


def choose(user: User, chosen: str, model: str) -> Embedder | None:
    """Do what the form says. ValueError with a finished sentence, and nothing is changed."""
    connection = _connection(user, chosen) if chosen else None
    assigning.choose_embedder(user, connection, model)
    return embedding.embedder_for(user)


def _connection(user: User, chosen: str) -> Connection:
    known = {str(one.pk): one for one in queries.connections(user)}
    if chosen == BUILT_IN and built_in_embedding.is_available():
        mine = [one for one in known.values() if one.preset == BUILT_IN]
        return mine[0] if mine else connecting.add_connection(user, Wish(BUILT_IN), is_default=False)
    if chosen not in known:
        raise ValueError(_("Choose one of your own connections. Nothing was changed."))
    known[chosen].owner = user
    return known[chosen]


def tried(by: Embedder) -> tuple[bool, str]:
    """Whether one sentence can be measured, and what to say about it."""
    try:
        vectors = embedding.embed(by, [TRIED], kind="passage", tries=1, patience=PATIENCE)
    except ProviderError as error:
        kept = _("Your choice is saved; until it works, words alone are compared.")
        return False, f"{error.sentence} {kept}"
    words = _("Saved. %(name)s works: %(n)d numbers for each memory. Your memories are measured in the background.")
    return True, words % {"name": by.model, "n": len(vectors[0])}
