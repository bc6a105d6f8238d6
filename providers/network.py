"""Which addresses this server may talk to, for whom (stack-notes §9.7).

A connection has a reach: **hosted** (a preset's fixed host, https), **custom** (any public host, https), **local**
(this computer and allowed private networks), **any** (public by https or local; SillyTavern's address). Admins are
trusted with the machine (THREAT_MODEL.md) and may reach loopback and its own subnets, so that inviting somebody never
cuts off a local model that works; members reach only what the installation's list says (`CHARMEM_LOCAL_NETWORKS`, and
the networks an admin opened).
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.models import User
from providers import addresses
from providers.addresses import Network
from providers.models import NetworkRule

if TYPE_CHECKING:
    from collections.abc import Iterable

LOCAL_PORTS_BELOW_1024 = (80, 443)


@dataclass(frozen=True)
class Policy:
    """What one person's requests may reach: private networks by list, and services of this install never."""

    local_networks: tuple[Network, ...] = ()
    refused: frozenset[tuple[str, int]] = field(default_factory=frozenset)
    own_port: int = 0
    own_addresses: frozenset[str] = field(default_factory=frozenset)

    def refusal(self, scheme: str, address: str, port: int, reach: str) -> str:
        """Why this address may not be reached, as a sentence; "" when it may."""
        ip = addresses.unwrap(ipaddress.ip_address(address.split("%")[0]))
        if addresses.is_never_allowed(ip):
            return _("%(ip)s is a kind of address that CharMem never talks to.") % {"ip": ip}
        if (str(ip), port) in self.refused or self._is_ourselves(ip, port):
            return _("%(ip)s:%(port)d belongs to CharMem itself.") % {"ip": ip, "port": port}
        if addresses.is_local(ip):
            return self._local_refusal(ip, port, reach)
        return self._public_refusal(scheme, ip, reach)

    def _is_ourselves(self, ip: addresses.IP, port: int) -> bool:
        """Our pages, and services of ours on this machine: they also answer at its other addresses."""
        here = {port for address, port in self.refused if self._is_here(ipaddress.ip_address(address))}
        return port in {self.own_port, *here} and self._is_here(ip)

    def _is_here(self, ip: addresses.IP) -> bool:
        return ip.is_loopback or str(ip) in self.own_addresses

    def _local_refusal(self, ip: addresses.IP, port: int, reach: str) -> str:
        if reach not in ("local", "any"):
            return _("%(ip)s is an address in a local network: choose “Local server” for it.") % {"ip": ip}
        if port < 1024 and port not in LOCAL_PORTS_BELOW_1024:
            return _("Port %(port)d is not used by model servers; CharMem does not talk to it.") % {"port": port}
        if not addresses.is_in(ip, self.local_networks):
            return _("%(ip)s is in a local network that is not allowed here.") % {"ip": ip}
        return ""

    def _public_refusal(self, scheme: str, ip: addresses.IP, reach: str) -> str:
        if reach == "local":
            return _("%(ip)s is not in a local network: choose “Another (OpenAI-compatible)” for it.") % {"ip": ip}
        if not ip.is_global:
            return _("%(ip)s is a kind of address that CharMem never talks to.") % {"ip": ip}
        if scheme != "https":
            return _("Outside the local network only https addresses are allowed.")
        return ""


def policy_for(user: User) -> Policy:
    """The networks that `user` may reach from this server."""
    refused, own_port = _own_services()
    return Policy(
        local_networks=tuple(allowed_networks(user)),
        refused=refused,
        own_port=own_port,
        own_addresses=frozenset(_own_addresses()),
    )


def only(address: str, port: int) -> Policy:
    """A policy for one address of this computer: the product's own model server."""
    return Policy(local_networks=(ipaddress.ip_network(address),))


def may_reach(url: str, policy: Policy, reach: str = "any") -> bool:
    """Whether every address behind the URL may be reached; looks the name up. See `refusal` for the reason."""
    return not refusal(url, policy, reach)


