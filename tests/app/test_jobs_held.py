"""A person pauses work: the chunk at work is finished, nothing more is given out, and it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from accounts.models import User
from jobs import holding
from jobs.batch import enqueue_batch
from jobs.chunk import run_next
from jobs.drain import run_until_idle
from jobs.enqueue import enqueue, request_cancel, retry
from jobs.models import Job
from jobs.reaper import reap
from tests.support.kinds import forget_test_kinds, use_test_kinds
from tests.support.pages import soup, words

STEPS = 3


@pytest.fixture(autouse=True)
def test_kinds() -> Iterator[None]:
    use_test_kinds()
    yield
    forget_test_kinds()


def start(user: User, key: str = "") -> Job:
    return enqueue(user, "count", key=key, label="Count to three", total=STEPS)[0]


def test_a_paused_job_is_not_given_out_until_it_is_let_go(alice: User) -> None:
    job = start(alice)
    assert run_next(alice)
    assert holding.hold(job) and not holding.hold(job)
    reap()
    assert not run_next(alice)
    assert (job.state, job.step) == ("queued", 1)
    assert holding.let_go(job) and not holding.let_go(job)
    run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.step, job.attempts) == ("done", STEPS, STEPS), "no chunk ran twice"


def test_a_batch_pauses_with_all_its_parts(alice: User) -> None:
    batch, _new = enqueue_batch(alice, "count", [{"label": f"part {n}", "total": STEPS} for n in range(3)])
    assert run_next(alice)
    holding.hold(batch)
    assert not run_next(alice)
    reap()
    batch.refresh_from_db()
    assert batch.is_active and batch.is_held and batch.step == 1
    holding.let_go(batch)
    run_until_idle(alice)
    batch.refresh_from_db()
    assert (batch.state, batch.step) == ("done", 3 * STEPS)


def test_one_part_alone_may_go_on(alice: User) -> None:
    batch, _new = enqueue_batch(alice, "count", [{"label": f"part {n}", "total": 1} for n in range(2)])
    holding.hold(batch)
    part = batch.children.order_by("pk")[0]
    holding.let_go(part)
    run_until_idle(alice)
    assert sorted(batch.children.values_list("state", flat=True)) == ["done", "queued"]


def test_a_paused_job_can_be_stopped_and_tried_again(alice: User) -> None:
    job = start(alice)
    holding.hold(job)
    request_cancel(job)
    assert job.state == "cancelled"
    assert retry(job)
    run_until_idle(alice)
    job.refresh_from_db()
    assert job.state == "done"


def test_asking_for_the_same_again_lets_it_go_on(alice: User) -> None:
    job = start(alice, "count")
    holding.hold(job)
    assert start(alice, "count") == job
    run_until_idle(alice)
    job.refresh_from_db()
    assert job.state == "done"


def test_the_pages_pause_and_let_go(alice_client: Client, alice: User, charlie: User) -> None:
    job = start(alice)
    run_next(alice)
    assert alice_client.post(f"/jobs/{job.pk}/hold").status_code == 302
    page = words(soup(alice_client.get(f"/jobs/{job.pk}/")))
    assert "paused" in page and "Paused by you. 1 of 3 chunks done." in page
    assert "Paused by you." in words(soup(alice_client.get("/jobs/")).select_one("#jobs-live"))
    alice_client.post(f"/jobs/{job.pk}/go-on", {"from": "list"})
    job.refresh_from_db()
    assert not job.is_held
    stranger = Client()
    stranger.force_login(charlie)
    assert stranger.post(f"/jobs/{job.pk}/hold").status_code == 404
