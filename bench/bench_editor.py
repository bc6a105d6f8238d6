"""Editing a memory file of 10,000 bullets: each request beside empty pages of this site in the same run.

Judged are the milliseconds of processor that a request costs, so that other work on the machine does not count; the
clock is told beside them. The judged empty page is that of a character without memories, because it shows what these
pages show around their bullets; the plainest page of the site, with nothing but its frame, is told as well.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from bench import Row, prepare_django

BULLETS = int(os.environ.get("CHARMEM_BENCH_BULLETS", "10000"))
A_BLOCK = 5
TIMES = 9
RATIO, LIMIT, BYTES = 5.0, 80.0, 20_000
PLAIN = "/about/"
FOUND = "?q=lantern+number+77"
WORDS = "harbour lantern promise bakery winter letter garden bridge sister captain apple music window river".split()


class Spent(NamedTuple):
    """Medians in milliseconds: of the processor, and on the clock."""

    processor: float
    clock: float


def run() -> list[Row]:
    """One file in a database of its own, one browser."""
    prepare_django()
    site = _Site()
    plain, empty, editor = (site.median(partial(site.get, url)) for url in (PLAIN, site.empty, site.empty_edit))
    rows = [
        Row("the plainest page of the site: its frame alone", plain.processor, "ms"),
        Row("the page of a character without memories", empty.processor, "ms"),
        Row("the editor of a file without memories", editor.processor, "ms"),
    ]
    for name, ask, before in site.requests():
        rows += _rows(name, site.median(ask, before), empty.processor, plain.processor)
    return [*rows, Row("  editing one bullet: sent and received", site.bytes_of_an_edit(), "bytes", limit=BYTES)]


def _rows(name: str, spent: Spent, empty: float, plain: float) -> list[Row]:
    took = spent.processor
    return [
        Row(f"{name}, {BULLETS:,} bullets", took, "ms", limit=LIMIT),
        Row("  beside the page of a character without memories", took, "ms", empty, took / empty, RATIO),
        Row("  beside the plainest page (not judged)", took, "ms", plain, took / plain),
        Row("  on the clock (not judged)", spent.clock, "ms"),
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
        self.empty, self.page = (f"/characters/{one.pk}/" for one in (nobody.character, self.character))
        self.empty_edit = f"/drafts/{drafts.open_edit(alice, nobody).pk}/"
        self.client = Client(SERVER_NAME="localhost", headers={"HX-Request": "true"})
        self.client.force_login(alice)
        self.plain = Client(SERVER_NAME="localhost")
        self.plain.force_login(alice)
        self.steps, self.editor, self.chosen = 0, "", self.file.pk

    def requests(self) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
        """What is measured, in this order, each with what has to happen before it."""
        nothing = lambda: None  # noqa: E731
        return [
            ("open the character's page", lambda: self.get(self.page), nothing),
            ("filter it by words", lambda: self.get(f"{self.page}{FOUND}"), nothing),
            ("open the editor", lambda: self.get(self.editor), self.find_editor),
            ("open it right after a save", lambda: self.get(self.editor), self.save_and_begin),
            ("filter by words", lambda: self.get(f"{self.editor}{FOUND}"), nothing),
            ("edit one bullet", self.edit, self.choose),
            ("undo", lambda: self.post("undo/"), nothing),
            ("save", lambda: self.post("save/"), self.begin),
        ]

    def median(self, ask: Callable[[], object], before: Callable[[], object] = lambda: None) -> Spent:
        """Without the first time."""
        found = []
        for _turn in range(TIMES + 1):
            before()
            begin = time.process_time(), time.perf_counter()
            ask()
            found.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
        processor, clock = zip(*found[1:], strict=True)
        return Spent(statistics.median(processor) * 1000, statistics.median(clock) * 1000)

    def find_editor(self) -> None:
        """The address of the open edit, as the Edit button leads there."""
        from memories import drafts

        self.editor = f"/drafts/{drafts.open_edit(self.alice, self.file).pk}/"

    def save_and_begin(self) -> None:
        """Change a bullet, save, and begin the next edit."""
        self.begin()
        self.post("save/")
        self.find_editor()

    def begin(self) -> None:
        """A fresh edit with one change in it."""
        self.find_editor()
        self.choose()
        self.edit()

    def get(self, path: str) -> None:
        _check(self.plain.get(path), 200)

    def post(self, what: str, **said: str) -> Any:
        here = f"http://localhost{self.editor}"
        answer = self.client.post(f"{self.editor}{what}", said, headers={"HX-Current-URL": here})
        return _check(answer, 200, 204, 302)

    def choose(self) -> None:
        """The next bullet to reword: the last one of the newest block."""
        self.steps += 1
        block = self.file.blocks.order_by("-order")[0]
        self.chosen = block.memories.order_by("-order")[0].pk

    def edit(self) -> Any:
        """Reword the chosen bullet."""
        return self.post(f"memories/{self.chosen}/edit/", text=f"She kept lantern {self.steps} after all.")

    def bytes_of_an_edit(self) -> float:
        """The form, and what comes back, without headers that every request has."""
        self.save_and_begin()
        self.choose()
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
