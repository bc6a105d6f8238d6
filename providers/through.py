"""Kinds of connection that lead through a server which an app above knows: it opens the line and tells what is there.

Such a kind has `reach` "through" in the catalogue. Its connections name their server in `base_url`, by a key that only
the opener reads; they have no key of their own, because that one stays where it is.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from django.utils.translation import gettext as _

from accounts.models import User
from providers.base import ProviderError, Stop
from providers.catalogue import Preset
from providers.listed_prices import Listed
from providers.models import Connection
from providers.transport import Answer

if TYPE_CHECKING:
    from providers.wires import Wire

REACH = "through"


@dataclass(frozen=True)
class Place:
    """A server that connections may lead through. With a `problem` (a sentence) none can yet, and the page at `url`
    is where a person mends it."""

    key: str
    label: str
    problem: str = ""
    url: str = ""


class Asked(Protocol):
    """What takes requests at the other end of a line: transport.Client, or something in front of it."""

    def get(self, path: str, **options: Any) -> Answer: ...

    def post(self, path: str, **options: Any) -> Answer: ...


class Opener(Protocol):
    """What an app tells about one kind. All but the first raise ProviderError."""

    def places(self, user: User) -> list[Place]:
        """This person's servers, at least one: without any, one that says so."""
        ...

    def models(self, connection: Connection) -> list[Listed]:
        """What can be chosen there."""
        ...

    def model_behind(self, connection: Connection) -> str:
        """The model that would answer now: what is learned about a model is kept under this name."""
        ...

    def line(self, connection: Connection, stop: Stop | None) -> AbstractContextManager[tuple[Asked, Wire]]:
        """An open line. TransportError may leave it too."""
        ...


_openers: dict[str, Opener] = {}


def register(preset: str, opener: Opener) -> None:
    """Have `opener` open the lines of this kind."""
    _openers[preset] = opener


def opener_of(preset: Preset) -> Opener:
    """Who opens this kind's lines. Raises ProviderError when nobody does."""
    try:
        return _openers[preset.key]
    except KeyError as error:
        text = _("This kind of connection is not known here.")
        raise ProviderError(text, retryable=False, error_type="setup") from error


def places(user: User, preset: Preset) -> list[Place]:
    """The servers of this kind; empty for kinds that lead straight to a model."""
    return opener_of(preset).places(user) if preset.reach == REACH else []


def usable(found: list[Place]) -> list[Place]:
    """Those that a connection can lead through."""
    return [place for place in found if not place.problem]


def models_before(user: User, preset: Preset, found: list[Place]) -> list[str]:
    """What a connection of this kind could choose at its first place, before there is one."""
    first = next(iter(usable(found)), None)
    if first is None:
        return []
    row = Connection(owner=user, preset=preset.key, base_url=first.key)
    try:
        return [one.id for one in opener_of(preset).models(row)]
    except ProviderError:
        return []
