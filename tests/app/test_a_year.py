"""A simulated year of one chat, five hundred times: whatever happens to it, every message that stands in a chat at the
end was read exactly once for everybody who remembers, and nothing was paid for twice."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from accounts.models import User
from jobs.chunk import run_next
from jobs.lease import release_worker, worker_name
from jobs.models import Job
from jobs.run import JobRun
from memories import extraction
from memories.choices import ACCEPT, CHECKS
from memories.extraction_group import start_group
from memories.models import ExtractedChunk, ExtractionSettings
from providers.base import Completion, Request
from providers.models import Call, Connection
from sync.mirror import mirror
from sync.models import Character, Tavern
from tests.support.builders import make_connection
from tests.support.year import Year, number_of

LINE = re.compile(r"^#\d+ [^:]+: (Word\d+ .*)$", re.MULTILINE)
HISTORIES = 250  # for one character and for a group each
numbers = st.integers(0, 40)
HAPPENS = st.one_of(
    st.tuples(st.just("say"), st.integers(1, 7)),
    st.tuples(st.just("say"), st.integers(1, 7)),
    st.tuples(st.just("read"), st.just(0)),
    st.tuples(st.just("read_some"), st.integers(1, 2)),
    st.tuples(st.just("die"), st.sampled_from(("before", "after"))),
    st.tuples(st.just("look"), st.just(0)),
    st.tuples(st.just("swipe"), st.just(0)),
    st.tuples(st.just("edit"), numbers),
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("cut"), numbers),
    st.tuples(st.just("insert"), numbers),
    st.tuples(st.just("branch"), numbers),
    st.tuples(st.just("open"), numbers),
    st.tuples(st.just("rename"), numbers),
    st.tuples(st.just("back_up"), st.just(0)),
    st.tuples(st.just("restore"), st.just(0)),
    st.tuples(st.just("remove"), st.just(0)),
)
story = settings(
    max_examples=HISTORIES, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Died(BaseException):
    """The process is gone in the middle of what it did."""


class Reader:
    """A model that notes what it was shown, and a worker that may die around a commit."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, list[int]]] = []
        self.kept: list[tuple[str, list[int]]] = []
        self.dies = ""

    def complete(self, connection: Connection, request: Request, **_how: Any) -> Completion:
        found = [number_of(text) for text in LINE.findall(request.user)]
        self.shown.append((self.reader_of(request), found))
        bullets = "\n".join(f"- Word{number} was heard in Harrow." for number in found)
        call = Call.objects.create(owner=connection.owner, purpose=request.purpose, model="year", job=request.job)
        return Completion(f"<memory>\n{bullets}\n</memory>", "", "stop", 100, 50, "year", 0.1, call)

    @staticmethod
    def reader_of(request: Request) -> str:
        return request.subject.partition("/")[0] + str(request.job.params["character"] if request.job else "")

    @contextmanager
    def commit(self, before: Callable[[JobRun], Any], run: JobRun) -> Iterator[None]:
        if self.dies == "before":
            self.dies = ""
            raise Died
        asked, self.shown = self.shown, []
        with before(run):
            yield
        self.kept += asked
        if self.dies == "after":
            self.dies = ""
            raise Died


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    made = Reader()
    before = JobRun.commit
    monkeypatch.setattr("providers.complete.complete", made.complete)
    monkeypatch.setattr(JobRun, "commit", lambda run: made.commit(before, run))
    return made


class Life:
    """One history: the folder, the mirror of it, and the readings."""

    def __init__(self, user: User, reader: Reader, root: Path, members: list[str]) -> None:
        self.user, self.reader = user, reader
        self.year = Year(root, members)
        self.tavern = Tavern.objects.create(owner=user, name="year", folder=str(root))
        self.look()

    def happen(self, what: str, how: Any) -> None:
        if what in ("look", "read", "read_some", "die"):
            self.look()
        if what == "read":
            self.read()
        elif what == "read_some":
            self.start()
            for _chunk in range(how):
                self.chunk()
        elif what == "die":
            self.reader.dies = how
            self.start()
            self.go_on()
        elif what == "cut":
            self.year.delete(how, 99)
        elif what != "look":
            getattr(self.year, what)(*([how] if what not in ("swipe", "back_up", "restore", "remove") else []))

    def look(self) -> None:
        self.year.save()
        self.tavern.refresh_from_db()
        mirror(self.tavern)

    def start(self) -> None:
        group = self.tavern.groups.first()
        if group is not None:
            start_group(self.user, group)
        else:
            extraction.start_extraction(self.user, character=self.tavern.characters.get())

    def read(self) -> None:
        self.start()
        self.go_on()

    def go_on(self) -> None:
        """Work until nothing is left, over any number of deaths."""
        while self.chunk():
            pass

    def chunk(self) -> bool:
        """One chunk of work, in which the worker may die; whether there was one."""
        try:
            return run_next(self.user)
        except Died:
            self.reader.shown.clear()
            release_worker(worker_name())
            return True

    def check(self) -> None:
        self.look()
        self.read()
        self.read()
        failed = list(Job.objects.for_user(self.user).filter(state="failed").values_list("error", "hint"))
        assert not failed, failed
        for character in self.tavern.characters.all():
            self.check_reader(character)

    def check_reader(self, character: Character) -> None:
        asked = Counter(number for who, found in self.reader.kept if str(character.pk) in who for number in found)
        twice = {number for number, times in asked.items() if times > 1}
        assert not twice, f"{character.name} was asked again about {sorted(twice)}"
        missed = self.year.numbers() - set(asked)
        assert not missed, f"{character.name} was never asked about {sorted(missed)}"
        chunks = ExtractedChunk.objects.for_user(self.user).filter(character=character)
        marks = Counter(mark[0] for packed in chunks.values_list("marks", flat=True) for mark in packed)
        assert not [one for one, times in marks.items() if times > 1], "a message is noted as read twice"


def live(user: User, reader: Reader, members: list[str], history: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, transaction.atomic():
        reader.__init__()  # type: ignore[misc]
        life = Life(user, reader, Path(folder) / "user", members)
        for what, how in history:
            note(f"{what} {how}")
            life.happen(what, how)
        life.check()
        transaction.set_rollback(True)


@pytest.fixture
def alice_reads(alice: User) -> User:
    make_connection(alice, preset="local", model="year")
    gate = dict.fromkeys(CHECKS, ACCEPT)
    ExtractionSettings.objects.create(
        user=alice, messages_per_call=5, is_automatic=False, gate=gate, asks_present_only=False
    )
    return alice


@example(
    history=[("say", 2), ("read", 0), ("branch", 1), ("say", 6), ("read", 0), ("open", 0), ("delete", 0), ("edit", 1)]
)
@example(history=[("say", 1), ("branch", 0), ("swipe", 0), ("open", 0), ("rename", 0)])
@story
@given(history=st.lists(HAPPENS, max_size=20))
def test_one_character(alice_reads: User, reader: Reader, history: list[tuple[str, Any]]) -> None:
    live(alice_reads, reader, ["Flux"], history)


@example(history=[("say", 3), ("branch", 1), ("branch", 0), ("open", 1), ("remove", 0)])
@example(history=[("say", 2), ("branch", 0), ("swipe", 0), ("open", 0), ("rename", 0)])
@story
@given(history=st.lists(HAPPENS, max_size=12))
def test_every_member_of_a_group(alice_reads: User, reader: Reader, history: list[tuple[str, Any]]) -> None:
    live(alice_reads, reader, ["Flux", "Mara"], history)
