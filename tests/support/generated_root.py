"""A SillyTavern user folder made up by the ton: every header and date form, groups, branches, and broken files.

Deterministic for a seed. What was written is returned as facts, so that a test compares with them and not with what
the reader says.
"""

from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

NAMES = [
    "Mara",
    "Żółta Ćma 蛾子",
    "O'Neil",
    'Quote "Q"',
    "Back\\slash",
    "Colon: yes",
    "100%",
    "🦊🌙",
    "Þórunn",
    "Ren & Co",
]
WORDS = "the lamp was lit and nobody came down to the harbour before the tide had turned again that night".split()
START = datetime(2023, 2, 3, 10, 0, tzinfo=UTC)


@dataclass
class ChatFacts:
    """One written chat: its path, what every message says, and what else must be found."""

    path: str
    texts: list[str] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    parent: str = ""
    fork: int | None = None
    broken_lines: int = 0


@dataclass
class RootFacts:
    """Everything that was written."""

    root: Path
    characters: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    chats: dict[str, ChatFacts] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        return sum(len(chat.texts) for chat in self.chats.values())


def card_png(card: dict[str, Any], *, kind: bytes = b"tEXt", keywords: tuple[bytes, ...] = (b"chara",)) -> bytes:
    """A one-pixel PNG with a card inside."""
    value = base64.b64encode(json.dumps(card).encode())
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)), _chunk(b"IDAT", zlib.compress(b"\0abc"))]
    for keyword in keywords:
        if kind == b"zTXt":
            body = keyword + b"\0\0" + zlib.compress(value)
        elif kind == b"iTXt":
            body = keyword + b"\0\1\0en\0\0" + zlib.compress(value)
        else:
            body = keyword + b"\0" + value
        chunks.append(_chunk(kind, body))
    return b"\x89PNG\r\n\x1a\n" + b"".join([*chunks, _chunk(b"IEND", b"")])


def card_v2(name: str, **data: Any) -> dict[str, Any]:
    """A second version card."""
    fields = {"name": name, "description": f"{name} keeps a lamp.", "first_mes": "Hello.", "tags": ["test"], **data}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": fields}


def header(form: int, integrity: str, **metadata: Any) -> dict[str, Any] | None:
    """The first line of a chat, in one of the forms that SillyTavern has written; None for a group without one."""
    metadata = {"integrity": integrity, **metadata} if integrity else metadata
    if form == 0:
        return {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}
    if form == 1:
        return {
            "user_name": "Ren",
            "character_name": "X",
            "create_date": "2023-6-19 @14h 20m 50s 12ms",
            "chat_metadata": metadata,
        }
    return {"user_name": "You", "character_name": "X", "create_date": 1687184450012}


def date_of(form: int, moment: datetime) -> Any:
    """A moment in one of the date forms that SillyTavern has written."""
    milliseconds = int(moment.timestamp() * 1000)
    clock = f"{moment.hour % 12 or 12}:{moment:%M}{'am' if moment.hour < 12 else 'pm'}"
    small = moment.microsecond // 1000
    forms = (
        moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{small:03d}Z",
        f"{moment:%B} {moment.day}, {moment.year} {clock}",
        f"{moment.year}-{moment.month}-{moment.day} @{moment:%H}h {moment:%M}m {moment:%S}s {small}ms",
        f"{moment:%Y-%m-%d}@{moment:%H}h{moment:%M}m{moment:%S}s{small:03d}ms",
        f"{moment.year}-{moment.month}-{moment.day}@{moment:%H}h{moment:%M}m{moment:%S}s",
        milliseconds,
        str(milliseconds),
    )
    return forms[form % len(forms)]


def message(text: str, *, user: bool, date: Any, name: str = "", **fields: Any) -> dict[str, Any]:
    """A message line."""
    return {
        "name": name or ("Ren" if user else "X"),
        "is_user": user,
        "is_system": False,
        "send_date": date,
        "mes": text,
    } | fields


