"""What can be found of SillyTavern's side: messages of chats, and entries of lorebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from search.registry import Container, Row, SearchKind
from sync.models import Chat, Lorebook, LorebookEntry, Message

MESSAGES, LORE = "messages", "lore"


def _chats() -> Iterable[Container]:
    """Chats whose file is gone stay searchable: their messages are kept."""
    rows = Chat.objects.filter(forgotten_at=None).values_list(
        "pk", "tavern__owner", "version", "character", "last_at", "message_count"
    )
    for pk, owner, version, character, last_at, count in rows:
        yield Container(str(pk), owner, f"{version}-{count}", character, pk, last_at)


def _message_marks(chat: str) -> Iterable[tuple[str, str]]:
    for pk, content in Message.objects.filter(chat=UUID(chat)).order_by("index").values_list("pk", "content"):
        yield str(pk), content


def _messages(chat: str, keys: Sequence[str]) -> Iterable[Row]:
    rows = Message.objects.filter(chat=UUID(chat), pk__in=[int(key) for key in keys]).order_by("index")
    for pk, text, sent_at in rows.values_list("pk", "text", "sent_at"):
        yield Row(str(pk), text, sent_at)


def _books() -> Iterable[Container]:
    rows = Lorebook.objects.filter(gone_at=None, character__gone_at=None)
    for pk, owner, digest, character in rows.values_list("pk", "tavern__owner", "content_hash", "character"):
        yield Container(str(pk), owner, digest, character)


def _entry_marks(book: str) -> Iterable[tuple[str, str]]:
    """An edited book gets new rows for all its entries, so their ids say enough."""
    for pk in LorebookEntry.objects.filter(book=UUID(book)).order_by("order", "pk").values_list("pk", flat=True):
        yield str(pk), ""


def _entries(book: str, keys: Sequence[str]) -> Iterable[Row]:
    for entry in LorebookEntry.objects.filter(book=UUID(book), pk__in=[int(key) for key in keys]):
        yield Row(str(entry.pk), entry_text(entry))


def entry_text(entry: LorebookEntry) -> str:
    """What is searched of an entry: its title, its keys, its text."""
    keys = ", ".join(str(key) for key in [*entry.keys, *entry.secondary_keys])
    return "\n".join(part for part in (entry.title, keys, entry.content) if part)


KINDS = (
    SearchKind(MESSAGES, _("Chats"), _chats, _message_marks, _messages),
    SearchKind(LORE, _("Lorebooks"), _books, _entry_marks, _entries),
)
