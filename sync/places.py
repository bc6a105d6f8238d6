"""SillyTavern on disk: an installation, its data root, the user folders inside, and where to look for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

USUAL = (
    "SillyTavern",
    "sillytavern",
    "SillyTavern-Launcher/SillyTavern",
    "Documents/SillyTavern",
    "docker/sillytavern",
    "apps/SillyTavern",
)
USUAL_ROOTS = ("/opt", "/srv", "/data", "/mnt", "/media", "/home", "/app", "/var/lib")
MOST_LISTED = 200


@dataclass(frozen=True)
class UserFolder:
    """A SillyTavern user folder (`…/data/<handle>`) and when it was used last."""

    path: Path
    used_at: datetime | None

    @property
    def handle(self) -> str:
        return self.path.name

    @property
    def shown(self) -> str:
        """The end of the path, as pages name it: "data/wren"."""
        return "/".join(self.path.parts[-2:])


def is_user_folder(path: Path) -> bool:
    """Whether this is one person's folder: settings or chats beside characters."""
    return _is_dir(path / "characters") and (
        os.path.lexists(path / "settings.json") or _is_dir(path / "chats") or _is_dir(path / "groups")
    )


def user_folders(path: Path) -> list[UserFolder]:
    """User folders at `path`: itself, inside a data root, or inside an installation's `data`."""
    if is_user_folder(path):
        return [_described(path)]
    for root in (path, path / "data"):
        found = [_described(entry) for entry in _folders(root) if is_user_folder(entry)]
        if found:
            return sorted(found, key=lambda folder: folder.handle)
    return []


def roots() -> list[Path]:
    """Where folders may be picked: `CHARMEM_SILLYTAVERN_ROOTS`, else the places people usually have."""
    if settings.SILLYTAVERN_ROOTS:
        return [Path(os.path.realpath(root)) for root in settings.SILLYTAVERN_ROOTS]
    return [Path.home(), *(Path(root) for root in USUAL_ROOTS)]


def is_inside_roots(path: Path) -> bool:
    """Whether a resolved path lies where folders may be picked, and not in CharMem's own data."""
    own = Path(os.path.realpath(settings.DATA_DIR))
    return not path.is_relative_to(own) and any(path.is_relative_to(root) for root in roots())


def guesses() -> list[UserFolder]:
    """User folders in the usual places, the last used first."""
    found: dict[Path, UserFolder] = {}
    for place in _usual_places():
        for folder in user_folders(place):
            real = Path(os.path.realpath(folder.path))
            if is_inside_roots(real):
                found[real] = UserFolder(real, folder.used_at)
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(found.values(), key=lambda folder: folder.used_at or oldest, reverse=True)[:MOST_LISTED]


def _usual_places() -> Iterator[Path]:
    for root in roots():
        if settings.SILLYTAVERN_ROOTS:
            yield root
            yield from _folders(root)
        for name in USUAL:
            yield root / name


def _folders(root: Path) -> list[Path]:
    found = []
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "_")) and _is_text(entry.name):
                found.append(Path(entry.path))
            if len(found) >= MOST_LISTED:
                break
    return found


def _is_text(name: str) -> bool:
    """A name that is not UTF-8 cannot be shown on a page."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _described(path: Path) -> UserFolder:
    moments = []
    for name in ("settings.json", "chats", "characters"):
        with suppress(OSError):
            moments.append((path / name).stat(follow_symlinks=False).st_mtime)
    return UserFolder(path, datetime.fromtimestamp(max(moments), UTC) if moments else None)


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
