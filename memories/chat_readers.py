"""For whom a chat is read: its character, or each member of its group, with how far each has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from accounts.models import User
from memories.members import readers as characters_of
from memories.members import roster, speaker_key
from memories.watermark import marks_of_readers
from sync.models import Character, Chat, Message


@dataclass(frozen=True)
class Reader:
    """One character that remembers what is said in the chat. `read_to` is -1 when nothing was read, `waiting` counts
    the unread messages that a model would be shown."""

    character: Character
    read_to: int = -1
    waiting: int = 0


@dataclass
class Readers:
    """All readers of a chat; `chosen` is the one whose marks are shown. `faces` finds the card of a speaker."""

    all: list[Reader] = field(default_factory=list)
    chosen: Reader | None = None
    faces: dict[str, Character] = field(default_factory=dict)

    def face(self, message: Message) -> Character | None:
        """Whose picture stands beside a message; None for the person, notices, and speakers without a card."""
        if message.role != Message.Role.CHARACTER:
            return None
        return self.faces.get(speaker_key(message.name, message.sender_avatar)) or self.faces.get("")

    @property
    def others(self) -> list[Reader]:
        return [one for one in self.all if one is not self.chosen]


def readers_of(user: User, chat: Chat, whose: str = "") -> Readers:
    """The readers of a chat; without `whose` (an id) the one who is furthest behind is chosen."""
    marks = marks_of_readers(user, chat)
    found = Readers()
    if chat.group is not None:
        members = roster(user, chat.group).members
        characters = [member.character for member in members]
        found.faces = {speaker: member.character for member in members for speaker in member.speakers}
    else:
        characters = characters_of(user, chat)
        found.faces = {} if chat.character is None else {"": chat.character}
    found.all = [Reader(one, marks[one.pk].index, marks[one.pk].waiting) for one in characters if one.pk in marks]
    named = next((one for one in found.all if str(one.character.pk) == whose), None)
    found.chosen = named or min(found.all, key=lambda one: one.read_to, default=None)
    return found
