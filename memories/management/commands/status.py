"""`manage.py status`: what there is, what waits, what failed; for a look from a shell or from cron."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q

from accounts.commands import ProductCommand
from accounts.models import User
from jobs.models import Job
from memories.automatic_state import state_of
from memories.members import rosters
from memories.models import Memory, MemoryFile
from memories.unread import Unread, unread_by_character, unread_by_group
from providers.models import Connection
from providers.queries import default_connection
from sync.models import Character, FileConflict, Group, Tavern


class Command(ProductCommand):
    help = (
        "Show folders, characters and groups with memories, unread messages and why they are or are not read by "
        "themselves, conflicts, and how many jobs are in which state."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        facts = status(self.person(options))
        self.say(_text(facts), facts)


def status(person: User) -> dict[str, Any]:
    """Everything that the command shows, as plain data."""
    connection = default_connection(person)
    states = Job.objects.for_user(person).values_list("state").annotate(n=Count("pk")).order_by()
    return {
        "user": person.username,
        "model": _model(connection) if connection else None,
        "taverns": [_tavern(one) for one in Tavern.objects.for_user(person).order_by("name")],
        "characters": _characters(person),
        "groups": _groups(person),
        "conflicts": FileConflict.objects.for_user(person).filter(decided_at=None).count(),
        "jobs": dict(states),
    }


def _model(connection: Connection) -> str:
    return f"{connection.name} ({connection.model})" if connection.model else connection.name


def _tavern(tavern: Tavern) -> dict[str, Any]:
    return {
        "name": tavern.name,
        "folder": tavern.folder,
        "state": tavern.state,
        "reason": tavern.state_reason,
        "last_pass": tavern.last_pass_at.isoformat() if tavern.last_pass_at else None,
    }


def _characters(person: User) -> list[dict[str, Any]]:
    rows = Memory.objects.for_user(person).filter(is_topic=False).order_by().values("block__file__character")
    counts = dict(rows.annotate(n=Count("pk")).values_list("block__file__character", "n"))
    files = MemoryFile.objects.for_user(person).filter(Q(chat=None)).select_related("attachment")
    by_character = {file.character_id: file for file in files}
    characters = Character.objects.for_user(person).filter(gone_at=None).order_by("name", "avatar")
    unread = unread_by_character(person)
    return [
        _character(person, one, counts.get(one.pk, 0), unread.get(one.pk, Unread()), by_character.get(one.pk))
        for one in characters
    ]


def _character(
    person: User, character: Character, memories: int, unread: Unread, file: MemoryFile | None
) -> dict[str, Any]:
    return {
        "name": character.name,
        "avatar": character.avatar,
        "memories": memories,
        "unread": unread.messages,
        "automatic": _automatic(person, character),
        "file": file.name if file else None,
        "file_written": bool(file and file.version == file.written_version),
    }


def _groups(person: User) -> list[dict[str, Any]]:
    groups = list(Group.objects.for_user(person).filter(gone_at=None).order_by("name", "pk"))
    members, unread = rosters(person, groups), unread_by_group(person)
    return [
        {
            "name": one.name,
            "members": [member.name for member in members[one.pk].characters],
            "unread": unread.get(one.pk, Unread()).messages,
            "automatic": _automatic(person, one),
        }
        for one in groups
    ]


def _automatic(person: User, whose: Character | Group) -> dict[str, Any]:
    """Whether it is read by itself, and in words what that waits for."""
    state = state_of(person, whose)
    return {
        "is_on": state.is_on,
        "kind": state.kind,
        "words": state.words,
        "count": state.count,
        "threshold": state.threshold,
        "until": state.until.isoformat() if state.until else None,
    }


def _text(facts: dict[str, Any]) -> str:
    lines = [f"{one['name']}: {one['state']} {one['reason']}".rstrip() for one in facts["taverns"]]
    lines += [f"Model: {facts['model'] or 'none connected'}"]
    lines += [f"{one['name']}: memories {one['memories']}, {_reading(one)}" for one in facts["characters"]]
    lines += [f"{one['name']}: members {len(one['members'])}, {_reading(one)}" for one in facts["groups"]]
    lines += [f"Memory files that wait for your decision: {facts['conflicts']}"] if facts["conflicts"] else []
    lines += [f"Jobs {state}: {count}" for state, count in sorted(facts["jobs"].items())]
    return "\n".join(lines)


def _reading(one: dict[str, Any]) -> str:
    return f"unread {one['unread']}, by itself: {one['automatic']['words']}"
