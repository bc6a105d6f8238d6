"""What an admin may know about everybody: counts, sizes, spending and error types (never a name of a file or chat)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import Count, Model, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.registries import PeopleFact
from accounts.wording import money, number, size
from jobs.models import Job
from memories.models import Memory
from providers.models import Call
from sync.models import Character, Message, ScannedFile, Tavern

ERRORS_SINCE = timedelta(days=7)
Ids = Sequence[UUID]
Texts = Mapping[UUID, str]


def folders(ids: Ids) -> Texts:
    """The end of the linked folder, which an admin assigned: "data/wren"."""
    found: dict[UUID, list[str]] = defaultdict(list)
    for owner, folder, sample in Tavern.objects.filter(owner__in=ids).values_list("owner", "folder", "is_sample"):
        found[owner].append(str(_("sample story")) if sample else "/".join(Path(folder).parts[-2:]))
    return {owner: ", ".join(names) for owner, names in found.items()}


def spending(ids: Ids) -> Texts:
    """Money spent since the first of the month."""
    start = timezone.localtime().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    rows = Call.objects.filter(owner__in=ids, started_at__gte=start).values("owner").annotate(sum=Sum("cost"))
    return {row["owner"]: money(row["sum"] or 0) for row in rows}


def errors(ids: Ids) -> Texts:
    """Types of what failed in the last seven days: "Timeout ×3, HTTP 401 ×1"."""
    since = timezone.now() - ERRORS_SINCE
    found: dict[UUID, Counter[str]] = defaultdict(Counter)
    jobs = Job.objects.filter(owner__in=ids, state=Job.State.FAILED, updated_at__gte=since)
    calls = Call.objects.filter(owner__in=ids, started_at__gte=since).exclude(error_type="")
    for rows in (jobs, calls):
        for row in rows.values("owner", "error_type").annotate(n=Count("pk")):
            found[row["owner"]][row["error_type"] or str(_("unknown"))] += row["n"]
    return {owner: ", ".join(f"{kind} ×{n}" for kind, n in kinds.most_common(5)) for owner, kinds in found.items()}


def disk(ids: Ids) -> Texts:
    """Size of the files in the linked folders that are read."""
    rows = ScannedFile.objects.filter(tavern__owner__in=ids).values("tavern__owner").annotate(sum=Sum("size"))
    return {row["tavern__owner"]: size(row["sum"]) for row in rows}


def _counted(model: type[Model], owner: str) -> Any:
    def count(ids: Ids) -> Texts:
        rows = model._default_manager.filter(**{f"{owner}__in": ids}).values(owner).annotate(n=Count("pk"))
        return {row[owner]: number(row["n"]) for row in rows}

    return count


FACTS = (
    PeopleFact("folder", gettext_lazy("SillyTavern"), folders, none=gettext_lazy("no folder yet")),
    PeopleFact("characters", gettext_lazy("Characters"), _counted(Character, "tavern__owner"), True, in_list=False),
    PeopleFact("messages", gettext_lazy("Messages"), _counted(Message, "chat__tavern__owner"), True, in_list=False),
    PeopleFact("memories", gettext_lazy("Memories"), _counted(Memory, "block__file__owner"), is_number=True),
    PeopleFact("size", gettext_lazy("Files read"), disk, is_number=True, in_list=False),
    PeopleFact("spending", gettext_lazy("This month"), spending, is_number=True, on_phone=True),
    PeopleFact("errors", gettext_lazy("Errors in 7 days"), errors),
)
