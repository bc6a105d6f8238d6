"""Editing a memory file of 10,000 bullets: each request beside an empty page of this site in the same run.

The empty page is the editor itself with a file that has no memories.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench import Row, prepare_django

BULLETS = int(os.environ.get("CHARMEM_BENCH_BULLETS", "10000"))
A_BLOCK = 5
TIMES = 9
RATIO, LIMIT, BYTES = 5.0, 80.0, 20_000
WORDS = "harbour lantern promise bakery winter letter garden bridge sister captain apple music window river".split()


def run() -> list[Row]:
    """One file in a database of its own, one browser."""
    prepare_django()
    site = _Site()
    empty = site.median(lambda: site.get(site.empty))
    rows = [Row("the editor without a memory", empty, "ms")]
    for name, ask, before in site.requests():
        rows += _row(name, site.median(ask, before), empty)
    return [*rows, Row("  editing one bullet: sent and received", site.bytes_of_an_edit(), "bytes", limit=BYTES)]


def _row(name: str, value: float, empty: float) -> list[Row]:
    return [
        Row(f"{name}, {BULLETS:,} bullets", value, "ms", bare=empty, ratio=value / empty, limit=RATIO),
        Row("  the same", value, "ms", limit=LIMIT),
    ]


class _Site:
    """A person who is logged in, and her character with many memories."""

    def __init__(self) -> None:
        from django.test import Client

        from accounts.models import User
        from memories import drafts, memory_file
        from tests.support.builders import make_character, make_tavern

        alice, _new = User.objects.get_or_create(username="editor-bench")
        self.character = make_character(make_tavern(alice), "Seraphine")
        self.file = memory_file.file_for(self.character)
        with memory_file.change(self.file, reason="made to be measured", writes_back=False) as editor:
            for number in range(BULLETS // A_BLOCK):
                editor.add_block(f"chat {number // 40}", _bullets(number), date=_date(number), origin="extracted")
        self.alice = alice
        nobody = memory_file.file_for(make_character(self.character.tavern, "Nobody"))
        self.empty = f"/drafts/{drafts.open_edit(alice, nobody).pk}/"
        self.client = Client(SERVER_NAME="localhost", headers={"HX-Request": "true"})
        self.client.force_login(alice)
        self.plain = Client(SERVER_NAME="localhost")
        self.plain.force_login(alice)
        self.steps = 0

    def requests(self) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
        """What is measured, in this order, each with what has to happen before it."""
        nothing = lambda: None  # noqa: E731
        return [
            ("open the editor", lambda: self.get(self.page()), nothing),
            ("filter by words", lambda: self.get(f"{self.page()}?q=lantern+number+77"), nothing),
            ("edit one bullet", self.edit, nothing),
            ("undo", lambda: self.post("undo/"), nothing),
            ("save", lambda: self.post("save/"), self.edit),
        ]

    def median(self, ask: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
        """Milliseconds, without the first time."""
        found = []
        for _turn in range(TIMES + 1):
            before()
            begin = time.perf_counter()
            ask()
            found.append((time.perf_counter() - begin) * 1000)
        return statistics.median(found[1:])

    def page(self) -> str:
        """The address of the open edit."""
        from memories import drafts

        return f"/drafts/{drafts.open_edit(self.alice, self.file).pk}/"

    def get(self, path: str) -> None:
        _check(self.plain.get(path), 200)

    def post(self, what: str, **said: str) -> Any:
        page = self.page()
        here = f"http://localhost{page}"
        return _check(self.client.post(f"{page}{what}", said, headers={"HX-Current-URL": here}), 200, 204, 302)

    def edit(self) -> Any:
        """Reword a bullet of the newest block."""
        self.steps += 1
        block = self.file.blocks.order_by("-order")[0]
        memory = block.memories.order_by("-order")[0]
        return self.post(f"memories/{memory.pk}/edit/", text=f"She kept lantern {self.steps} after all.")

    def bytes_of_an_edit(self) -> float:
        """The form, and what comes back, without headers that every request has."""
        answer = self.edit()
        return float(len(answer.content) + len(f"She kept lantern {self.steps} after all.") + 400)


def _check(answer: Any, *allowed: int) -> Any:
    if answer.status_code not in allowed:
        raise RuntimeError(f"{answer.status_code}: {answer.content[:300]!r}")
    return answer


def _bullets(number: int) -> list[str]:
    words = [WORDS[(number + n) % len(WORDS)] for n in range(12)]
    tag = f"[Seraphine, Wren — The {words[0]} and the {words[1]}]"
    return [tag, *(f"The {' '.join(words)} and lantern number {number}-{n}." for n in range(A_BLOCK))]


def _date(number: int) -> str:
    return f"20{20 + number // 365 % 6}-{1 + number // 28 % 12:02d}-{1 + number % 28:02d} 18:00"
