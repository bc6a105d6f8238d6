"""Which host names this server may be called by: loopback always, the machine's own addresses in LAN mode."""

from __future__ import annotations

import socket

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


def lan_addresses() -> list[str]:
    """This machine's own IPv4 and IPv6 addresses apart from loopback and link-local, as text, without duplicates."""
    found: list[str] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            rows = socket.getaddrinfo(socket.gethostname(), None, family)
        except OSError:
            continue
        found += [str(row[4][0]).split("%")[0] for row in rows]
    found += _outgoing_address()
    kept = [a for a in dict.fromkeys(found) if not a.startswith(("127.", "169.254.", "fe80:", "::1"))]
    return kept


def _outgoing_address() -> list[str]:
    """The address used for the default route; connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return []
        return [str(probe.getsockname()[0])]


def own_hosts(*, lan: bool) -> list[str]:
    """Values for ALLOWED_HOSTS: a fixed list closes DNS rebinding (stack-notes §9.4)."""
    if not lan:
        return list(LOOPBACK)
    name = socket.gethostname()
    addresses = [f"[{a}]" if ":" in a else a for a in lan_addresses()]
    return [*LOOPBACK, name, f"{name}.local", *addresses]
