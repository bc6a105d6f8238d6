"""Fetch a GGUF file: https only, few redirects, bounded, resumable, and only with the checksum that was expected.

What has arrived lies in a file of its own until the checksum is right; a later try goes on behind it where the server
allows that (Range), else from the beginning.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext as _

from accounts.wording import size
from providers import transport
from providers.gguf import MAGIC
from providers.network import Policy, url_problem
from providers.transport import Pieces, TransportError

MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
KEPT_FREE = 10**9  # bytes that a download leaves on the disk
LONGEST_SECONDS = 24 * 3600.0
LOOK_EVERY = 64 << 20  # bytes between two looks at the disk
BLOCK = 1 << 20
KNOWN_WRONG = ("magic", "too_large")
LOGIN_STATUS, GONE_STATUS, BUSY_STATUS = (401, 403), (404, 410), (408, 425, 429)

Stop = Callable[[], bool]
Tell = Callable[[int, int | None], None]


class DownloadError(TransportError):
    """The file did not come, or is not what was wanted; with kinds of its own."""


@dataclass(frozen=True)
class Wanted:
    """Where a file is, the SHA-256 it must have (64 hex digits), and how many bytes it may have."""

    url: str
    sha256: str
    largest: int
    policy: Policy


@dataclass(frozen=True)
class _Ears:
    stop: Stop
    enough: Stop
    tell: Tell


def address_problem(url: str) -> str:
    """Why nothing is downloaded from an address, as a sentence; "" when it may be tried."""
    if not url.lower().startswith("https://"):
        return _("Models are downloaded from https addresses only.")
    return url_problem(url)


def fetch(wanted: Wanted, part: Path, *, stop: Stop, enough: Stop, tell: Tell) -> bool:
    """Have the whole file in `part`, with the right checksum. `tell(done, total)` hears bytes, total None if unknown.

    False when `enough()` said so in between, which is asked only where a later try can go on behind it. Raises
    DownloadError, with kind "stopped" when `stop()` asked for it. What arrived is kept in `part` unless it is known to
    be wrong.
    """
    have = part.stat().st_size if part.exists() else 0
    have = have if have > len(MAGIC) else 0
    try:
        with _found(wanted, have, stop) as (answer, host):
            if (answer.status != 416 or not have) and not _take(
                answer, host, wanted, part, have, _Ears(stop, enough, tell)
            ):
                return False
    except DownloadError as error:
        if error.kind in KNOWN_WRONG:
            part.unlink(missing_ok=True)
        raise
    except TransportError as error:
        raise _trouble(error) from error
    except OSError as error:
        raise _disk_trouble(error) from error
    if _digest(part, stop) != wanted.sha256.lower():
        part.unlink()
        raise _wrong_sum(had_part=have > 0)
    return True


@contextmanager
def _found(wanted: Wanted, have: int, stop: Stop) -> Iterator[tuple[Pieces, str]]:
    """The answer at the end of the redirects, each of which is vetted as the first address was."""
    url = wanted.url
    headers = {"Range": f"bytes={have}-"} if have else {}
    for _hop in range(MOST_REDIRECTS + 1):
        if problem := address_problem(url):
            raise DownloadError("address", problem, _("The address leads on to another one that is not allowed."))
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        base = f"https://{parts.netloc}"
        with (
            transport.open_client(base, wanted.policy, reach="custom") as client,
            client.download(path or "/", headers=headers, stop=stop, total=LONGEST_SECONDS) as answer,
        ):
            if answer.status not in REDIRECTS:
                yield answer, str(parts.hostname)
                return
            url = urljoin(url, answer.headers.get("location", ""))
    raise DownloadError("redirect", _("The address leads on more than %(n)d times.") % {"n": MOST_REDIRECTS})


def _take(answer: Pieces, host: str, wanted: Wanted, part: Path, have: int, ears: _Ears) -> bool:
    if answer.status not in (200, 206):
        raise _refused(answer.status, host)
    begin, total = _span(answer, have)
    if total is not None and total > wanted.largest:
        raise _too_large(wanted.largest, total)
    _check_space(part.parent, (total or 0) - begin)
    can_go_on = answer.status == 206 or answer.headers.get("accept-ranges") == "bytes"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.truncate(begin)
        file.seek(begin)
        done, look_at = begin, begin + LOOK_EVERY
        for piece in _with_magic(answer.body) if begin == 0 else answer.body:
            file.write(piece)
            done += len(piece)
            if done > wanted.largest:
                raise _too_large(wanted.largest)
            if done >= look_at:
                _check_space(part.parent, (total or done) - done)
                look_at = done + LOOK_EVERY
            ears.tell(done, total)
            if ears.stop():  # one that is fast never waits, and only waits are cut short
                raise _stopped()
            if done != total and can_go_on and ears.enough():
                return False
        file.flush()
        os.fsync(file.fileno())
    return True


def _with_magic(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, once the first bytes were seen to be right: a page that says “log in” ends here."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= len(MAGIC):
            break
    if not head.startswith(MAGIC):
        raise DownloadError(
            "magic",
            _("What the address gives is no GGUF file. Nothing was kept."),
            _("Take the address of the file itself, not that of the page about it."),
        )
    yield head
    yield from pieces


def _span(answer: Pieces, have: int) -> tuple[int, int | None]:
    """Where the answer begins in the file, and the size of the whole file; begins anew when it is not said clearly."""
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise DownloadError("protocol", _("The server packs the file in a way that was not asked for."))
    length = answer.headers.get("content-length", "")
    if answer.status == 200:
        return 0, int(length) if length.isdigit() else None
    said = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("content-range", ""))
    if said is None or int(said[1]) != have:
        raise DownloadError("protocol", _("The server sent another part of the file than the one asked for."))
    return have, int(said[2]) if said[2].isdigit() else None


def _check_space(folder: Path, more: int) -> None:
    free = shutil.disk_usage(folder).free
    if more + KEPT_FREE > free:
        raise DownloadError(
            "space",
            _("There is not enough room on the disk: %(more)s are still to come, and %(free)s are free.")
            % {"more": size(max(0, more)), "free": size(free)},
            _("Free some space, %(kept)s more than the file needs; what has arrived is kept.")
            % {"kept": size(KEPT_FREE)},
        )


def _digest(part: Path, stop: Stop) -> str:
    found = hashlib.sha256()
    with part.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
            if stop():
                raise _stopped()
    return found.hexdigest()


def _stopped() -> DownloadError:
    return DownloadError("stopped", _("Stopped. What has arrived is kept."))


def _wrong_sum(*, had_part: bool) -> DownloadError:
    if had_part:
        text = _("What an earlier try had left did not fit to the rest, so it was removed.")
        return DownloadError("sum", text, _("The next try begins anew."), retryable=True)
    return DownloadError(
        "sum",
        _("The file is complete, but its SHA-256 is another one than you gave. It was removed."),
        _("Copy the SHA-256 again from the page about the file; if it is right, the file was changed on the way."),
    )


def _too_large(most: int, total: int | None = None) -> DownloadError:
    if total is None:
        text = _("The file is larger than %(most)s, which is the most that is downloaded here.")
    else:
        text = _("The file has %(total)s; at most %(most)s are downloaded here.")
    hint = _("The limit is CHARMEM_MODEL_DOWNLOAD_GB, set by whoever runs this server.")
    return DownloadError("too_large", text % {"most": size(most), "total": size(total)}, hint)


def _refused(status: int, host: str) -> DownloadError:
    place = {"host": host, "n": status}
    if status in LOGIN_STATUS:
        hint = _("Only files that are open to everybody can be downloaded here. Fetch it by hand into the folder.")
        return DownloadError("forbidden", _("%(host)s wants a login for this file (%(n)d).") % place, hint)
    if status in GONE_STATUS:
        hint = _("Check the address for typing mistakes.")
        return DownloadError("not_found", _("%(host)s has no such file (%(n)d).") % place, hint)
    text = _("%(host)s answered with error %(n)d.") % place
    return DownloadError("server", text, retryable=status >= 500 or status in BUSY_STATUS)


def _trouble(error: TransportError) -> DownloadError:
    if error.kind == "address":
        return DownloadError(
            "address",
            _("The address leads to a place that is not public. Models are downloaded from public addresses only."),
            _("Copy a file from your own network into the models folder by hand."),
        )
    return DownloadError(error.kind, error.message, error.hint, retryable=error.retryable)


def _disk_trouble(error: OSError) -> DownloadError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = _("the disk is full") if is_full else (error.strerror or type(error).__name__)
    return DownloadError("disk", _("The file could not be written: %(why)s. What has arrived is kept.") % {"why": why})
