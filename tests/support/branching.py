"""Chats that branched, and memories that came from a known place of one, for stories about what a branch remembers."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from accounts.models import User
from memories.file_editor import NewMemory
from memories.memory_file import change, memories_of
from memories.models import ExtractionSettings, MemoryBlock, MemoryFile, MemoryScope
from sync.models import Character, Chat, Message
from tests.support.builders import STORY_START, make_character, make_connection, make_tavern


def make_reader(user: User, base_url: str) -> Character:
    """Odo, who is read by a model ten messages at a time, and whose branches remember their own past."""
    make_connection(user, preset="local", base_url=base_url, model="fake-small")
    ExtractionSettings.objects.create(user=user, messages_per_call=10, asks_present_only=False)
    made = make_character(make_tavern(user), "Odo")
    MemoryScope.objects.create(character=made, timeline=MemoryScope.Timeline.BRANCHES)
    return made


def make_branch(parent: Chat, fork: int, texts: int = 4, *, name: str = "", after: int = 60) -> Chat:
    """A branch as SillyTavern makes it: the messages up to `fork` as they are, then its own, `after` minutes later."""
    name = name or f"{parent.name} - Branch #{Chat.objects.for_user(parent.tavern.owner).count()}"
    chat = Chat.objects.create(
        tavern=parent.tavern,
        character=parent.character,
        group=parent.group,
        name=name,
        path=f"chats/{name}.jsonl",
        integrity=str(uuid.uuid4()),
        parent=parent,
        parent_name=parent.name,
        fork_index=fork,
        message_count=fork + 1 + texts,
    )
    shared = list(parent.messages.filter(index__lte=fork).order_by("index"))
    own = [_own(chat, fork + 1 + n, after + n, f"{name} says {n}.") for n in range(texts)]
    for message in shared:
        message.pk, message.chat = None, chat
        message._state.adding = True
    Message.objects.bulk_create([*shared, *own])
    return chat


def _own(chat: Chat, index: int, minute: int, text: str) -> Message:
    sent = STORY_START + timedelta(minutes=minute)
    return Message(
        chat=chat,
        index=index,
        role=Message.Role.CHARACTER if index % 2 else Message.Role.USER,
        name="Seraphine" if index % 2 else "Wren",
        text=text,
        raw_date=sent.isoformat(),
        sent_at=sent,
        line=index + 2,
        identity=uuid.uuid5(chat.pk, str(index)).hex,
        content=uuid.uuid4().hex,
    )


def remember(file: MemoryFile, chat: Chat | None, text: str, at: int | None = None, **fields: Any) -> None:
    """A memory of message number `at` of `chat`, as extraction keeps it; without `at`, one without evidence."""
    evidence = []
    if chat is not None and at is not None:
        evidence = [{"identity": chat.messages.get(index=at).identity, "index": at, "quote": text}]
    values = {"first_index": at, "last_index": at, "date": "2026-03-01 18:00", **fields}
    with change(file, reason=f"Kept: {text}") as editor:
        topic = "[Seraphine, Wren — The well]"
        new = [NewMemory(topic), NewMemory(text, evidence=evidence)]
        editor.add_block("The well", new, origin=MemoryBlock.Origin.EXTRACTED, chat=chat, **values)


def texts_in(file: MemoryFile | None) -> list[str]:
    """All memories of a file in its order, without topic tags."""
    assert file is not None
    return [one.text for one in memories_of(file) if not one.is_topic]
