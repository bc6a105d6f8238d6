"""The reasons of suggested pairs, in words (memories/superseding.py and memories/pairs.py give the keys)."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

REASONS = {
    "same": _("the same words"),
    "alike": _("nearly the same words"),
    "meaning": _("the same in other words"),
    "home": _("another home"),
    "work": _("other work"),
    "truth": _("put right later"),
    "outcome": _("a plan and what became of it"),
    "repair": _("a trouble that may be over"),
    "settled": _("something owed or owned that may be gone"),
    "ties": _("how two stand to each other"),
    "liking": _("liked before, now disliked, or the other way round"),
    "no longer": _("“no longer”"),
    "contradiction": _("the same statement with another number or a “not”"),
}


def reason_words(key: str) -> str:
    """A reason as people read it; unknown ones as they are."""
    return str(REASONS.get(key, key))
