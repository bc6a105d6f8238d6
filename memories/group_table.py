"""Rows of a group's table: what a member remembers, how far it has read, how its last reading ended; who is unknown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.wording import number
from jobs.models import Job
from memories.file_names import auto_file_name
from memories.member_rules import Entry, speaker_key
from memories.members import Member, Roster, Unknown
from memories.models import MemoryFile, Watermark
from memories.page_queries import Word, health_word
from memories.unread import Unread
from sync.models import Character, Chat, Group, Message

STRETCH = 20  # messages, in which a member spoke or not


@dataclass
class Row:
    """A member as the table shows it. `present` is the share of stretches in percent in which it spoke."""

    member: Member
    file: MemoryFile | None = None
    present: int = 0
    memories: int = 0  # from this group's chats
    all_memories: int = 0
    unread: Unread = field(default_factory=Unread)
    mark: Watermark | None = None  # of the chat that was used last
    job: Job | None = None  # the newest reading of this group's chats for this member
    price: Decimal | None = None  # of what is left, when the last reading failed

    @property
    def character(self) -> Character:
        return self.member.character

    @property
    def file_name(self) -> str:
        return self.file.name if self.file else auto_file_name(self.character.name)

    @property
    def failed(self) -> Job | None:
        """The last reading, when it failed and there is still something to read."""
        return self.job if self.job and self.job.state == Job.State.FAILED and self.unread.messages else None

    @property
    def is_reading(self) -> bool:
        return bool(self.job and self.job.is_active)

    @property
    def state(self) -> Word:
        if self.job and self.is_reading:
            return Word("live", _("reading") if self.job.state == Job.State.RUNNING else _("waits for its turn"))
        if self.failed:
            at = self.mark.index + 1 if self.mark else 0
            return Word("bad", _("failed at #%(n)s") % {"n": number(at)})
        if self.unread.messages:
            return Word("warn", _("%(n)s unread") % {"n": number(self.unread.messages)})
        return Word("ok", _("up to date"))

    @property
    def is_late_here(self) -> bool:
        """Whether something is unread in the chat that was used last."""
        return self.mark is None or self.mark.waiting > 0

    @property
    def health(self) -> Word:
        return health_word(self.file, self.character.tavern)


@dataclass(frozen=True)
class Suggestion:
    """An unknown speaker with the card that is meant most likely, if a card's name holds the speaker's."""

    unknown: Unknown
    likely: UUID | None


@dataclass(frozen=True)
class Correction:
    """What a person said about one seat or speaker, with the card when it is one that is there."""

    entry: Entry
    card: Character | None


def worst_of(words: Iterable[Word]) -> Word:
    """The word that asks most for a look; one for "nothing yet" without any."""
    order = ("bad", "warn", "live", "ok", "off")
    return min(words, key=lambda word: order.index(word.kind), default=Word("off", _("nothing yet")))


def likely(unknown: Unknown, all_cards: list[Character]) -> UUID | None:
    name = unknown.name.strip().casefold()
    equal = [one for one in all_cards if one.name.strip().casefold() == name]
    holding = equal or [one for one in all_cards if name and name in one.name.casefold()]
    return holding[0].pk if len(holding) == 1 else None


def presence(user: User, group: Group, who: Roster) -> dict[UUID, int]:
    """By member, in how many percent of the stretches of 20 messages it spoke."""
    rows = Message.objects.for_user(user).filter(chat__group=group, chat__gone_at=None).order_by()
    stretches: dict[UUID, set[tuple[UUID, int]]] = defaultdict(set)
    keys = {key: one.character.pk for one in who.members for key in one.speakers}
    spoken = rows.filter(role=Message.Role.CHARACTER).annotate(stretch=F("index") / STRETCH)
    for chat, name, avatar, stretch in spoken.values_list("chat", "name", "sender_avatar", "stretch").distinct():
        if (pk := keys.get(speaker_key(name, avatar))) is not None:
            stretches[pk].add((chat, stretch))
    chats = Chat.objects.for_user(user).filter(group=group, gone_at=None).values_list("message_count", flat=True)
    total = sum(-(-count // STRETCH) for count in chats)
    return {pk: min(100, round(100 * len(found) / total)) for pk, found in stretches.items() if total}