def refusal(url: str, policy: Policy, reach: str = "any") -> str:
    """Why a URL may not be reached, as a sentence; "" when it may. A name that is unknown now is no refusal:
    the transport vets again when it connects."""
    problem = url_problem(url)
    if problem:
        return problem
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        rows = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ""
    reasons = (policy.refusal(parts.scheme, str(row[4][0]), port, reach) for row in rows)
    return next((reason for reason in reasons if reason), "")


def url_problem(url: str) -> str:
    """What is wrong with the form of an address: scheme, name and password inside, host, port; "" when it is fine."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return _("This is not a web address.")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return _("An address starts with http:// or https:// and names a server.")
    if parts.username is not None or parts.password is not None:
        return _("An address may not contain a name and password; use the key field.")
    if port == 0 or any(ord(c) < 33 for c in url):
        return _("This is not a web address.")
    return ""


def allowed_networks(user: User) -> list[Network]:
    """The private networks for `user`: the environment's list, the networks opened here, for admins the usual."""
    own = _own_addresses() if not settings.LOCAL_NETWORKS and user.is_admin else None
    return list(_networks((*settings.LOCAL_NETWORKS, *_ruled(user)), own))


def own_networks() -> list[Network]:
    """Loopback and the machine's own private subnets (as /24 and /64, the size of nearly every home network)."""
    return _around(_own_addresses())


@lru_cache(maxsize=256)
def _networks(texts: tuple[str, ...], own: tuple[str, ...] | None) -> tuple[Network, ...]:
    """The networks that are written there, and those around a machine's own addresses. Kept, as each call asks."""
    found = [network for network in map(_network_or_none, texts) if network is not None]
    if own is not None:
        found += _around(own)
    if any(network.version == 4 and network.is_loopback for network in found):
        found.append(ipaddress.ip_network("::1/128"))
    return tuple(dict.fromkeys(found))


def _around(own: tuple[str, ...]) -> list[Network]:
    found: list[Network] = [ipaddress.ip_network("127.0.0.0/8")]
    for text in own:
        address = ipaddress.ip_address(text)
        if addresses.is_local(address) and not address.is_loopback:
            found.append(ipaddress.ip_network(f"{text}/{24 if address.version == 4 else 64}", strict=False))
    return list(dict.fromkeys(found))


def _ruled(user: User) -> Iterable[str]:
    rules = NetworkRule.objects.filter(Q(person=None) | Q(person=user))
    return rules.values_list("network", flat=True)


def _network_or_none(text: str) -> Network | None:
    try:
        return addresses.parse_network(text)
    except ValueError:
        return None


@cache
def _own_addresses() -> tuple[str, ...]:
    found = []
    try:
        found = [str(row[4][0]).split("%")[0] for row in socket.getaddrinfo(socket.gethostname(), None)]
    except OSError:
        found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            found.append(str(probe.getsockname()[0]))
        except OSError:
            pass
    return tuple(dict.fromkeys(found))


@cache
def _own_services() -> tuple[frozenset[tuple[str, int]], int]:
    """Addresses of this install's database and broker, and the port of the web pages."""
    database = settings.DATABASES["default"]
    places: list[tuple[str, int]] = []
    if database.get("HOST") and not str(database["HOST"]).startswith("/"):
        places.append((str(database["HOST"]), int(str(database.get("PORT") or 5432))))
    broker = urlsplit(settings.BROKER_URL or "")
    if broker.hostname:
        places.append((broker.hostname, broker.port or 6379))
    found = {(ip, port) for host, port in places for ip in _addresses_of(host)}
    port_text = settings.BIND.rpartition(":")[2]
    return frozenset(found), int(port_text) if port_text.isdigit() else 0


def _addresses_of(host: str) -> set[str]:
    try:
        rows = socket.getaddrinfo(host, None)
    except OSError:
        return set()
    return {str(addresses.unwrap(ipaddress.ip_address(str(row[4][0]).split("%")[0]))) for row in rows}
