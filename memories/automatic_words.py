"""Why a chat waits, in the few words that a stats bar has room for, and in the sentence that the log keeps."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from accounts.wording import number
from memories import automatic_rules as rules
from memories.automatic_rules import Verdict
from memories.choices import Choices
from memories.local_time import local_now


def words_for(user: User, verdict: Verdict, choices: Choices) -> str:
    """ "14 of 20 messages", "cool-down 3 min", "quiet until 07:00" …"""
    numbers = verdict.numbers
    if verdict.kind == rules.BELOW:
        return _("%(n)s of %(m)s messages") % {"n": numbers["count"], "m": numbers["threshold"]}
    if verdict.kind in (rules.OLD, rules.BACKLOG):
        return _backlog(verdict)
    if verdict.kind == rules.WAITING:
        return _waiting(verdict, choices)
    if verdict.kind == rules.COOLDOWN:
        return _("cool-down %(minutes)s min") % {"minutes": numbers["minutes"]}
    return _until(user, verdict) if verdict.until else _PLAIN[verdict.kind]()


def _backlog(verdict: Verdict) -> str:
    count = verdict.numbers["unread"]
    if verdict.numbers["was_read"]:
        return ngettext(
            "%(n)s older message is waiting for your Extract",
            "%(n)s older messages are waiting for your Extract",
            count,
        ) % {"n": number(count)}
    return ngettext(
        "%(n)s unread message is waiting for your first Extract",
        "%(n)s unread messages are waiting for your first Extract",
        count,
    ) % {"n": number(count)}


def _waiting(verdict: Verdict, choices: Choices) -> str:
    if verdict.until is None:
        return _("waits while SillyTavern writes")
    return _("waits until nobody has written for %(minutes)s min") % {"minutes": choices.idle_minutes}


def _until(user: User, verdict: Verdict) -> str:
    assert verdict.until is not None  # noqa: S101  the caller looked
    clock = {"clock": _clock(user, verdict.until)}
    if verdict.kind == rules.QUIET:
        return _("quiet until %(clock)s") % clock
    if verdict.kind == rules.BUDGET:
        return _("budget reached, goes on %(day)s") % {"day": _day(user, verdict.until)}
    if verdict.kind == rules.STOPPED:
        return _("stopped by you, next at %(clock)s") % clock
    return _("did not work, next try at %(clock)s") % clock


def _day(user: User, moment: datetime) -> str:
    day = local_now(user, moment).date()
    is_near = (day - local_now(user, timezone.now()).date()).days <= 1
    return _("tomorrow") if is_near else date_format(day, "j M")


def _clock(user: User, moment: datetime) -> str:
    return date_format(local_now(user, moment), "H:i")


_PLAIN = {
    rules.GONE: lambda: _("gone from SillyTavern"),
    rules.OFF: lambda: _("off"),
    rules.NO_MODEL: lambda: _("no model yet"),
    rules.READING: lambda: _("reading"),
    rules.FIRE: lambda: _("about to be read"),
}
