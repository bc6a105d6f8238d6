"""A member shows whose folder it is by logging in to its SillyTavern account."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from accounts import throttling
from accounts.models import User
from providers.network import policy_for
from sync.inspection import LinkError
from sync.link import grant, is_linked_by_another
from sync.models import FolderGrant
from sync.places import UserFolder, guesses
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused
from sync.tavern.server import Login, ServerError, check_login, connect

TIMES_A_MINUTE = 5
PATIENCE = 8.0  # seconds for each request: a person waits on the page


def may_prove(user: User) -> bool:
    """Each try knocks at an address with a password, so there are few of them (stack-notes §9.7)."""
    return throttling.allow(("prove-folder", str(user.pk)), times=TIMES_A_MINUTE, seconds=60)


def prove_by_login(user: User, url: str, handle: str, password: str) -> FolderGrant:
    """Let a member show whose folder it is by logging in to its SillyTavern account. Raises LinkError.

    The login alone could be answered by any server. So a random text is put into the folder, and the server must
    read it back through the account: only the SillyTavern that serves this very folder can.
    """
    login = Login(handle=handle, password=password)
    try:
        proved = check_login(url, policy_for(user), login, patience=PATIENCE)
        for folder in _folders_of(proved):
            if not is_linked_by_another(user, folder.path) and _serves(url, user, login, folder.path):
                return grant(folder.path, user)
    except ServerError as error:
        raise LinkError(f"{error.message} {error.hint}".strip()) from error
    raise LinkError(_("The login is right, but none of the folders here belongs to that account."))


def _folders_of(handle: str) -> list[UserFolder]:
    return [folder for folder in guesses() if handle and folder.handle == handle]


def _serves(url: str, user: User, login: Login, path: Path) -> bool:
    name, text = f"charmem-proof-{secrets.token_hex(8)}.txt", secrets.token_urlsafe(32)
    try:
        with _lying_in(path, name, text), connect(url, policy_for(user), login, patience=PATIENCE) as server:
            return secrets.compare_digest(server.read_file(name).strip().encode(), text.encode())
    except (OSError, PathRefused):
        return False  # a folder that cannot be written proves nothing


@contextmanager
def _lying_in(path: Path, name: str, text: str) -> Iterator[None]:
    """A small file among the Data Bank files of a user folder, gone afterwards."""
    with Folder(path) as folder:
        folder.write_atomic(f"user/files/{name}", text.encode())
        try:
            yield
        finally:
            folder.remove(f"user/files/{name}")
