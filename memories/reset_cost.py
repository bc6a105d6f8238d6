"""What a reading will cost: THE estimate for everything that reads, before anybody presses the button.

calls × (what goes with every call + an answer) + the messages themselves. For a group it is an upper bound: a member is
not asked about stretches in which it was absent, and that is found out only by reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, Avg, Count, F, Q
from django.db.models.functions import Length

from accounts.models import User
from memories import extraction_plan, queries
from memories.chat_points import begins_of
from memories.choices import TOGETHER
from memories.extraction_plan import Plan
from memories.members import roster
from memories.memory_file import facts_of
from memories.models import MemoryFile
from memories.price import ANSWER_TOKENS, CHECKING_ANSWER
from memories.prompts import supporting_text, system_text
from memories.reading_limits import Ranges
from memories.unread import SHOWN, USUAL_LETTERS, parts, unread_among
from memories.wanted import is_inside
from providers.prices import UNKNOWN, price_of
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat, Group, Message

SAID = 12  # letters of a message's number, name and blank line in a prompt
USUAL_TOKENS = 1_600  # of a call besides its messages, while no model is connected


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much is read. `price` in dollars, None when it is unknown."""

    messages: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    price: Decimal | None = None

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, kw_only=True)
class ChatCost(Amount):
    """One chat's share. `messages` are those of the member who has most; calls and tokens are of all members."""

    chat: UUID


@dataclass(frozen=True, kw_only=True)
class Cost(Amount):
    """The whole. `is_most`: it may be less."""

    per_chat: list[ChatCost] = field(default_factory=list)
    is_most: bool = False


def total(amounts: Iterable[Amount]) -> Amount:
    """All of them together; the price is unknown when one of them is."""
    rows = list(amounts)
    known = [one.price for one in rows if one.price is not None]
    return Amount(
        messages=sum(one.messages for one in rows),
        calls=sum(one.calls for one in rows),
        tokens_in=sum(one.tokens_in for one in rows),
        tokens_out=sum(one.tokens_out for one in rows),
        price=sum(known, Decimal(0)) if len(known) == len(rows) else None,
    )


def cost_of_reading(
    user: User,
    *,
    character: Character | None = None,
    group: Group | None = None,
    chats: Sequence[Chat] | None = None,
    ranges: Ranges | None = None,
    again: bool = False,
    members: Sequence[Character] | None = None,
    group_calls: str = "",
) -> Cost:
    """The estimate for a character or a group, of all their chats or these. `ranges` as extraction.start_extraction;
    `again`: also what was read already. Of a group, `members` are those that read, all without it; `group_calls` is a
    way of asking them (memories/choices.py) instead of the one in force."""
    if group is not None:
        readers = roster(user, group).characters if members is None else list(members)
        rows = Chat.objects.for_user(user).filter(group=group, gone_at=None)
        shown = list(rows if chats is None else rows.filter(pk__in=[one.pk for one in chats]))
    elif character is not None:
        readers = [character]
        shown = queries.chats_to_read(user, character, None if chats is None else [one.pk for one in chats])
    else:
        raise TypeError("a character or a group")
    if ranges:
        shown = [one for one in shown if chats is not None or str(one.pk) in ranges]
    return _Estimate(user, readers, shown, ranges or {}, again=again, group_calls=group_calls).cost()


