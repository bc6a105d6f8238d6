"""JSON and JSON lines of any shape as an outline that people can read, which is then read like other notes (pure).

Every text in it goes into the outline. Of things that are plainly entries of a memory (they have a text under a usual
name), a program's settings (numbers, switches, ids) are left out, which is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memories.formats_lines import DATE, date_in, has_words
from memories.formats_names import DATES, KEYS, LABELS, SETTINGS, TEXTS, best_name
from memories.formats_types import Refused

DEEPEST = 40
ENTRIES = ("entries", "data", "memories", "facts", "events", "layers", "items")


def parse_json(text: str) -> Any:
    """The value, or ValueError (also for one that is nested too deeply to be read)."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_lines(text: str) -> list[tuple[Any, str]]:
    """(value, "") of each line that is JSON, (None, line) of the others."""
    found: list[tuple[Any, str]] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            found.append((parse_json(line), ""))
        except ValueError:
            found.append((None, line))
    return found


def looks_like_lines(text: str) -> bool:
    """Whether the first two lines are objects of their own."""
    head = [line for line in text[:200_000].split("\n", 40) if line.strip()][:2]
    if len(head) < 2 or not all(line.lstrip().startswith("{") for line in head):
        return False
    if not head[0].rstrip().endswith("}"):
        return False
    try:
        return isinstance(parse_json(head[0]), dict)
    except ValueError:
        return False


def kind_of(value: Any) -> str:
    """ "lorebook", "export" (entries with a text under a usual name) or "json"."""
    book = lorebook_of(value)
    if book is not None:
        return "lorebook"
    return "export" if any(is_entry(one) for one in _first_records(value)) else "json"


def lorebook_of(value: Any) -> list[Mapping[str, Any]] | None:
    """The entries of a lorebook, of SillyTavern or of another program. A card with a book inside is read as a whole."""
    if not isinstance(value, dict):
        return None
    entries = value.get("entries")
    rows = list(entries.values()) if isinstance(entries, dict) else entries
    if isinstance(rows, list) and rows and all(isinstance(one, dict) for one in rows) and _has_keys(rows):
        return rows
    if value.get("type") == "risu" and isinstance(value.get("data"), list):
        return [one for one in value["data"] if isinstance(one, dict)]
    return None


def around_book(value: Mapping[str, Any]) -> Iterator[str]:
    """What a lorebook's file says besides its entries, but for settings and the copy that SillyTavern keeps."""
    is_risu = value.get("type") == "risu"
    known = {"data", "type", "ver"} if is_risu else {"entries"}
    rest = {name: one for name, one in value.items() if name not in {*known, "originalData"}}
    yield from ("", "", *_object({name: one for name, one in rest.items() if name.lower() not in SETTINGS}, 0))


def _has_keys(rows: list[Mapping[str, Any]]) -> bool:
    return any({"key", "keys", "keywords"} & {str(name).lower() for name in one} for one in rows)


def _first_records(value: Any) -> list[Any]:
    """Some of the things that a list, or a list inside of an object, holds."""
    if isinstance(value, list):
        return value[:20]
    if isinstance(value, dict):
        lists = [found for name in ENTRIES if isinstance(found := value.get(name), list)]
        return [one for found in lists for one in found[:20]]
    return []


def is_entry(value: Any) -> bool:
    """Whether this is one memory of some program: an object with a text under a usual name."""
    if not isinstance(value, dict):
        return False
    texts = [value[name] for name in value if str(name).lower() in TEXTS]
    return any(isinstance(one, str) and has_words(one) for one in texts)


def refuse_chat(values: list[Any]) -> None:
    """Raises Refused("chat") when these are the lines of a chat."""
    said = [one for one in values[:50] if isinstance(one, dict)]
    messages = sum("mes" in one and ("is_user" in one or "name" in one) for one in said)
    header = bool(said) and "chat_metadata" in said[0]
    if header or (messages and messages >= len(said) - 1):
        raise Refused("chat")


def outline(value: Any, *, depth: int = 0) -> Iterator[str]:
    """Any JSON value as lines of an outline."""
    if depth > DEEPEST:
        yield f"- {json.dumps(value, ensure_ascii=False)}"
    elif isinstance(value, dict):
        yield from entry(value, depth) if is_entry(value) else _object(value, depth)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict | list):
                yield from outline(one, depth=depth + 1)
            else:
                yield from _bullets(scalar(one))
    else:
        yield from scalar(value).split("\n")


def entry(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """One memory of some program: its name as heading, its keywords as a topic, its text, whatever else has words."""
    names = [str(name).lower() for name in value]
    keys = list(value)
    text, label = (_chosen(value, keys, best_name(names, known)) for known in (TEXTS, LABELS))
    dated = best_name(names, DATES)
    date = date_in(scalar(value[keys[dated]])) if dated is not None else ""
    words = [word for name in keys if str(name).lower() in KEYS for word in _words(value[name])]
    title = " ".join((label or (words[0] if words else "")).split())
    yield ""
    yield from [f"## {title}{f' ({date})' if date else ''}"] if title or date else []
    if words:
        yield f"- [{_plain(title or words[0])} — {_plain(', '.join(dict.fromkeys(words)))}]"
    yield ""
    yield from text.split("\n")
    yield ""
    used = {_name_at(keys, best_name(names, TEXTS)), _name_at(keys, best_name(names, LABELS))}
    if date and not any(char.isalpha() for char in DATE.sub("", scalar(value[keys[dated or 0]])).strip("TZ")):
        used.add(_name_at(keys, dated))
    for name in keys:
        if name not in used and str(name).lower() not in KEYS:
            yield from _rest(str(name), value[name], depth)


def _name_at(keys: list[Any], place: int | None) -> Any:
    return None if place is None else keys[place]


def _chosen(value: Mapping[str, Any], keys: list[Any], place: int | None) -> str:
    return "" if place is None else scalar(value[keys[place]])


def _rest(name: str, value: Any, depth: int) -> Iterator[str]:
    """A further field of an entry; a program's settings are not part of the story."""
    if isinstance(value, bool | int | float) or value is None or name.lower() in SETTINGS:
        return
    if isinstance(value, str):
        yield from _named(name, value) if has_words(value) else ()
    elif value:
        yield from _nested(name, value, depth)


def _object(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, one in value.items():
        if isinstance(one, dict | list):
            yield from _nested(str(name), one, depth)
        elif one is not None and one != "":
            yield from _named(str(name), scalar(one))


def _nested(name: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, list) and value and not any(isinstance(one, dict | list) for one in value):
        yield f"- {name}: {'; '.join(' '.join(scalar(one).split()) for one in value)}"
        return
    if value:
        yield ""
        yield f"{'#' * min(6, depth + 1)} {name}"
        yield from outline(value, depth=depth + 1)


def _named(name: str, text: str) -> Iterator[str]:
    first, *others = text.split("\n")
    yield f"- {name}: {first}"
    yield from others


def _bullets(text: str) -> Iterator[str]:
    first, *others = text.split("\n")
    yield f"- {first}"
    yield from others


def scalar(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return str(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def _words(value: Any) -> list[str]:
    """Keywords, given as a list or with commas between."""
    rows = value if isinstance(value, list) else str(value or "").split(",")
    return [word for one in rows if has_words(word := " ".join(scalar(one).split()))]


def _plain(text: str) -> str:
    """`text` as it can stand between the brackets of a topic tag."""
    return text.replace("[", "(").replace("]", ")")
