"""Where a reading stops inside a chat: at the ends of a chosen stretch, and before messages that are left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from accounts.models import User
from memories.chosen import choices_for
from memories.wanted import NOWHERE, Ends, Span, Wanted
from sync.models import Character, Chat, Message

Ranges = Mapping[str, Sequence[int | None]]  # {chat id: [first or None, last or None]}, message numbers, both included


def spans_of(user: User, ranges: Ranges | None) -> dict[str, tuple[Span, ...]]:
    """Message numbers {chat: [first, last]} as stretches that survive changes of the chat.

    A stretch without a message is left out of what is read: its chat gets no span at all.
    """
    found: dict[str, tuple[Span, ...]] = {}
    for chat, (first, last) in (ranges or {}).items():
        numbers, identities = _rows(user, chat)
        try:
            found[str(chat)] = (Span.of(identities, numbers, first, last),)
        except ValueError:
            found[str(chat)] = ()
    return found


def _rows(user: User, chat: str) -> tuple[list[int], list[str]]:
    rows = list(
        Message.objects.for_user(user).filter(chat=UUID(chat)).order_by("index").values_list("index", "identity")
    )
    return [row[0] for row in rows], [row[1] for row in rows]


class Limits:
    """The limits of one turn of a job, looked up where there are any."""

    def __init__(self, user: User, character: Character, wanted: Wanted) -> None:
        self.user = user
        self.character = character
        self.wanted = wanted

    def of(self, chat: Chat) -> list[Ends] | None:
        """The stretches of a chat that may be read now; None: all of it."""
        name = str(chat.pk)
        if not self.wanted.is_limited(name):
            return None
        ends = self._spans(name)
        if name in self.wanted.careful and (protected := self._protected(chat)):
            last = self._before(chat, protected)
            return [(first, min(end, last)) for first, end in ends or [(0, last)]]
        return ends

    def _spans(self, chat: str) -> list[Ends] | None:
        if chat not in self.wanted.spans:
            return None
        numbers, identities = _rows(self.user, chat)
        return [one.ends(identities, numbers) for one in self.wanted.spans[chat]] or [NOWHERE]

    def _protected(self, chat: Chat) -> int:
        return choices_for(self.user, chat.group or self.character).protected

    def _before(self, chat: Chat, protected: int) -> int:
        """The newest message number that is not left alone; -1 when all of them are."""
        numbers = (
            Message.objects.for_user(self.user).filter(chat=chat).order_by("-index").values_list("index", flat=True)
        )
        return next(iter(numbers[protected : protected + 1]), -1)
