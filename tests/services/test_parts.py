"""The parts exactly as docker-compose.yml starts them, without Docker: on PostgreSQL and Valkey."""

from __future__ import annotations

import pytest

from tests.support import compose
from tests.support.processes import Running, family, is_gone, python
from tests.support.waiting import wait_until

ENQUEUE = """
import django; django.setup()
from accounts.models import User
from jobs.enqueue import enqueue
alice = User.objects.create_person("alice", "correct horse battery")
for number in range(20):
    enqueue(alice, "count", key=f"count {number}", label=f"count {number}", total=2)
"""
RESULTS = """
import django; django.setup()
from accounts.ownership import unscoped
from jobs.models import Job, JobEvent
with unscoped("a test counts"):
    print(Job.objects.filter(state="done").count(), JobEvent.objects.filter(level="effect").count())
"""


@pytest.fixture
def composed(house: Running, postgres_url: str, valkey_url: str) -> Running:
    """Web, every worker and the clock, with kinds of job that only count."""
    house.extra = {
        "DJANGO_SETTINGS_MODULE": "tests.services.jobs_settings",
        "CHARMEM_DATABASE_URL": postgres_url,
        "CHARMEM_BROKER_URL": valkey_url,
    }
    house.start(*compose.command("web"))
    house.wait_for_page()
    for number in range(compose.replicas("worker")):
        house.start(*compose.command("worker"), CHARMEM_WORKER_NAME=f"worker-{number}")
    house.start(*compose.command("beat"))
    signs = ["worker-0 takes jobs.", "worker-1 takes jobs.", "The clock runs."]
    wait_until(lambda: all(sign in house.printed() for sign in signs), 20)
    return house


@pytest.mark.postgres
@pytest.mark.valkey
def test_two_workers_do_twenty_jobs_once_each(composed: Running) -> None:
    python(composed, ENQUEUE)

    wait_until(lambda: python(composed, RESULTS).startswith("20 "), 40, every=0.5)

    assert python(composed, RESULTS) == "20 40"


@pytest.mark.postgres
@pytest.mark.valkey
def test_every_part_stops_when_its_container_is_asked_to(composed: Running) -> None:
    everybody = [one for process in composed.started for one in family(process.pid)]

    for process in composed.started:
        process.terminate()

    assert [process.wait(20) for process in composed.started] == [0] * len(composed.started)
    assert is_gone(everybody)
