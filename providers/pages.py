"""What the pages of Models show, as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from providers import limits, local_model, prices, queries, through
from providers.catalogue import PRESETS, Preset
from providers.duty_page import DutyPage, duty_page
from providers.embedding_page import EmbeddingPage, embedding_page
from providers.forms import ConnectionForm
from providers.models import Connection, Duty, purpose_name
from providers.prices import Price
from providers.purposes import EMBEDDINGS, EXTRACTION, ROWS
from providers.test_page import TestPart, test_part
from providers.through import Place

MOST_LISTED = 1000


def preset_of(connection: Connection) -> Preset:
    """The catalogue's row; a kind that is not known (any more) is shown like an own address."""
    unknown = replace(PRESETS["custom"], key=connection.preset, label=connection.preset)
    return PRESETS.get(connection.preset) or unknown


def offered_presets() -> list[Preset]:
    """The kinds in the order of the catalogue, without the built-in model where it cannot run."""
    return [row for row in PRESETS.values() if row.reach != "builtin" or local_model.is_available()]


@dataclass(frozen=True)
class Line:
    """One row of the list of connections."""

    connection: Connection
    preset: Preset
    seconds: float | None
    today: Decimal | None
    css: str
    state: str
    does: list[str]
    aside: int  # seconds for which it is asked last, because it failed


@dataclass(frozen=True)
class ListPage:
    """`chosen` reads the chats, `spare` steps in for it."""

    lines: list[Line]
    chosen: Connection | None
    spare: Connection | None
    tested: bool
    default: Connection | None
    duties: DutyPage | None
    embeddings: EmbeddingPage


def list_page(user: User) -> ListPage:
    """Connections with what they do and how they are doing."""
    times = queries.answer_times(user, queries.start_of_today())
    rows, duties = list(queries.connections(user)), list(queries.duties(user))
    default = min(rows, key=lambda row: (not row.is_default, row.created_at), default=None)
    does = _given_out(rows, default, duties)
    lines = [_line(row, *times.get(row.pk, (None, None)), does[row.pk]) for row in rows]
    chosen, spare = [*queries.order_for(user, EXTRACTION)[:2], None, None][:2]
    is_tested = bool(chosen and chosen.test_result.get("state") == "ok")
    section = duty_page(rows, default, duties) if default else None
    meaning = embedding_page(rows, duties)
    return ListPage(lines, chosen, spare, is_tested, default, section, meaning)


def leaves_work(user: User, connection: Connection) -> bool:
    """Whether the default would do what this one does; embeddings are done by nobody then."""
    mine = queries.duties(user).filter(connection=connection, place=0)
    return mine.exclude(purpose=EMBEDDINGS).exists()


def _given_out(rows: Iterable[Connection], default: Connection | None, duties: Sequence[Duty]) -> dict[UUID, list[str]]:
    """What each connection does, in words."""
    does: dict[UUID, list[str]] = {row.pk: [] for row in rows}
    chosen = {duty.purpose: duty.connection_id for duty in duties if not duty.place and duty.connection_id in does}
    for purpose in ROWS:
        if default is not None:
            does[chosen.get(purpose.name, default.pk)].append(purpose.label)
    does = {pk: [_("Everything")] if len(labels) == len(ROWS) else labels for pk, labels in does.items()}
    if chosen.get(EMBEDDINGS) is not None:
        does[chosen[EMBEDDINGS]].append(purpose_name(EMBEDDINGS))
    return does


def _line(connection: Connection, seconds: float | None, money: Decimal | None, does: list[str]) -> Line:
    css, state = state_of(connection)
    preset = preset_of(connection)
    free = Decimal(0) if preset.is_free and connection.price_in is None else None
    aside = _seconds_until(connection.down_until)
    return Line(connection, preset, seconds, money if money is not None else free, css, state, does, aside)


def _seconds_until(moment: datetime | None) -> int:
    return max(0, math.ceil((moment - timezone.now()).total_seconds())) if moment else 0


def state_of(connection: Connection) -> tuple[str, str]:
    """(css class, words) of a connection's state."""
    if left := _seconds_until(connection.paused_until):
        return "is-warn", _("asked for a pause, %(n)d s") % {"n": left}
    if left := _seconds_until(connection.down_until):
        return "is-bad", _("failed, asked last for %(n)d s") % {"n": left}
    if (calls := limits.allowed(connection)) < connection.max_parallel:
        often = ngettext("asked too often, one call at once now", "asked too often, %(n)d calls at once now", calls)
        return "is-warn", often % {"n": calls}
    if preset_of(connection).reach == "builtin" and not local_model.is_available():
        return "is-bad", _("not installed here")
    state = connection.test_result.get("state", "") if connection.tested_at else ""
    words = {"ok": _("works"), "warn": _("answers, not as asked"), "bad": _("does not work")}
    return (f"is-{state}", words[state]) if state in words else ("is-off", _("not tested yet"))


@dataclass(frozen=True)
class FormPage:
    more: list[Any]
    models: list[str]
    test: TestPart | None
    price: Price = prices.UNKNOWN
    is_reading: bool = False
    context: int | None = None
    offered: int = 0
    missing: Place | None = None  # what has to be there before such a connection can work


def form_page(form: ConnectionForm, connection: Connection | None) -> FormPage:
    """The fold of rare fields, the models on offer, and the last test."""
    rare = (
        "temperature",
        "max_parallel",
        "context_tokens",
        "price_in",
        "price_out",
        "system_prompt",
        "headers",
        "body",
    )
    more = [form[name] for name in rare if name in form.fields]
    places = through.places(form.instance.owner, form.preset)
    missing = places[0] if places and not through.usable(places) else None
    if connection is None:
        before = through.models_before(form.instance.owner, form.preset, places)
        return FormPage(more, before, None, missing=missing)
    listed = prices.listing(connection)
    models = [row.id for row in listed][:MOST_LISTED]
    context = next((row.context for row in listed if row.id == connection.model), None)
    is_reading = connection == queries.connection_for(connection.owner, EXTRACTION)
    price = prices.price_of(connection)
    return FormPage(more, models, test_part(connection), price, is_reading, context, len(listed), missing)
