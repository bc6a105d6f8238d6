"""What can be taken over from the CharMemory extension, shown before anything is changed (spec/charmemory §1, §2, §13).

Its memory files need nothing: they lie in the Data Bank and are adopted by every pass. Here come its settings, prompts,
file names, how far it had read each chat, what it recorded as injected, and its providers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from accounts.models import User
from memories.charmemory_state import silence_is_no_proof
from memories.choices import NAMES, USUAL, with_values
from memories.chosen import settings_of
from memories.members import readers
from memories.models import ExtractionSettings, Memory, MemoryFile, Watermark
from memories.own_prompts import default_of
from providers import local_model
from sync.charmemory_reading import Found, read_extension
from sync.models import Attachment, Character, Chat, Message, Tavern
from sync.tavern.charmemory import CardChats, ChatState, ProviderChoice, batch_points

# Its names of choices, and ours.
SETTINGS = {
    "enabled": "is_automatic",
    "interval": "interval",
    "extractionLag": "lag",
    "minCooldownMinutes": "cooldown_minutes",
    "protectRecentMessages": "leaves_newest",
    "protectRecentMessagesCount": "newest",
    "maxMessagesPerExtraction": "messages_per_call",
    "responseLength": "response_tokens",
    "mergeChunks": "merge_chunks",
    "verboseLogging": "is_verbose",
}
PROMPTS = {
    "extraction": "extraction",
    "groupExtraction": "extraction_group",
    "conversion": "conversion",
    "consolidation:conservative": "consolidation_conservative",
    "consolidation:balanced": "consolidation_balanced",
    "consolidation:aggressive": "consolidation_aggressive",
}
# Their own texts are copied into its settings even when nobody changed them, so these are not offered as changed.
COPIED = ("extraction", "groupExtraction")


@dataclass(frozen=True)
class Choice:
    """One setting that differs: our name, what is in force, what the extension has."""

    name: str
    now: Any
    theirs: Any


@dataclass(frozen=True)
class OwnPrompt:
    """One prompt text; `is_certain`: somebody surely wrote it, because the default is not stored there."""

    theirs: str
    name: str
    text: str
    is_certain: bool


@dataclass(frozen=True)
class Point:
    """How far it had read a chat, and how far each reader has been read here (lowest of them)."""

    chat: Chat
    readers: list[Character]
    index: int
    own_index: int
    is_doubtful: bool  # nothing of what was read is remembered anywhere

    @property
    def key(self) -> str:
        return f"point:{self.chat.pk}"

    @property
    def is_behind(self) -> bool:
        """Read further here already: nothing to take over."""
        return self.index <= self.own_index


@dataclass(frozen=True)
class OwnName:
    """A file name that a person chose for one character; `attachment` is the file that bears it already."""

    character: Character
    name: str
    attachment: Attachment | None


@dataclass
class Offer:
    """Everything that may be taken over from one linked folder."""

    tavern: Tavern
    is_there: bool = False
    is_reading_by_itself: bool = False
    choices: list[Choice] = field(default_factory=list)
    prompts: list[OwnPrompt] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    names: list[OwnName] = field(default_factory=list)
    providers: list[ProviderChoice] = field(default_factory=list)
    is_per_chat: bool = False
    injected: dict[Chat, ChatState] = field(default_factory=dict)
    source: str = ""
    tagged: int = 0
    hidden: int = 0
    unreadable: list[str] = field(default_factory=list)

    @property
    def snapshots(self) -> int:
        return sum(len(state.injected) for state in self.injected.values())


def offer(user: User, tavern: Tavern) -> Offer:
    """Look at what the extension left in a folder; SettingsError and OSError as sync/charmemory_reading.py says."""
    rows = Chat.objects.for_user(user).filter(tavern=tavern, gone_at=None, forgotten_at=None)
    chats = list(rows.select_related("character__tavern", "group__tavern").order_by("path"))
    found = read_extension(tavern, chats)
    made = Offer(tavern, is_there=found.state is not None or bool(found.chats), unreadable=found.unreadable)
    made.points = _points(user, chats, found)
    made.injected = {chat: state for chat, state in found.chats.items() if state.injected}
    counts = Message.objects.for_user(user).filter(chat__tavern=tavern, is_tagged=True)
    sums = counts.aggregate(tagged=Count("pk"), hidden=Count("pk", filter=Q(is_hidden=True)))
    made.tagged, made.hidden = sums["tagged"], sums["hidden"]
    if found.state is not None:
        made.is_reading_by_itself = is_reading(tavern)
        made.choices = differing(found.state.values, settings_of(user))
        made.prompts = own_prompts(found.state.prompts)
        made.names = _names(user, tavern, found)
        made.providers, made.source = list(found.state.providers), found.state.source
        made.is_per_chat = found.state.values.get("perChat") is True
    return made


def is_reading(tavern: Tavern) -> bool:
    """Whether the extension reads chats by itself too, as far as the last pass saw."""
    is_off = any("character-memory" in one.casefold() for one in map(str, tavern.disabled_extensions))
    return bool(tavern.charmemory.get("enabled")) and not is_off


def differing(theirs: Mapping[str, Any], row: ExtractionSettings) -> list[Choice]:
    """The settings that the extension has otherwise, within our limits; values of another kind are left out."""
    found = []
    for key, name in SETTINGS.items():
        value, now = theirs.get(key), getattr(row, name)
        if name in NAMES:
            value = getattr(with_values(replace(USUAL, **{name: now}), {name: value}), name)
        if type(value) is type(now) and value != now:
            found.append(Choice(name, now, value))
    return found


def own_prompts(texts: Mapping[str, str]) -> list[OwnPrompt]:
    """Its prompt texts that are not the ones we ship."""
    found = []
    for theirs, name in PROMPTS.items():
        default, text = default_of(name), texts.get(theirs, "")
        if text.strip() and (default is None or text.strip() != default.text.strip()):
            found.append(OwnPrompt(theirs, name, text, theirs not in COPIED))
    return found


def _points(user: User, chats: list[Chat], found: Found) -> list[Point]:
    batch = batch_points(found.state.batch, _cards(chats)) if found.state else {}
    marks: dict[Any, dict[Any, int]] = {}
    for chat_id, character_id, index in Watermark.objects.for_user(user).values_list("chat", "character", "index"):
        marks.setdefault(chat_id, {})[character_id] = index
    remembering = set(
        Memory.objects.for_user(user).order_by().values_list("block__file__character", flat=True).distinct()
    )
    points = []
    known: dict[Any, list[Character]] = {}
    for chat in chats:
        state = found.chats.get(chat)
        pointer = state.pointer if state else -1
        if chat.character is not None:
            pointer = max(pointer, batch.get((chat.character.avatar, chat.name), -1))
        index = min(pointer, chat.message_count - 1)  # it clamps a pointer behind the end as well (§2.5)
        if index < 0:
            continue
        key = chat.group_id or chat.character_id
        who = known[key] = known[key] if key in known else readers(user, chat)
        own = min((marks.get(chat.pk, {}).get(one.pk, -1) for one in who), default=-1)
        is_silent = not any(one.pk in remembering for one in who)
        points.append(Point(chat, who, index, own, is_silent and not _may_be_silent(chat, who, found)))
    return [one for one in points if one.readers]


def _cards(chats: list[Chat]) -> list[CardChats]:
    names: dict[Character, set[str]] = {}
    for chat in chats:
        if chat.character is not None:
            names.setdefault(chat.character, set()).add(chat.name)
    return [CardChats(one.avatar, one.name, frozenset(chats_of)) for one, chats_of in names.items()]


def _may_be_silent(chat: Chat, who: list[Character], found: Found) -> bool:
    return silence_is_no_proof(
        is_group=chat.group is not None,
        unresolved=chat.group.members.filter(character=None).count() if chat.group else 0,
        active=len(who),
        is_branch=bool(chat.parent_name),
        per_chat=found.state is not None and found.state.values.get("perChat") is True,
    )


def _names(user: User, tavern: Tavern, found: Found) -> list[OwnName]:
    wanted = dict(found.state.file_names) if found.state else {}
    general = found.state.values.get("fileName") if found.state else ""
    rows = Character.objects.for_user(user).filter(tavern=tavern, gone_at=None).select_related("tavern")
    files = dict(MemoryFile.objects.for_user(user).filter(chat=None).values_list("character", "name"))
    names = []
    for character in rows:
        name = wanted.get(character.avatar) or (general if isinstance(general, str) else "")
        if not name or name == files.get(character.pk):
            continue
        lies = tavern.attachments.filter(avatar=character.avatar, name=name, gone_at=None).first()
        if lies is not None or character.avatar in wanted:
            names.append(OwnName(character, name, lies))
    return names


def source_words(source: str) -> str:
    """What became of where its answers came from; "" for a provider, which is offered by itself."""
    return {
        "webllm": _("It used WebLLM, a model inside the browser. A server cannot.") + " " + _builtin_words(),
        "profile": _("It used a Connection Profile of SillyTavern. Under Models, “Through SillyTavern” asks it again."),
        "main_llm": _("It used SillyTavern’s own connection. Under Models, “Through SillyTavern” asks it again."),
    }.get(source, "")


def _builtin_words() -> str:
    if local_model.is_available():
        return _("Built-in (this computer) takes its place.")
    return _("Built-in, which takes its place, is not installed here: choose another kind under Models.")
