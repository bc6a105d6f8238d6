"""What the page that tries a prompt shows: what can be chosen, the sections with their sizes, the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.models import Job
from memories import group_chat, try_it
from memories.chosen import settings_of
from memories.memory_list import is_uuid
from memories.try_it import Preview, read_range
from memories.try_merge import MergePreview
from memories.try_parts import Trial
from providers.models import Connection
from providers.purposes import CONSOLIDATION, EXTRACTION
from providers.queries import connection_for, connections
from sync.models import Character, Chat

MOST_CHATS = 300
FILLS = {
    "words": "f-quiet",
    "card": "f-info",
    "participants": "f-info",
    "memories": "f-ok",
    "messages": "f-accent",
    "notes": "f-accent",
}
GAP = 0.3  # of 100 units of the bar, between two sections


@dataclass(frozen=True)
class Choice:
    """What the form shows as chosen. `trial` is None, and `error` says why, when nothing can be tried with it."""

    characters: list[Character]
    chats: list[Chat]
    connections: list[Connection]
    character: Character | None
    chat: Chat | None
    connection: Connection | None
    messages: str
    text: str
    trial: Trial | None
    error: str = ""


@dataclass(frozen=True)
class Slice:
    """One rectangle of the bar of sizes, and its line in the list below."""

    kind: str
    css: str
    label: str
    text: str
    tokens: int
    x: str
    width: str
    is_open: bool = False


def choose(user: User, name: str, given: Mapping[str, Any]) -> Choice:
    """The form's state from `given` (a query, a form or a job's params); what is missing is filled in sensibly."""
    is_group = try_it.is_group(name)
    characters = list(group_chat.members(user) if is_group else _characters(user))
    character = picked(characters, given.get("character")) or newest_character(user, characters)
    chats = _chats(user, character, is_group=is_group) if character else []
    chat = picked(chats, given.get("chat")) or (chats[0] if chats else None)
    same_chat = chat is not None and str(chat.pk) == str(given.get("chat") or chat.pk)
    places = list(connections(user))
    usual = CONSOLIDATION if try_it.is_merge(name) else EXTRACTION
    connection = picked(places, given.get("connection")) or connection_for(user, usual)
    messages = str(given.get("messages") or "").strip() if same_chat else ""
    messages = messages or (_usual_messages(user, chat, name) if chat else "")
    text = str(given.get("text") or "").replace("\r\n", "\n").strip()
    parts = (characters, chats, places, character, chat, connection, messages, text)
    trial, error = _trial(user, name, character, chat, connection, messages, text)
    return Choice(*parts, trial, error)


def _trial(
    user: User,
    name: str,
    character: Character | None,
    chat: Chat | None,
    connection: Connection | None,
    messages: str,
    text: str,
) -> tuple[Trial | None, str]:
    if (character is None or chat is None) and try_it.is_group(name):
        return None, _("No chat of a group was found. Start one in SillyTavern; it appears here by itself.")
    if character is None or chat is None:
        return None, _("No chat was found yet. Link SillyTavern’s folder under Settings first.")
    if connection is None:
        return None, _("No model is connected yet. Choose one under Settings, Models.")
    numbers = read_range(messages)
    if numbers is None:
        return None, _("Type the messages as two numbers, for example 12–24.")
    connection.owner = user
    return Trial(name, character, chat, *numbers, connection, text), ""


def picked(rows: list[Any], wanted: Any) -> Any:
    """The row with this id, if it is one of them."""
    return next((row for row in rows if str(row.pk) == str(wanted or "")), None)


def _characters(user: User) -> QuerySet[Character]:
    rows = Character.objects.for_user(user).filter(gone_at=None, chats__gone_at=None)
    return rows.distinct().order_by("name", "pk")


def newest_character(user: User, characters: list[Character]) -> Character | None:
    """The one that somebody talked with last."""
    rows = Chat.objects.for_user(user).filter(character__in=characters, gone_at=None, message_count__gt=0)
    newest = rows.order_by("-last_at", "pk").values_list("character", flat=True).first()
    return picked(characters, newest) or (characters[0] if characters else None)


def _chats(user: User, character: Character, *, is_group: bool) -> list[Chat]:
    if is_group:
        return list(group_chat.chats_with(user, character)[:MOST_CHATS])
    rows = Chat.objects.for_user(user).filter(character=character, gone_at=None, message_count__gt=0)
    return list(rows.order_by("-last_at", "name")[:MOST_CHATS])


def _usual_messages(user: User, chat: Chat, name: str) -> str:
    """As many as one call reads, from the end; for rules that put memories together, all."""
    last = chat.messages.order_by("-index").values_list("index", flat=True).first()
    count = (last or 0) + 1 if try_it.is_merge(name) else settings_of(user).messages_per_call
    return f"{max(0, (last or 0) - count + 1)}–{last or 0}"


def slices(preview: Preview | MergePreview) -> list[Slice]:
    """The bar: system and words, card, memories, messages in the order in which they are sent."""
    parts = [preview.system, *preview.sections]
    whole = sum(part.tokens for part in parts) or 1
    opened = "messages" if isinstance(preview, Preview) else "notes" if preview.is_notes else "memories"
    found: list[Slice] = []
    used = 0
    for number, part in enumerate(parts):
        x, width = 100 * used / whole, 100 * part.tokens / whole
        label = _("The role (system)") if number == 0 else _label(part.kind, preview)
        found.append(
            Slice(
                part.kind,
                FILLS[part.kind],
                label,
                part.text,
                part.tokens,
                f"{x:.2f}",
                f"{max(0.1, width - GAP):.2f}",
                part.kind == opened,
            )
        )
        used += part.tokens
    return found


def bar_label(preview: Preview | MergePreview) -> str:
    """The bar in words."""
    sums = dict.fromkeys(FILLS, 0)
    for part in (preview.system, *preview.sections):
        sums[part.kind] += part.tokens
    if isinstance(preview, MergePreview) and preview.is_notes:
        return _("Words of the prompt %(words)d, notes %(notes)d tokens") % sums
    if isinstance(preview, Preview) and preview.participants:
        text = _(
            "Words of the prompt %(words)d, card %(card)d, participants %(participants)d, memories %(memories)d, "
            "messages %(messages)d tokens"
        )
        return text % sums
    return _("Words of the prompt %(words)d, card %(card)d, memories %(memories)d, messages %(messages)d tokens") % sums


def _label(kind: str, preview: Preview | MergePreview) -> str:
    if isinstance(preview, MergePreview):
        return _merge_label(kind, preview)
    if kind == "messages":
        count = len(preview.chunk.lines)
        return ngettext("%(n)d message", "%(n)d messages", count) % {"n": count}
    if kind == "memories":
        numbers = {"n": preview.known_sent, "all": len(preview.known)}
        return _("%(n)d of %(all)d memories") % numbers
    if kind == "participants":
        count = len(preview.participants)
        return ngettext("%(n)d other participant", "%(n)d other participants", count) % {"n": count}
    return _("Card") if kind == "card" else _("Words of the prompt")


def _merge_label(kind: str, preview: MergePreview) -> str:
    if kind == "notes":
        return ngettext("%(n)d note", "%(n)d notes", preview.count) % {"n": preview.count}
    if kind != "memories":
        return _("Words of the prompt")
    return ngettext("%(n)d memory", "%(n)d memories", preview.count) % {"n": preview.count}


def left_over(preview: Preview, trial: Trial) -> int:
    """Messages of the chosen stretch that do not fit into one call: an extraction reads them in the next one."""
    rows = trial.chat.messages.filter(index__gt=preview.chunk.last_index, index__lte=trial.last)
    return rows.count()


def job_of(user: User, name: str, wanted: str) -> Job | None:
    """The try that an address names, if it is one of this person and prompt."""
    if not is_uuid(wanted):
        return None
    found = Job.objects.for_user(user).filter(pk=wanted, kind=try_it.KIND).first()
    return found if found is not None and found.params.get("name") == name else None
