"""Jobs in real workers: each chunk has its effect exactly once, whatever is killed, on both sets of parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import psutil
import pytest

from tests.support.processes import Running, is_gone, part, python, rows
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.valkey]
SETTINGS = "tests.services.jobs_settings"
PREPARE = """
import sys
import django; django.setup()
from accounts.models import User
from jobs.enqueue import enqueue
from jobs.tasks import run_job
jobs, chunks, slow, times = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
alice = User.objects.create_person("alice", "correct horse battery")
for number in range(jobs):
    job, is_new = enqueue(alice, "count", key=f"count {number}", total=chunks, params={"slow": slow})
    for again in range(times - 1):
        run_job.delay(str(job.pk))
"""
PAUSING = """
import django; django.setup()
from accounts.models import User
from jobs.enqueue import enqueue
alice = User.objects.create_person("alice", "correct horse battery")
enqueue(alice, "count", total=1, params={"pause": 2})
"""
CANCEL = """
import django; django.setup()
from accounts.ownership import unscoped
from jobs.enqueue import request_cancel
from jobs.models import Job
with unscoped("a test cancels"):
    request_cancel(Job.objects.get())
"""
EXPIRE = """
import django; django.setup()
from datetime import timedelta
from django.utils import timezone
from accounts.ownership import unscoped
from jobs.models import Job
from jobs.reaper import reap
with unscoped("a test lets every lease run out"):
    Job.objects.filter(state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
reap()
"""


def states(house: Running) -> Counter[str]:
    return Counter(state for (state,) in rows(house, "SELECT state FROM jobs_job"))


def effects(house: Running) -> Counter[tuple[str, str]]:
    """How often each chunk of each job had its effect."""
    found = rows(house, "SELECT job_id, text FROM jobs_jobevent WHERE level = 'effect'")
    return Counter((str(job), text) for job, text in found)


def wait_for_all(house: Running, jobs: int, seconds: float = 60) -> None:
    try:
        wait_until(lambda: states(house) == {"done": jobs}, seconds, every=0.25)
    except AssertionError as error:
        raise AssertionError(f"{states(house)}\n{house.printed()}") from error


def assert_each_chunk_once(house: Running, jobs: int, chunks: int) -> None:
    found = effects(house)
    assert len(found) == jobs * chunks
    assert set(found.values()) == {1}
    assert {text for _job, text in found} == {str(number) for number in range(chunks)}


def start_worker(house: Running, number: int) -> psutil.Process:
    return house.start("worker", "--no-beat", CHARMEM_WORKER_NAME=f"worker-{number}")


@pytest.fixture(params=["SQLite and folder", "PostgreSQL and Valkey"])
def migrated(request: pytest.FixtureRequest, house: Running) -> Running:
    """An installation with a database and nothing running."""
    house.extra["DJANGO_SETTINGS_MODULE"] = SETTINGS
    if request.param == "PostgreSQL and Valkey":
        house.extra["CHARMEM_DATABASE_URL"] = request.getfixturevalue("postgres_url")
        house.extra["CHARMEM_BROKER_URL"] = request.getfixturevalue("valkey_url")
    house.data_dir.mkdir(parents=True, exist_ok=True)
    done = house.command("migrate", "-v0")
    assert done.returncode == 0, done.stderr
    return house


def test_a_hundred_jobs_sent_five_times_run_once(migrated: Running) -> None:
    for number in (1, 2):
        start_worker(migrated, number)

    python(migrated, PREPARE, 100, 2, 0, 5)

    wait_for_all(migrated, 100)
    assert_each_chunk_once(migrated, 100, 2)
    assert rows(migrated, "SELECT DISTINCT attempts, failures FROM jobs_job") == [(2, 0)]


def kill_and_start_again(house: Running, worker: psutil.Process) -> None:
    """As the supervisor does: the new worker has the name of the dead one and gives its leases back."""
    worker.kill()
    wait_until(lambda: is_gone([worker]))
    start_worker(house, 1)


def kill_and_let_leases_run_out(house: Running, worker: psutil.Process) -> None:
    """As on another machine: only the clock tells that the worker is gone."""
    start_worker(house, 2)
    worker.kill()
    wait_until(lambda: is_gone([worker]))
    python(house, EXPIRE)


@pytest.mark.parametrize("die", [kill_and_start_again, kill_and_let_leases_run_out])
def test_kill_9_in_mid_chunk_repeats_no_effect_and_loses_none(
    migrated: Running, die: Callable[[Running, psutil.Process], None]
) -> None:
    worker = start_worker(migrated, 1)
    python(migrated, PREPARE, 4, 4, 0.4, 1)
    wait_until(lambda: len(effects(migrated)) >= 3, 30)

    die(migrated, worker)

    wait_for_all(migrated, 4)
    assert_each_chunk_once(migrated, 4, 4)
    assert rows(migrated, "SELECT count(*) FROM jobs_jobevent WHERE level = 'warn'") >= [(1,)]


def test_a_worker_that_is_asked_to_stop_gives_its_jobs_back(migrated: Running) -> None:
    worker = start_worker(migrated, 1)
    python(migrated, PREPARE, 3, 1, 600, 1)
    wait_until(lambda: states(migrated) == {"running": 3}, 30)

    worker.terminate()

    wait_until(lambda: is_gone([worker]), 15)
    assert rows(migrated, "SELECT DISTINCT state, failures, worker, step FROM jobs_job") == [("queued", 0, "", 0)]


def test_a_running_chunk_sees_that_somebody_cancelled(migrated: Running) -> None:
    start_worker(migrated, 1)
    python(migrated, PREPARE, 1, 1, 600, 1)
    wait_until(lambda: states(migrated) == {"running": 1}, 30)

    python(migrated, CANCEL)

    wait_until(lambda: states(migrated) == {"cancelled": 1}, 15)
    assert not effects(migrated)


def test_a_paused_job_goes_on_by_itself(migrated: Running) -> None:
    """No clock runs here, so only its own message can wake it."""
    start_worker(migrated, 1)
    python(migrated, PAUSING)
    wait_until(lambda: states(migrated) == {"paused": 1}, 30)

    wait_for_all(migrated, 1, 30)

    assert_each_chunk_once(migrated, 1, 1)


def test_serve_brings_a_killed_worker_back_and_a_killed_web_stops_nothing(house: Running) -> None:
    house.extra["DJANGO_SETTINGS_MODULE"] = SETTINGS
    supervisor = house.start("serve")
    house.wait_for_page()
    python(house, PREPARE, 3, 8, 0.4, 1)
    wait_until(lambda: len(effects(house)) >= 3, 30)

    part(supervisor, "worker")[0].kill()
    wait_until(lambda: len(effects(house)) >= 9, 30)
    part(supervisor, "web")[0].kill()

    wait_for_all(house, 3)
    assert_each_chunk_once(house, 3, 8)
