"""Moving the line "extracted up to here" by hand, and asking for chats to be read again; both can be taken back.

Every such wish is a chunk that says so (outcome "skipped" or "reopened", memories/watermark.py), so taking it back is
taking these chunks out, as long as nothing was read since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories import activity, watermark
from memories.models import ExtractedChunk
from memories.queries import Reading, reading_of
from sync.models import Character, Chat

BY_HAND = ("skipped", "reopened")


@dataclass(frozen=True)
class Wish:
    """What was done: chunks with numbers above `after` up to `to`, and how many messages it concerned."""

    after: int
    to: int
    messages: int = 0

    @property
    def is_empty(self) -> bool:
        return self.to <= self.after

    @property
    def words(self) -> str:
        """For an address."""
        return f"after={self.after}&to={self.to}"


@dataclass(frozen=True)
class Effect:
    """What moving the point to a message would change, in messages that a model would be shown."""

    reopened: int  # read now, unread then
    skipped: int  # unread now, counted as read then


def effect_of(reading: Reading, index: int) -> Effect:
    """The effect of moving the point to message number `index`; -1 is in front of the first."""
    fresh = set(reading.fresh)
    places = [place for place, speaks in enumerate(reading.speaks) if speaks]
    reopened = sum(reading.indices[place] > index and place not in fresh for place in places)
    skipped = sum(reading.indices[place] <= index and place in fresh for place in places)
    return Effect(reopened, skipped)


def set_point(user: User, chat: Chat, character: Character, index: int) -> Wish:
    """Everything up to message number `index` counts as read, everything behind it is unread again."""
    effect = effect_of(reading_of(user, chat, character), index)
    messages = effect.reopened + effect.skipped
    found = _wish(user, character, lambda: watermark.move_point(user, chat, character, index), messages)
    if not found.is_empty:
        text = _("The line was moved to #%(n)d by hand.") if index >= 0 else _("The line was moved to the beginning.")
        activity.note(user, "changed", text % {"n": index}, character=character, chat=chat, group=chat.group)
    return found


def mark_read(user: User, chats: Iterable[Chat], character: Character) -> Wish:
    """Count these chats as fully read without asking a model."""

    def work() -> None:
        for chat in chats:
            watermark.mark_read(user, chat, character, chat.message_count)

    return _wish(user, character, work)


def begins_of(chats: Sequence[Chat]) -> dict[UUID, int]:
    """The message number from which each of these chats speaks for itself: what a branch shares with its parent is
    read with the parent when that is among them."""
    among = {chat.pk for chat in chats}
    return {
        chat.pk: chat.fork_index + 1 if chat.parent_id in among and chat.fork_index is not None else 0 for chat in chats
    }


def reset(user: User, chats: Sequence[Chat], character: Character) -> Wish:
    """Have all of these chats read again for one reader, every message once; memories stay."""
    counts: list[int] = []
    begins = begins_of(chats)

    def work() -> None:
        counts.extend(watermark.reopen(user, chat, character, begins[chat.pk]) for chat in chats)

    found = _wish(user, character, work)
    if not found.is_empty:
        text = ngettext("%(n)d message is to be read again.", "%(n)d messages are to be read again.", sum(counts))
        activity.note(user, "changed", text % {"n": sum(counts)}, character=character)
    return Wish(found.after, found.to, sum(counts))


def read_of(reading: Reading, begin: int) -> tuple[int, int]:
    """How many messages from number `begin` on are read and unread, of those that a model would be shown."""
    waiting = reading.waiting_in([(begin, reading.chat.message_count)])
    own = sum(speaks for speaks, number in zip(reading.speaks, reading.indices, strict=True) if number >= begin)
    return own - waiting, waiting


def chats_with_reading(user: User, character: Character) -> list[Chat]:
    """The chats, also of groups, of which something was read for a character, the newest first."""
    rows = Chat.objects.for_user(user).filter(extracted_chunks__character=character, gone_at=None)
    return list(rows.select_related("tavern", "group", "character").distinct().order_by("-last_at", "name"))


def _wish(user: User, character: Character, work: Callable[[], object], messages: int = 0) -> Wish:
    with transaction.atomic():
        before = _newest(user, character)
        work()
        return Wish(before, _newest(user, character), messages)


def _newest(user: User, character: Character) -> int:
    rows = ExtractedChunk.objects.for_user(user).filter(character=character)
    return rows.aggregate(newest=Max("pk"))["newest"] or 0


def take_back(user: User, character: Character, wish: Wish) -> int:
    """As before the wish; how many chats are concerned.

    ValueError with a finished sentence when something was read since, or when it was taken back already.
    """
    with transaction.atomic():
        rows = ExtractedChunk.objects.for_user(user).filter(character=character, pk__gt=wish.after)
        made = rows.filter(pk__lte=wish.to, outcome__in=BY_HAND)
        chats = list(Chat.objects.for_user(user).filter(pk__in=list(made.values_list("chat", flat=True))))
        if (
            rows.filter(pk__gt=wish.to, chat__in=chats).exists()
            or rows.filter(pk__lte=wish.to).exclude(outcome__in=BY_HAND).exists()
        ):
            raise ValueError(_("Something was read since, so this cannot be undone. Move the line by hand instead."))
        if not chats:
            raise ValueError(_("This was undone already."))
        made.delete()
        for chat in chats:
            watermark.recount(user, chat, character)
    return len(chats)
