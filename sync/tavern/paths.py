"""Names inside a SillyTavern user folder: which may be opened, which may be written (stack-notes §9.9).

A logical name (a character's name, a URL in the Data Bank) never becomes a path: only names that a listing of the
folder returned, or that these rules allow, are opened.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

NEVER = frozenset({"secrets.json", "cookie-secret.txt", "_storage"})
READABLE = {
    "settings.json": 0,
    "characters": 1,
    "chats": 2,
    "groups": 1,
    "group chats": 1,
    "worlds": 1,
    "user/files": 1,
    "vectors": 4,
    "extensions": 4,
}
WRITABLE = ("settings.json", "user/files/", "vectors/", "extensions/")
RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
FORBIDDEN_IN_NEW = re.compile(r'[\x00-\x1f\x7f\\/:*?"<>|]')
LONGEST_NAME = 255


class PathRefused(ValueError):
    """A name that may not be opened; the message says why, without repeating odd characters."""


def parts_of(relative: str) -> list[str]:
    """The folders and the file of a relative path with `/`, checked piece by piece against the fixed list."""
    parts = relative.split("/")
    for part in parts:
        if part in {"", ".", ".."} or "\x00" in part:
            raise PathRefused("This is not a path inside the SillyTavern folder.")
        if part.lower() in NEVER:
            raise PathRefused("This file is never opened.")
        if len(part.encode("utf-8", "surrogateescape")) > LONGEST_NAME:
            raise PathRefused("This name is too long.")
    if not _is_listed(parts):
        raise PathRefused("This is not one of the files and folders that are read.")
    return parts


def new_file_parts(relative: str) -> list[str]:
    """Like `parts_of`, for a file that will be written: only where we write, and only harmless names."""
    parts = parts_of(relative)
    if not f"{relative}/".startswith(WRITABLE) and relative not in WRITABLE:
        raise PathRefused("CharMem does not write here.")
    for part in parts:
        stem = part.split(".", 1)[0].lower()
        if FORBIDDEN_IN_NEW.search(part) or stem in RESERVED or part[-1] in ". ":
            raise PathRefused("This name cannot be used for a file.")
    return parts


def chats_folder(avatar: str) -> str:
    """Folder of a character's chats: the avatar's name without the first `.png` (spec/sillytavern §4)."""
    return "chats/" + avatar.replace(".png", "", 1)


def file_of_url(url: str) -> str:
    """Path of an attachment from its URL: the base name is looked up under user/files, nothing else of it counts."""
    name = unquote(url.split("?", 1)[0].split("#", 1)[0]).rsplit("/", 1)[-1]
    path = f"user/files/{name}"
    parts_of(path)
    return path


def _is_listed(parts: list[str]) -> bool:
    for depth in (2, 1):
        base = "/".join(parts[:depth])
        if base in READABLE:
            return len(parts) - base.count("/") - 1 <= READABLE[base]
    return False
