"""Tags and filters of all templates: icons, help links, and numbers in words."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts import wording

register = template.Library()

register.filter("number", wording.number)
register.filter("size", wording.size)
register.filter("money", wording.money)
register.filter("about_money", wording.about_money)
register.filter("lasts", wording.lasts)


@register.filter
def ago(moment: datetime | None) -> str:
    """`{{ tavern.last_pass_at|ago }}` → "12 s ago"."""
    return wording.ago(moment)


@register.filter
def percent(part: float, whole: float) -> int:
    """`{{ job.step|percent:job.total }}` → 0 to 100."""
    return min(100, int(part * 100 / whole)) if whole else 0


@register.filter
def initial(name: Any) -> str:
    """The letter in the round badge of a person or character."""
    text = str(name or "").strip()
    return text[0].upper() if text else "?"


@register.simple_tag
def icon(name: str, size: str = "", label: str = "") -> SafeString:
    """`{% icon "brain" %}`, `{% icon "x" size="sm" %}`; with `label` it is announced, without it is decoration."""
    return _icon(name, size, str(label))


@lru_cache(maxsize=1024)
def _icon(name: str, size: str, label: str) -> SafeString:
    css = "icon icon-sm" if size == "sm" else "icon"
    said = format_html('role="img" aria-label="{}"', label) if label else SafeString('aria-hidden="true"')
    return format_html('<svg class="{}" {}><use href="{}#{}"/></svg>', css, said, static("icons.svg"), name)


@register.simple_tag
def help_url(topic: str = "") -> str:
    """Address of a chapter of the guide: `{% help_url "extraction" %}`; without a topic the guide's first page."""
    if topic:
        return reverse("charmem_site:help_chapter", args=[topic])
    return reverse("charmem_site:help")
