"""Chats: which stored chat a file is, whose it is, and what happened to those that vanished.

A file is matched by integrity, then by its common prefix with a vanished chat, last by its name (architecture, Chat).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from sync.mirror_branches import link_branches
from sync.mirror_matching import match_rows
from sync.mirror_messages import Written, write_messages
from sync.mirror_pass import BATCH, Interrupted, Pass, batches, refusal
from sync.models import Character, Chat, Group
from sync.tavern.chats import ChatReader, read_chat
from sync.tavern.dates import date_in_name, parse_date
from sync.tavern.folder import Seen, seen_of
from sync.tavern.paths import PathRefused, chats_folder
from sync.tavern.problem import Problem
from sync.tavern.settings_file import AttachmentEntry, read_attachments

KEPT = "The messages read before are kept."
LIVING_LAST = F("gone_at").desc(nulls_last=True)  # so that they win over gone ones of the same name
FOLDERS = ("chats", "group chats")
MIRRORED = [f.name for f in Chat._meta.concrete_fields if f.name not in {"id", "tavern", "created_at", "forgotten_at"}]
ORPHAN = Problem("no-owner", "No character and no group has this chat.", "It was left out until its owner appears.")


@dataclass
class ChatNews:
    """Chats with changed messages, the Data Bank entries inside chats that were read, and all that were read."""

    changed: list[UUID] = field(default_factory=list)
    attachments: dict[UUID, list[AttachmentEntry]] = field(default_factory=dict)
    read: list[tuple[UUID, str, Seen]] = field(default_factory=list)


@dataclass
class Owners:
    """Whose a chat file is, by its path."""

    characters: dict[str, Character]
    groups: dict[str, Group]

    def of(self, path: str) -> Character | Group | None:
        folder, _, name = path.rpartition("/")
        return self.groups.get(name.removesuffix(".jsonl")) if folder == "group chats" else self.characters.get(folder)


def mirror_chats(one: Pass, news: ChatNews) -> None:
    """Bring the chats in step and fill `news`; characters and groups come first."""
    lost = _lost(one)
    wanted = {path for path in one.changed if path.startswith(tuple(f"{name}/" for name in FOLDERS))}
    orphans = _orphans_with_hope(one)
    if not (wanted or lost or orphans):
        return
    owners = _owners(one)
    wanted |= {path for path in orphans if owners.of(path)}
    rows = _rows(one, sorted(wanted), is_simple=not lost)
    matched = match_rows(one, rows, sorted(wanted), owners.of)
    try:
        for number, path in enumerate(sorted(wanted)):
            one.check()
            one.note(step=number, total=len(wanted), doing=path)
            _mirror_one(one, matched.get(path), owners.of(path), path, news)
        _mark_gone(one, list(rows.values()), set(lost))
    except Interrupted:
        _finish_read(one, news)
        raise
    _finish_read(one, news)
    one.report.chats = news.changed


def _finish_read(one: Pass, news: ChatNews) -> None:
    """Only a chat that knows its parent counts as read: else a pass that broke off would leave it without one."""
    link_branches(one, [chat for chat, _path, _seen in news.read])
    for _chat, path, seen in news.read:
        one.done(path, seen)


def _rows(one: Pass, wanted: list[str], *, is_simple: bool) -> dict[str, Chat]:
    """Stored chats by path: those of the changed files alone, when every one of them is known and none vanished."""
    if is_simple and len(wanted) <= BATCH:
        rows = {row.path: row for row in one.tavern.chats.filter(path__in=wanted)}
        if len(rows) == len(wanted):
            return rows
    return {row.path: row for row in one.tavern.chats.all()}


def _owners(one: Pass) -> Owners:
    characters = {chats_folder(row.avatar): row for row in one.tavern.characters.only("avatar").order_by(LIVING_LAST)}
    groups = {chat: row for row in one.tavern.groups.order_by(LIVING_LAST) for chat in row.chat_ids}
    return Owners(characters, groups)


def _orphans_with_hope(one: Pass) -> list[str]:
    """Chats that had no owner in an earlier pass, when this pass may have brought one."""
    if not one.new_characters and not any(path.startswith("groups/") for path in one.changed):
        return []
    known = one.tavern.issues.filter(code=ORPHAN.code).values_list("path", flat=True)
    return [path for path in known if path in one.scan.files]


def _lost(one: Pass) -> list[str]:
    """Vanished chat files; when a whole folder is missing they count as kept, and the folder is reported."""
    lost: list[str] = []
    for folder in FOLDERS:
        gone = [path for path in one.vanished if path.startswith(f"{folder}/")]
        if folder in one.scan.folders:
            lost += gone
        elif gone and folder not in one.scan.closed:
            text = f"This folder is missing; it held {len(gone)} chats."
            one.issues.put(folder, [Problem("no-folder", text, "All of them are kept as they were read.")])
            one.vanished -= {*gone, folder}
            one.done(folder, Seen(-1, 0, 0))  # so that its return is a change
    return lost


def _mirror_one(one: Pass, row: Chat | None, owner: Character | Group | None, path: str, news: ChatNews) -> None:
    if owner is None:
        one.issues.put(path, [ORPHAN])
        one.done(path)
        return
    if row is not None and _is_forgotten(row):
        _follow(row, owner, path)
        one.done(path)
        return
    try:
        file = one.folder.open(path)
    except (OSError, PathRefused) as error:
        if problem := refusal(one.folder, path, error):
            one.refuse(path, error, KEPT if row else problem.kept)
        return
    one.report.files_read += 1
    with file:
        seen = seen_of(file)
        if row is None and not seen.size:
            one.issues.put(path, [Problem("empty", "This file is empty.", "There was nothing in it to keep.")])
            one.done(path, seen)
            return
        row = row or Chat(tavern=one.tavern)
        before = _place(row, owner, path)
        with read_chat(file) as reader:
            written = write_messages(row, reader, save=partial(_save, row, reader), check=one.check)
    one.issues.put(path, [*written.problems, *reader.problems.all()])
    # A pass that died between messages and row left a digest that differs: those changes are news as well.
    written.changed |= not written.guarded and written.digest != row.content_hash
    _finish(row, reader, written)
    if written.changed or before:
        news.changed.append(row.pk)
    if not written.guarded:
        news.attachments[row.pk] = read_attachments(reader.header.attachments)
    one.report.messages_written += written.rows
    news.read.append((row.pk, path, seen))


def _is_forgotten(row: Chat) -> bool:
    """Asked afresh: a person may forget a chat while a pass is on its way."""
    return Chat.objects.filter(pk=row.pk, forgotten_at__isnull=False).exists()


def _follow(row: Chat, owner: Character | Group, path: str) -> None:
    """A forgotten chat is not opened; only its name and place are kept right."""
    if _place(row, owner, path):
        row.save(update_fields=["path", "name", "gone_at", "character", "group", "updated_at"])


def _place(row: Chat, owner: Character | Group, path: str) -> bool:
    """Put the chat where its file is; True when it is new, renamed or back again."""
    name = path.rpartition("/")[2].removesuffix(".jsonl")
    is_news = row._state.adding or row.name != name or row.gone_at is not None
    row.path, row.name, row.gone_at = path, name, None
    row.character = owner if isinstance(owner, Character) else None
    row.group = owner if isinstance(owner, Group) else None
    return is_news


def _save(row: Chat, reader: ChatReader) -> None:
    """Store the chat's own row, before its messages, with what the header says."""
    header = reader.header
    row.integrity = header.integrity or row.integrity
    row.parent_name = header.main_chat
    row.chat_lorebook = header.lorebook
    _write(row)


def _finish(row: Chat, reader: ChatReader, written: Written) -> None:
    row.problem = written.problems[0].text if written.problems else ""
    if not written.guarded:
        row.unreadable_lines, row.message_count = reader.unreadable, reader.count
    if written.changed:
        row.version += 1
        row.content_hash = written.digest
        made = parse_date(reader.header.create_date) or date_in_name(row.name)
        row.first_at, row.last_at = written.first_at or made, written.last_at or made
    _write(row)
    if written.rows and _is_forgotten(row):  # forgotten while it was read
        row.messages.all().delete()
        Chat.objects.filter(pk=row.pk).update(message_count=0, content_hash="")


def _write(row: Chat) -> None:
    """Store the row, but never what a person decided meanwhile."""
    if row._state.adding:
        row.save()
    else:
        row.save(update_fields=MIRRORED)


def _mark_gone(one: Pass, rows: list[Chat], lost: set[str]) -> None:
    """Chats whose file vanished and that were not found again under another name."""
    ids = [row.pk for row in rows if row.path in lost and row.gone_at is None]
    for part in batches(ids):
        one.report.gone += one.tavern.chats.filter(pk__in=part).update(gone_at=timezone.now())
