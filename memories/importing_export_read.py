"""An export of another installation, checked field by field before anything is done with it (pure).

What comes out is safe to store: texts are one line and clean, ids are UUIDs, times have a zone, unknown fields are
dropped. The state of a file has the form of memories/file_state.py; its chats are links {"name", "integrity"}.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from memories.blocks import UNSAFE, clean_bullet, clean_label, clean_loose, is_topic
from memories.choices import CHECKS

FORMAT = "charmem-export"
VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
MAX_MEMORIES = 500_000
YEARS = range(2, 9999)  # the first and the last year of the calendar do not exist in every time zone
ORIGINS = ("extracted", "pinned", "written", "imported", "consolidated", "converted")
LAYOUTS = ("block", "bullet", "custom")
T = TypeVar("T")
Link = dict[str, str]


class BadExport(ValueError):
    """This is no export that can be read. `reason` is one of not-json, too-deep, not-export, other-version, too-big and
    wrong-field; `path` says where ("characters[0].files[2].name")."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{reason} {path}".strip())
        self.reason, self.path = reason, path


@dataclass(frozen=True)
class FileIn:
    """One memory file: its state (chats as links), the bullets that were replaced, and the chat that it is for."""

    name: str
    chat: Link | None
    state: dict[str, Any]
    ancestors: list[dict[str, Any]]


@dataclass(frozen=True)
class CharacterIn:
    """One character with its files."""

    name: str
    avatar: str
    files: list[FileIn] = field(default_factory=list)

    @property
    def memories(self) -> int:
        facts = (memory for file in self.files for block in file.state["blocks"] for memory in block["memories"])
        return sum(not memory["is_topic"] for memory in facts)


@dataclass(frozen=True)
class ExportIn:
    """A whole export."""

    made_at: datetime | None
    by: str
    characters: list[CharacterIn]
    prompts: list[dict[str, str]]


def read(data: bytes) -> ExportIn:
    """The export in these bytes; BadExport when it is none."""
    if len(data) > MAX_BYTES:
        raise BadExport("too-big")
    whole = _parsed(data)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise BadExport("not-export")
    if whole.get("version") != VERSION:
        raise BadExport("other-version", str(whole.get("version"))[:20])
    characters = [_character(one, f"characters[{n}]") for n, one in enumerate(_list(whole, "", "characters"))]
    if sum(character.memories for character in characters) > MAX_MEMORIES:
        raise BadExport("too-big")
    prompts = [_prompt(one, f"prompts[{n}]") for n, one in enumerate(_list(whole, "", "prompts", []))]
    return ExportIn(_time(whole, "", "made_at"), _text(whole, "", "by", "")[:120], characters, prompts)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise BadExport("too-deep") from None
    except ValueError:  # also bytes that are no text, and numbers without end
        raise BadExport("not-json") from None


def _no_constant(_name: str) -> Any:
    raise ValueError("NaN and Infinity are no JSON")


def _character(data: Any, path: str) -> CharacterIn:
    _dict(data, path)
    files = [_file(one, f"{path}.files[{n}]") for n, one in enumerate(_list(data, path, "files"))]
    return CharacterIn(_text(data, path, "name")[:500], _text(data, path, "avatar", "")[:300], files)


def _file(data: Any, path: str) -> FileIn:
    _dict(data, path)
    blocks = [_block(one, f"{path}.blocks[{n}]") for n, one in enumerate(_list(data, path, "blocks"))]
    state = {
        "layout": _one_of(data, path, "layout", LAYOUTS, "block"),
        "separator": _text(data, path, "separator", "\n\n")[:80],
        "with_metadata": _get(data, path, "with_metadata", bool, False),
        "loose_text": [
            _loose(one, f"{path}.loose_text[{n}]") for n, one in enumerate(_list(data, path, "loose_text", []))
        ],
        "blocks": [block for block in blocks if block["memories"]],
    }
    rows = enumerate(_list(data, path, "ancestors", []))
    ancestors = [_ancestor(one, f"{path}.ancestors[{n}]") for n, one in rows]
    return FileIn(_text(data, path, "name", "")[:300], _link(data, path, "chat"), state, ancestors)


def _loose(data: Any, path: str) -> dict[str, Any]:
    _dict(data, path)
    return {"before": _id(data, path, "before", optional=True), "text": clean_loose(_text(data, path, "text"))}


def _block(data: Any, path: str) -> dict[str, Any]:
    _dict(data, path)
    memories = [_memory(one, f"{path}.memories[{n}]") for n, one in enumerate(_list(data, path, "memories"))]
    return {
        "id": _id(data, path, "id"),
        "label": clean_label(_text(data, path, "label")),
        "date": clean_bullet(_text(data, path, "date", ""))[:40].strip(),
        "origin": _one_of(data, path, "origin", ORIGINS, "imported"),
        "is_locked": _get(data, path, "is_locked", bool, False),
        "chat": _link(data, path, "chat"),
        "first_index": _number(data, path, "first_index"),
        "last_index": _number(data, path, "last_index"),
        "job": _id(data, path, "job", optional=True),
        "call": _id(data, path, "call", optional=True),
        "prompt_version": _text(data, path, "prompt_version", "")[:40],
        "form": _form(data, path),
        "created_at": _moment(data, path, "created_at"),
        "memories": [memory for memory in memories if memory["text"]],
    }


