"""The four steps after the first extraction, from a memory to a prompt (card on the home page)."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories.health import Reach, reach
from memories.models import Memory, MemoryFile


@dataclass(frozen=True)
class FirstStep:
    """One step: done or not, what is so, and the words of its button."""

    key: str
    label: str
    done: bool
    text: str = ""
    action: str = ""


def steps(user: User) -> list[FirstStep]:
    """The steps for the file that changed last; empty before the first memory."""
    files = MemoryFile.objects.for_user(user).filter(version__gt=0, chat__isnull=True, character__gone_at__isnull=True)
    file = files.select_related("character__tavern__owner").order_by("-updated_at").first()
    if file is None:
        return []
    way = reach(file.character)
    return [_made(user, file), _in_data_bank(way), _indexed(way), _seen(way, file)]


def _made(user: User, file: MemoryFile) -> FirstStep:
    count = Memory.objects.for_user(user).filter(block__file=file, is_topic=False).count()
    text = ngettext("%(count)d memory of %(name)s.", "%(count)d memories of %(name)s.", count)
    text = text % {"count": count, "name": file.character.name}
    return FirstStep("made", _("A memory is made"), done=count > 0, text=text)


def _in_data_bank(way: Reach) -> FirstStep:
    parts = [step for step in way.steps if step.key in ("file", "registered", "allowed")]
    return _joined("databank", _("The file is in the Data Bank"), way, [step.key for step in parts])


def _indexed(way: Reach) -> FirstStep:
    return _joined("index", _("Its index is current"), way, ["enabled", "index"])


def _joined(key: str, label: str, way: Reach, parts: list[str]) -> FirstStep:
    missing = next((step for step in way.missing if step.key in parts), None)
    if missing is None:
        return FirstStep(key, label, done=True, action=_("Look at it"))
    return FirstStep(key, label, done=False, text=missing.text, action=_action(missing.key))


def _action(key: str) -> str:
    """What the button to the page with the remedy says."""
    words = {
        "registered": _("Register it"),
        "allowed": _("Switch it on"),
        "enabled": _("See the setting"),
        "index": _("Rebuild it"),
    }
    return words.get(key) or _("Look at it")


def _seen(way: Reach, file: MemoryFile) -> FirstStep:
    at = way.attachment.seen_in_prompt_at if way.attachment else None
    hint = _("Write to %(name)s in SillyTavern. The companion tells when a memory came up.")
    text = "" if at else hint % {"name": file.character.name}
    return FirstStep("seen", _("It was seen in a prompt"), done=at is not None, text=text)
