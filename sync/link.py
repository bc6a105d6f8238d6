"""Linking a SillyTavern user folder to the one person it belongs to, and letting go of it again.

An admin picks inside the allowed places and may assign folders to people (FolderGrant). A member links what was
assigned, or proves the folder by logging in to its account (`prove_by_login`). One folder belongs to one account.
"""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from providers.network import policy_for
from sync.models import FolderGrant, Tavern
from sync.places import UserFolder, guesses, is_inside_roots, is_user_folder, roots, user_folders
from sync.probe import Abilities, probe
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused
from sync.tavern.server import Login, ServerError, check_login, connect
from sync.tavern.settings_file import SettingsError, read_settings
from sync.watch import start_import

# Only these are written here, so that a pass that goes on meanwhile keeps its lease and what it found.
LINK_FIELDS = [
    "folder",
    "name",
    "url",
    "version",
    "is_writable",
    "write_problem",
    "state",
    "state_reason",
    "unlinked_at",
]
SAMPLE = Path(__file__).parent / "sample_story" / "tavern"


class LinkError(Exception):
    """A folder cannot be linked; the message is a finished sentence for people."""


@dataclass(frozen=True)
class FolderReport:
    """What was found in a folder before it is linked. `choices` are user folders inside, when it is not one itself."""

    folder: str
    is_user_folder: bool = False
    version: str = ""
    characters: int = 0
    chats: int = 0
    groups: int = 0
    group_chats: int = 0
    lorebooks: int = 0
    databank_files: int = 0
    abilities: Abilities = field(default_factory=Abilities)
    choices: list[UserFolder] = field(default_factory=list)


def inspect_folder(path: str | Path) -> FolderReport:
    """Look into a folder without linking it: counts, version, and what can be done there. Raises LinkError.

    An installation or a data root is recognised and offers the user folders inside.
    """
    real = resolved(path)
    if not is_user_folder(real):
        choices = user_folders(real)
        if not choices:
            raise LinkError(
                _("%(folder)s is not a SillyTavern user folder: it has no characters beside chats or settings.json.")
                % {"folder": real}
            )
        return FolderReport(str(real), choices=choices)
    try:
        with Folder(real) as folder:
            return _counted(folder, str(real))
    except PermissionError:
        raise LinkError(_("CharMem may not read %(folder)s. %(who)s") % {"folder": real, "who": _who(real)}) from None
    except OSError:
        raise LinkError(_("%(folder)s cannot be read.") % {"folder": real}) from None


def link_folder(user: User, path: str | Path, url: str = "", name: str = "", *, by_operator: bool = False) -> Tavern:
    """Link a user folder to `user` and start reading it. Raises LinkError with a sentence.

    `by_operator`: said on the server's own command line, where any folder may be named.
    """
    real = resolved(path)
    if not (by_operator or may_link(user, real)):
        raise LinkError(_("This folder is not assigned to you. Ask an admin of CharMem, or log in to its account."))
    if not by_operator and not is_inside_roots(real):
        raise LinkError(_outside(real))
    with unscoped("whose folder this is"):
        taken = Tavern.objects.filter(folder=str(real)).first()
        granted = FolderGrant.objects.filter(folder=str(real)).exclude(user=user).exists()
    if (taken and taken.owner_id != user.pk) or (granted and not taken):
        raise LinkError(_("%(folder)s belongs to another account here.") % {"folder": real})
    report = inspect_folder(real)
    if not report.is_user_folder:
        handles = ", ".join(choice.handle for choice in report.choices)
        raise LinkError(
            _("%(folder)s holds the folders of several people. Choose one of them: %(handles)s.")
            % {"folder": real, "handles": handles}
        )
    tavern = taken or _again(user, str(real)) or Tavern(owner=user)
    return _linked(tavern, report, url, name)


def link_sample(user: User) -> Tavern:
    """Copy the sample story into the data folder on first use and link it; the linked one is given back later."""
    target = Path(settings.DATA_DIR) / "sample" / str(user.pk)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        shutil.copytree(SAMPLE, unfinished, copy_function=shutil.copyfile)
        (unfinished / "user" / "files").mkdir(parents=True, exist_ok=True)
        unfinished.rename(target)
    real = os.path.realpath(target)
    taken = Tavern.objects.for_user(user).filter(folder=real).first()
    tavern = taken or _again(user, real) or Tavern(owner=user, is_sample=True)
    return _linked(tavern, inspect_folder(real), "", _("Sample story"))


