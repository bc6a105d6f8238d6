"""Connections that lead through a person's own SillyTavern: where they can lead, and the line there (spec §11).

What is asked is read from settings.json at each call, so that a change in SillyTavern is followed at once. Keys never
leave SillyTavern; its address and login are those of the linked folder (server_address.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from providers import pool
from providers.adapters import provider_error
from providers.base import ProviderError, Stop
from providers.listed_prices import Listed
from providers.models import Connection
from providers.network import policy_for
from providers.through import Asked, Place
from providers.transport import Answer, TransportError
from providers.wires import Wire
from sync import generating, queries
from sync.models import Tavern
from sync.tavern import model_routes
from sync.tavern.folder import Folder, Seen
from sync.tavern.model_routes import NoRoute, Route
from sync.tavern.server import Server, ServerError, opened
from sync.tavern_server import login_of

PRESET = "sillytavern"
PREFIX = "sillytavern:"  # in Connection.base_url, before the id of the linked folder
SETTINGS = "settings.json"
LOGIN_PAUSE = 60.0  # seconds for which SillyTavern lets nobody in after five failures


class ThroughSillyTavern:
    """The opener of this kind (providers/through.py)."""

    def places(self, user: User) -> list[Place]:
        """The linked SillyTavern folders; those whose server's address is not known say so."""
        rows = [row for row in queries.taverns(user) if not row.is_sample]
        missing = Place("", "", _("No SillyTavern is linked yet."), reverse("sync:link"))
        return [_place(row) for row in rows] or [missing]

    def models(self, connection: Connection) -> list[Listed]:
        """What SillyTavern is set to, and its Connection Profiles."""
        found = model_routes.choices(_settings_of(_tavern(connection)))
        return [Listed(one.handle, name=_words(one), upstream=one.source) for one in found]

    def model_behind(self, connection: Connection) -> str:
        """Source and model, such as "openai/gpt-4.1-nano"."""
        route = _route(_tavern(connection), connection)
        return f"{route.source}/{route.model}"

    @contextmanager
    def line(self, connection: Connection, stop: Stop | None) -> Iterator[tuple[Asked, Wire]]:
        """A session with the server of the connection's folder, kept for a moment (pool.py)."""
        tavern = _tavern(connection)
        route = _route(tavern, connection)
        try:
            login, policy = login_of(tavern), policy_for(connection.owner)
            opens = partial(opened, tavern.url, policy, login)
            with pool.borrowed((PRESET, tavern.pk, tavern.url, policy, login), opens) as server:
                server.stop = stop
                yield _Asked(server, route), generating.TavernWire(route)
        except ServerError as error:
            raise _explained(error) from error


@dataclass(frozen=True)
class _Asked:
    """Takes the requests of one route."""

    server: Server
    route: Route

    def get(self, path: str, **options: Any) -> Answer:
        raise ProviderError(_("SillyTavern has no such list."), retryable=False, error_type="not_found")

    def post(self, path: str, **options: Any) -> Answer:
        """One question; `json` and `idle` count, SillyTavern's session has headers of its own."""
        send = partial(self.server.ask, path, idle=options["idle"])
        answer = generating.asked(send, options["json"], self.route)
        if generating.is_without_key(answer):
            raise _no_key(self.route)
        body = answer.body
        for secret in self.route.secrets():
            body = body.replace(secret.encode(), "…".encode())
        return replace(answer, body=body)


def _place(tavern: Tavern) -> Place:
    key, page = f"{PREFIX}{tavern.pk}", reverse("sync:server", args=[tavern.pk])
    problem = "" if tavern.url else _("CharMem does not know the address of %(name)s yet.") % {"name": tavern.name}
    return Place(key, tavern.name, problem, page)


def _words(choice: model_routes.Choice) -> str:
    if not choice.source:
        return _("cannot be asked from here")
    return f"{choice.source}, {choice.model}" if choice.model else choice.source


