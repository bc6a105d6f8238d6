"""The limit of calls in flight holds over several processes, and a killed one gives its places back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.fake_model import FakeModel
from tests.support.services import postgres_database, require
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
WORK = """
import sys, threading
from datetime import timedelta
import django
django.setup()
from django.core.management import call_command
from accounts.models import User
from accounts.ownership import unscoped
from providers import limits
from providers.base import Request
from providers.complete import complete
from providers.models import Connection

limits.LIFETIME = timedelta(seconds=2)
limits.RENEWAL_SECONDS = 0.5
limits.RAISE_SECONDS = 1e9
url, threads, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with unscoped("a test process"):
    if threads == 0:
        call_command("migrate", verbosity=0)
        alice = User.objects.create_person("alice", "correct horse battery", role="admin")
        Connection.objects.create(owner=alice, name="Box", preset="local", base_url=url, model="m", max_parallel=3)

def work():
    with unscoped("a test process"):
        row = Connection.objects.select_related("owner").get()
    for _n in range(calls):
        complete(row, Request("", "Mira: I live in Oslo now.", 50))

workers = [threading.Thread(target=work) for _n in range(threads)]
[w.start() for w in workers]
[w.join() for w in workers]
"""


@dataclass
class Place:
    folder: Path
    database: str


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return Place(tmp_path, "")
    require("postgres")
    return Place(tmp_path, postgres_database())


@contextmanager
def process(place: Place, fake: FakeModel, threads: int, calls: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "CHARMEM_DATA_DIR": str(place.folder), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    env["CHARMEM_DATABASE_URL"] = place.database
    command = [sys.executable, "-c", WORK, fake.base_url, str(threads), str(calls)]
    child = subprocess.Popen(command, cwd=ROOT, env=env)
    try:
        yield child
    finally:
        child.kill()
        child.wait(10)


def test_two_processes_share_three_places_and_a_killed_one_frees_its_own(place: Place) -> None:
    with FakeModel() as fake:
        with process(place, fake, 0) as setup:
            assert setup.wait(60) == 0
        fake.latency = 0.1
        with process(place, fake, 4, 3) as one, process(place, fake, 4, 3) as two:
            assert one.wait(60) == 0 and two.wait(60) == 0
        assert len(fake.chats) == 24 and fake.max_in_flight == 3
        hanging = [fake.hang() for _n in range(3)]
        with process(place, fake, 3) as doomed:
            wait_until(lambda: len(fake.chats) == 27, 30)
            doomed.kill()
            doomed.wait(10)
            with process(place, fake, 3) as heir:
                assert heir.wait(60) == 0
        assert len(fake.chats) == 30
        for event in hanging:
            event.set()


def test_what_one_process_hears_of_a_limit_holds_for_another(place: Place) -> None:
    with FakeModel() as fake:
        for threads in (0, 1):
            fake.respond(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "0"}, times=threads)
            with process(place, fake, threads) as child:
                assert child.wait(60) == 0
        assert len(fake.chats) == 2
        fake.latency, fake.max_in_flight = 0.1, 0
        with process(place, fake, 4) as one, process(place, fake, 4) as two:
            assert one.wait(60) == 0 and two.wait(60) == 0
        assert len(fake.chats) == 10 and fake.max_in_flight == 1
