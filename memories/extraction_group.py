"""Reading a group's chats: a job for each member, or one that asks for all of them together.

Each member has its own watermark, so a member that fails stops nobody and repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from jobs import batch
from jobs.batch import enqueue_batch
from jobs.enqueue import active_of, enqueue
from jobs.models import Job
from memories import extraction, reading_keys
from memories.choices import TOGETHER
from memories.chosen import choices_for
from memories.extraction_wish import need_model, wish
from memories.members import roster
from memories.queries import Waiting
from memories.reading_limits import Ranges
from memories.together import KIND as TOGETHER_KIND
from memories.wanted import Wanted
from sync.models import Character, Chat, Group


def start_group(
    user: User,
    group: Group,
    *,
    chats: Sequence[Chat] | None = None,
    members: Sequence[Character] | None = None,
    ranges: Ranges | None = None,
    is_automatic: bool = False,
) -> Job:
    """Queue the reading of a group's chats (all, or these) for its members (all, or these).

    The job is a batch with one part for each member, or one job that reads for all of them together
    (Choices.group_calls). ValueError with a finished sentence when it cannot start.
    """
    need_model(user)
    everybody = _members(user, group, members)
    shown = _chats(user, group, chats)
    wanted = wish(user, everybody[0], shown, ranges, is_automatic=is_automatic)
    if _is_for_all(user, group, is_automatic=is_automatic):
        return _start_together(user, group, everybody, wanted, is_automatic=is_automatic)
    return _start_each(user, group, everybody, wanted, is_automatic=is_automatic)


def _is_for_all(user: User, group: Group, *, is_automatic: bool) -> bool:
    """Whether one job reads for all of them: what is under way goes on as it began, whatever was chosen since."""
    active = active_of(user, reading_keys.of_group(group.pk), lets_go=not is_automatic)
    return choices_for(user, group).group_calls == TOGETHER if active is None else not active.is_batch


def _members(user: User, group: Group, chosen: Sequence[Character] | None) -> list[Character]:
    present = roster(user, group).characters
    if not present:
        raise ValueError(
            _("Nobody in %(name)s has a card any more, so there is nobody to remember; nothing was read.")
            % {"name": group.name}
        )
    found = present if chosen is None else [one for one in present if one in chosen]
    if not found:
        raise ValueError(_("None of these characters is in %(name)s; nothing was read.") % {"name": group.name})
    return found


def _chats(user: User, group: Group, chosen: Sequence[Chat] | None) -> list[Chat]:
    rows = Chat.objects.for_user(user).filter(group=group, gone_at=None)
    if chosen is not None:
        rows = rows.filter(pk__in=[one.pk for one in chosen])
    found = list(rows)
    if chosen is not None and len(found) < len(set(chosen)):
        raise ValueError(_("This chat is not one of %(name)s’s chats.") % {"name": group.name})
    return found


def _start_each(user: User, group: Group, members: Sequence[Character], wanted: Wanted, *, is_automatic: bool) -> Job:
    """Members whose own job is under way have the group's chats read by that one."""
    parts: list[dict[str, Any]] = []
    for place, character in enumerate(members, start=1):
        waiting = extraction.waiting_of(user, character, wanted)
        part = extraction.part_of(character, wanted, waiting, is_automatic=is_automatic)
        if not extraction.taken_along(user, part["key"], wanted, is_automatic=is_automatic):
            label = _("%(name)s (%(n)d of %(all)d)") % {"name": character.name, "n": place, "all": len(members)}
            parts.append({**part, "label": label[:300]})
    key, subject = reading_keys.of_group(group.pk), f"group:{group.pk}"
    fields: dict[str, Any] = {"key": key, "subject": subject, "label": _label(group), "lets_go": not is_automatic}
    parent, is_new = enqueue_batch(user, extraction.KIND, parts, **fields)
    if not is_new:
        _add(user, parent, parts)
    return parent


def _add(user: User, parent: Job, parts: Sequence[dict[str, Any]]) -> None:
    """Give a batch that is under way the members that had ended in it."""
    for part in parts:
        enqueue(user, extraction.KIND, parent=parent if parent.is_batch else None, **part)
    batch.settle(parent.pk)
    parent.refresh_from_db()


def _label(group: Group) -> str:
    return (_("Extract %(name)s") % {"name": group.name})[:300]


def _start_together(
    user: User, group: Group, members: Sequence[Character], wanted: Wanted, *, is_automatic: bool
) -> Job:
    fields, _found = together_part(user, group, members, wanted, is_automatic=is_automatic)
    kind = fields.pop("kind")
    fields["lets_go"] = not is_automatic
    job, is_new = enqueue(user, kind, **fields)
    if not is_new and not widen_together(user, job, fields["params"]["members"], wanted, is_automatic=is_automatic):
        job, _new = enqueue(user, kind, **fields)
    return job


def together_part(
    user: User, group: Group, members: Sequence[Character], wanted: Wanted, *, is_automatic: bool
) -> tuple[dict[str, Any], list[Waiting]]:
    """The fields of a job that reads for all of these members at once, and what waits for it."""
    found = [one for character in members for one in extraction.waiting_of(user, character, wanted)]
    most: dict[object, int] = {}
    for chat, count in extraction.counts_in(found):
        most[chat] = max(most.get(chat, 0), count)
    names = [str(one.pk) for one in members]
    fields = {
        "kind": TOGETHER_KIND,
        "key": reading_keys.of_group(group.pk),
        "subject": f"group:{group.pk}",
        "label": _label(group),
        "params": {"group": str(group.pk), "members": names, "automatic": is_automatic, **wanted.params},
        "total": sum(most.values()),
    }
    return fields, found


def widen_together(user: User, job: Job, names: list[str], wanted: Wanted, *, is_automatic: bool) -> bool:
    """A batch under way reads for each member: its parts are widened when they are looked at."""
    if job.is_batch:
        return True
    return extraction.widen(user, job, wanted, is_automatic=is_automatic, members=names)