def _memory(data: Any, path: str) -> dict[str, Any]:
    _dict(data, path)
    text = clean_bullet(_text(data, path, "text"))
    return {
        "id": _id(data, path, "id"),
        "text": text,
        "is_topic": is_topic(text),
        "is_locked": _get(data, path, "is_locked", bool, False),
        "evidence": _evidence(data, path),
        "parents": _ids(data, path, "parents"),
        "is_unverified": _get(data, path, "is_unverified", bool, False),
        "unverified_names": [clean_bullet(str(name))[:200] for name in _list(data, path, "unverified_names", [])],
        "doubts": _doubts(data, path),
        "duplicate_of": _id(data, path, "duplicate_of", optional=True),
        "is_source_changed": _get(data, path, "is_source_changed", bool, False),
        "created_at": _moment(data, path, "created_at"),
    }


def _doubts(data: Any, path: str) -> list[dict[str, str]]:
    """Those of checks that exist; the words about them are ours."""
    found = []
    for number, one in enumerate(_list(data, path, "doubts", [])):
        here = f"{path}.doubts[{number}]"
        _dict(one, here)
        found.append({"check": _text(one, here, "check")[:40], "detail": clean_bullet(_text(one, here, "detail", ""))})
    return [one for one in found if one["check"] in CHECKS]


def _evidence(data: Any, path: str) -> list[dict[str, Any]]:
    found = []
    for number, one in enumerate(_list(data, path, "evidence", [])):
        here = f"{path}.evidence[{number}]"
        _dict(one, here)
        # In the order of the file: an export of what was imported is the same to the byte.
        known = (name for name in one if name in ("identity", "index", "quote", "content"))
        link = {name: (_number if name == "index" else _text)(one, here, name) for name in known}
        found.append(link)
    return found


def _ancestor(data: Any, path: str) -> dict[str, Any]:
    _dict(data, path)
    facts = _get(data, path, "facts", dict, {})
    return {
        "memory": _id(data, path, "memory"),
        "digest": _text(data, path, "digest")[:64],
        "text": _text(data, path, "text"),
        "evidence": _evidence(data, path),
        "parents": _ids(data, path, "parents"),
        "facts": {_clean(str(name))[:40]: _plain(value) for name, value in facts.items()},
        "chat": _link(data, path, "chat"),
        "replaced_at": _moment(data, path, "replaced_at"),
    }


def _prompt(data: Any, path: str) -> dict[str, str]:
    _dict(data, path)
    sizes = {"name": 60, "title": 100, "avatar": 300, "text": 200_000, "base_version": 20}
    return {name: _text(data, path, name, "")[:size] for name, size in sizes.items()}


def _form(data: dict[str, Any], path: str) -> dict[str, Any] | None:
    form = _get(data, path, "form", (dict, type(None)), None)
    if form is None:
        return None
    return {
        "layout": _one_of(form, f"{path}.form", "layout", LAYOUTS, "block"),
        "separator": _text(form, f"{path}.form", "separator", "\n\n")[:80],
        "metadata": _get(form, f"{path}.form", "metadata", bool, False),
    }


def _link(data: dict[str, Any], path: str, name: str) -> Link | None:
    link = _get(data, path, name, (dict, type(None)), None)
    if link is None:
        return None
    here = f"{path}.{name}"
    return {"name": _text(link, here, "name", "")[:500], "integrity": _text(link, here, "integrity", "")[:80]}


def _get(data: dict[str, Any], path: str, name: str, kind: Any, usual: Any) -> Any:
    value = data.get(name, usual)
    if not isinstance(value, kind):
        raise BadExport("wrong-field", _at(path, name))
    return value


def _dict(data: Any, path: str) -> None:
    if not isinstance(data, dict):
        raise BadExport("wrong-field", path)


def _list(data: dict[str, Any], path: str, name: str, usual: Any = None) -> list[Any]:
    found: list[Any] = _get(data, path, name, list, usual)
    return found


def _text(data: dict[str, Any], path: str, name: str, usual: Any = None) -> str:
    return _clean(_get(data, path, name, str, usual))


def _one_of(data: dict[str, Any], path: str, name: str, allowed: tuple[str, ...], usual: str) -> str:
    value = _text(data, path, name, usual)
    if value not in allowed:
        raise BadExport("wrong-field", _at(path, name))
    return value


def _number(data: dict[str, Any], path: str, name: str) -> int | None:
    value: int | None = _get(data, path, name, (int, type(None)), None)
    if value is not None and (isinstance(value, bool) or not -1 <= value < 2**31):
        raise BadExport("wrong-field", _at(path, name))
    return value


def _id(data: dict[str, Any], path: str, name: str, *, optional: bool = False) -> Any:
    value = data.get(name)
    if value is None and optional:
        return None
    try:
        return str(uuid.UUID(value))
    except (ValueError, AttributeError, TypeError):
        raise BadExport("wrong-field", _at(path, name)) from None


def _ids(data: dict[str, Any], path: str, name: str) -> list[str]:
    found = {f"{name}[{n}]": value for n, value in enumerate(_list(data, path, name, []))}
    return [_id(found, path, one) for one in found]


def _time(data: dict[str, Any], path: str, name: str) -> datetime | None:
    text = _text(data, path, name, "")
    try:
        moment = datetime.fromisoformat(text) if text else None
        if moment and moment.year not in YEARS:
            raise ValueError(moment.year)
        return moment.astimezone(UTC) if moment else None
    except (ValueError, OverflowError):
        raise BadExport("wrong-field", _at(path, name)) from None


def _moment(data: dict[str, Any], path: str, name: str) -> str:
    moment = _time(data, path, name)
    if moment is None:
        raise BadExport("wrong-field", _at(path, name))
    return moment.isoformat()


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _clean(text: str) -> str:
    """Text that every database can hold."""
    return UNSAFE.sub("", text)


def _plain(value: Any) -> Any:
    """A fact: a text, a number or nothing."""
    is_number = isinstance(value, (int, float)) and abs(value) < 2**53  # which JSON has, and every reader of it
    if value is None or is_number:
        return value
    return _clean(str(value))[:500]
