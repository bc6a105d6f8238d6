"""From a connection to an answer: which adapter, which address, which key. One HTTP exchange, no retries, no ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from providers import builtin, extra_body, local_model, network, openai_compatible, pool, through, transport, vault
from providers.abilities import Abilities, fitting
from providers.answers import read_object, shape_of
from providers.base import ProviderError, Reply, Request, Stop
from providers.catalogue import PRESETS, Preset
from providers.listed_prices import Listed
from providers.models import Connection
from providers.transport import Answer, Client, TransportError
from providers.wires import WIRES, Wire

T = TypeVar("T")
LOCAL_IDLE_SECONDS = 300.0
SHORTEST_SECRET = 12  # shorter ones are words like "ollama", which an answer may hold
KEY_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key"})


@dataclass(frozen=True)
class Line:
    """An open line to a connection's server."""

    client: through.Asked
    wire: Wire
    preset: Preset
    headers: dict[str, str]

    @property
    def is_local(self) -> bool:
        return self.preset.reach in ("local", through.REACH)

    @property
    def idle(self) -> float:
        """Seconds of silence that are borne; a home computer thinks for minutes before its first byte."""
        is_slow = self.preset.reach in ("local", "builtin", through.REACH)
        return LOCAL_IDLE_SECONDS if is_slow else transport.IDLE_SECONDS


def ask(connection: Connection, request: Request, stop: Stop, can: Abilities) -> Reply:
    """One question in the form that the model understands, one answer. Raises ProviderError."""
    with open_line(connection, stop) as line:
        model = _model(connection)
        question = fitting(with_defaults(connection, request, line.preset), can)
        body = extra_body.merged(connection.extra_body, line.wire.body_of(question, model, can))
        if not can.temperature:
            body.pop("temperature", None)
        path = line.wire.chat_path(model)
        answer = line.client.post(path, json=body, headers=line.headers, stop=stop, idle=line.idle)
        return _read(line, connection.name, answer, partial(line.wire.read, name=connection.name))


def post(
    connection: Connection,
    path: str,
    body: dict[str, Any],
    read: Callable[[dict[str, Any]], T],
    stop: Stop | None,
    patience: float | None = None,
) -> T:
    """What `read` makes of the answer to something else than a question; `patience`: seconds until it must be there,
    in place of the usual ones. Raises ProviderError."""
    with open_line(connection, stop) as line:
        idle, total = (patience, patience) if patience else (line.idle, transport.TOTAL_SECONDS)
        answer = line.client.post(path, json=body, headers=line.headers, stop=stop, idle=idle, total=total)
        return _read(line, connection.name, answer, read)


def fetch_models(connection: Connection, stop: Stop | None = None) -> list[Listed]:
    """The models that the server offers, with prices where it names them. Raises ProviderError."""
    preset = PRESETS.get(connection.preset)
    if preset is not None and preset.reach == through.REACH:
        return through.opener_of(preset).models(connection)
    with open_line(connection, stop) as line:
        query = f"?{line.preset.models_query}" if line.preset.models_query else ""
        answer = line.client.get(line.wire.MODELS_PATH + query, headers=line.headers, stop=stop, idle=15, total=30)
        found = _read(line, connection.name, answer, line.wire.model_rows)
        included = _included(line, connection.name, stop)
        return [row.also("subscription") if row.id in included else row for row in found]


def _included(line: Line, name: str, stop: Stop | None) -> set[str]:
    """Ids of the models that a subscription pays for; without an answer the list has just no such mark."""
    if not line.preset.subscription_path:
        return set()
    try:
        answer = line.client.get(line.preset.subscription_path, headers=line.headers, stop=stop, idle=5, total=10)
        return {row.id for row in _read(line, name, answer, line.wire.model_rows)}
    except (ProviderError, TransportError):
        return set()


def _read(line: Line, name: str, answer: Answer, read: Callable[[dict[str, Any]], T]) -> T:
    """What `read` makes of a good answer; an error with the hint that fits the provider."""
    answer = without_secrets(answer, line.headers)
    try:
        with shape_of(name):
            return read(read_object(answer, name=name, is_local=line.is_local))
    except ProviderError as error:
        error.message, error.said = _unquoted(error.message, line.headers), _unquoted(error.said, line.headers)
        error.args = (error.message,)
        error.hint = str(line.preset.hint_for(error.error_type) or error.hint)
        raise


def with_defaults(connection: Connection, request: Request, preset: Preset) -> Request:
    """The request with the connection's own temperature and system prompt where the request leaves them open, and
    without a grammar where nobody would obey it or a person typed another one."""
    system = connection.system_prompt or request.system
    temperature = connection.temperature if request.temperature is None else request.temperature
    is_typed = "grammar" in (connection.extra_body or {})
    may_obey = preset.obeys_grammar or preset.reach == "local"
    grammar = request.grammar if may_obey and not is_typed else None
    return replace(request, system=system, temperature=temperature, grammar=grammar)


