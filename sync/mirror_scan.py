"""One walk over the files that are mirrored: their facts, and what may not be looked at."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from sync.tavern.folder import Folder, kind_of
from sync.tavern.paths import NEVER
from sync.tavern.problem import Problem

Facts = tuple[int, int, int]  # size, mtime_ns, inode

SUFFIXES = {"characters": ".png", "groups": ".json", "group chats": ".jsonl", "worlds": ".json", "user/files": ""}
LINK = Problem("link", "This is a symbolic link; CharMem does not follow links.", "What it leads to was left alone.")
OTHER = Problem("not-a-file", "This is neither a file nor a folder.", "It was left alone.")
BAD_NAME = Problem("bad-name", "The name of this file is not UTF-8.", "The file was left alone.")


@dataclass(slots=True)
class Scan:
    """Every mirrored file with its facts. `aside` are names that are reported and never opened, with size -1.

    `closed` are folders that could not be listed: what was read from them before stays as it is.
    """

    files: dict[str, Facts] = field(default_factory=dict)
    aside: dict[str, Problem] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)

    def put_aside(self, path: str, problem: Problem, mtime_ns: int = 0, inode: int = 0) -> None:
        """Report a name instead of opening it."""
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        self.aside[shown] = problem
        self.files[shown] = (-1, mtime_ns, inode)

    def is_closed(self, path: str) -> bool:
        """Whether a path lies in a folder that could not be listed."""
        return any(path.startswith(f"{folder}/") for folder in self.closed)


def walk(folder: Folder) -> Scan:
    """List the fixed folders, never deeper than SillyTavern's own layout."""
    scan = Scan()
    with folder.walk_fd() as root:
        _list(scan, root, "", lambda name: name == "settings.json")
    for name, suffix in SUFFIXES.items():
        _enter(scan, folder, name, suffix)
    _chats(scan, folder)
    return scan


def _enter(scan: Scan, folder: Folder, name: str, suffix: str) -> None:
    try:
        with folder.walk_fd(name) as fd:
            scan.folders.add(name)
            _list(scan, fd, f"{name}/", lambda entry: entry.lower().endswith(suffix))
    except FileNotFoundError:
        return
    except OSError:
        _close(scan, folder, name)


def _chats(scan: Scan, folder: Folder) -> None:
    try:
        with folder.walk_fd("chats") as fd:
            scan.folders.add("chats")
            for name in _list(scan, fd, "chats/", lambda _name: False):
                try:
                    deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                except OSError:
                    _close(scan, folder, f"chats/{name}")
                    continue
                try:
                    _list(scan, deeper, f"chats/{name}/", lambda entry: entry.endswith(".jsonl"))
                finally:
                    os.close(deeper)
    except FileNotFoundError:
        return
    except OSError:
        _close(scan, folder, "chats")


def _list(scan: Scan, fd: int, prefix: str, wanted: Callable[[str], bool]) -> list[str]:
    """Put the wanted files of a folder into the scan; the names of its folders."""
    folders, files = [], scan.files
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
                continue
            is_link = entry.is_symlink()
            if name.lower() in NEVER or name.startswith(".") or not (wanted(name) or (is_link and prefix == "chats/")):
                continue
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            path = prefix + name
            if not _is_utf8(name):
                scan.put_aside(path, BAD_NAME, facts.st_mtime_ns, facts.st_ino)
            elif entry.is_file(follow_symlinks=False):
                files[path] = (facts.st_size, facts.st_mtime_ns, facts.st_ino)
            else:
                problem = LINK if kind_of(facts.st_mode) == "link" else OTHER
                scan.put_aside(path, problem, facts.st_mtime_ns, facts.st_ino)
    for name in folders:
        if not _is_utf8(name):
            scan.put_aside(prefix + name, BAD_NAME)
    return [name for name in folders if _is_utf8(name)]


def _is_utf8(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _close(scan: Scan, folder: Folder, path: str) -> None:
    """A folder that cannot be listed: a link is set aside, one without permission is closed."""
    scan.closed.append(path)
    try:
        is_link = kind_of(folder.stat(path).st_mode) == "link"
    except OSError:
        is_link = False
    scan.put_aside(path, LINK if is_link else no_permission(folder, path))


def no_permission(folder: Folder, path: str) -> Problem:
    """Who may not read what, with the numbers that a person needs to mend it."""
    me = f"uid {os.getuid()}, gid {os.getgid()}"
    try:
        facts = folder.stat(path)
        owner = f"it belongs to uid {facts.st_uid}, gid {facts.st_gid}, mode {facts.st_mode & 0o777:o}"
    except OSError:
        owner = "its owner cannot be seen"
    return Problem(
        "no-permission",
        f"CharMem runs as {me} and may not read this; {owner}.",
        "What was read from it before is kept.",
    )
