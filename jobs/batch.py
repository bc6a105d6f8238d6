"""A batch: one parent row of any size whose children do the work.

The parent is never claimed. It is running while a child is active, its step and total are the sums of its children,
and it ends when all of them ended: failed when one failed, stopped when one was stopped, else done.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from jobs.registry import kinds
from jobs.sending import send_wakes

KIND = "batch"
ROWS_PER_INSERT = 500


def enqueue_batch(
    owner: User,
    kind: str,
    parts: Iterable[dict[str, Any]],
    *,
    key: str = "",
    subject: str = "",
    label: str = "",
    params: dict[str, Any] | None = None,
    lets_go: bool = True,
) -> tuple[Job, bool]:
    """A parent row and one child job of `kind` for each of `parts` (fields of Job: key, subject, label, params, total,
    and kind where a part is another one).

    A part whose key is already active for this person is left out, because it runs anyway. Returns the parent and
    whether it is new; the already active batch of that key comes back, and with `lets_go` it is not paused any more.
    """
    from jobs.enqueue import enqueue

    parts = list(parts)
    counted = {kinds[one.get("kind", kind)].unit for one in parts if one.get("kind", kind) in kinds}
    params = {**(params or {}), **({"unit": counted.pop()} if len(counted) == 1 else {})}
    with transaction.atomic(), unscoped("a batch is put in the queue"):
        fields: dict[str, Any] = {"key": key, "subject": subject, "label": label, "params": params}
        parent, is_new = enqueue(owner, KIND, batch=True, lets_go=lets_go, **fields)
        if not is_new:
            return parent, False
        children = [Job(**{"owner": owner, "kind": kind, "parent": parent, **part}) for part in parts]
        Job.objects.bulk_create(children, batch_size=ROWS_PER_INSERT, ignore_conflicts=True)
        count = parent.children.count()
        if not count:
            _end(parent, Job.State.DONE)
    settle(parent.pk)
    parent.refresh_from_db()
    transaction.on_commit(lambda: send_wakes(count))
    return parent, True


def settle(parent_id: uuid.UUID) -> None:
    """Bring a parent's sums and state in line with its children; safe to call at any time."""
    with unscoped("a batch follows its parts"):
        parent = Job.objects.filter(pk=parent_id, is_batch=True).first()
        if parent is None or not parent.is_active:
            return
        facts = parent.children.aggregate(
            steps=Sum("step"),
            totals=Sum("total"),
            parts=Count("pk"),
            active=Count("pk", filter=Q(state__in=Job.ACTIVE)),
            paused=Count("pk", filter=Q(state=Job.State.PAUSED)),
            goes_on=Min("not_before", filter=Q(state=Job.State.PAUSED)),
            failed=Count("pk", filter=Q(state=Job.State.FAILED)),
            stopped=Count("pk", filter=Q(state=Job.State.CANCELLED)),
        )
        Job.objects.filter(pk=parent_id, state__in=Job.ACTIVE).update(
            step=facts["steps"] or 0, total=facts["totals"] or 0, updated_at=timezone.now(), **_state(parent, facts)
        )
        if facts["parts"] and not facts["active"]:
            _end_with(parent, facts)


def _state(parent: Job, facts: dict[str, Any]) -> dict[str, Any]:
    """Paused while all that is left is paused, running again afterwards; a claim makes it running (jobs/lease.py)."""
    if facts["active"] and facts["active"] == facts["paused"]:
        return {"state": Job.State.PAUSED, "not_before": facts["goes_on"], "doing": _("All parts that are left wait.")}
    if parent.state == Job.State.PAUSED:
        return {"state": Job.State.RUNNING, "not_before": None, "doing": ""}
    return {}


def reopen(parent_id: uuid.UUID) -> None:
    """A child is tried again, so its batch is open again."""
    with unscoped("a batch follows its parts"):
        Job.objects.filter(pk=parent_id, is_batch=True).update(is_held=False)
        Job.objects.filter(pk=parent_id, is_batch=True).exclude(state__in=Job.ACTIVE).update(
            state=Job.State.RUNNING, finished_at=None, error="", hint="", error_type="", cancel_requested=False
        )


def _end_with(parent: Job, facts: dict[str, int]) -> None:
    if facts["failed"]:
        sentence = ngettext(
            "%(failed)d of %(parts)d part failed. The other parts are done and kept.",
            "%(failed)d of %(parts)d parts failed. The other parts are kept.",
            facts["parts"],
        )
        _end(parent, Job.State.FAILED, error=sentence % facts)
    else:
        _end(parent, Job.State.CANCELLED if facts["stopped"] else Job.State.DONE)


def _end(parent: Job, state: str, **fields: Any) -> None:
    now = timezone.now()
    Job.objects.filter(pk=parent.pk, state__in=Job.ACTIVE).update(
        state=state, finished_at=now, updated_at=now, cancel_requested=False, **fields
    )
