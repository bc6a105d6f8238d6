"""Reads that several pages share: characters with their counts, what waits to be read, one word about health."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Length
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories.models import Memory, MemoryBlock, MemoryFile, Watermark
from memories.price import reading_price
from memories.queries import READ_BY_MODEL, extraction_settings
from providers.queries import default_connection
from sync.models import Attachment, Character, Message, Tavern


@dataclass(frozen=True)
class Word:
    """A state in one word: `kind` is ok, warn, bad, live or off (design: dot and word)."""

    kind: str
    text: str


@dataclass
class Unread:
    """Messages that wait to be read, and the letters of their text."""

    messages: int = 0
    letters: int = 0
    chats: int = 0
    character_id: UUID | None = None


@dataclass
class Tile:
    """A character as the grid shows it."""

    character: Character
    memories: int = 0
    blocks: int = 0
    unread: Unread = field(default_factory=Unread)
    last_memory_at: datetime | None = None
    last_chat_at: datetime | None = None
    health: Word = Word("off", "")
    price: Decimal | None = None

    @property
    def needs_attention(self) -> bool:
        return self.health.kind in ("warn", "bad")


def unread_rows(user: User) -> QuerySet[Message]:
    """Messages of 1:1 chats below the watermark that the model would be shown."""
    read_to = Watermark.objects.filter(chat=OuterRef("chat"), character=OuterRef("chat__character")).values("index")[:1]
    return (
        Message.objects.for_user(user)
        .filter(chat__character__isnull=False, chat__gone_at=None, chat__character__gone_at=None)
        .filter(chat__tavern__unlinked_at=None)
        .filter(Q(role__in=READ_BY_MODEL) | Q(role=Message.Role.SYSTEM) & ~Q(name=""))
        .annotate(read_to=Coalesce(Subquery(read_to, output_field=IntegerField()), -1))
        .filter(index__gt=F("read_to"))
    )


def unread_by_chat(user: User, character: Character | None = None) -> dict[UUID, Unread]:
    """What waits in each chat that has something unread, in two queries.

    The exact count is kept with the watermark (branches, deletions); where the chat changed since, messages below the
    watermark are counted.
    """
    rows = unread_rows(user).filter(chat__character=character) if character else unread_rows(user)
    counted = rows.order_by().values("chat", "chat__character").annotate(n=Count("pk"), letters=Sum(Length("text")))
    marks = Watermark.objects.for_user(user).filter(counted_version=F("chat__version"), chat__gone_at=None)
    exact = dict(marks.values_list("chat", "waiting"))
    found: dict[UUID, Unread] = {}
    for row in counted:
        waiting = exact.get(row["chat"], row["n"])
        if waiting:
            letters = (row["letters"] or 0) * waiting // row["n"]
            found[row["chat"]] = Unread(waiting, letters, 1, row["chat__character"])
    return found


def unread_by_character(user: User) -> dict[UUID, Unread]:
    """What waits, by character."""
    found: dict[UUID, Unread] = {}
    for part in unread_by_chat(user).values():
        if part.character_id is not None:
            whole = found.setdefault(part.character_id, Unread(character_id=part.character_id))
            whole.messages, whole.letters = whole.messages + part.messages, whole.letters + part.letters
            whole.chats += 1
    return found


def price_of(user: User, unread: Unread) -> Decimal | None:
    """What reading it would cost with the person's model; None when the model has no price."""
    connection = default_connection(user)
    if connection is None:
        return None
    return reading_price(
        messages=unread.messages,
        letters=unread.letters,
        per_call=extraction_settings(user).messages_per_call,
        price_in=connection.price_in,
        price_out=connection.price_out,
    )


def total_unread(parts: Iterable[Unread]) -> Unread:
    """All of them together."""
    whole = Unread()
    for part in parts:
        whole.messages += part.messages
        whole.letters += part.letters
        whole.chats += part.chats
    return whole


def memory_counts(user: User) -> dict[UUID, tuple[int, int, datetime | None]]:
    """(memories without topic tags, blocks, newest) by character."""
    rows = (
        MemoryBlock.objects.for_user(user)
        .order_by()
        .values("file__character")
        .annotate(
            bullets=Count("memories", filter=Q(memories__is_topic=False)),
            n=Count("pk", distinct=True),
            newest=Max("created_at"),
        )
    )
    return {row["file__character"]: (row["bullets"], row["n"], row["newest"]) for row in rows}


def reading_now(user: User) -> set[str]:
    """Subjects of the extractions that wait or run."""
    rows = Job.objects.for_user(user).filter(kind="extract", state__in=Job.ACTIVE)
    return set(rows.values_list("subject", flat=True))


def health_word(file: MemoryFile | None, tavern: Tavern) -> Word:
    """The state of a memory file in one word, from rows alone; the health page names each step."""
    if file is None:
        return Word("off", _("nothing yet"))
    attachment = file.attachment
    if attachment is None or not attachment.is_registered:
        return Word("bad", _("not registered"))
    if not attachment.file_present:
        return Word("bad", _("file is missing"))
    if attachment.is_disabled or not tavern.vectors.get("enabled_files"):
        return Word("bad", _("not reaching the prompt"))
    if attachment.index_state == Attachment.Index.CURRENT:
        return Word("ok", _("healthy"))
    if attachment.index_state == Attachment.Index.BUILDING:
        return Word("live", _("index is being built"))
    return Word("warn", _("index out of date"))


def tiles(user: User) -> list[Tile]:
    """All characters that are still there, with their counts; the number of queries does not grow with them."""
    unread, counts, running = unread_by_character(user), memory_counts(user), reading_now(user)
    files = {
        file.character_id: file
        for file in MemoryFile.objects.for_user(user).filter(chat=None).select_related("attachment")
    }
    rows = (
        Character.objects.for_user(user)
        .filter(gone_at=None)
        .select_related("tavern")
        .annotate(last_chat_at=Max("chats__last_at"))
        .defer("description", "personality", "scenario", "first_message")
    )
    return [_tile(row, unread, counts, running, files.get(row.pk)) for row in rows]


def _tile(
    row: Character,
    unread: dict[UUID, Unread],
    counts: dict[UUID, tuple[int, int, datetime | None]],
    running: set[str],
    file: MemoryFile | None,
) -> Tile:
    memories, blocks, newest = counts.get(row.pk, (0, 0, None))
    is_running = any(str(row.pk) in subject for subject in running)
    health = Word("live", _("extracting")) if is_running else health_word(file, row.tavern)
    last_chat_at = getattr(row, "last_chat_at", None)
    return Tile(row, memories, blocks, unread.get(row.pk, Unread()), newest, last_chat_at, health)


def memories_of(user: User, character: Character) -> QuerySet[Memory]:
    """The bullets of one character, topic tags left out."""
    return Memory.objects.for_user(user).filter(block__file__character=character, is_topic=False)