def write_lines(path: Path, lines: list[Any]) -> None:
    """A chat file as SillyTavern writes it: joined by newlines, none at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines if line is not None), "utf-8")


def make_root(root: Path, *, characters: int = 40, chats: int = 1000, messages: int = 12, seed: int = 7) -> RootFacts:
    """Write a whole user folder; one chat in ten is a group's, one in twelve a branch, one in twenty has a bad line."""
    dice = random.Random(seed)
    facts = RootFacts(root)
    for number in range(characters):
        _character(facts, number)
    _settings(facts)
    group_chats = max(1, chats // 10)
    for number in range(chats - group_chats):
        _chat(facts, dice, number, messages)
    for number in range(max(1, characters // 8)):
        mine = [f"group {number} chat {n}" for n in range(number, group_chats, max(1, characters // 8))]
        _group(facts, dice, number, mine, messages)
    return facts


def _character(facts: RootFacts, number: int) -> None:
    base = NAMES[number % len(NAMES)]
    name = f"{base} {number}" if number >= len(NAMES) else base
    avatar = name.replace("/", "") + ".png"
    kind = (b"tEXt", b"zTXt", b"iTXt")[number % 3]
    keywords = ((b"chara",), (b"chara", b"ccv3"), (b"Chara",))[number % 3]
    card = card_v2(name) if number % 4 else {"name": name, "description": "first version", "first_mes": "Hi."}
    path = facts.root / "characters" / avatar
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(card_png(card, kind=kind, keywords=keywords))
    facts.characters.append(avatar)


def _chat(facts: RootFacts, dice: random.Random, number: int, messages: int) -> None:
    avatar = facts.characters[number % len(facts.characters)]
    folder = f"chats/{avatar.removesuffix('.png')}"
    form = number % 3
    integrity = f"slug-{number:06d}" if form == 0 else ""
    moment = START + timedelta(hours=number, milliseconds=dice.randrange(1000))
    name = (
        f"{avatar.removesuffix('.png')} - {moment:%Y-%m-%d}@{moment:%H}h{moment:%M}m{moment:%S}s{number % 1000:03d}ms"
    )
    chat = ChatFacts(f"{folder}/{name}.jsonl")
    lines: list[Any] = [header(form, integrity)]
    lines += _messages(chat, dice, number, moment, dice.randrange(2, messages * 2))
    path = facts.root / chat.path
    write_lines(path, lines)
    if number % 20 == 19:
        _break_a_line(path, chat, dice)
    facts.chats[chat.path] = chat
    if form == 0 and number % 12 == 0 and not chat.broken_lines:
        _branch(facts, dice, chat, lines, folder, name, number)


def _messages(chat: ChatFacts, dice: random.Random, number: int, moment: datetime, count: int) -> list[dict[str, Any]]:
    lines = []
    for index in range(count):
        moment += timedelta(seconds=dice.randrange(20, 400))
        text = f"{' '.join(dice.choices(WORDS, k=dice.randrange(4, 30)))} ({number}.{index})"
        fields: dict[str, Any] = {}
        if index % 7 == 3:
            fields = {"swipes": [text, f"another way ({number}.{index})"], "swipe_id": 0}
        if index % 11 == 5:
            fields["is_system"] = True
            chat.hidden.append(index)
        lines.append(message(text, user=index % 2 == 1, date=date_of(number // 3, moment), **fields))
        chat.texts.append(text)
    return lines


def _branch(
    facts: RootFacts, dice: random.Random, parent: ChatFacts, lines: list[Any], folder: str, name: str, number: int
) -> None:
    fork = dice.randrange(len(parent.texts))
    branch = ChatFacts(f"{folder}/{name} - Branch #1.jsonl", parent.texts[: fork + 1], parent=parent.path, fork=fork)
    branch.hidden = [index for index in parent.hidden if index <= fork]
    more = message(f"otherwise ({number})", user=False, date=date_of(0, START + timedelta(days=900, hours=number)))
    branch.texts = [*branch.texts, more["mes"]]
    write_lines(facts.root / branch.path, [header(0, f"branch-{number}", main_chat=name), *lines[1 : fork + 2], more])
    facts.chats[branch.path] = branch


def _break_a_line(path: Path, chat: ChatFacts, dice: random.Random) -> None:
    lines = path.read_text("utf-8").split("\n")
    place = dice.randrange(1, len(lines))
    lines[place] = lines[place][: len(lines[place]) // 2]
    chat.texts[place - 1] = ""
    chat.hidden = [index for index in chat.hidden if index != place - 1]
    chat.broken_lines = 1
    path.write_text("\n".join(lines), "utf-8")


def _group(facts: RootFacts, dice: random.Random, number: int, chats: list[str], messages: int) -> None:
    members = [facts.characters[(number * 3 + n) % len(facts.characters)] for n in range(3)]
    group = {"id": f"group{number}", "name": f"Group {number}", "members": members, "disabled_members": members[:1]}
    path = facts.root / "groups" / f"group{number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**group, "chats": chats, "chat_id": chats[-1] if chats else ""}), "utf-8")
    facts.groups.append(f"group{number}")
    for place, chat_id in enumerate(chats):
        chat = ChatFacts(f"group chats/{chat_id}.jsonl")
        first = header(0, f"group-slug-{chat_id}") if place % 2 else None
        lines = _messages(chat, dice, 5000 + number * 100 + place, START, dice.randrange(2, messages))
        for line in lines:
            line["original_avatar"] = members[place % 3]
        write_lines(facts.root / chat.path, [first, *lines])
        facts.chats[chat.path] = chat


def _settings(facts: RootFacts) -> None:
    (facts.root / "user" / "files").mkdir(parents=True, exist_ok=True)
    settings = {
        "currentVersion": "1.19.0",
        "username": "Ren",
        "extension_settings": {"vectors": {"enabled_files": True}},
    }
    (facts.root / "settings.json").write_text(json.dumps(settings), "utf-8")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