class _Estimate:
    def __init__(
        self,
        user: User,
        readers: Sequence[Character],
        chats: Sequence[Chat],
        ranges: Ranges,
        *,
        again: bool,
        group_calls: str = "",
    ) -> None:
        self.user = user
        self.readers = readers
        self.chats = chats
        self.ranges = {str(chat): one for chat, one in ranges.items()}
        self.again = again
        self.group_calls = group_calls
        self.connection = connection_for(user, EXTRACTION)
        self._price = UNKNOWN if self.connection is None else price_of(self.connection)
        self._plans: dict[tuple[UUID, UUID | None], Plan] = {}
        self._facts: dict[UUID, int] = {}
        self.letters = _letters(user, [one.pk for one in chats])

    def cost(self) -> Cost:
        plain = [one for one in self.chats if str(one.pk) not in self.ranges]
        fresh = {} if self.again else self._fresh(plain)
        every = _all_of(self.user, plain) if self.again else {}
        counts = {one.pk: self._counts(one, fresh, every) for one in self.readers}
        every_chat = (self._chat(one, [counts[who.pk].get(one.pk, 0) for who in self.readers]) for one in self.chats)
        per_chat = [one for one in every_chat if one.messages]
        whole = total(per_chat)
        return Cost(
            messages=whole.messages,
            calls=whole.calls,
            tokens_in=whole.tokens_in,
            tokens_out=whole.tokens_out,
            price=self._price.cost(whole.tokens_in, whole.tokens_out),
            per_chat=per_chat,
            is_most=len(self.readers) > 1,
        )

    def _fresh(self, chats: Sequence[Chat]) -> dict[tuple[UUID, UUID], int]:
        """Unread messages by (chat, reader). What a branch shares is counted with its parent (memories/unread.py) when
        that is read too."""
        shown = {chat.pk for chat in self.chats}
        found = unread_among(self.user, chats, self.readers)
        for chat in chats:
            if chat.parent_id is not None and chat.parent_id not in shown:
                readings = queries.readings_of(self.user, chat, self.readers)
                found |= {(chat.pk, who.pk): one.waiting for who, one in zip(self.readers, readings, strict=True)}
        return found

    def _counts(
        self, reader: Character, fresh: Mapping[tuple[UUID, UUID], int], every: Mapping[UUID, int]
    ) -> Mapping[UUID, int]:
        """Messages to be read for one reader, by chat."""
        found = {chat: n for (chat, whose), n in fresh.items() if whose == reader.pk} | dict(every)
        for chat in self.chats:
            if str(chat.pk) in self.ranges:
                found[chat.pk] = self._in_range(chat, reader)
        return found

    def _in_range(self, chat: Chat, reader: Character) -> int:
        first, last = self.ranges[str(chat.pk)]
        ends = [(first or 0, chat.message_count if last is None else last)]
        reading = queries.reading_of(self.user, chat, reader)
        if not self.again:
            return reading.waiting_in(ends)
        pairs = zip(reading.indices, reading.speaks, strict=True)
        return sum(speaks and is_inside(number, ends) for number, speaks in pairs)

    def _chat(self, chat: Chat, counts: Sequence[int]) -> ChatCost:
        """`counts`: unread messages of each reader."""
        most = max(counts, default=0)
        if not most:
            return ChatCost(chat=chat.pk)
        plans = [self._plan(one, chat) for one in self.readers]
        each = self.letters.get(chat.pk, USUAL_LETTERS) + SAID
        ratio = self.connection.bytes_per_token if self.connection is not None else 3.35
        if chat.group_id and len(counts) > 1 and self._is_together(plans[0]):
            calls, tokens, answers = self._together(plans, counts, each / ratio)
        else:
            calls_of = [_calls(plan, count, each / ratio) for plan, count in zip(plans, counts, strict=True)]
            calls = sum(calls_of)
            overhead = sum(n * (_fixed(plan) + self._own(plan)) for plan, n in zip(plans, calls_of, strict=True))
            tokens = overhead + round(sum(counts) * each / ratio)
            answers = calls * ANSWER_TOKENS
        checks, sent = _checking(plans, counts, each / ratio)
        calls, tokens, answers = calls + checks, tokens + sent, answers + checks * CHECKING_ANSWER
        return ChatCost(
            chat=chat.pk,
            messages=most,
            calls=calls,
            tokens_in=tokens,
            tokens_out=answers,
            price=self._price.cost(tokens, answers),
        )

    def _together(self, plans: Sequence[Plan | None], counts: Sequence[int], each: float) -> tuple[int, int, int]:
        """Calls, tokens in and tokens out for one call for all: for those who have the same stretch to read; `each`
        message has so many tokens."""
        calls = tokens = answers = before = 0
        for most in sorted({one for one in counts if one}):
            late = [plan for plan, count in zip(plans, counts, strict=True) if count >= most]
            n = _calls(plans[0], most - before, each)
            calls += n
            tokens += n * (_fixed(plans[0]) + sum(self._own(plan) for plan in late)) + round((most - before) * each)
            answers += n * ANSWER_TOKENS * len(late)
            before = most
        return calls, tokens, answers

    def _is_together(self, plan: Plan | None) -> bool:
        in_force = plan.choices.group_calls if plan is not None else ""
        return (self.group_calls or in_force) == TOGETHER

    def _plan(self, reader: Character, chat: Chat) -> Plan | None:
        """The same for all chats of a group, and for all others of a character."""
        if self.connection is None:
            return None
        if (reader.pk, chat.group_id) not in self._plans:
            plan = extraction_plan.plan(self.user, reader, self.connection, chat=chat)
            self._plans[reader.pk, chat.group_id] = plan
        return self._plans[reader.pk, chat.group_id]

    def _own(self, plan: Plan | None) -> int:
        """Tokens of a reader's card and known memories."""
        if plan is None:
            return 0
        return min(plan.sizes.card, plan.size(plan.character.card_text)) + self._known(plan)

    def _known(self, plan: Plan) -> int:
        """As many as the character's file holds, which is the most that a file for one chat may hold too."""
        reader = plan.character.pk
        if reader not in self._facts:
            file = MemoryFile.objects.for_user(self.user).filter(character=plan.character, chat=None).first()
            texts = [] if file is None else [text for _id, text in facts_of(file)]
            self._facts[reader] = plan.size("\n".join(texts))
        return min(plan.sizes.memories, self._facts[reader])


