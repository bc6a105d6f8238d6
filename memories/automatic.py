"""Memories that make themselves: from a saved chat to a queued job, with nobody watching.

SillyTavern saves ─▶ sync looks (10 s) ─▶ chats_changed ─▶ hear ─▶ decide ─▶ job       (no further wait between)
                                               time passes ─▶ sweep (5 s) ─┘    only rows whose `look_at` has come
A chat that was there when its folder was first read is never begun by itself until something new is said in it.
automatic_rules.py decides, automatic_facts.py counts, automatic_words.py says why. A row of ChatActivity keeps, for
each chat, what was decided and when it has to be looked at again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from memories import activity as log
from memories import automatic_rules as rules
from memories import extraction, extraction_group
from memories.automatic_facts import facts_of
from memories.automatic_rules import Verdict, decide
from memories.automatic_words import words_for
from memories.choices import Choices
from memories.chosen import choices_for
from memories.events import ReadingBegan, ReadingEnded
from memories.local_time import local_now
from memories.members import readers
from memories.models import ChatActivity
from sync.events import ChatsChanged
from sync.models import Character, Chat, Group, Message, Tavern

logger = logging.getLogger(__name__)
EVERY = 5.0
AT_ONCE = 20  # chats decided while a pass waits for it; the next sweeps take the others
A_SWEEP = 100  # chats decided in one sweep; the next one goes on
ROWS = 500
SOON, LATER = timedelta(minutes=1), timedelta(minutes=5)
SLACK = timedelta(days=1)  # dates in chats often have no time zone
# What may end before its time: looked at again now and then, because nobody tells when it is over.
AGAIN = {rules.READING: SOON, rules.FIRE: SOON, rules.WAITING: SOON, rules.NO_MODEL: LATER, rules.BUDGET: LATER}
_WITH = ("character", "group", "tavern__owner")
WORTH_SAYING = {rules.COOLDOWN, rules.WAITING, rules.QUIET, rules.BUDGET, rules.BACKLOG, rules.FAILED, rules.STOPPED}


def hear(news: ChatsChanged) -> None:
    """Chats were written in SillyTavern: remember what was there, and read what has enough news, at once."""
    with unscoped("chats changed in SillyTavern"):
        tavern = Tavern.objects.select_related("owner").filter(pk=news.tavern_id, unlinked_at=None).first()
        if tavern is None:
            return
        is_first = _is_first_look(tavern)
        for start in range(0, len(news.chat_ids), ROWS):
            grown = _count_again(tavern, news.chat_ids[start : start + ROWS], is_first=is_first)
            if not is_first:
                _look_at_each(grown[:AT_ONCE])
                _rows_for(chat.pk for chat in grown[AT_ONCE:]).update(look_at=timezone.now())


def _is_first_look(tavern: Tavern) -> bool:
    """While a folder is read for the first time, also when it could not be opened at first."""
    if tavern.state == Tavern.State.NEW:
        return True
    return tavern.state != Tavern.State.OK and not ChatActivity.objects.filter(chat__tavern=tavern).exists()


def _count_again(tavern: Tavern, chat_ids: list[UUID], *, is_first: bool) -> list[Chat]:
    """Keep how many messages of characters each chat has; a chat with more than before, or that is new, has news
    unless all of it was said long ago: then it was copied in, or a save was seen half written.

    Returns those with news since the folder was first read.
    """
    chats = tavern.chats.filter(pk__in=chat_ids).select_related(*_WITH)
    spoken = _spoken(chat_ids)
    known = {row.chat_id: row for row in ChatActivity.objects.filter(chat__in=chat_ids)}
    now, made, changed, found = timezone.now(), [], [], []
    for chat in chats:
        row, count = known.get(chat.pk), spoken.get(chat.pk, 0)
        is_lately = not is_first and _was_said_lately(tavern, chat)
        if row is None:
            is_new = is_lately and tavern.last_pass_at is not None and chat.created_at > tavern.last_pass_at
            row = ChatActivity(chat=chat, messages=count, new_at=now if is_new else None)
            made.append(row)
        elif row.messages != count:
            row.new_at = now if count > row.messages and is_lately else row.new_at
            row.messages = count
            changed.append(row)
        if row.new_at is not None:
            found.append(chat)
    ChatActivity.objects.bulk_create(made, ignore_conflicts=True)
    ChatActivity.objects.bulk_update(changed, ["messages", "new_at"])
    return found


def _was_said_lately(tavern: Tavern, chat: Chat) -> bool:
    """Whether the newest message is one since the folder was last looked at; yes where no message has a date."""
    before = min(tavern.last_pass_at or timezone.now(), timezone.now())
    return chat.last_at is None or chat.last_at > before - SLACK


def _spoken(chat_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Messages of characters in each of these chats, without those that have none."""
    rows = Message.objects.filter(chat__in=chat_ids, role=Message.Role.CHARACTER).order_by()
    return dict(rows.values_list("chat").annotate(n=Count("pk")))


def sweep() -> None:
    """Look again at chats whose time has come: a cool-down ended, the night is over, nobody wrote for a while."""
    with unscoped("chats whose time has come"):
        due = ChatActivity.objects.filter(look_at__lte=timezone.now()).order_by("look_at")
        ids = list(due.values_list("chat", flat=True)[:A_SWEEP])
        chats = list(Chat.objects.filter(pk__in=ids).select_related(*_WITH)) if ids else []
    _look_at_each(chats)


