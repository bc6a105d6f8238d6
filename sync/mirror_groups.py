"""Groups and their seats. A disabled member keeps its seat; an avatar without a card keeps an empty one."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from sync.mirror_pass import Pass
from sync.models import Group, GroupMember
from sync.tavern.groups import GroupError, GroupFile, read_group
from sync.tavern.problem import Problem

PREFIX = "groups/"
KEPT = "The group as it was read before is kept."


def mirror_groups(one: Pass) -> None:
    """Bring the groups in step; characters come first."""
    paths = one.in_folder(PREFIX)
    lost = [path for path in one.vanished if path.startswith(PREFIX)]
    rows = {row.file_id: row for row in one.tavern.groups.all()} if paths or lost else {}
    for path in paths:
        one.check()
        file_id = path.removeprefix(PREFIX)[: -len(".json")][:200]
        _mirror_one(one, rows.get(file_id), file_id, path)
    for path in lost:
        row = rows.get(path.removeprefix(PREFIX)[: -len(".json")])
        if row and row.gone_at is None:
            row.gone_at = timezone.now()
            row.save(update_fields=["gone_at"])
            one.report.gone += 1
    if one.new_characters:
        _fill_empty_seats(one)


def _mirror_one(one: Pass, row: Group | None, file_id: str, path: str) -> None:
    data = one.read(path, KEPT if row else "")
    if data is None:
        return
    try:
        found = read_group(data)
    except GroupError as error:
        kept = KEPT if row else "It was left out; everything else was read."
        one.issues.put(path, [Problem("bad-group", str(error), kept)])
        one.done(path)
        return
    row = row or Group(tavern=one.tavern, file_id=file_id)
    row.name, row.generation_mode = found.name or file_id, found.generation_mode
    row.chat_ids, row.current_chat, row.gone_at = found.chat_ids, found.current_chat, None
    with transaction.atomic():
        row.save()
        _seat(row, found)
    one.issues.put(path, [])
    one.done(path)


def _seat(row: Group, found: GroupFile) -> None:
    characters = {character.avatar: character for character in row.tavern.characters.only("avatar")}
    row.members.all().delete()
    GroupMember.objects.bulk_create(
        GroupMember(
            group=row,
            avatar=seat.avatar,
            character=characters.get(seat.avatar),
            position=position,
            is_disabled=seat.is_disabled,
        )
        for position, seat in enumerate(found.seats)
    )


def _fill_empty_seats(one: Pass) -> None:
    characters = {row.avatar: row for row in one.tavern.characters.filter(pk__in=one.new_characters)}
    for seat in GroupMember.objects.filter(group__tavern=one.tavern, character=None, avatar__in=characters):
        seat.character = characters[seat.avatar]
        seat.save(update_fields=["character"])
