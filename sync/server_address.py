"""The address of a person's SillyTavern server and how to log in there. Passwords are sealed and never shown again."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts import throttling
from providers.vault import seal
from sync.link import LinkError, checked_url
from sync.models import Tavern
from sync.tavern.server import ServerError
from sync.tavern_server import server_of

TRIES_A_MINUTE = 10
PATIENCE = 8.0  # seconds for each request: a person waits on the page
FIELDS = ["url", "login", "password_sealed", "basic_auth_name", "basic_auth_sealed"]


@dataclass(frozen=True)
class Address:
    """What a person typed. An empty password keeps the stored one, unless the address changed."""

    url: str
    login: str = ""
    password: str = ""
    basic_name: str = ""
    basic_password: str = ""


def set_address(tavern: Tavern, address: Address) -> None:
    """Store where the server is. A new address forgets the stored passwords first. Raises LinkError."""
    url = checked_url(address.url, tavern.owner)
    if url != tavern.url:
        tavern.password_sealed = tavern.basic_auth_sealed = ""
    tavern.url, tavern.login, tavern.basic_auth_name = url, address.login.strip(), address.basic_name.strip()
    if address.password:
        tavern.password_sealed = seal(address.password, owner_id=tavern.owner_id, row_id=tavern.pk)
    if address.basic_password:
        tavern.basic_auth_sealed = seal(address.basic_password, owner_id=tavern.owner_id, row_id=tavern.pk)
    if not tavern.login:
        tavern.password_sealed = ""
    if not tavern.basic_auth_name:
        tavern.basic_auth_sealed = ""
    tavern.save(update_fields=FIELDS)


def try_address(tavern: Tavern) -> str:
    """Ask the server for its version. Raises LinkError with what it or the network said."""
    if not throttling.allow(("tavern-address", str(tavern.owner_id)), times=TRIES_A_MINUTE, seconds=60):
        raise LinkError(_("Saved, and not tried: ten tries a minute are enough. Wait a moment."))
    try:
        with server_of(tavern, patience=PATIENCE) as server:
            return server.version()
    except ServerError as error:
        raise LinkError(f"{error.message} {error.hint}".strip()) from error