def _checking(plans: Sequence[Plan | None], counts: Sequence[int], each: float) -> tuple[int, int]:
    """Calls and tokens in of the second question about each answer (memories/quality_support.py), for who wants it."""
    calls = tokens = 0
    for plan, count in zip(plans, counts, strict=True):
        if plan is not None and plan.choices.checks_with_model:
            n = _calls(plan, count, each)
            calls += n
            tokens += n * (plan.size(supporting_text() + system_text()) + ANSWER_TOKENS) + round(count * each)
    return calls, tokens


def _calls(plan: Plan | None, messages: int, each: float) -> int:
    """How many calls read so many messages of `each` tokens."""
    if plan is None:
        return -(-messages // 20)
    fits = max(1, int(plan.sizes.messages / max(each, 1.0)))
    return -(-messages // min(plan.per_call, fits))


def _fixed(plan: Plan | None) -> int:
    """Tokens of the prompt's own words."""
    return USUAL_TOKENS if plan is None else plan.size(plan.sizes.text.text) + plan.size(system_text())


def _letters(user: User, chats: Sequence[UUID]) -> dict[UUID, float]:
    """How long a message is on average, by chat."""
    return _by_chat(user, chats, Avg(Length("text")))


def _all_of(user: User, chats: Sequence[Chat]) -> dict[UUID, int]:
    """Messages that a model would be shown, by chat; what a branch shares counts with its parent, if that is here."""
    branches = [chat for chat, begin in begins_of(chats).items() if begin]
    own = ~Q(chat__in=branches) | Q(index__gt=F("chat__fork_index"))
    return _by_chat(user, [one.pk for one in chats], Count("pk", filter=own))


def _by_chat(user: User, chats: Sequence[UUID], what: Aggregate) -> dict[UUID, Any]:
    """A figure of the messages that a model would be shown, by chat."""
    found: dict[UUID, Any] = {}
    for part in parts(chats):
        rows = Message.objects.for_user(user).filter(SHOWN, chat__in=part).order_by().values("chat")
        found.update(rows.annotate(n=what).values_list("chat", "n"))
    return found
