"""What to do about a test that failed, where the connection itself tells more than the error: which model was meant,
which server answers here, what a container cannot reach."""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from providers import adapters, connecting, limits
from providers.base import ProviderError
from providers.catalogue import LOCAL_PORTS, PRESETS, LocalPort
from providers.discover import HOST_OF_CONTAINER, discover_local, is_in_container
from providers.models import Connection

HERE = ("127.0.0.1", "localhost", "::1")
NAMES_SHOWN = 3
HEARD_OUTSIDE = (
    "A server that listens only to its own computer is not heard from outside: start Ollama with OLLAMA_HOST=0.0.0.0, "
    "llama.cpp with --host 0.0.0.0, LM Studio with “Serve on Local Network”."
)


def nearest(connection: Connection, error: ProviderError) -> list[str]:
    """Listed models that are called nearly like the one that was refused; none when that one is in the list."""
    if error.error_type not in ("not_found", "request", "forbidden"):
        return []
    model, listed = adapters.model_of(connection), connecting.listed_models(connection)
    if not model or model in listed:
        return []
    by_lower = {name.lower(): name for name in listed}
    bare = model.lower().rpartition("/")[2]
    holding = sorted((name for name in by_lower if bare in name or name in model.lower()), key=len)
    close = get_close_matches(model.lower(), by_lower, n=NAMES_SHOWN, cutoff=0.5)
    found = list(dict.fromkeys([*holding, *close]))[:NAMES_SHOWN]
    return [by_lower[name] for name in found]


def hint(connection: Connection, error: ProviderError, ports: tuple[LocalPort, ...] = LOCAL_PORTS) -> str:
    """The hint of an error, completed by what is known of this connection."""
    preset = PRESETS.get(connection.preset)
    if error.error_type == "timeout" and limits.in_flight(connection) >= max(1, connection.max_parallel):
        return _("All its places are taken by other work at the moment. Test again when that is done.")
    if error.error_type == "connect" and preset is not None and preset.reach == "local":
        return " ".join(filter(None, (error.hint, *_about_place(connection, ports))))
    return error.hint


def _about_place(connection: Connection, ports: tuple[LocalPort, ...]) -> list[str]:
    parts = urlsplit(connection.base_url)
    host, port = parts.hostname or "", parts.port
    answering = discover_local(connection.owner, ports)
    found = [_("%(label)s answers at %(url)s.") % {"label": one.label, "url": one.base_url} for one in answering]
    usual = next((one.label for one in ports if one.port == port), "")
    if usual and not found:
        found.append(_("This is the usual port of %(label)s.") % {"label": usual})
    elif not usual and not found:
        found.append(_("Usual ports: %(ports)s.") % {"ports": ", ".join(f"{one.label} {one.port}" for one in ports)})
    if host in HERE and is_in_container():
        text = _("CharMem runs in a container, where %(host)s is the container itself: try %(url)s.")
        found.append(text % {"host": host, "url": f"http://{HOST_OF_CONTAINER}:{port or 80}/v1"})
    elif host not in HERE:
        found.append(_(HEARD_OUTSIDE))
    return found
