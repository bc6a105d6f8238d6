"""Verbs on connections: add, change, choose as default, remove; keys go in and never come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.waking import wake_paused
from providers import adapters, builtin, learning, network, prices, through, vault
from providers.base import ProviderError, Stop
from providers.base_url import clean_base_url
from providers.catalogue import PRESETS, Preset
from providers.listed_prices import Listed
from providers.models import Connection, ModelListing

LONGEST_KEY = 4000
# A change leaves alone what other processes write meanwhile.
WRITTEN = {field.name for field in Connection._meta.concrete_fields} - {
    "id",
    "learned",
    "paused_until",
    "lowered_to",
    "lowered_at",
    "bytes_per_token",
}


class ConnectionProblem(Exception):
    """A connection cannot be like this: `field` names what is wrong, the message is a finished sentence."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True)
class Wish:
    """What a person typed for a connection. An empty `key` leaves the stored one as it is."""

    preset: str
    name: str = ""
    base_url: str = ""
    key: str = ""
    model: str = ""
    more: dict[str, Any] | None = None


def add_connection(user: User, wish: Wish, *, is_default: bool | None = None) -> Connection:
    """Make a connection. The first one becomes the default unless `is_default` says otherwise."""
    preset = _preset(wish.preset)
    connection = Connection(owner=user, preset=preset.key)
    _apply(connection, preset, wish)
    if preset.reach == "builtin":
        connection.max_parallel = 1
        connection.context_tokens = connection.context_tokens or builtin.current().context_tokens
    with transaction.atomic():
        others = Connection.objects.for_user(user)
        wants_default = is_default if is_default is not None else not others.filter(is_default=True).exists()
        if wants_default:
            others.filter(is_default=True).update(is_default=False)
        connection.is_default = wants_default
        connection.save(force_insert=True)
    return connection


def change_connection(connection: Connection, wish: Wish) -> Connection:
    """Change a connection. Another address makes CharMem forget the key, unless a new one comes with it (§9.8), and
    the list of models with their prices, and what was learned about them."""
    before = connection.base_url, connection.model, connection.key_sealed
    _apply(connection, _preset(connection.preset), wish)
    _look_afresh(connection, is_another=before != (connection.base_url, connection.model, connection.key_sealed))
    has_moved = connection.base_url != before[0]
    if has_moved:
        connection.learned = {}
    connection.save(update_fields=WRITTEN | {"learned"} if has_moved else WRITTEN)
    if has_moved:
        ModelListing.objects.for_user(connection.owner).filter(connection=connection).delete()
    wake_paused("budget", connection.owner)  # another model or price may fit into it
    return connection


def choose_model(connection: Connection, model: str) -> None:
    """Another model; everything else stays as it is. Raises ConnectionProblem."""
    wanted = _fitting("model", model.strip())
    if not wanted:
        raise ConnectionProblem("model", _("Choose a model, or type its name. Nothing was changed."))
    _look_afresh(connection, is_another=wanted != connection.model)
    connection.model = wanted
    _check_choice(connection)
    connection.save(update_fields=["model", "tested_at", "test_result", "down_until", "down_reason", "updated_at"])
    wake_paused("budget", connection.owner)


def _look_afresh(connection: Connection, *, is_another: bool) -> None:
    """Whatever failed may be right now; a test was about what the connection led to before (not saved yet)."""
    connection.down_until, connection.down_reason = None, ""
    if is_another:
        connection.tested_at, connection.test_result = None, {}


def set_key(connection: Connection, key: str) -> None:
    """Seal a key into the row (not saved yet); "" forgets it."""
    key = key.strip()
    if len(key) > LONGEST_KEY or any(ord(c) < 33 or ord(c) > 126 for c in key):
        raise ConnectionProblem("key", _("A key is one word of plain characters; please copy it again."))
    connection.key_sealed = vault.seal(key, owner_id=connection.owner_id, row_id=connection.pk)
    connection.key_hint = vault.hint_of(key)


def make_default(connection: Connection) -> None:
    """This one does everything from now on that was not given to another one (assigning.py)."""
    with transaction.atomic():
        rows = Connection.objects.for_user(connection.owner)
        rows.filter(is_default=True).exclude(pk=connection.pk).update(is_default=False)
        rows.filter(pk=connection.pk).update(is_default=True)
    connection.is_default = True
    wake_paused("budget", connection.owner)


