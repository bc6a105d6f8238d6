"""Doubts as rows keep them ({"check", "detail"}), in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

# What a check is called in a list.
NAMES = {
    "non_memory": gettext_lazy("No memory at all"),
    "invented_name": gettext_lazy("Invented name or number"),
    "unsupported": gettext_lazy("Not in the messages"),
    "reversed_actor": gettext_lazy("Who did it is swapped"),
    "repeat_existing": gettext_lazy("Repeats a memory"),
    "recall_echo": gettext_lazy("Repeats what was recalled"),
    "card_leak": gettext_lazy("Restates the card"),
    "play_by_play": gettext_lazy("One step after another"),
    "meta_narration": gettext_lazy("Says that something was discussed"),
    "temporary": gettext_lazy("Will not matter later"),
    "form": gettext_lazy("Form: person, tense, length"),
}
# What it looks for, in a sentence.
MEANINGS = {
    "non_memory": gettext_lazy("An apology, a headline, a remark of the model about itself."),
    "invented_name": gettext_lazy("A person, place, thing or number that neither the messages nor the card have."),
    "unsupported": gettext_lazy("The names are right, but nothing in the messages says it."),
    "reversed_actor": gettext_lazy("The messages say it the other way round."),
    "repeat_existing": gettext_lazy("A fact that stands in the file already, in the same or in other words."),
    "recall_echo": gettext_lazy("A memory or lorebook entry that was in the prompt, written down as if it were new."),
    "card_leak": gettext_lazy("What the character card says, dressed as a discovery."),
    "play_by_play": gettext_lazy("Gestures and single steps of a scene, without what came of them."),
    "meta_narration": gettext_lazy("That somebody mentioned or admitted something, instead of what it was."),
    "temporary": gettext_lazy("Tired, wet, hungry: over by the next scene."),
    "form": gettext_lazy("First person, present tense, a list in one sentence. A hint only."),
}


def name(check: str) -> str:
    """A check in a list."""
    return str(NAMES.get(check, check))


def meaning(check: str) -> str:
    """What a check looks for."""
    return str(MEANINGS.get(check, ""))


def reason(doubt: Mapping[str, Any]) -> str:
    """Why a bullet is doubted, for a badge: short, with the word or the memory that it is about."""
    check, detail = str(doubt.get("check", "")), str(doubt.get("detail", ""))
    if not detail:
        return _plain(check)
    with_detail = {
        "invented_name": _("not in the chat: %(what)s"),
        "repeat_existing": _("repeats: “%(what)s”"),
        "recall_echo": _("was in the prompt: “%(what)s”"),
        "unsupported": _("not in the messages: %(what)s"),
    }
    words = with_detail.get(check)
    return _plain(check) if words is None else words % {"what": detail}


def reasons(row: Any) -> list[str]:
    """Why a memory, a bullet of a draft or a held one is doubted; [] when nothing is said about it."""
    names = [str(one) for one in row.unverified_names]
    found = [_("not in the chat: %(what)s") % {"what": ", ".join(names)}] if names else []
    return [*found, *(reason(one) for one in row.doubts if isinstance(one, Mapping))]


def badge(row: Any) -> str:
    """The one word or two that a bullet carries in a list."""
    first = next((one for one in row.doubts if isinstance(one, Mapping)), None)
    return _("unverified") if row.unverified_names or first is None else _plain(str(first.get("check", "")))


def _plain(check: str) -> str:
    return {
        "non_memory": _("is no memory"),
        "invented_name": _("names what no source has"),
        "unsupported": _("nothing in the chat says anything like it"),
        "reversed_actor": _("who did it may be swapped"),
        "repeat_existing": _("repeats a memory"),
        "recall_echo": _("was in the prompt already"),
        "card_leak": _("restates the card"),
        "play_by_play": _("one step after another"),
        "meta_narration": _("says that something was discussed"),
        "temporary": _("will not matter later"),
        "form": _("person, tense or length"),
    }.get(check, check)
