"""The parts as containers start them: web, two workers, one clock, PostgreSQL, Valkey. The same work in `serve`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.processes import ROOT, Running
from tests.support.waiting import wait_until

SETTINGS = "tests.services.settings"
ENQUEUE = """
import django; django.setup()
from accounts.models import User
from jobs.enqueue import enqueue
alice = User.objects.filter(username="alice").first() or User.objects.create_person("alice", "correct horse battery")
for number in range(20):
    enqueue(alice, "tally", key=f"tally {number}", label=f"tally {number}")
"""
COUNT = """
import django; django.setup()
from accounts.ownership import unscoped
from jobs.models import Job
with unscoped("a test counts"):
    rows = list(Job.objects.filter(kind="tally").values_list("state", "attempts"))
print(len(rows), sum(state == "done" for state, attempts in rows), max([attempts for state, attempts in rows] or [0]))
"""


def _python(house: Running, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=house.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _start_parts(house: Running) -> None:
    house.start("web", "--prepare")
    house.wait_for_page()
    for number in (1, 2):
        house.start("worker", "--no-beat", CHARMEM_WORKER_NAME=f"worker-{number}")
    house.start("worker", "--beat-only")


def _start_serve(house: Running) -> None:
    house.start("serve")
    house.wait_for_page()


@pytest.fixture(params=["PostgreSQL and Valkey", "SQLite and folder"])
def installation(request: pytest.FixtureRequest, house: Running) -> Running:
    """The same product on both sets of parts, with a kind of job that only counts."""
    house.extra["DJANGO_SETTINGS_MODULE"] = SETTINGS
    if request.param == "PostgreSQL and Valkey":
        house.extra["CHARMEM_DATABASE_URL"] = request.getfixturevalue("postgres_url")
        house.extra["CHARMEM_BROKER_URL"] = request.getfixturevalue("valkey_url")
        _start_parts(house)
    else:
        _start_serve(house)
    return house


@pytest.mark.postgres
@pytest.mark.valkey
def test_twenty_jobs_are_done_once_each(installation: Running) -> None:
    _python(installation, ENQUEUE)

    wait_until(lambda: _python(installation, COUNT).startswith("20 20 "), 40, every=0.5)

    assert _python(installation, COUNT) == "20 20 1"
