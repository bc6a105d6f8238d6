"""The one way into a SillyTavern user folder on disk (architecture, rules 4 and 7; stack-notes §9.9).

Every open goes piece by piece with directory descriptors and O_NOFOLLOW, so neither a symbolic link nor a race can
lead outside; only regular files on a fixed list of names are opened.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from sync.tavern.paths import new_file_parts, parts_of

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW | getattr(os, "O_CLOEXEC", 0)
READING = os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
CREATING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | getattr(os, "O_CLOEXEC", 0)

TEMPORARY = ".charmem-"
LEFT_OVER = 3600.0  # seconds after which nobody writes a temporary file any more

Parts = list[str]


class NotRegular(OSError):
    """What stands under this name is a link, a folder, a device or a pipe; it is not opened."""


class ChangedMeanwhile(OSError):
    """The file that was to be replaced is not the one that was looked at."""


class Seen(NamedTuple):
    """How a file looked: what a pass compares."""

    size: int
    mtime_ns: int
    inode: int


class Listed(NamedTuple):
    """One name in a folder. `kind` is "file", "folder", "link" or "other"."""

    name: str
    kind: str
    seen: Seen


class Folder:
    """An open SillyTavern user folder. Use it as a context manager.

    Opening raises OSError (missing, no permission, not a folder). Reading raises PathRefused for a name that is not
    on the list, NotRegular for anything but a regular file, and OSError for the rest.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._fd = os.open(self.root, DIRECTORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def open(self, relative: str) -> BinaryIO:
        """Open a regular file for reading, at its beginning."""
        parts = parts_of(relative)
        with self._parent(parts) as parent:
            fd = _open(parts[-1], READING, parent)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotRegular(errno.EINVAL, "not a regular file")
        return os.fdopen(fd, "rb", buffering=1 << 16)

    def read(self, relative: str, most: int = 64 * 1024 * 1024) -> bytes:
        """The bytes of a file; OSError (EFBIG) when there are more than `most`."""
        with self.open(relative) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise OSError(errno.EFBIG, "too large")
        return data

    def seen(self, relative: str) -> Seen | None:
        """How a file looks now, None when it is not there."""
        parts = parts_of(relative)
        with self._parent(parts) as parent:
            return _seen(parts[-1], parent)

    def stat(self, relative: str) -> os.stat_result:
        """Facts of a file or folder itself, links not followed."""
        parts = parts_of(relative)
        with self._parent(parts) as parent:
            return os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)

    def exists(self, relative: str) -> bool:
        """Whether a regular file stands there."""
        try:
            return stat.S_ISREG(self.stat(relative).st_mode)
        except OSError:
            return False

    def list(self, relative: str = "") -> list[Listed]:
        """Names in a folder on the list, with their facts; "" lists the user folder itself. Unsorted."""
        with self._folder(relative) as fd:
            return list(scan(fd))

    @contextmanager
    def walk_fd(self, relative: str = "") -> Iterator[int]:
        """A descriptor of a folder, for a caller that scans many."""
        with self._folder(relative) as fd:
            yield fd

    def write_atomic(self, relative: str, data: bytes, *, over: Seen | None = None) -> None:
        """Write a whole file or nothing: a temporary file beside it, synced, then renamed over it.

        `over` is how the file looked that is to be replaced; any other one stays, and ChangedMeanwhile is raised.
        Owner and mode are those of the file that stood there, else of its folder, as far as permitted.
        """
        parts = new_file_parts(relative)
        with self._parent(parts) as parent:
            model = _model(parts[-1], parent)
            _remove_leftovers(parent)
            temporary = f"{TEMPORARY}{secrets.token_hex(8)}.tmp"
            fd = os.open(temporary, CREATING, 0o600, dir_fd=parent)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    _take_after(file.fileno(), model)
                    os.fsync(file.fileno())
                if over is not None and _seen(parts[-1], parent) != over:
                    raise ChangedMeanwhile(errno.EAGAIN, "changed meanwhile")
                os.replace(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            with suppress(OSError):
                os.fsync(parent)

    def rename(self, old: str, new: str) -> None:
        """Rename within the places we write; an existing file at `new` is replaced in one step."""
        old_parts, new_parts = new_file_parts(old), new_file_parts(new)
        with self._parent(old_parts) as here, self._parent(new_parts) as there:
            os.replace(old_parts[-1], new_parts[-1], src_dir_fd=here, dst_dir_fd=there)

    def remove(self, relative: str) -> None:
        """Remove one of our own files."""
        parts = new_file_parts(relative)
        with self._parent(parts) as parent:
            os.unlink(parts[-1], dir_fd=parent)

    def make_folder(self, relative: str) -> None:
        """Make a folder (and those above it) where we write; it takes owner and mode of the folder around it."""
        parts = new_file_parts(relative)
        for depth in range(1, len(parts) + 1):
            with self._chain(parts[: depth - 1]) as parent:
                try:
                    os.mkdir(parts[depth - 1], 0o755, dir_fd=parent)
                except FileExistsError:
                    continue
                fd = os.open(parts[depth - 1], DIRECTORY, dir_fd=parent)
                try:
                    _take_after(fd, os.fstat(parent), folder=True)
                finally:
                    os.close(fd)

    @contextmanager
    def _folder(self, relative: str) -> Iterator[int]:
        with self._chain(parts_of(relative) if relative else []) as fd:
            yield fd

    @contextmanager
    def _parent(self, parts: Parts) -> Iterator[int]:
        with self._chain(parts[:-1]) as fd:
            yield fd

    @contextmanager
    def _chain(self, parts: Parts) -> Iterator[int]:
        fd = os.dup(self._fd)
        try:
            for part in parts:
                deeper = _open(part, DIRECTORY, fd)
                os.close(fd)
                fd = deeper
            yield fd
        finally:
            os.close(fd)


def scan(fd: int) -> Iterator[Listed]:
    """Names and facts in the folder behind a descriptor."""
    with os.scandir(fd) as entries:
        for entry in entries:
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield Listed(entry.name, kind_of(facts.st_mode), Seen(facts.st_size, facts.st_mtime_ns, facts.st_ino))


def kind_of(mode: int) -> str:
    """ "file", "folder", "link" or "other" for a mode."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def seen_of(file: BinaryIO) -> Seen:
    """Facts of an open file."""
    facts = os.fstat(file.fileno())
    return Seen(facts.st_size, facts.st_mtime_ns, facts.st_ino)


def _open(name: str, flags: int, parent: int) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK, errno.ENXIO} or _is_link(name, parent):
            raise NotRegular(error.errno, "not a regular file") from None
        raise


def _is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _seen(name: str, parent: int) -> Seen | None:
    """Facts of a file, None when it is gone."""
    try:
        facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return Seen(facts.st_size, facts.st_mtime_ns, facts.st_ino)


def _remove_leftovers(parent: int) -> None:
    """Temporary files of ours that a killed process left in this folder."""
    old = time.time() - LEFT_OVER
    for one in scan(parent):
        if one.name.startswith(TEMPORARY) and one.kind == "file" and one.seen.mtime_ns < old * 1e9:
            with suppress(OSError):
                os.unlink(one.name, dir_fd=parent)


def _model(name: str, parent: int) -> os.stat_result:
    """Facts that a written file takes over: of the file it replaces, else of the folder."""
    try:
        facts = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return os.fstat(parent)
    if not stat.S_ISREG(facts.st_mode):
        raise NotRegular(errno.EINVAL, "not a regular file")
    return facts


def _take_after(fd: int, model: os.stat_result, *, folder: bool = False) -> None:
    mode = stat.S_IMODE(model.st_mode)
    with suppress(PermissionError, AttributeError):
        os.fchmod(fd, mode & 0o777 if folder or stat.S_ISREG(model.st_mode) else mode & 0o666)
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (model.st_uid, model.st_gid):
        with suppress(PermissionError, AttributeError):
            os.fchown(fd, model.st_uid, model.st_gid)
