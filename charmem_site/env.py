"""Reading the environment: three typed helpers that fail loudly, with the `_FILE` convention for secrets."""

from __future__ import annotations

import os
from pathlib import Path

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


def env_int(name: str, default: int) -> int:
    """A whole number."""
    text = env_str(name)
    if not text:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise EnvError(f"{name}={text!r} is not a whole number.") from error


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
