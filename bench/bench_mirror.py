"""A pass over an unchanged folder, one changed chat, and the first import, in processor time (architecture, rule 2)."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from bench import Row, prepare_django

if TYPE_CHECKING:
    from django.test import Client

CHATS, CHARACTERS = 1000, 40
IMPORT_MESSAGES, LINE_BYTES = 20_000, 2000
PAGE = "/settings/sillytavern/"
BIG_CHAT_BYTES = 100 * 1024 * 1024


def run() -> list[Row]:
    """Measure with a database of its own. Needs nothing running."""
    prepare_django()
    with tempfile.TemporaryDirectory(prefix="charmem-bench-") as folder:
        return [
            *_unchanged(Path(folder)),
            *_page_meanwhile(Path(folder)),
            *_first_import(Path(folder)),
            *_big_chat(Path(folder)),
        ]


def _unchanged(folder: Path) -> list[Row]:
    from sync.mirror import mirror
    from tests.support.generated_root import make_root

    facts = make_root(folder / "generated", characters=CHARACTERS, chats=CHATS, messages=8)
    tavern = _tavern(facts.root, "generated")
    mirror(tavern)
    _best(lambda: mirror(tavern), 3)
    bare = _best(lambda: _bare_walk(facts.root), 15)
    unchanged = _best(lambda: mirror(tavern), 15)
    path = facts.root / next(iter(facts.chats))
    path.write_text(path.read_text("utf-8") + "\n" + _line(1, 300), "utf-8")
    before = time.process_time()
    report = mirror(tavern)
    one = time.process_time() - before
    return [
        Row("unchanged pass over 1,000 chats", unchanged * 1000, "ms", bare * 1000, unchanged / bare, 3.0),
        Row("pass with one changed chat", one * 1000, "ms", unchanged * 1000, one / unchanged),
        Row("files read for one changed chat", report.files_read, "files", limit=1.0),
    ]


def _first_import(folder: Path) -> list[Row]:
    from sync.mirror import mirror

    root = _one_character(folder / "import")
    lines = [_line(number, LINE_BYTES) for number in range(IMPORT_MESSAGES)]
    chats = root / "chats" / "Mara"
    for number in range(10):
        part = lines[number::10]
        (chats / f"Mara - {number}.jsonl").write_text("\n".join([_header(number), *part]), "utf-8")
    bare = _cost(lambda: [json.loads(line) and None for line in lines])
    tavern = _tavern(root, "import")
    before = time.process_time()
    report = mirror(tavern)
    took = time.process_time() - before
    if report.messages_written != IMPORT_MESSAGES:
        raise RuntimeError(f"Only {report.messages_written} messages arrived.")
    return [
        Row("first import of 20,000 lines of 2 kB, against json.loads", took, "s", bare, took / bare),
        Row("first import, messages a second", IMPORT_MESSAGES / took, "messages/s"),
        Row(
            "first import, the better of ratio ÷ 12 and 15,000 ÷ rate",
            min(took / bare / 12, 15_000 * took / IMPORT_MESSAGES),
            "",
            limit=1.0,
        ),
    ]


def _page_meanwhile(folder: Path) -> list[Row]:
    """A worker imports in a process of its own, as in serve; the settings page is opened again and again."""
    from django.conf import settings
    from django.db import connections
    from django.test import Client

    from accounts.models import User
    from sync.mirror import mirror

    root = _one_character(folder / "meanwhile")
    for number in range(10):
        lines = [_line(line, LINE_BYTES) for line in range(IMPORT_MESSAGES // 10)]
        (root / "chats" / "Mara" / f"Mara - {number}.jsonl").write_text(
            "\n".join([_header(900 + number), *lines]), "utf-8"
        )
    tavern = _tavern(root, "meanwhile")
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    client.force_login(User.objects.get(username="bench"))
    _answer_time(client)  # the first answer of a process compiles templates
    alone = max(_answer_time(client) for _time in range(20))
    connections.close_all()
    worker = multiprocessing.get_context("fork").Process(target=mirror, args=(tavern,))
    worker.start()
    slowest = 0.0
    while worker.is_alive():
        slowest = max(slowest, _answer_time(client))
    worker.join()
    return [Row("slowest answer of a page during the import", slowest * 1000, "ms", alone * 1000, limit=300.0)]


def _answer_time(client: Client) -> float:
    started = time.perf_counter()
    answer = client.get(PAGE)
    took = time.perf_counter() - started
    if answer.status_code != 200:
        raise RuntimeError(f"The page answered {answer.status_code}.")
    return took


def _big_chat(folder: Path) -> list[Row]:
    from sync.mirror import mirror

    root = _one_character(folder / "big")
    with (root / "chats" / "Mara" / "Mara - big.jsonl").open("w", encoding="utf-8") as file:
        file.write(_header(77))
        for number in range(BIG_CHAT_BYTES // LINE_BYTES):
            file.write("\n" + _line(number, LINE_BYTES))
    tavern = _tavern(root, "big")
    with _peak_above_idle() as peak:
        mirror(tavern)
    with (root / "chats" / "Mara" / "Mara - big.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + _line(10_000_000, LINE_BYTES))
    with _peak_above_idle() as again:
        mirror(tavern)
    return [
        Row("peak memory, first import of a 100 MB chat", peak(), "MiB", limit=150.0),
        Row("peak memory, the same chat with one line more", again(), "MiB", limit=150.0),
    ]


def _bare_walk(root: Path) -> int:
    """What a walk with stat costs by itself."""
    count = 0
    waiting = [str(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def _best(call: Callable[[], object], times: int) -> float:
    return min(_cost(call) for _time in range(times))


def _cost(call: Callable[[], object]) -> float:
    """Processor seconds: what else the computer does at the moment must not count."""
    started = time.process_time()
    call()
    return time.process_time() - started


@contextmanager
def _peak_above_idle() -> Iterator[Callable[[], float]]:
    """Highest resident memory above the start, sampled from a side thread, in MiB."""
    gc.collect()
    process = psutil.Process()
    start = highest = process.memory_info().rss
    is_over = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not is_over.wait(0.005):
            highest = max(highest, process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lambda: (highest - start) / 1024 / 1024
    finally:
        is_over.set()
        thread.join()


def _one_character(root: Path) -> Path:
    from tests.support.generated_root import card_png, card_v2

    for name in ("characters", "chats/Mara", "user/files"):
        (root / name).mkdir(parents=True)
    (root / "characters" / "Mara.png").write_bytes(card_png(card_v2("Mara")))
    (root / "settings.json").write_text("{}", "utf-8")
    return root


def _header(number: int) -> str:
    return json.dumps({"chat_metadata": {"integrity": f"bench-{number}"}, "user_name": "unused"})


def _line(number: int, size: int) -> str:
    date = f"2025-06-15T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}Z"
    words = ("the tide was out and the lamp was lit, said Mara, so nobody came down again. " * (size // 70 + 1))[
        : size - 170
    ]
    return json.dumps(
        {"name": "Mara", "is_user": number % 2 == 1, "is_system": False, "send_date": date, "mes": words, "extra": {}}
    )


def _tavern(root: Path, name: str):  # type: ignore[no-untyped-def]
    from accounts.models import User
    from sync.models import Tavern

    person, _is_new = User.objects.get_or_create(username="bench")
    return Tavern.objects.create(owner=person, name=name, folder=str(root))


if __name__ == "__main__":
    for row in run():
        print(row)
