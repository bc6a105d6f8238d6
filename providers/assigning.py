"""Who does what: a person gives a purpose to one of their connections, and says who steps in when it is down."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.waking import wake_paused
from providers.models import Connection, Duty
from providers.purposes import ROWS

WAITING_FOR_OTHERS = ("budget", "rate", "server")  # causes that another connection may end


def assign(user: User, purpose: str, chosen: Connection | None, spares: Sequence[Connection] = ()) -> None:
    """Let `chosen` (None: the default, whichever that is) do this from now on; `spares` step in, in this order.

    ValueError with a finished sentence for what is not a purpose and for connections of others.
    """
    if purpose not in {row.name for row in ROWS}:
        raise ValueError(_("There is nothing of this kind to give to a connection. Nothing was changed."))
    if any(one.owner_id != user.pk for one in (chosen, *spares) if one is not None):
        raise ValueError(_("Choose one of your own connections. Nothing was changed."))
    places = {one.pk: place for place, one in reversed([*enumerate((chosen, *spares))]) if one is not None}
    rows = [Duty(owner=user, purpose=purpose, connection_id=pk, place=place) for pk, place in places.items()]
    with transaction.atomic():
        Duty.objects.for_user(user).filter(purpose=purpose).delete()
        Duty.objects.bulk_create(rows)
    for cause in WAITING_FOR_OTHERS:
        wake_paused(cause, user)