def _tavern(connection: Connection) -> Tavern:
    """The linked folder that a connection names, with its owner at hand. Raises ProviderError."""
    key = connection.base_url.removeprefix(PREFIX)
    rows = queries.taverns(connection.owner)
    tavern = rows.filter(pk=key).first() if _is_id(key) else None
    if tavern is None:
        raise _setup(
            _("The SillyTavern of %(name)s is not linked any more.") % {"name": connection.name},
            _("Link it again, or choose another one in Settings, Models."),
        )
    if not tavern.url:
        raise _setup(
            _("CharMem does not know the address of %(name)s yet.") % {"name": tavern.name},
            _("Enter it in Settings, SillyTavern."),
        )
    tavern.owner = connection.owner
    return tavern


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _route(tavern: Tavern, connection: Connection) -> Route:
    try:
        return model_routes.route_of(_settings_of(tavern), connection.model)
    except NoRoute as problem:
        raise _no_route(problem) from problem


def _settings_of(tavern: Tavern) -> dict[str, Any]:
    """The few keys that are looked at, as the file is now. Raises ProviderError."""
    try:
        with Folder(tavern.folder) as folder:
            seen = folder.seen(SETTINGS)
        return _read(tavern.folder, seen)
    except (OSError, ValueError, RecursionError) as error:
        raise ProviderError(
            _("The settings of %(name)s cannot be read.") % {"name": tavern.name},
            retryable=True,
            hint=_("Is its folder still there? Settings, SillyTavern tells more."),
            error_type="connect",
        ) from error


@lru_cache(maxsize=16)
def _read(folder: str, seen: Seen | None) -> dict[str, Any]:
    """`seen` is how the file looks: another look is another reading."""
    with Folder(folder) as place:
        return model_routes.kept(json.loads(place.read(SETTINGS).decode("utf-8-sig")))


def _setup(message: str, hint: str) -> ProviderError:
    return ProviderError(message, retryable=False, hint=hint, error_type="setup")


def _no_route(problem: NoRoute) -> ProviderError:
    name = {"name": problem.name}
    match problem.why:
        case "gone":
            text = _("SillyTavern has no Connection Profile “%(name)s” any more.") % name
            return _setup(text, _("Choose another one in Settings, Models."))
        case "kind":
            text = _("CharMem cannot ask “%(name)s” through SillyTavern.") % name
            return _setup(text, _("Choose a chat completion or text completion connection."))
        case "address":
            text = _("SillyTavern knows no server address for “%(name)s”.") % name
            return _setup(text, _("Enter it in SillyTavern, under API Connections."))
        case "proxy":
            text = _("The proxy “%(name)s” of this profile is gone from SillyTavern.") % name
            return _setup(text, _("Choose another proxy in the profile, or none. Nothing was sent."))
        case _:
            text = _("SillyTavern is not set to any model.")
            return _setup(text, _("Choose one in SillyTavern, under API Connections."))


def _no_key(route: Route) -> ProviderError:
    return ProviderError(
        _("SillyTavern has no key for “%(name)s”, or does not know it.") % {"name": route.source},
        retryable=False,
        status=400,
        hint=_("Enter the key in SillyTavern, under API Connections."),
        error_type="key",
    )


def _explained(error: ServerError) -> ProviderError:
    """The same trouble in the words of a model call."""
    if isinstance(error.__cause__, TransportError):
        return provider_error(error.__cause__)
    kinds = {401: "key", 403: "forbidden", 404: "not_found", 429: "rate"}
    is_busy = error.status == 429
    return ProviderError(
        error.message,
        retryable=is_busy or (error.status or 0) >= 500,
        status=error.status,
        hint=error.hint,
        retry_after=LOGIN_PAUSE if is_busy else None,
        error_type=kinds.get(error.status or 0, "server" if (error.status or 0) >= 500 else "setup"),
    )
