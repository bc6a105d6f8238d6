"""Reads that several pages share: characters with their counts, what waits to be read, one word about health."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories.chosen import settings_of
from memories.mirrored import Copy
from memories.models import Memory, MemoryBlock, MemoryFile, MemoryLine, MemoryShare
from memories.price import reading_price
from memories.review_queries import ReviewCounts, counts_of
from memories.scopes import share_of
from memories.unread import Unread, unread_by_character
from providers import prices
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Attachment, Character, Tavern


@dataclass(frozen=True)
class Word:
    """A state in one word: `kind` is ok, warn, bad, live or off (design: dot and word)."""

    kind: str
    text: str


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
    review: ReviewCounts = field(default_factory=ReviewCounts)

    @property
    def needs_attention(self) -> bool:
        return self.health.kind in ("warn", "bad")


def price_of(user: User, unread: Unread) -> Decimal | None:
    """What reading it would cost with the person's model; None when the model has no price."""
    connection = connection_for(user, EXTRACTION)
    if connection is None:
        return None
    known = prices.price_of(connection)
    return reading_price(
        messages=unread.messages,
        letters=unread.letters,
        per_call=settings_of(user).messages_per_call,
        price_in=known.input,
        price_out=known.output,
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


def health_word(file: Copy | None, tavern: Tavern) -> Word:
    """The state of a memory file (or of its copy with somebody who shares it) in one word, from rows alone; the health
    page names each step."""
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
    files: dict[UUID, Copy] = {
        file.character_id: file
        for file in MemoryFile.objects.for_user(user).filter(chat=None).select_related("attachment")
    }
    for share in MemoryShare.objects.for_user(user).select_related("attachment", "file"):
        files[share.character_id] = share
        counts[share.character_id] = counts.get(share.file.character_id, (0, 0, None))
    for line in MemoryLine.objects.for_user(user).select_related("attachment", "file"):
        files[line.character_id] = line
    rows = (
        Character.objects.for_user(user)
        .filter(gone_at=None)
        .select_related("tavern")
        .annotate(last_chat_at=Max("chats__last_at"))
        .defer("description", "personality", "scenario", "first_message")
    )
    review, nothing = counts_of(user), ReviewCounts()
    return [_tile(row, unread, counts, review.get(row.pk, nothing), running, files.get(row.pk)) for row in rows]


def _tile(
    row: Character,
    unread: dict[UUID, Unread],
    counts: dict[UUID, tuple[int, int, datetime | None]],
    review: ReviewCounts,
    running: set[str],
    file: Copy | None,
) -> Tile:
    memories, blocks, newest = counts.get(row.pk, (0, 0, None))
    is_running = any(str(row.pk) in subject for subject in running)
    health = Word("live", _("extracting")) if is_running else health_word(file, row.tavern)
    last_chat_at = getattr(row, "last_chat_at", None)
    return Tile(row, memories, blocks, unread.get(row.pk, Unread()), newest, last_chat_at, health, review=review)


def memories_of(user: User, character: Character) -> QuerySet[Memory]:
    """The bullets of one character, or of the file it shares; topic tags left out."""
    share = share_of(character)
    where = {"block__file__character": character} if share is None else {"block__file": share.file_id}
    return Memory.objects.for_user(user).filter(is_topic=False, **where)
