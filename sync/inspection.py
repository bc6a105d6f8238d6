"""Looking into a folder before it is linked: whose kind it is, how much is in it, and what can be done there."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation import gettext as _

from sync.places import UserFolder, is_user_folder, user_folders
from sync.probe import Abilities, probe
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused
from sync.tavern.settings_file import SettingsError, read_settings


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


def resolved(path: str | Path) -> Path:
    """The real path of a folder that a person named. Raises LinkError."""
    real = real_path(path)
    try:
        is_folder = real.is_dir()
    except OSError:
        is_folder = False
    if not is_folder:
        raise LinkError(_("There is no folder at %(folder)s.") % {"folder": real})
    return real


def real_path(path: str | Path) -> Path:
    """What a person named, with its links followed, whether or not it is there. Raises LinkError for no whole path."""
    text = str(path).strip()
    try:
        whole = Path(text).expanduser()
    except RuntimeError:  # "~name" of a user that this computer does not have
        whole = Path()
    if "\x00" in text or not whole.is_absolute():
        raise LinkError(_("Name the folder by its whole path, from the root on."))
    return Path(os.path.realpath(whole))


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
