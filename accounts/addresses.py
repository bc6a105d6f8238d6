"""Where a request came from, and which network counts as one guesser."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The visitor's IP address. `X-Forwarded-For` counts only when the peer is one of CHARMEM_TRUSTED_PROXIES."""
    address = request.META.get("REMOTE_ADDR", "")
    hops = [hop.strip() for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    while hops and _is_trusted(address):
        address = hops.pop()
    return address if _parsed(address) else ""


def network_of(address: str) -> str:
    """The /24 of an IPv4 address, the /64 of an IPv6 one: a guesser rarely owns less."""
    parsed = _parsed(address)
    if parsed is None:
        return "unknown"
    width = 24 if parsed.version == 4 else 64
    return str(ipaddress.ip_network(f"{parsed}/{width}", strict=False))


def _is_trusted(address: str) -> bool:
    parsed = _parsed(address)
    return parsed is not None and any(
        parsed in ipaddress.ip_network(proxy, strict=False) for proxy in settings.TRUSTED_PROXIES
    )


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    mapped = getattr(parsed, "ipv4_mapped", None)
    return mapped or parsed
