"""Small parts of the memory pages: faces, moments, pieces of a diff, a bar of what was read."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django import template
from django.http import QueryDict
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memories import activity_words, doubts
from memories.plain_text import first_words
from memories.word_diff import Piece
from sync.models import Character

register = template.Library()
OWN_NAME = re.compile(r"(\d{4})-(\d\d?)-(\d\d?) ?@(\d\d?)h ?(\d\d?)m(?: ?\d+s)?(?: ?\d+ms)?( - .*)?$")


@register.simple_tag
def face(character: Character, css: str = "face") -> SafeString:
    """The picture of a character (its initials when the card has none). Says nothing aloud: the name stands beside."""
    url = f"{reverse('sync:portrait', args=[character.pk])}?v={character.portrait_hash[:8]}"
    lazy = SafeString(' loading="lazy"') if css == "portrait" else ""
    return format_html('<img class="{}" src="{}" alt="" width="240" height="360"{}>', css, url, lazy)


@register.simple_tag
def doubts_of(memory: Any) -> list[str]:
    """Why a memory is doubted, each reason in words."""
    return doubts.reasons(memory)


@register.simple_tag
def doubt_badge(memory: Any) -> str:
    """What the badge of a doubted memory says."""
    return doubts.badge(memory)


@register.filter
def step_name(step: str) -> str:
    """The word of a step in the activity log."""
    return str(activity_words.STEPS.get(step, step))


@register.filter
def level_name(level: str) -> str:
    """The word of a level in the activity log."""
    return str(activity_words.LEVELS.get(level, level))


@register.filter
def moment(value: datetime | None) -> str:
    """ "today, 18:03", "yesterday, 09:12", "14 Nov, 23:08", "14 Nov 2024": as short as it can be."""
    if value is None:
        return ""
    local, today = timezone.localtime(value), timezone.localdate()
    clock = date_format(local, "H:i")
    days = (today - local.date()).days
    if days == 0:
        return _("today, %(clock)s") % {"clock": clock}
    if days == 1:
        return _("yesterday, %(clock)s") % {"clock": clock}
    return date_format(local, "j M, H:i" if local.year == today.year else "j M Y")


@register.filter
def block_date(text: str) -> str:
    """The date of a block, local wall-clock "2026-03-01 18:00", as pages write dates: "1 Mar, 18:00"."""
    try:
        when = datetime.strptime(text[:16], "%Y-%m-%d %H:%M")
    except ValueError:
        return text
    return date_format(when, "j M, H:i" if when.year == timezone.localdate().year else "j M Y")


@register.filter
def chat_title(name: str) -> str:
    """SillyTavern's own names read as dates: "Flux - 2025-12-18@17h03m44s219ms" → "18 Dec 2025, 17:03"."""
    found = OWN_NAME.search(name)
    if found is None:
        return name
    year, month, day, hour, minute = (int(part) for part in found.groups()[:5])
    try:
        when = datetime(year, month, day, hour, minute)
    except ValueError:
        return name
    return f"{date_format(when, 'j M Y, H:i')}{found.group(6) or ''}"


@register.filter
def since_day(value: datetime | None) -> str:
    """ "today", "yesterday", "5 days ago", then the date."""
    if value is None:
        return ""
    local = timezone.localtime(value).date()
    days = (timezone.localdate() - local).days
    if days <= 1:
        return _("today") if days <= 0 else _("yesterday")
    return _("%(days)d days ago") % {"days": days} if days < 30 else date_format(local, "j M Y")


@register.simple_tag
def pieces(parts: list[Piece]) -> SafeString:
    """Pieces of a word diff with <ins> and <del>; what was only found is marked."""
    shapes = {"same": "{}", "ins": "<ins>{}</ins>", "del": "<del>{}</del>", "found": "<mark>{}</mark>"}
    return format_html_join("", "{}", ((format_html(shapes[part.kind], part.text),) for part in parts))


@register.simple_tag
def read_bar(read: int, total: int) -> SafeString:
    """A thin bar: green is read, amber is not read yet."""
    share = 100 * read / total if total else 100
    label = _("%(read)d of %(total)d read") % {"read": read, "total": total}
    return format_html(
        '<svg class="read-bar" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="f-ok" x="0" y="0" width="{}" height="4"/>'
        '<rect class="f-accent" x="{}" y="0" width="{}" height="4"/>'
        "</svg>",
        label,
        f"{share:.2f}",
        f"{share:.2f}",
        f"{100 - share:.2f}",
    )


@register.simple_tag
def ring(value: int, total: int) -> SafeString:
    """The ring of messages that wait, beside its numbers in words."""
    share = min(100, round(100 * value / total)) if total else 0
    return format_html(
        '<svg class="ring" viewBox="0 0 18 18" aria-hidden="true"><circle class="track" cx="9" cy="9" r="7"/>'
        '<circle class="value" cx="9" cy="9" r="7" pathLength="100" stroke-dasharray="{} 100"/></svg>',
        share,
    )


@register.simple_tag(takes_context=True)
def with_query(context: dict[str, Any], **changes: Any) -> str:
    """The page's own address with some parameters changed; None removes one, and a change goes back to page 1."""
    query = context["request"].GET.copy()
    query.pop("page", None)
    for name, value in changes.items():
        query.pop(name, None)
        if value not in (None, ""):
            query[name] = str(value)
    return f"?{query.urlencode()}" if query else "."


@register.simple_tag
def url_if(name: str, *args: Any) -> str:
    """The address of a page that a build may lack, or "": `{% url_if "memories:timeline" character.pk as url %}`."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


@register.filter
def actions_label(text: str) -> str:
    """What the handle of a memory is called: its first words."""
    return _("Actions for “%(text)s”") % {"text": first_words(text)}


@register.simple_tag
def row_url(name: str, *ids: UUID) -> str:
    """As `{% url %}` for an address that stands in every row of a long list: it is resolved once for all ids."""
    return _address_of_rows(name, len(ids), get_script_prefix()).format(*ids)


@lru_cache(maxsize=256)
def _address_of_rows(name: str, count: int, _prefix: str) -> str:
    """The address with {0}, {1}… in place of its ids."""
    marks = [UUID(int=number) for number in range(count)]
    url = reverse(name, args=marks)
    for number, mark in enumerate(marks):
        url = url.replace(str(mark), f"{{{number}}}")
    return url


@register.simple_tag
def place_page(place: Any, number: int) -> str:
    """The address of another page of the list that `place` says is on the screen (memories/views/editor_place.py)."""
    path, _mark, words = place.url.partition("?")
    query = QueryDict(words, mutable=True)
    query["page"] = str(number)
    return f"{path}?{query.urlencode()}"
