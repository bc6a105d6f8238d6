"""Limits and their sums in words."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.translation import gettext as _

from providers import budget_words
from providers.budget_sums import Standing

register = template.Library()
register.filter("amount", budget_words.amount)
register.filter("warning", budget_words.warning)


@register.filter
def limit_name(standing: Standing) -> str:
    """“Today”, “Everybody here, this month”."""
    words = _("Today") if standing.kind == "day" else _("This month")
    if standing.is_instance:
        return _("Everybody here, today") if standing.kind == "day" else _("Everybody here, this month")
    return words


@register.filter
def permille(standing: Standing) -> int:
    """Thousandths that are used, for a bar."""
    return min(1000, int(Decimal(standing.share) * 1000))
