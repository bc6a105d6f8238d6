"""What the pages of Models show, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from providers import local_model, prices, queries
from providers.catalogue import PRESETS, Preset
from providers.forms import ConnectionForm
from providers.models import Connection
from providers.prices import Price

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


@dataclass(frozen=True)
class ListPage:
    lines: list[Line]
    chosen: Connection | None
    tested: bool


def list_page(user: User) -> ListPage:
    """Connections with how they are doing."""
    times = queries.answer_times(user, queries.start_of_today())
    lines = [_line(row, *times.get(row.pk, (None, None))) for row in queries.connections(user)]
    chosen = next((line.connection for line in lines), None)
    return ListPage(lines, chosen, bool(chosen and chosen.test_result.get("state") == "ok"))


def _line(connection: Connection, seconds: float | None, money: Decimal | None) -> Line:
    css, state = state_of(connection)
    preset = preset_of(connection)
    free = Decimal(0) if preset.is_free and connection.price_in is None else None
    return Line(connection, preset, seconds, money if money is not None else free, css, state)


def state_of(connection: Connection) -> tuple[str, str]:
    """(css class, words) of a connection's state."""
    if connection.paused_until and connection.paused_until > timezone.now():
        left = (connection.paused_until - timezone.now()).total_seconds()
        return "is-warn", _("asked for a pause, %(n)d s") % {"n": left}
    if preset_of(connection).reach == "builtin" and not local_model.is_available():
        return "is-bad", _("not installed here")
    state = connection.test_result.get("state", "") if connection.tested_at else ""
    words = {"ok": _("works"), "warn": _("answers, not as asked"), "bad": _("does not work")}
    return (f"is-{state}", words[state]) if state in words else ("is-off", _("not tested yet"))


STEP_NAMES = {"reached": "Reached", "key": "Key", "answer": "Answer"}


@dataclass(frozen=True)
class FormPage:
    more: list[Any]
    models: list[str]
    fetched_at: datetime | None
    steps: list[dict[str, str]]
    result: dict[str, Any]
    price: Price = prices.UNKNOWN
    context: int | None = None


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
    if connection is None:
        return FormPage(more, [], None, [], {})
    listed = prices.listing(connection)
    models = [row.id for row in listed][:MOST_LISTED]
    context = next((row.context for row in listed if row.id == connection.model), None)
    result = connection.test_result if connection.tested_at else {}
    steps = [{**step, "name": _(STEP_NAMES.get(step.get("name", ""), ""))} for step in result.get("steps", [])]
    return FormPage(more, models, connection.tested_at, steps, result, prices.price_of(connection), context)