def unlink(tavern: Tavern, *, forget: bool = False) -> None:
    """Let go of a folder. Its files stay as they are.

    Characters, chats and memories stay here too and come back to life when the same folder is linked again;
    with `forget` everything that CharMem knows from this folder is removed.
    """
    if forget:
        with unscoped("a person forgets a folder"):
            tavern.delete()
        return
    tavern.folder = f"unlinked:{tavern.pk}:{tavern.folder}"[:1000]
    tavern.unlinked_at = timezone.now()
    tavern.state, tavern.state_reason = Tavern.State.PAUSED, _("This folder is not linked any more.")
    tavern.save(update_fields=LINK_FIELDS)


def may_link(user: User, real: Path) -> bool:
    """Whether this person may link this folder: an admin any allowed one, a member those assigned."""
    return user.is_admin or FolderGrant.objects.filter(folder=str(real), user=user).exists()


def grant(folder: str | Path, user: User) -> FolderGrant:
    """Assign a folder to a person; assigning it to somebody else moves it. Raises LinkError."""
    real = resolved(folder)
    if not is_inside_roots(real):
        raise LinkError(_outside(real))
    if not is_user_folder(real):
        raise LinkError(_("%(folder)s is not a SillyTavern user folder.") % {"folder": real})
    with unscoped("whose folder this is"):
        if Tavern.objects.filter(folder=str(real)).exclude(owner=user).exists():
            raise LinkError(_("%(folder)s is linked by another account already.") % {"folder": real})
    row, _is_new = FolderGrant.objects.update_or_create(folder=str(real), defaults={"user": user})
    return row


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


def resolved(path: str | Path) -> Path:
    """The real path of a folder that a person named. Raises LinkError."""
    text = str(path).strip()
    if not text or "\x00" in text or not Path(text).expanduser().is_absolute():
        raise LinkError(_("Name the folder by its whole path, from the root on."))
    real = Path(os.path.realpath(Path(text).expanduser()))
    try:
        is_folder = real.is_dir()
    except OSError:
        is_folder = False
    if not is_folder:
        raise LinkError(_("There is no folder at %(folder)s.") % {"folder": real})
    return real


def _linked(tavern: Tavern, report: FolderReport, url: str, name: str) -> Tavern:
    tavern.folder, tavern.version = report.folder, report.version
    tavern.name = (name or tavern.name or "/".join(Path(report.folder).parts[-2:]))[:120]
    tavern.url = url or tavern.url
    if tavern.unlinked_at or tavern._state.adding:
        tavern.state, tavern.state_reason, tavern.unlinked_at = Tavern.State.NEW, "", None
    tavern.is_writable = report.abilities.can_write and report.abilities.can_rename
    tavern.write_problem = report.abilities.problem
    try:
        with transaction.atomic():
            tavern.save(update_fields=None if tavern._state.adding else LINK_FIELDS)
    except IntegrityError:
        raise LinkError(_("%(folder)s belongs to another account here.") % {"folder": report.folder}) from None
    if tavern.state == Tavern.State.NEW:
        start_import(tavern)
    return tavern


def _again(user: User, folder: str) -> Tavern | None:
    """The tavern this person had of the same folder before unlinking it."""
    rows = Tavern.objects.for_user(user).exclude(unlinked_at=None).order_by("-unlinked_at")
    return next((row for row in rows if row.folder.split(":", 2)[-1] == folder), None)


def _counted(folder: Folder, path: str) -> FolderReport:
    def count(name: str, suffix: str) -> int:
        try:
            return sum(entry.kind == "file" and entry.name.lower().endswith(suffix) for entry in folder.list(name))
        except FileNotFoundError:
            return 0

    return FolderReport(
        folder=path,
        is_user_folder=True,
        version=_version(folder),
        characters=count("characters", ".png"),
        chats=sum(count(f"chats/{name}", ".jsonl") for name in _chat_folders(folder)),
        groups=count("groups", ".json"),
        group_chats=count("group chats", ".jsonl"),
        lorebooks=count("worlds", ".json"),
        databank_files=count("user/files", ""),
        abilities=probe(folder),
    )


def _chat_folders(folder: Folder) -> list[str]:
    try:
        return [entry.name for entry in folder.list("chats") if entry.kind == "folder"]
    except OSError:
        return []


def _version(folder: Folder) -> str:
    try:
        return read_settings(folder.read("settings.json")).version
    except (OSError, PathRefused, SettingsError):
        return ""


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


def _outside(path: Path) -> str:
    allowed = ", ".join(str(root) for root in roots())
    return _("%(folder)s is outside the places that may be linked: %(roots)s.") % {"folder": path, "roots": allowed}


def _who(path: Path) -> str:
    try:
        facts = path.stat()
    except OSError:
        return ""
    return _("It belongs to uid %(uid)d, gid %(gid)d; CharMem runs as uid %(me)d, gid %(group)d.") % {
        "uid": facts.st_uid,
        "gid": facts.st_gid,
        "me": os.getuid(),
        "group": os.getgid(),
    }
