"""News from SillyTavern's folder that apps above wait for (charmem_site/wires.py lists who hears what)."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from jobs.events import Event


@dataclass(frozen=True)
class ChatsChanged:
    """Message rows of these chats were added, changed or taken away. Not sent by a pass that only compares."""

    tavern_id: UUID
    chat_ids: list[UUID]


@dataclass(frozen=True)
class CharacterChanged:
    """A character appeared, was edited, renamed or marked gone."""

    tavern_id: UUID
    character_id: UUID


@dataclass(frozen=True)
class DatabankText:
    """The bytes of a memory file in the Data Bank are not the ones we wrote.

    `was_known` says whether the file is ours already; otherwise it is a `*-memories.md` that may be adopted.
    `compare_only` is set on the first pass after a restore: a difference is a conflict then, nothing is taken over.
    `known_hash` is the `written_hash` from before the file was read, None where nobody can write meanwhile: when it
    is another one by now, we wrote in between and `text` is not what the file holds.
    """

    attachment_id: UUID
    text: str
    was_known: bool
    compare_only: bool = False
    known_hash: str | None = None


@dataclass(frozen=True)
class ChatForgotten:
    """A person had the text of this chat erased: whoever keeps any of it erases it too."""

    tavern_id: UUID
    chat_id: UUID
    owner_id: int | UUID


@dataclass(frozen=True)
class PassFinished:
    """A pass over a tavern ended; `changed` when it found anything new."""

    tavern_id: UUID
    changed: bool


chats_changed: Event[ChatsChanged] = Event("chats_changed")
character_changed: Event[CharacterChanged] = Event("character_changed")
databank_text_found: Event[DatabankText] = Event("databank_text_found")
chat_forgotten: Event[ChatForgotten] = Event("chat_forgotten")
pass_finished: Event[PassFinished] = Event("pass_finished")
