"""Who does what: a person gives a purpose to one of their connections, and says who steps in when it is down."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.waking import wake_paused
from providers import embedding, queries
from providers.models import Connection, Duty
from providers.purposes import EMBEDDINGS, ROWS

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
    with transaction.atomic():
        mine = Connection.objects.for_user(user)
        mine.update(is_default=F("is_default"))  # holds them: two tabs save one after the other
        present = set(mine.values_list("pk", flat=True))
        Duty.objects.for_user(user).filter(purpose=purpose).delete()
        Duty.objects.bulk_create(
            Duty(owner=user, purpose=purpose, connection_id=pk, place=place)
            for pk, place in places.items()
            if pk in present
        )
    for cause in WAITING_FOR_OTHERS:
        wake_paused(cause, user)


def choose_embedder(user: User, chosen: Connection | None, model: str = "") -> None:
    """Let `chosen` measure what texts mean from now on, with this embedding model; None: words alone are compared.

    ValueError with a finished sentence for connections of others, for those that have no embeddings, and without a
    model where there is no usual one.
    """
    if chosen is not None:
        if chosen.owner_id != user.pk:
            raise ValueError(_("Choose one of your own connections. Nothing was changed."))
        model = embedding.fitting_model(chosen, model)
    with transaction.atomic():
        mine = Connection.objects.for_user(user)
        mine.update(is_default=F("is_default"))  # as above
        Duty.objects.for_user(user).filter(purpose=EMBEDDINGS).delete()
        if chosen is not None and mine.filter(pk=chosen.pk).exists():
            Duty.objects.create(owner=user, purpose=EMBEDDINGS, connection=chosen, place=0, model=model)
    wake_paused(embedding.CAUSE, user)


def leave_to_default(user: User, purpose: str) -> None:
    """Let the default do this again; who steps in stays as it was."""
    assign(user, purpose, None, queries.order_for(user, purpose)[1:])
