"""Reading the environment: typed values that fail loudly, with the `_FILE` convention for secrets."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}


class EnvError(ValueError):
    """A variable holds something that cannot be used; the message names it."""


def env_str(name: str, default: str = "") -> str:
    """The text of a variable, without surrounding blanks."""
    return os.environ.get(name, default).strip()


def env_bool(name: str, default: bool = False) -> bool:
    """A switch: 1/true/yes/on or 0/false/no/off; anything else is an error."""
    text = os.environ.get(name)
    if text is None:
        return default
    lowered = text.strip().lower()
    if lowered in TRUE:
        return True
    if lowered in FALSE:
        return False
    raise EnvError(f"{name}={text!r} is neither yes nor no.")


def env_choice(name: str, default: str, choices: Collection[str]) -> str:
    """One of a few words, in capital letters."""
    text = env_str(name).upper() or default
    if text not in choices:
        raise EnvError(f"{name}={text} is none of {', '.join(choices)}.")
    return text


def env_count(name: str, default: int) -> int:
    """A whole number that is not negative."""
    text = env_str(name)
    if text and not (text.isascii() and text.isdigit() and len(text) < 10):
        raise EnvError(f"{name}={text} is not a whole number.")
    return int(text) if text else default


def env_zone(name: str, default: str) -> str:
    """The name of a time zone that this computer knows."""
    text = env_str(name) or default
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise EnvError(f"{name}={text} is not the name of a time zone, like Europe/Berlin.") from error
    return text


def env_folder(name: str, default: Path) -> Path:
    """A folder that is there or can be made; a new one is closed to other users of this computer."""
    path = Path(env_str(name) or default).resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EnvError(f"{name}: the folder {path} cannot be made: {error.strerror}.") from error
    return path


def env_address(name: str, schemes: Collection[str], example: str) -> str:
    """An address that may hold a password, so that a wrong one is not repeated; empty when there is none."""
    text = env_secret(name)
    if text and urlsplit(text).scheme not in schemes:
        raise EnvError(f"{name} is not an address like {example}.")
    return text


def env_list(name: str, separator: str = ",") -> list[str]:
    """A list of non-empty entries."""
    return [part.strip() for part in env_str(name).split(separator) if part.strip()]


def env_secret(name: str, path: Path | None = None) -> str:
    """A secret from `NAME`, from the file named in `NAME_FILE`, or from `path`; empty when none exists."""
    value = env_str(name)
    if value:
        return value
    named = env_str(f"{name}_FILE")
    if named:
        try:
            return Path(named).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise EnvError(f"{name}_FILE={named!r} cannot be read: {error.strerror}.") from error
    if path and path.exists():
        return path.read_text(encoding="utf-8").strip()
    return ""
