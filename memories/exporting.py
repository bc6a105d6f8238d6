"""Downloads: one file of one character, or everything a person owns in an archive.

An archive is written to a temporary file, one member after the other, so that its size does not matter.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable
from datetime import datetime
from typing import IO, cast

from accounts.models import User
from memories import memory_file
from memories.export_book import book
from memories.export_data import as_json, characters_with_memories, files_of
from memories.export_names import distinct_names, safe_name
from sync.models import Character

MARKDOWN, JSON, BOOK, ARCHIVE = "markdown", "json", "book", "archive"
TYPES = {
    MARKDOWN: "text/markdown; charset=utf-8",
    JSON: "application/json",
    BOOK: "text/html; charset=utf-8",
    ARCHIVE: "application/zip",
}


def spooled(pieces: Iterable[str]) -> IO[bytes]:
    """Text in a temporary file, at its start; whoever sends it closes it."""
    target = tempfile.SpooledTemporaryFile(2**22)  # noqa: SIM115
    for piece in pieces:
        target.write(_bytes(piece))
    target.seek(0)
    return cast(IO[bytes], target)


def archive(user: User, *, made_at: datetime, with_history: bool = False) -> IO[bytes]:
    """Everything: one JSON to import again, and for each character its files as markdown and its book. At its start."""
    characters = characters_with_memories(user)
    # Closed by whoever sends it.
    target = tempfile.TemporaryFile(prefix="charmem-export-")  # noqa: SIM115
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        json_pieces = as_json(user, characters, made_at=made_at, with_history=with_history)
        _add(packed, "charmem-export.json", json_pieces, made_at)
        folders = distinct_names(character.name for character in characters)
        for character, folder in zip(characters, folders, strict=True):
            _add_character(packed, user, character, folder, made_at)
    target.seek(0)
    return target


def file_name(character: Character | None, kind: str, name: str = "") -> str:
    """What a download is called."""
    if character is None:
        return "charmem-export.json" if kind == JSON else "charmem-export.zip"
    if kind == MARKDOWN:
        return safe_name(name or f"{character.name}-memories.md")
    return safe_name(character.name) + (".json" if kind == JSON else ".html")


def _add_character(packed: zipfile.ZipFile, user: User, character: Character, folder: str, made_at: datetime) -> None:
    files = files_of(user, character)
    names = distinct_names(file.name.removesuffix(".md") for file in files)
    for file, name in zip(files, names, strict=True):
        _add(packed, f"{folder}/{name}.md", [memory_file.canonical(file)], made_at)
    _add(packed, f"{folder}/{folder}.html", book(user, character, made_at=made_at), made_at)


def _add(packed: zipfile.ZipFile, name: str, pieces: Iterable[str], made_at: datetime) -> None:
    member = zipfile.ZipInfo(name, made_at.timetuple()[:6])
    member.compress_type = zipfile.ZIP_DEFLATED
    with packed.open(member, "w", force_zip64=True) as out:
        for piece in pieces:
            out.write(_bytes(piece))


def _bytes(text: str) -> bytes:
    """Half a surrogate pair, which no file can hold, becomes a question mark."""
    return text.encode("utf-8", "replace")
