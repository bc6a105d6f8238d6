"""Tags and filters of all templates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone

from accounts import wording

NOW = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)


def drawn(source: str, **context: object) -> str:
    return Template("{% load charmem %}" + source).render(Context(context))


def test_an_icon_is_decoration_unless_it_has_a_name() -> None:
    use = '<use href="/static/icons.svg#brain"/>'
    assert drawn('{% icon "brain" %}') == f'<svg class="icon" aria-hidden="true">{use}</svg>'
    named = drawn('{% icon "brain" size="sm" label=label %}', label='"><script>')
    assert named == f'<svg class="icon icon-sm" role="img" aria-label="&quot;&gt;&lt;script&gt;">{use}</svg>'


def test_help_links_lead_to_the_chapter() -> None:
    assert drawn('{% help_url %} {% help_url "extraction" %}') == "/help/ /help/extraction/"


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(seconds=2), "now"),
        (timedelta(seconds=12), "12 s ago"),
        (timedelta(minutes=20), "20 min ago"),
        (timedelta(hours=3), "3 h ago"),
        (timedelta(hours=19), "yesterday"),
        (timedelta(days=20), "9 Nov"),
        (timedelta(days=400), "25 Oct 2025"),
        (timedelta(seconds=-90), "now"),
    ],
)
def test_how_long_ago(before: timedelta, text: str) -> None:
    assert wording.ago(NOW - before, NOW) == text


def test_yesterday_is_the_readers_yesterday() -> None:
    late = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
    assert wording.ago(late, NOW) == "yesterday"
    with timezone.override("Europe/Vienna"):
        assert wording.ago(late, NOW) == "18 h ago"


@pytest.mark.parametrize(
    ("seconds", "text"), [(8, "8 s"), (540, "9 min"), (7500, "2 h 5 min"), (7200, "2 h"), (None, "–")]
)
def test_how_long(seconds: float | None, text: str) -> None:
    assert wording.lasts(seconds) == text


def test_numbers_are_grouped_and_estimates_say_so() -> None:
    assert drawn(
        "{{ n|number }} {{ cost|about_money }} {{ part|percent:whole }}", n=4318, cost=0.003, part=41, whole=118
    ) == ("4,318 ≈ 0.3 ¢ 34")
    assert wording.about_money(0) == "free"
    assert drawn("{{ name|initial }}{{ none|initial }}", name="ólafur", none="") == "Ó?"