def without_secrets(answer: Answer, headers: Mapping[str, str]) -> Answer:
    """The answer without the key that was sent, and an error without any header's value: servers quote what they
    refuse, and errors are stored and shown."""
    body = answer.body
    for name, value in headers.items():
        secret = value.removeprefix("Bearer ").encode()
        if len(secret) >= SHORTEST_SECRET and (answer.status >= 300 or name.lower() in KEY_HEADERS):
            body = body.replace(secret, "…".encode())
    return replace(answer, body=body)


def _unquoted(said: str, headers: Mapping[str, str]) -> str:
    """The same for an error that came as success."""
    for value in headers.values():
        said = said.replace(value, "…") if len(value) >= SHORTEST_SECRET else said
    return said


def provider_error(error: TransportError) -> ProviderError:
    """The same trouble in the words of this layer."""
    return ProviderError(error.message, retryable=error.retryable, hint=error.hint, error_type=error.kind)


@contextmanager
def open_line(connection: Connection, stop: Stop | None = None) -> Iterator[Line]:
    """A client for this connection, kept for a moment (pool.py); transport troubles leave as ProviderError."""
    preset = PRESETS.get(connection.preset)
    if preset is None:
        raise ProviderError(_("This kind of connection is not known here."), retryable=False, error_type="setup")
    try:
        if preset.reach == "builtin":
            serving = builtin.serving()
            with local_model.running(serving, stop) as place, _client(place.base_url, place.policy, "local") as client:
                yield Line(client, openai_compatible, preset, openai_compatible.auth_headers(place.token))
            return
        if preset.reach == through.REACH:
            with through.opener_of(preset).line(connection, stop) as (asked, wire):
                yield Line(asked, wire, preset, {})
            return
        wire = WIRES[preset.wire]
        base_url, policy = address_of(connection, preset), network.policy_for(connection.owner)
        opens = partial(_client, base_url, policy, preset.reach)
        with pool.borrowed((connection.pk, base_url, policy, preset.reach), opens) as client:
            yield Line(client, wire, preset, _headers(connection, preset, wire))
    except TransportError as error:
        raise provider_error(error) from error


def address_of(connection: Connection, preset: Preset) -> str:
    """A hosted preset's address comes from the catalogue, whatever the row says."""
    return connection.base_url if preset.address_is_typed else preset.base_url


def _client(base_url: str, policy: network.Policy, reach: str) -> Client:
    return transport.open_client(base_url, policy, reach=reach)


def _headers(connection: Connection, preset: Preset, wire: Wire) -> dict[str, str]:
    try:
        key = vault.unseal(connection.key_sealed, owner_id=connection.owner_id, row_id=connection.pk)
    except vault.VaultError as error:
        raise ProviderError(
            _("The key of %(name)s cannot be opened.") % {"name": connection.name},
            retryable=False,
            hint=_("The vault key was replaced; enter the key again: Settings, Models."),
            error_type="key",
        ) from error
    if preset.key_use == "required" and not key:
        raise ProviderError(
            _("%(name)s needs a key.") % {"name": connection.name},
            retryable=False,
            hint=_("Enter it in Settings, Models."),
            error_type="key",
        )
    return {**_below(preset.headers, connection.extra_headers), **wire.auth_headers(key)}


def _below(usual: dict[str, str], typed: Any) -> dict[str, str]:
    """The preset's headers and those of a person, each name once in whatever case it is written."""
    found = {name.lower(): (name, value) for name, value in usual.items()}
    for name, value in typed.items() if isinstance(typed, dict) else ():
        if isinstance(value, str) and not transport.header_problem(name, value):
            found[name.lower()] = (name, value)
    return dict(found.values())


def model_of(connection: Connection) -> str:
    """The model that is asked; "" when none is chosen and there is no usual one."""
    preset = PRESETS.get(connection.preset)
    usual = preset.default_model if preset else ""
    return connection.model or usual or (local_model.MODEL_NAME if connection.preset == "builtin" else "")


def model_behind(connection: Connection) -> str:
    """The model that would answer now, which another server may decide; "" as above. Raises ProviderError where that
    server can ask none."""
    preset = PRESETS.get(connection.preset)
    if preset is not None and preset.reach == through.REACH:
        return through.opener_of(preset).model_behind(connection)
    return model_of(connection)


def _model(connection: Connection) -> str:
    model = model_of(connection)
    if not model:
        raise ProviderError(
            _("No model is chosen for %(name)s.") % {"name": connection.name},
            retryable=False,
            hint=_("Choose one in Settings, Models."),
            error_type="setup",
        )
    return model
