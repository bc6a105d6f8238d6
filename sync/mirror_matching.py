"""Which stored chat a new or changed file is, when chats were renamed, moved, swapped or replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from uuid import UUID

from django.utils import timezone

from sync.mirror_messages import FEW, MANY
from sync.mirror_pass import Pass
from sync.models import Character, Chat, Group
from sync.tavern.chats import read_chat, read_header
from sync.tavern.identity import message_identities
from sync.tavern.paths import PathRefused

PREFIX_MESSAGES = 20
ENOUGH = 2


def match_rows(
    one: Pass, rows: dict[str, Chat], wanted: list[str], owner_of: Callable[[str], Character | Group | None]
) -> dict[str, Chat]:
    """The stored chat of each wanted path; paths without one are new chats. Moved rows get their new path stored."""
    if not rows:
        return {}
    slugs = {path: slug for path in wanted if (slug := _slug(one, path)) is not None}
    found: dict[str, Chat] = {}
    for path in wanted:
        row = rows.get(path)
        if row and (not row.integrity or slugs.get(path, "") in {"", row.integrity}):
            found[path] = row
    used = {row.pk for row in found.values()}
    _by_integrity(one, rows, wanted, slugs, found, used)
    _by_prefix(one, rows, wanted, owner_of, found, used)
    for path in wanted:
        row = rows.get(path)
        if path in found or row is None or row.pk in used:
            continue
        if _holds_another_chat(one, row, path):
            _set_aside(row)
        else:
            found[path] = row
            used.add(row.pk)
    _move(rows, found)
    return found


def _by_integrity(
    one: Pass,
    rows: dict[str, Chat],
    wanted: list[str],
    slugs: dict[str, str],
    found: dict[str, Chat],
    used: set[UUID],
) -> None:
    """A free row with the file's slug is that chat: its own file vanished, or holds another chat now."""
    candidates: defaultdict[str, list[Chat]] = defaultdict(list)
    for row in rows.values():
        if row.integrity and row.pk not in used and _is_free(one, row, slugs):
            candidates[row.integrity].append(row)
    for path in wanted:
        waiting = candidates.get(slugs.get(path, ""))
        if path not in found and waiting:
            row = min(waiting, key=lambda row: (row.gone_at is not None, row.path))
            waiting.remove(row)
            found[path] = row
            used.add(row.pk)


def _is_free(one: Pass, row: Chat, slugs: dict[str, str]) -> bool:
    if row.path not in one.scan.files:
        return not one.scan.is_closed(row.path)
    return row.path in slugs and slugs[row.path] not in {"", row.integrity}


def _by_prefix(
    one: Pass,
    rows: dict[str, Chat],
    wanted: list[str],
    owner_of: Callable[[str], Character | Group | None],
    found: dict[str, Chat],
    used: set[UUID],
) -> None:
    """A vanished chat without a slug whose first messages stand in a new file of the same owner was renamed."""
    free = [
        row
        for row in rows.values()
        if not row.integrity and row.pk not in used and row.path not in one.scan.files and row.message_count >= ENOUGH
    ]
    for path in wanted:
        if path in found or path in rows or not free:
            continue
        owner, start = owner_of(path), _start(one, path)
        for row in free:
            if owner in {row.character, row.group} - {None} and _begins_alike(row, start):
                found[path] = row
                used.add(row.pk)
                free.remove(row)
                break


def _begins_alike(row: Chat, start: list[tuple[str, str]]) -> bool:
    stored = list(row.messages.order_by("index").values_list("identity", "content")[: len(start)])
    return len(stored) >= ENOUGH and stored == start[: len(stored)]


def _holds_another_chat(one: Pass, row: Chat, path: str) -> bool:
    """Whether a file with a foreign slug has nothing of the stored chat: SillyTavern lost that one and began anew."""
    start = _start(one, path)
    if len(start) <= FEW or row.message_count < MANY:
        return False
    return not row.messages.filter(identity__in=[identity for identity, _content in start]).exists()


def _set_aside(row: Chat) -> None:
    """Keep the messages of a chat whose file belongs to another chat now."""
    row.path = _aside(row)
    row.gone_at = timezone.now()
    row.problem = "SillyTavern put another chat into this file. All messages are kept here as they were read."
    row.save(update_fields=["path", "gone_at", "problem", "updated_at"])


def _aside(row: Chat) -> str:
    """A path that no file has, because a path belongs to one row only."""
    return f"moved/{row.pk}/{row.path}"[:1000]


def _start(one: Pass, path: str) -> list[tuple[str, str]]:
    """Identities and contents of the first messages in a file."""
    keys = []
    try:
        with one.folder.open(path) as file, read_chat(file) as reader:
            for line in reader.lines():
                keys.append((line.role, line.raw_date, line.content))
                if len(keys) == PREFIX_MESSAGES:
                    break
    except (OSError, PathRefused):
        return []
    identities = message_identities((role, date) for role, date, _content in keys)
    return [(identity, key[2]) for identity, key in zip(identities, keys, strict=True)]


def _slug(one: Pass, path: str) -> str | None:
    try:
        with one.folder.open(path) as file:
            return read_header(file).integrity
    except (OSError, PathRefused):
        return None


def _move(rows: dict[str, Chat], found: dict[str, Chat]) -> None:
    """Store new paths; first everything that moves steps aside, because a path belongs to one row only."""
    moving = {path: row for path, row in found.items() if row.path != path}
    if not moving:
        return
    kept = {row.pk for path, row in found.items() if row.path == path}
    displaced = [rows[path] for path in moving if path in rows and rows[path].pk not in kept]
    for row in [*moving.values(), *displaced]:
        row.path = _aside(row)
        row.save(update_fields=["path"])
    for path, row in moving.items():
        row.path = path
        row.save(update_fields=["path"])
