"""Search over 500,000 messages: how long a question takes, that the database's index answers it, how it grows."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from bench import Row, prepare_django

MESSAGES = int(os.environ.get("CHARMEM_BENCH_MESSAGES", "500000"))
CHARACTERS, A_CHAT = 25, 1000
TIMES = 7
LIMIT = 150.0  # ms of processor for the slowest try, so that other work on the machine does not count
START = datetime(2024, 1, 1, tzinfo=UTC)
OFTEN = "the and of to she her a in his was you with that lantern".split()
SYLLABLES = "ba ko ri ten mar lo vin sha dre pol ith ga nu sel wor".split()
HAN = "她搬到了海边那里有一座灯塔夜雨落在图书馆的屋顶上我们走过长街看见旧船"


def run() -> list[Row]:
    """Build a database of its own, then ask."""
    prepare_django()
    user, characters, chat = _people()
    letters = _write_messages(characters)
    before, begin = _size(), time.perf_counter()
    _index_all()
    built = time.perf_counter() - begin
    rows = [
        Row(f"index {MESSAGES:,} messages of {letters / MESSAGES:.0f} letters", built, "s"),
        Row("  the database grew by", (_size() - before) / MESSAGES, "bytes each"),
        *_questions(user, characters[0].pk, chat),
        _one_more(chat),
        _nothing_new(),
    ]
    return rows


def _people() -> tuple[Any, list[Any], Any]:
    """One person with all characters, each with the chats that its messages need; another one beside her."""
    from accounts.models import User
    from tests.support.builders import make_character, make_tavern

    alice, _new = User.objects.get_or_create(username="search-bench")
    tavern = make_tavern(alice)
    characters = [make_character(tavern, f"Keeper{n}") for n in range(CHARACTERS)]
    chat = None
    for number in range(max(1, MESSAGES // A_CHAT)):
        chat = _chat(characters[number % CHARACTERS], number)
    return alice, characters, chat


def _chat(character: Any, number: int) -> Any:
    from sync.models import Chat

    when = START + timedelta(days=number)
    path = f"chats/{character.name}/{number}.jsonl"
    values = {"version": 1, "message_count": A_CHAT, "last_at": when}
    return Chat.objects.create(
        tavern_id=character.tavern_id, character=character, name=f"{number}", path=path, **values
    )


def _sentence(dice: random.Random, number: int, seldom: list[str]) -> str:
    if number % 50 == 0:
        start = dice.randrange(len(HAN) - 12)
        return HAN[start : start + 12] + ("海边" if number % 100 == 0 else "")
    said = dice.choices(OFTEN, k=9) + dice.choices(seldom, k=6)
    if number % 25_000 == 1:
        said += ["brass", "astrolabe", "lantern"]
    return " ".join(said)


def _messages(chats: list[UUID]) -> Iterator[tuple[Any, ...]]:
    dice = random.Random(7)
    seldom = ["".join(dice.choices(SYLLABLES, k=3)) for _n in range(20_000)]
    for number in range(MESSAGES):
        chat, index = chats[number // A_CHAT % len(chats)], number % A_CHAT
        moment = str(START + timedelta(minutes=number))[:19]
        text = _sentence(dice, number, seldom)
        yield (chat.hex, index, text, moment, f"{number:032}")


def _write_messages(characters: list[Any]) -> int:
    """Messages by executemany; returns how many letters they hold."""
    from django.db import connection, transaction

    from accounts.ownership import unscoped
    from sync.models import Chat

    with unscoped("measuring"):
        chats = list(Chat.objects.filter(character__in=characters).order_by("last_at").values_list("pk", flat=True))
    columns = (
        'chat_id, "index", role, name, text, is_hidden, sender_avatar, raw_date, sent_at, swipe_count, line, '
        "identity, content"
    )
    places = "%s, %s, 'user', 'Wren', %s, 0, '', '', %s, 0, 0, %s, ''"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO sync_message ({columns}) VALUES ({places})", list(_messages(chats)))
        cursor.execute("SELECT sum(length(text)) FROM sync_message")
        return int(cursor.fetchone()[0])


def _index_all() -> None:
    """The index fills by its own looks."""
    from search import index

    while not index.step(seconds=600):
        pass


def _questions(user: Any, character: UUID, chat: Any) -> Iterator[Row]:
    from search.find import find

    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("a word in most messages", "lantern", {}),
        ("several such words", "lantern her with", {}),
        ("a rare word", "astrolabe", {}),
        ("a beginning", "lant", {}),
        ("a short beginning", "sh", {}),
        ("a phrase", '"brass astrolabe"', {}),
        ("a phrase of frequent words", '"with that lantern"', {}),
        ("words that hardly meet", "lantern astrolabe", {}),
        ("two Chinese letters", "海边", {}),
        ("a Chinese word of three", "图书馆", {}),
        ("one Chinese letter", "海", {}),
        ("a frequent word without another", "lantern -the", {}),
        ("a frequent word of one character", "lantern", {"character": character}),
        ("a frequent word of one chat", "lantern", {"chat": chat.pk}),
        ("a frequent word of one month", "lantern", {"since": START.date(), "until": (START + timedelta(30)).date()}),
    ]
    for name, text, narrowed in asked:
        times, waits, count = [], [], 0
        for _n in range(TIMES):
            begin, cost = time.perf_counter(), time.process_time()
            found = find(user, text, **narrowed)
            times.append((time.process_time() - cost) * 1000)
            waits.append((time.perf_counter() - begin) * 1000)
            count = sum(one.count for one in found)
        if not count:
            raise RuntimeError(f"{name}: nothing was found")
        uses = _uses_index(user, text, narrowed)
        title = f"{name} ({count:,} found{'' if uses else ', WITHOUT INDEX'})"
        yield Row(title, max(times), "ms cpu", limit=LIMIT if uses else 0)
        yield Row("  the quickest on the clock", min(waits), "ms")


def _uses_index(user: Any, text: str, narrowed: dict[str, Any]) -> bool:
    from search import engines
    from search.find import scope_of
    from search.query import parse

    plan = engines.plan(parse(text), scope_of(user, **narrowed), 1001)
    return "search_index VIRTUAL TABLE INDEX" in plan or "search_entry_body" in plan


def _one_more(chat: Any) -> Row:
    """One new message in a chat of a thousand."""
    from accounts.ownership import unscoped
    from search import index
    from sync.models import Chat, Message

    with unscoped("measuring"):
        Message.objects.create(chat=chat, index=A_CHAT, role="user", text="one more", identity="more", content="more")
        Chat.objects.filter(pk=chat.pk).update(version=2)
    begin = time.process_time()
    index.step()
    return Row("take up one new message", (time.process_time() - begin) * 1000, "ms of processor")


def _nothing_new() -> Row:
    from search import index

    begin = time.process_time()
    index.step()
    return Row("look when nothing changed", (time.process_time() - begin) * 1000, "ms of processor", limit=50)


def _size() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    for row in run():
        print(row)
