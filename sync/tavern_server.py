"""The SillyTavern server of a linked folder, when its address is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.utils.translation import gettext as _

from providers.network import policy_for
from providers.vault import VaultError, unseal
from sync.models import Tavern
from sync.tavern.server import PATIENCE, Login, Server, ServerError, connect


@contextmanager
def server_of(tavern: Tavern, *, patience: float = PATIENCE) -> Iterator[Server]:
    """A signed-in session with a tavern's server. Raises ServerError; call it only when `tavern.url` is set."""
    with connect(tavern.url, policy_for(tavern.owner), login_of(tavern), patience=patience) as server:
        yield server


def login_of(tavern: Tavern) -> Login:
    """How to get into a tavern's server. Raises ServerError when the vault key does not open its passwords."""
    return Login(
        handle=tavern.login,
        password=_opened(tavern, tavern.password_sealed),
        basic_name=tavern.basic_auth_name,
        basic_password=_opened(tavern, tavern.basic_auth_sealed),
    )


def _opened(tavern: Tavern, sealed: str) -> str:
    try:
        return unseal(sealed, owner_id=tavern.owner_id, row_id=tavern.pk)
    except VaultError as error:
        raise ServerError(
            _("The password for SillyTavern cannot be opened with this vault key."),
            _("Type it again in Settings, SillyTavern."),
        ) from error
