"""“Who does what” on Settings → Models: one row for each purpose, a choice for each place in its order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import User
from providers import queries
from providers.models import Connection, Duty
from providers.purposes import ROWS, Purpose

SPARES = 2  # choices for those that step in

Order = list[Connection | None]  # who does it (None: the default), then who steps in


@dataclass(frozen=True)
class Place:
    """One choice: its field's name, what it is called, and the id that is chosen ("" for the default or nobody)."""

    name: str
    label: str
    value: str

    @property
    def is_first(self) -> bool:
        return "-" not in self.name


@dataclass(frozen=True)
class Row:
    purpose: Purpose
    places: list[Place]


@dataclass(frozen=True)
class DutyPage:
    rows: list[Row]
    connections: Sequence[Connection]
    default: Connection


def duty_page(connections: Sequence[Connection], default: Connection, duties: Sequence[Duty]) -> DutyPage | None:
    """The section; nothing where there is nothing to choose."""
    if len(connections) < 2:
        return None
    return DutyPage([Row(row, _places(row, duties, len(connections))) for row in ROWS], connections, default)


def _places(purpose: Purpose, duties: Sequence[Duty], count: int) -> list[Place]:
    mine = [duty for duty in duties if duty.purpose == purpose.name]
    first = [str(duty.connection_id) for duty in mine if not duty.place]
    spares = [str(duty.connection_id) for duty in mine if duty.place]
    names = _names(purpose, min(SPARES, count - 1))
    labels = [_("First"), _("If it fails, ask"), _("Then")]
    values = [*(first or [""]), *spares, *[""] * SPARES]
    return [Place(name, label, value) for name, label, value in zip(names, labels, values, strict=False)]


def _names(purpose: Purpose, spares: int = SPARES) -> list[str]:
    return [purpose.name, *(f"{purpose.name}-{place}" for place in range(1, spares + 1))]


def wanted(user: User, given: Mapping[str, str]) -> Iterator[tuple[Purpose, Order]]:
    """What the form says, purpose by purpose; a purpose that it does not name is left as it is.

    ValueError with a finished sentence when somebody is named who is not among the person's connections.
    """
    known = {str(one.pk): one for one in queries.connections(user)}
    for purpose in ROWS:
        if purpose.name in given:
            ids = [given.get(name, "") for name in _names(purpose)]
            if any(one and one not in known for one in ids):
                raise ValueError(_("Choose one of your own connections. Nothing was changed."))
            yield purpose, [known.get(one) for one in ids]
