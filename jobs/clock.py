"""What happens by the clock, one at a time over all workers: a lease row for each name (models.Turn)."""

from __future__ import annotations

import logging
import traceback
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from accounts.ownership import unscoped
from jobs.lease import LEASE, worker_name
from jobs.models import Turn
from jobs.pulse import pulse
from jobs.registry import Periodic, periodics

logger = logging.getLogger(__name__)


@dataclass
class HeldTurn:
    """A turn at work; the side thread keeps its lease."""

    name: str
    token: uuid.UUID
    renewed_at: datetime

    def beat(self) -> None:
        """Renew the lease in time."""
        now = timezone.now()
        if now - self.renewed_at >= LEASE / 6:
            Turn.objects.filter(name=self.name, token=self.token).update(lease_until=now + LEASE)
            self.renewed_at = now


def run_in_turn(name: str) -> bool:
    """Call one periodic if it is due and nobody is at it; False otherwise. Its errors end in the log."""
    periodic = periodics.get(name)
    turn = _take(periodic) if periodic else None
    if periodic is None or turn is None:
        return False
    try:
        with pulse.watch(turn), unscoped(f"{name} by the clock"):
            periodic.call()
    except Exception as error:  # noqa: BLE001  the clock goes on whatever one of its tasks does
        where = "".join(traceback.format_tb(error.__traceback__))
        logger.error("%s, by the clock, ended with %s:\n%s", name, type(error).__name__, where)
    finally:
        Turn.objects.filter(name=name, token=turn.token).update(token=None, lease_until=None, worker="")
    return True


def _take(periodic: Periodic) -> HeldTurn | None:
    """Claim by compare-and-set. Half a period must have passed, so messages that piled up do nothing."""
    now = timezone.now()
    turn = HeldTurn(periodic.name, uuid.uuid4(), now)
    Turn.objects.get_or_create(name=periodic.name)
    long_ago = now - timedelta(seconds=periodic.seconds / 2)
    taken = Turn.objects.filter(
        Q(lease_until=None) | Q(lease_until__lt=now),
        Q(started_at=None) | Q(started_at__lte=long_ago) | Q(started_at__gt=now),
        name=periodic.name,
    ).update(token=turn.token, worker=worker_name(), started_at=now, lease_until=now + LEASE)
    return turn if taken else None
