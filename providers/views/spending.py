"""Settings → Spending: sums, days, parts, and every call; also as a table for other programs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest
from providers.ledger_filter import SPANS, Asked
from providers.models import Call
from providers.spending_page import SpendingPage

CALLS_A_PAGE = 50
COLUMNS = (
    *("started_at", "purpose", "subject", "connection", "model", "automatic", "prompt_tokens", "completion_tokens"),
    *("cached_tokens", "estimated", "dollars", "seconds", "finish_reason", "error", "retries", "job"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would calculate


@require_safe
def spending(request: PersonRequest) -> HttpResponse:
    """Sums of a span."""
    return render(request, "providers/spending.html", {"page": SpendingPage(request.user, request.GET)})


@require_safe
def calls(request: PersonRequest) -> HttpResponse:
    """The ledger, newest first; filtered by the links of the spending page."""
    asked = Asked.of(request.GET)
    page = Paginator(asked.rows(request.user), CALLS_A_PAGE).get_page(request.GET.get("page"))
    context = {"pages": page, "said": asked.said(request.user), "query": asked.query(), "spans": SPANS}
    return render(request, "providers/calls.html", context)


@require_safe
def calls_csv(request: PersonRequest) -> StreamingHttpResponse:
    """The same calls as comma-separated values."""
    rows = Asked.of(request.GET).rows(request.user)
    name = f"charmem-calls-{timezone.localdate():%Y-%m-%d}.csv"
    response = StreamingHttpResponse(_lines(rows.iterator(2000)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


class _Echo:
    """A file that gives back what is written into it."""

    def write(self, text: str) -> str:
        return text


def _lines(rows: Iterator[Call]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for row in rows:
        yield writer.writerow([_cell(value) for value in _values(row)])


def _values(row: Call) -> tuple[Any, ...]:
    return (
        *(row.started_at.isoformat(timespec="seconds"), row.purpose, row.subject, row.connection_name, row.model),
        *(int(row.is_automatic), row.prompt_tokens, row.completion_tokens, row.cached_tokens, int(row.is_estimate)),
        *(row.cost, row.seconds, row.finish_reason, row.error_type, row.retries, row.job_id),
    )


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return "" if value is None else value
