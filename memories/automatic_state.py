"""What the stats bar says of automatic reading: of the chat in which something was said last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from accounts.models import User
from memories import automatic, automatic_rules
from memories.automatic_rules import Verdict
from memories.automatic_words import words_for
from memories.choices import Choices
from memories.chosen import choices_for
from memories.models import ChatActivity
from memories.unread import unread_by_chat
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat, Group


@dataclass(frozen=True)
class AutoState:
    """`kind` is a word of automatic_rules.py, `words` what a page says; `count` of `threshold` messages wait in `chat`.

    `until` is when it will be looked at again by itself.
    """

    kind: str
    words: str
    count: int
    threshold: int
    until: datetime | None
    chat: Chat | None
    is_on: bool

    @property
    def is_counting(self) -> bool:
        """Whether only messages are missing, so that a bar says it best."""
        return self.kind == automatic_rules.BELOW

    @property
    def is_for_you(self) -> bool:
        """Whether it waits for a person's first Extract and no message will begin it."""
        return self.kind in (automatic_rules.OLD, automatic_rules.BACKLOG)

    @property
    def is_put_off(self) -> bool:
        """Whether there is enough to read and something else has to end first."""
        return self.is_on and self.kind not in (automatic_rules.BELOW, automatic_rules.GONE, automatic_rules.NO_MODEL)

    @property
    def tone(self) -> str:
        """Of the dot beside the words: ok, live, warn or off."""
        return _TONES.get(self.kind, "ok")


_TONES = {
    automatic_rules.OFF: "off",
    automatic_rules.GONE: "off",
    automatic_rules.NO_MODEL: "warn",
    automatic_rules.BACKLOG: "warn",
    automatic_rules.OLD: "warn",
    automatic_rules.BUDGET: "warn",
    automatic_rules.FAILED: "warn",
    automatic_rules.STOPPED: "warn",
    automatic_rules.READING: "live",
    automatic_rules.FIRE: "live",
}


def state_of(user: User, whose: Character | Group) -> AutoState:
    """Why this character or group is, or is not, read by itself right now."""
    choices = choices_for(user, whose)
    chat = _chat_to_show(user, whose)
    verdict = _verdict(user, chat, choices) if chat else _without_chat(user, whose, choices)
    numbers = verdict.numbers
    return AutoState(
        verdict.kind,
        words_for(user, _with_all_unread(user, verdict, whose), choices),
        numbers.get("count", 0),
        choices.interval + choices.lag,
        verdict.until,
        chat,
        choices.is_automatic,
    )


def _chat_to_show(user: User, whose: Character | Group) -> Chat | None:
    """The one in which something new was said last; without any, the newest."""
    field = "group" if isinstance(whose, Group) else "character"
    rows = Chat.objects.for_user(user).filter(**{field: whose}, gone_at=None, forgotten_at=None, message_count__gt=0)
    newest = F("activity__new_at").desc(nulls_last=True), F("last_at").desc(nulls_last=True)
    return rows.select_related("character", "group", "tavern", "activity").order_by(*newest).first()


def _verdict(user: User, chat: Chat, choices: Choices) -> Verdict:
    row = getattr(chat, "activity", None) or ChatActivity(chat=chat)
    return automatic.foremost(automatic.verdicts_of(user, chat, choices, row).values())


def _without_chat(user: User, whose: Character | Group, choices: Choices) -> Verdict:
    has_model = connection_for(user, EXTRACTION) is not None
    facts = automatic_rules.Facts(is_gone=whose.gone_at is not None, has_model=has_model)
    return automatic_rules.decide(facts, choices, timezone.now())


def _with_all_unread(user: User, verdict: Verdict, whose: Character | Group) -> Verdict:
    """What waits for a first Extract are all chats of a character: its button reads them all."""
    if verdict.kind not in (automatic_rules.OLD, automatic_rules.BACKLOG) or isinstance(whose, Group):
        return verdict
    unread = sum(one.messages for one in unread_by_chat(user, whose).values())
    return Verdict(verdict.kind, None, {**verdict.numbers, "unread": max(unread, verdict.numbers["unread"])})
