"""Who may talk for a tavern: a token for one tavern alone, and the pages it may be used from.

The token lies in charmem.json beside the installed module, readable by everybody who can open that SillyTavern, and
lets its holder do three things for that tavern: ask which files wait, say which were registered, say which memories
were seen. Every other token, tavern or page gets 404.

A page is let in by its origin when it is the tavern's own address, when it has the host by which CharMem itself was
reached (both programs on one machine), or when it is on this computer while the tavern's address is too or is not
known. The origin is no proof of anything, only the token is; cookies are never accepted here.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from django.utils import timezone

from accounts.ownership import unscoped
from companion.models import Pairing
from sync.models import Tavern

DEFAULT_PORTS = {"http": 80, "https": 443}


def new_token() -> str:
    """A token with 256 bits of chance."""
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """How a token is kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def pair(tavern: Tavern, *, token: str, address: str, version: str, files: dict[str, str]) -> Pairing:
    """Remember what was installed for a tavern; an older token of that tavern stops working."""
    values = {"token_hash": hashed(token), "address": address, "version": version, "files": files, "seen_at": None}
    return Pairing.objects.for_user(tavern.owner).update_or_create(tavern=tavern, defaults=values)[0]


def find_pairing(tavern_id: UUID) -> Pairing | None:
    """The companion of a tavern, for a caller who has yet to prove itself."""
    with unscoped("a companion says which tavern it is"):
        return (
            Pairing.objects.select_related("tavern__owner")
            .filter(tavern=tavern_id, tavern__unlinked_at=None, tavern__owner__is_active=True)
            .first()
        )


def is_token_of(pairing: Pairing, header: str) -> bool:
    """Whether an Authorization header carries this tavern's token."""
    scheme, _, token = header.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(hashed(token.strip()), pairing.token_hash)


def note_seen(pairing: Pairing) -> None:
    """The companion has called; written at most once a minute."""
    now = timezone.now()
    if pairing.seen_at is None or (now - pairing.seen_at).total_seconds() > 60:
        pairing.seen_at = now
        pairing.save(update_fields=["seen_at"])


def may_call_from(origin: str, tavern_url: str, charmem_host: str) -> bool:
    """Whether a page of `origin` may talk to us. `charmem_host` is the Host header of its request."""
    try:
        return _is_known(urlsplit(origin), urlsplit(tavern_url), charmem_host)
    except ValueError:  # a port or an address that is none
        return False


def _is_known(page: SplitResult, tavern: SplitResult, charmem_host: str) -> bool:
    if page.scheme not in DEFAULT_PORTS or not page.hostname:
        return False
    if tavern.hostname and _place(page) == _place(tavern):
        return True
    if page.hostname == urlsplit(f"//{charmem_host}").hostname:
        return True
    return _is_this_computer(page.hostname) and (not tavern.hostname or _is_this_computer(tavern.hostname))


def _place(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or DEFAULT_PORTS.get(url.scheme)


def _is_this_computer(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
