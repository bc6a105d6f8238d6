"""Prompts and answers beside the activity log, for people who asked to see them, for as many days as they said."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from memories.chat_hold import hold_chat
from memories.models import Activity, ActivityText, ExtractionSettings
from sync.models import Chat

KEEP_LINES = timedelta(days=30)
MOST_LINES = 50_000  # of one person
ROWS = 500  # in one transaction
EVERY = 3600.0  # seconds between two looks for what is too old
LONGEST = 90  # days


@dataclass(frozen=True)
class Full:
    """Everything that was sent, and what came back."""

    system: str = ""
    user: str = ""
    answer: str = ""
    reasoning: str = ""

    def answered(self, answer: str, reasoning: str) -> Full:
        return replace(self, answer=answer, reasoning=reasoning)


def keep(user: User, lines: Sequence[Activity], texts: Mapping[int, Full]) -> None:
    """Keep the texts of these written lines, if the person wants that. `texts` are named by the place of their line."""
    days = days_kept(user) if texts else 0
    if not days:
        return
    until = timezone.now() + timedelta(days=days)
    with transaction.atomic():
        forgotten = {pk for pk in {lines[place].chat_id for place in texts} if pk and not hold_chat(user, pk)}
        ActivityText.objects.bulk_create(
            ActivityText(activity=lines[place], data=pack(full), expires_at=until)
            for place, full in texts.items()
            if lines[place].chat_id not in forgotten
        )


def days_kept(user: User) -> int:
    """For how many days texts are kept; 0 when they are not."""
    rows = ExtractionSettings.objects.filter(user=user).values_list("is_verbose", "keep_days")
    is_verbose, days = rows.first() or (False, 0)
    return days if is_verbose else 0


def set_verbose(user: User, *, is_on: bool, days: int) -> None:
    """Keep texts of what happens from now on, or no more; what was kept before stays until its day."""
    values = {"is_verbose": is_on, "keep_days": min(LONGEST, max(1, days))}
    ExtractionSettings.objects.update_or_create(user=user, defaults=values)


def pack(full: Full) -> bytes:
    return zlib.compress(json.dumps(asdict(full)).encode(), 6)


def unpack(row: ActivityText) -> Full:
    return Full(**json.loads(zlib.decompress(bytes(row.data))))


def erase(user: User, chat: Chat | None = None) -> int:
    """Forget the texts of one chat, or all; how many. The lines stay: they hold nothing of a chat."""
    rows = ActivityText.objects.for_user(user)
    return rows.filter(activity__chat=chat).delete()[0] if chat is not None else rows.delete()[0]


def purge() -> None:
    """By the clock: texts whose day has come, lines of more than 30 days, and the oldest of very many lines."""
    now = timezone.now()
    with unscoped("what is too old in everybody's log"):
        _delete(ActivityText.objects.filter(expires_at__lt=now))
        _delete(Activity.objects.filter(at__lt=now - KEEP_LINES))
        for owner in Activity.objects.order_by().values_list("owner", flat=True).distinct():
            mine = Activity.objects.filter(owner=owner).order_by("-pk")
            edge = mine.values_list("pk", flat=True)[MOST_LINES : MOST_LINES + 1].first()
            if edge is not None:
                _delete(mine.filter(pk__lte=edge))


def _delete(rows: QuerySet[Activity] | QuerySet[ActivityText]) -> None:
    while some := list(rows.values_list("pk", flat=True)[:ROWS]):
        rows.model._default_manager.filter(pk__in=some).delete()
