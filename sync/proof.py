"""A member shows whose folder it is by logging in to its SillyTavern account."""

from __future__ import annotations

import secrets
from pathlib import Path

from django.utils.translation import gettext as _

from accounts.models import User
from providers.network import policy_for
from sync.inspection import LinkError
from sync.link import grant
from sync.models import FolderGrant
from sync.places import UserFolder, guesses
from sync.tavern.folder import Folder
from sync.tavern.server import Login, ServerError, check_login, connect


def prove_by_login(user: User, url: str, handle: str, password: str) -> FolderGrant:
    """Let a member show whose folder it is by logging in to its SillyTavern account. Raises LinkError.

    The login alone could be answered by any server. So a random text is put into the folder, and the server must
    read it back through the account: only the SillyTavern that serves this very folder can.
    """
    login = Login(handle=handle, password=password)
    try:
        proved = check_login(url, policy_for(user), login)
        for folder in _folders_of(proved):
            if _serves(url, user, login, folder.path):
                return grant(folder.path, user)
    except ServerError as error:
        raise LinkError(f"{error.message} {error.hint}".strip()) from error
    raise LinkError(_("The login is right, but none of the folders here belongs to that account."))


def _folders_of(handle: str) -> list[UserFolder]:
    return [folder for folder in guesses() if handle and folder.handle == handle]


def _serves(url: str, user: User, login: Login, path: Path) -> bool:
    name, text = f"charmem-proof-{secrets.token_hex(8)}.txt", secrets.token_urlsafe(32)
    try:
        folder = Folder(path)
    except OSError:
        return False
    with folder:
        folder.write_atomic(f"user/files/{name}", text.encode())
        try:
            with connect(url, policy_for(user), login) as server:
                return secrets.compare_digest(server.read_file(name).strip(), text)
        finally:
            folder.remove(f"user/files/{name}")
