"""A group's chat as the memories of one member see it: who the others are, and where the member took part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.models import User
from memories import presence
from memories.members import Member, Roster, roster, speaker_key
from memories.transcript import Chunk, Line
from sync.models import Character, Chat


@dataclass(frozen=True)
class Scene:
    """Everybody of a group's chat, looked up once for a turn."""

    chat: Chat
    roster: Roster

    @classmethod
    def of(cls, user: User, chat: Chat) -> Scene | None:
        """None for a chat with one character."""
        return None if chat.group is None else cls(chat, roster(user, chat.group))

    def member(self, character: Character) -> Member | None:
        return next((one for one in self.roster.members if one.character == character), None)

    def participants(self, chunk: Chunk, but: Sequence[Character] = ()) -> list[str]:
        """The others, each once: the persona first, then the members by seat (spec/charmemory §3.6).

        The persona is whoever speaks for the person in these messages; when they are silent, the one of SillyTavern's
        settings. A muted member is there all the same; a seat without a card has no name.
        """
        personas = [entry.name for entry in chunk.entries if entry.role == "user" and entry.name]
        others = [one.name for one in self.roster.characters if one not in but]
        names = [*(personas or [self.chat.tavern.persona_name]), *others]
        plain = (" ".join(name.split()) for name in names)
        return [name for name in dict.fromkeys(plain) if name]

    def signs(self, lines: Sequence[Line], character: Character) -> list[bool]:
        """Of each line, whether the member spoke or was spoken about (memories/presence.py)."""
        member = self.member(character)
        speakers = member.speakers if member is not None else frozenset()
        others = [one.name for one in self.roster.characters if one != character]
        words = presence.words_of(character.name, others)
        return [_spoke(line, speakers) or words.are_in(line.text) for line in lines]

    def witnessed(self, chunk: Chunk, character: Character, per_call: int) -> tuple[Chunk, bool]:
        """The beginning of a chunk that belongs together for a member, and whether it was there."""
        least = presence.absence(per_call, len(self.roster.members))
        count, is_there = presence.stretch(self.signs(chunk.lines, character), least)
        return beginning(chunk, count), is_there


def _spoke(line: Line, speakers: frozenset[str]) -> bool:
    return line.entry.role == "character" and speaker_key(line.entry.name, line.entry.avatar) in speakers


def beginning(chunk: Chunk, count: int) -> Chunk:
    """The first `count` lines of a chunk, with the silent messages up to the next one."""
    if count >= len(chunk.lines):
        return chunk
    end = chunk.lines[count].entry.index
    return Chunk(tuple(one for one in chunk.entries if one.index < end), chunk.lines[:count])


def members(user: User) -> QuerySet[Character]:
    """The characters that sit in a group with a chat, by name."""
    rows = Character.objects.for_user(user).filter(
        gone_at=None,
        seats__group__gone_at=None,
        seats__group__chats__gone_at=None,
        seats__group__chats__message_count__gt=0,
    )
    return rows.distinct().order_by("name", "pk")


def chats_with(user: User, member: Character) -> QuerySet[Chat]:
    """The chats of the groups that this character sits in, the newest first."""
    rows = Chat.objects.for_user(user).filter(group__members__character=member, group__gone_at=None)
    rows = rows.filter(gone_at=None, message_count__gt=0).select_related("group").distinct()
    return rows.order_by("-last_at", "name", "pk")


def participants(chat: Chat, chunk: Chunk, member: Character) -> list[str]:
    """The others of a group's chat, for a prompt; nobody in a chat with one character."""
    scene = Scene.of(chat.tavern.owner, chat)
    return scene.participants(chunk, [member]) if scene is not None else []
