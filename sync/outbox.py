"""Writing a memory file into the Data Bank: never over an edit that we have not seen, and always with a way back.

`Attachment.written_hash` is the text on the disk that our memories know: what we wrote last, or what was taken over
last. A file that holds anything else was edited outside, and is not overwritten.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from sync.models import Attachment
from sync.tavern.folder import ChangedMeanwhile, Folder, Seen
from sync.tavern.paths import PathRefused, file_of_url
from sync.tavern.text import clean

KEPT_VERSIONS = 5


@dataclass(frozen=True)
class Written:
    """The file holds our text. `is_changed` is False when it did already."""

    is_changed: bool


@dataclass(frozen=True)
class Conflict:
    """Somebody else changed the file. Nothing was written; `theirs` is what it holds."""

    theirs: str
    digest: str


class WriteFailed(Exception):
    """The file could not be read or written. The message is a finished sentence, `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def write_file(attachment: Attachment, text: str) -> Written | Conflict:
    """Put `text` into the file of `attachment` in one step, if it holds what we know. Raises WriteFailed."""
    data = _bytes(text)
    with _opened(attachment) as folder:
        seen, current = _looked_at(folder, attachment)
        if current is not None and hash_of(current) == hash_of(data):
            accept(attachment, hash_of(data))
            return Written(is_changed=False)
        if current and hash_of(current) != attachment.written_hash:
            return Conflict(_text(current), hash_of(current))
        if current:
            _keep_copy(attachment, current)
        _write(folder, attachment, data, seen)
    accept(attachment, hash_of(data))
    return Written(is_changed=True)


def read_file(attachment: Attachment) -> tuple[str, str] | None:
    """What the file holds now and the hash of its bytes, None when it is not there. Raises WriteFailed."""
    with _opened(attachment) as folder:
        _seen, data = _looked_at(folder, attachment)
    return None if data is None else (_text(data), hash_of(data))


def accept(attachment: Attachment, digest: str) -> None:
    """Our memories know the text with this hash: while the file holds it, the next write may replace it."""
    attachment.is_ours, attachment.file_present = True, True
    if attachment.file_hash != digest and attachment.index_state == Attachment.Index.CURRENT:
        attachment.index_state = Attachment.Index.STALE
    attachment.file_hash = attachment.written_hash = digest
    attachment.save(update_fields=["is_ours", "file_present", "file_hash", "written_hash", "index_state"])


def hash_of(text: str | bytes) -> str:
    """sha256 of a file's bytes, as attachments keep it."""
    return hashlib.sha256(_bytes(text)).hexdigest()


def copies_of(attachment: Attachment) -> list[Path]:
    """The kept earlier versions of a file, oldest first."""
    return sorted(_copies_folder(attachment).glob("*.txt"))


def _opened(attachment: Attachment) -> Folder:
    try:
        return Folder(attachment.tavern.folder)
    except OSError as error:
        raise _failure(attachment, error) from error


def _looked_at(folder: Folder, attachment: Attachment) -> tuple[Seen | None, bytes | None]:
    """How the file looks and what it holds, Nones when it is not there."""
    try:
        path = file_of_url(attachment.url)
        return folder.seen(path), folder.read(path)
    except FileNotFoundError:
        return None, None
    except (OSError, PathRefused) as error:
        raise _failure(attachment, error) from error


def _write(folder: Folder, attachment: Attachment, data: bytes, seen: Seen | None) -> None:
    try:
        folder.write_atomic(file_of_url(attachment.url), data, over=seen)
    except ChangedMeanwhile as error:
        raise WriteFailed(
            _("%(name)s was changed by somebody else at the very moment it was to be written.")
            % {"name": attachment.name},
            _("Nothing was overwritten. CharMem looks at it again by itself in a few minutes."),
        ) from error
    except (OSError, PathRefused) as error:
        raise _failure(attachment, error) from error


def _failure(attachment: Attachment, error: Exception) -> WriteFailed:
    reason = getattr(error, "strerror", "") or str(error)
    return WriteFailed(
        _("%(name)s could not be written to the Data Bank: %(reason)s.") % {"name": attachment.name, "reason": reason},
        _("The memories are kept here. Check that CharMem may write to user/files in the SillyTavern folder."),
    )


def _keep_copy(attachment: Attachment, data: bytes) -> None:
    """Keep what is about to be replaced, the last five times, in CharMem's own data folder."""
    folder = _copies_folder(attachment)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        newest = max((int(one.stem) for one in copies_of(attachment) if one.stem.isdecimal()), default=0)
        (folder / f"{max(time.time_ns(), newest + 1)}.txt").write_bytes(data)  # in order whatever the clock says
    except OSError as error:
        raise WriteFailed(
            _("The earlier version of %(name)s could not be kept in CharMem’s data folder: %(reason)s.")
            % {"name": attachment.name, "reason": error.strerror or error},
            _("The file in SillyTavern was left as it is. Make room, then press Retry."),
        ) from error
    for old in copies_of(attachment)[:-KEPT_VERSIONS]:
        old.unlink(missing_ok=True)


def copies_of_tavern(tavern_id: UUID) -> Path:
    """Where the earlier versions of all memory files of a tavern lie."""
    return Path(settings.DATA_DIR) / "databank-copies" / str(tavern_id)


def _copies_folder(attachment: Attachment) -> Path:
    return copies_of_tavern(attachment.tavern_id) / str(attachment.pk)


def _text(data: bytes) -> str:
    return clean(data.decode("utf-8-sig", "replace"))


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else text
