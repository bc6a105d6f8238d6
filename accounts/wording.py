"""Numbers, sizes, money and times in the few words that pages use. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import formats, timezone
from django.utils.translation import gettext as _

NOTHING = "–"
BYTE_UNITS = ("kB", "MB", "GB", "TB")


def number(value: float | None) -> str:
    """A whole number with the separators of the reader's language; a dash for none."""
    return NOTHING if value is None else str(formats.number_format(int(value), force_grouping=True))


def size(value: float | None) -> str:
    """Bytes in powers of 1000: "812 B", "38 MB", "1.4 GB"."""
    if value is None:
        return NOTHING
    if value < 1000:
        return f"{int(value)} B"
    power = min(len(BYTE_UNITS), 1 + (value >= 999_500) + (value >= 999.5e6) + (value >= 999.5e9))
    return f"{_short(value / 1000**power)} {BYTE_UNITS[power - 1]}"


def money(value: Decimal | float | None) -> str:
    """US dollars: cents below one dollar ("0.3 ¢", "14.6 ¢"), else "$3.12"; a dash for unknown."""
    if value is None:
        return NOTHING
    dollars = float(value)
    if abs(dollars) >= 0.9995:
        return "$" + str(formats.number_format(f"{dollars:.2f}", 2, force_grouping=True))
    cents = dollars * 100
    if cents and abs(cents) < 0.05:
        return "< 0.1 ¢"
    return f"{_short(cents)} ¢"


def about_money(value: Decimal | float | None) -> str:
    """An estimate: "≈ 0.3 ¢", "< 0.1 ¢"; "free" for nothing, a dash for unknown."""
    if value is None:
        return NOTHING
    if not value:
        return str(_("free"))
    words = money(value)
    return words if words.startswith("<") else f"≈ {words}"


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago: "now", "12 s ago", "20 min ago", "3 h ago", "yesterday", "9 Nov", "9 Nov 2024"."""
    if moment is None:
        return str(_("never"))
    now = now or timezone.now()
    seconds = int((now - moment).total_seconds())
    if seconds < 5:
        return str(_("now"))
    if seconds < 60:
        return str(_("%(n)d s ago")) % {"n": seconds}
    if seconds < 3600:
        return str(_("%(n)d min ago")) % {"n": seconds // 60}
    return _day(moment, now, seconds)


def _day(moment: datetime, now: datetime, seconds: int) -> str:
    here, today = timezone.localtime(moment), timezone.localtime(now)
    if here.date() == today.date():
        return str(_("%(n)d h ago")) % {"n": seconds // 3600}
    if here.date() == today.date() - timedelta(days=1):
        return str(_("yesterday"))
    pattern = "j M" if here.year == today.year else "j M Y"
    return str(formats.date_format(here, pattern))


def lasts(seconds: float | None) -> str:
    """A length of time: "8 s", "9 min", "2 h 5 min"; a dash for unknown."""
    if seconds is None:
        return NOTHING
    whole = round(seconds)
    if whole < 60:
        return str(_("%(n)d s")) % {"n": whole}
    if whole < 3600:
        return str(_("%(n)d min")) % {"n": round(whole / 60)}
    hours, rest = divmod(whole // 60, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _short(value: float) -> str:
    """One decimal below 100 unless it is zero."""
    text = f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
    return text.removesuffix(".0")