def delete_connection(connection: Connection) -> None:
    """Remove a connection with its key. The ledger keeps its rows; another connection becomes the default, and the
    default does what this one did."""
    user, was_default = connection.owner, connection.is_default
    with transaction.atomic():
        connection.delete()
        heir = Connection.objects.for_user(user).order_by("created_at").first() if was_default else None
        if heir is not None:
            Connection.objects.for_user(user).filter(pk=heir.pk).update(is_default=True)


def refresh_listing(connection: Connection, stop: Stop | None = None) -> list[str]:
    """Ask the server for its models and keep the list. Raises ProviderError."""
    return keep_listing(connection, adapters.fetch_models(connection, stop))


def keep_listing(connection: Connection, found: list[Listed]) -> list[str]:
    """Keep a list of models, and what it tells about their server; the ids."""
    kept = {"models_json": [row.stored() for row in found]}
    ModelListing.objects.for_user(connection.owner).update_or_create(connection=connection, defaults=kept)
    learning.learn_from_list(connection, found)
    return [row.id for row in found]


def listed_models(connection: Connection) -> list[str]:
    """The kept list; empty when the server was never asked."""
    return [row.id for row in prices.listing(connection)]


def address_for(user: User, wish: Wish) -> str:
    """The address that a wish leads to; raises ConnectionProblem as the verbs do."""
    return _address(user, _preset(wish.preset), wish.base_url)


def keeping_name(connection: Connection, wish: Wish) -> Wish:
    """The wish with the name that the connection has already."""
    return replace(wish, name=wish.name or connection.name)


def _preset(key: str) -> Preset:
    if key not in PRESETS:
        raise ConnectionProblem("preset", _("There is no kind of connection called “%(key)s”.") % {"key": key[:40]})
    return PRESETS[key]


def _apply(connection: Connection, preset: Preset, wish: Wish) -> None:
    connection.name = _fitting("name", wish.name.strip() or str(preset.label))
    before = connection.base_url
    connection.base_url = _address(connection.owner, preset, wish.base_url, before)
    if before and connection.base_url != before:
        set_key(connection, "")
    if wish.key:
        set_key(connection, wish.key)
    connection.model = _fitting("model", wish.model.strip() or connection.model or preset.default_model)
    for name, value in (wish.more or {}).items():
        setattr(connection, name, value)


def _fitting(name: str, text: str) -> str:
    """A text as long as its column, without control characters."""
    most: int = getattr(Connection._meta.get_field(name), "max_length", 0)
    if len(text) > most or not text.isprintable():
        raise ConnectionProblem(name, _("This is too long or holds odd characters. Nothing was changed."))
    return text


def _address(user: User, preset: Preset, typed: str, before: str = "") -> str:
    """The cleaned and allowed address; a hosted preset's own one whatever was typed; where another server is asked,
    the key of one of the person's own."""
    if preset.reach == through.REACH:
        return _place(user, preset, typed.strip(), before)
    if not preset.address_is_typed:
        return preset.base_url
    url = clean_base_url(typed, scheme="http" if preset.reach == "local" else "https")
    if not url:
        raise ConnectionProblem("base_url", _("Enter the address of the server."))
    _fitting("base_url", url)
    reason = network.refusal(url, network.policy_for(user), preset.reach)
    if reason:
        raise ConnectionProblem("base_url", reason)
    return url


def _check_choice(connection: Connection) -> None:
    """Where another server knows what can be asked, it has the last word."""
    if _preset(connection.preset).reach == through.REACH:
        try:
            adapters.model_behind(connection)
        except ProviderError as error:
            raise ConnectionProblem("model", error.sentence) from error


def _place(user: User, preset: Preset, typed: str, before: str) -> str:
    """Without a choice the one that it is already, else the first."""
    found = through.places(user, preset)
    keys = [place.key for place in through.usable(found)]
    if not keys:
        raise ConnectionProblem("base_url", found[0].problem)
    if typed and typed not in keys:
        raise ConnectionProblem("base_url", _("This is not one of your own servers. Choose one of them."))
    return typed or (before if before in keys else keys[0])