def _look_at_each(chats: Iterable[Chat]) -> None:
    for chat in chats:
        try:
            if chat.tavern.unlinked_at is None and chat.tavern.owner.is_active:
                look(chat.tavern.owner, chat)
            else:
                _keep(chat, Verdict(rules.GONE), None)
        except Exception:  # one chat must not stop the others
            logger.exception("Deciding about a chat failed.")
            with unscoped("a chat that could not be decided about"):
                _rows_for([chat.pk]).update(look_at=timezone.now() + LATER)


def look(user: User, chat: Chat) -> Verdict:
    """Decide about one chat now: start its job, or keep why it waits and until when."""
    choices = choices_for(user, chat.group or chat.character)
    row = ChatActivity.objects.for_user(user).filter(chat=chat).first() or ChatActivity(chat=chat)
    verdicts = verdicts_of(user, chat, choices, row)
    verdict = foremost(verdicts.values())
    if verdict.fires:
        verdict = _start(user, chat, [reader for reader, one in verdicts.items() if one.fires], len(verdicts), verdict)
    elif verdict.kind in WORTH_SAYING and verdict.kind != row.verdict:
        _say(user, chat, "waits", _("Not read yet: %(why)s.") % {"why": words_for(user, verdict, choices)})
    _keep(chat, verdict, _again(verdict))
    return verdict


def verdicts_of(user: User, chat: Chat, choices: Choices, row: ChatActivity) -> dict[Character, Verdict]:
    """The decision for each reader: the character, or each member of the group."""
    now, found = local_now(user, timezone.now()), {}
    for reader in readers(user, chat):
        found[reader] = decide(facts_of(user, chat, reader, choices, row), choices, now)
        if found[reader].kind in (rules.OFF, rules.NO_MODEL):  # for everybody
            break
    return found


def foremost(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a group's verdicts the one to go by: go where any goes, else of those that waited longest."""
    every = list(verdicts)
    return max(every, key=lambda one: (one.fires, one.numbers.get("count", 0)), default=Verdict(rules.GONE))


def _start(user: User, chat: Chat, for_whom: list[Character], of_how_many: int, verdict: Verdict) -> Verdict:
    try:
        if chat.group is None:
            extraction.start_extraction(user, character=for_whom[0], chats=[chat], is_automatic=True)
        else:
            members = None if len(for_whom) == of_how_many else for_whom
            extraction_group.start_group(user, chat.group, chats=[chat], members=members, is_automatic=True)
    except ValueError as error:  # a finished sentence
        _say(user, chat, "waits", str(error))
        return Verdict(rules.FAILED, timezone.now() + rules.LEAST_REST, verdict.numbers)
    _say(user, chat, "began", _("Read by itself: %(n)d new messages.") % {"n": verdict.numbers["count"]})
    return verdict


def _say(user: User, chat: Chat, step: str, text: str) -> None:
    log.note(user, step, text, character=chat.character, group=chat.group, chat=chat)


def _again(verdict: Verdict) -> datetime | None:
    wait = AGAIN.get(verdict.kind)
    return min(filter(None, (verdict.until, timezone.now() + wait if wait else None)), default=None)


def _keep(chat: Chat, verdict: Verdict, look_at: datetime | None) -> None:
    with unscoped("what was decided about a chat"):
        rows = ChatActivity.objects.filter(chat=chat)
        rows.update(verdict=verdict.kind, facts=dict(verdict.numbers), look_at=look_at)


def began(news: ReadingBegan) -> None:
    """The cool-down begins with any reading, also one that a person asked for."""
    with unscoped("a reading began"):
        _rows_for(news.chat_ids).update(read_at=timezone.now())


def ended(news: ReadingEnded) -> None:
    """What was left alone on purpose is not counted again; whether more has come is decided at once."""
    left = {str(chat): count for chat, count in news.left_over.items()}
    with unscoped("a reading ended"):
        for row in _rows_for(news.chat_ids).select_related(*(f"chat__{one}" for one in _WITH)):
            ChatActivity.objects.filter(pk=row.pk).update(left_over=left.get(str(row.chat_id), 0))
            if row.new_at is not None:
                _look_at_each([row.chat])


def _rows_for(chat_ids: Iterable[UUID | str]) -> QuerySet[ChatActivity]:
    """The rows of these chats; inside `unscoped()`. One without a row gets it now, as a chat without news."""
    ids = [UUID(str(one)) for one in chat_ids]
    missing = list(Chat.objects.filter(pk__in=ids, activity=None).values_list("pk", flat=True))
    spoken = _spoken(missing)
    made = [ChatActivity(chat_id=pk, messages=spoken.get(pk, 0)) for pk in missing]
    ChatActivity.objects.bulk_create(made, ignore_conflicts=True)
    return ChatActivity.objects.filter(chat__in=ids)


def look_again(user: User, whose: Character | Group | None = None) -> None:
    """Somebody chose otherwise: have the next sweep decide anew about everything that has news."""
    rows = ChatActivity.objects.for_user(user).filter(new_at__isnull=False, chat__gone_at=None)
    if whose is not None:
        rows = rows.filter(chat__group=whose) if isinstance(whose, Group) else rows.filter(chat__character=whose)
    rows.update(look_at=timezone.now())
