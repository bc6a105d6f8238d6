"""What is left behind by dead workers, lost messages and old age."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
import time_machine
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs import clock, reaper, registry, sending
from jobs.drain import run_until_idle
from jobs.enqueue import enqueue, request_cancel
from jobs.lease import Lease, claim, release_worker
from jobs.models import Job, JobEvent, Turn
from jobs.recovery import take_back_one
from tests.support.kinds import forget_test_kinds, use_test_kinds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Messages instead of a broker."""
    messages: list[str] = []

    def send(job_id: object, not_before: datetime | None = None) -> bool:
        messages.append(str(job_id))
        return True

    monkeypatch.setattr(sending, "send", send)
    use_test_kinds()
    yield messages
    forget_test_kinds()


def claimed(owner: User, worker: str, monkeypatch: pytest.MonkeyPatch, **fields: int) -> tuple[Job, Lease]:
    monkeypatch.setenv("CHARMEM_WORKER_NAME", worker)
    job, _new = enqueue(owner, "count", total=1)
    with unscoped("the test is a worker"):
        lease = claim(job.pk)
    assert lease is not None
    return job, lease


def test_an_expired_lease_is_queued_again(alice: User, monkeypatch: pytest.MonkeyPatch, sent: list[str]) -> None:
    job, lease = claimed(alice, "one", monkeypatch)
    reaper.reap()
    job.refresh_from_db()
    assert job.state == Job.State.RUNNING
    with time_machine.travel(timezone.now() + timedelta(seconds=61), tick=False):
        reaper.reap()
        job.refresh_from_db()
        assert (job.state, job.failures, job.token) == (Job.State.QUEUED, 1, None)
        assert sent == [""]
        with unscoped("the zombie comes back"):
            assert not lease.renew()
        run_until_idle()
    job.refresh_from_db()
    assert (job.state, job.step) == (Job.State.DONE, 1)
    assert "starts again" in job.events.filter(level="warn").get().text


def test_after_three_deaths_in_a_row_the_job_fails(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _lease = claimed(alice, "one", monkeypatch)
    for _number in range(3):
        with unscoped("the test is a worker"):
            claim(job.pk)
        release_worker("one")
    job.refresh_from_db()
    assert (job.state, job.error_type) == (Job.State.FAILED, "WorkerLost")
    assert job.error == "The worker stopped 3 times in the middle of this job. What was finished before is kept."


def test_a_dead_workers_jobs_are_free_at_once_and_only_its(
    alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, _lease = claimed(alice, "one", monkeypatch)
    theirs, _lease = claimed(bob, "two", monkeypatch)
    assert release_worker("one") == 1
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.state, theirs.state) == (Job.State.QUEUED, Job.State.RUNNING)


def test_a_lost_message_is_sent_again_once_a_minute(alice: User, sent: list[str]) -> None:
    enqueue(alice, "count")
    reaper.reap()
    assert sent == [""]
    reaper.reap()
    assert sent == [""]
    with time_machine.travel(timezone.now() + timedelta(seconds=61), tick=False):
        reaper.reap()
    assert sent == ["", ""]


def test_many_due_rows_wake_no_more_workers_than_there_are(alice: User, sent: list[str]) -> None:
    Job.objects.bulk_create([Job(owner=alice, kind="count") for _number in range(100)])
    reaper.reap()
    assert len(sent) == sending.MOST_WAKES


def test_a_message_goes_out_when_the_row_is_committed(
    alice: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: object
) -> None:
    told: list[str] = []
    monkeypatch.setattr(sending, "send", lambda job_id, not_before: told.append(str(job_id)) or True)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        job, _new = enqueue(alice, "count")
        assert told == []
    assert told == [str(job.pk)]
    job.refresh_from_db()
    assert job.sent_at is not None


def test_a_cancel_that_met_a_dying_worker_is_finished_by_the_reaper(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _lease = claimed(alice, "one", monkeypatch)
    request_cancel(job)
    assert job.state == Job.State.RUNNING
    release_worker("one")
    assert run_until_idle() == 0
    reaper.reap()
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED


def test_a_worker_that_finished_meanwhile_keeps_its_end(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _lease = claimed(alice, "one", monkeypatch)
    job.refresh_from_db()
    now = timezone.now()
    with unscoped("the worker lived after all"):
        Job.objects.update(state=Job.State.DONE, token=None, finished_at=now)
        assert not take_back_one(job, Q(), now)
    job.refresh_from_db()
    assert job.state == Job.State.DONE


def test_old_ended_jobs_and_their_logs_are_removed(alice: User) -> None:
    old, _new = enqueue(alice, "count", total=1)
    run_until_idle()
    recent, _new = enqueue(alice, "count", total=1)
    run_until_idle()
    waiting, _new = enqueue(alice, "count")
    Job.objects.for_user(alice).filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=31))
    reaper.tidy()
    assert set(Job.objects.for_user(alice)) == {recent, waiting}
    assert not JobEvent.objects.for_user(alice).filter(job_id=old.pk).exists()


class TestTheClock:
    @pytest.fixture(autouse=True)
    def ticking(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ticks: list[str] = []
        monkeypatch.setattr(registry, "periodics", registry.periodics)
        monkeypatch.setitem(
            registry.periodics, "test", registry.Periodic("test", 10, lambda: self.ticks.append("tick"))
        )

    def test_piled_up_messages_do_nothing(self, db: None) -> None:
        now = timezone.now()
        with time_machine.travel(now, tick=False):
            assert clock.run_in_turn("test")
            assert not clock.run_in_turn("test")
        with time_machine.travel(now + timedelta(seconds=9), tick=False):
            assert clock.run_in_turn("test")
        assert self.ticks == ["tick", "tick"]

    def test_two_workers_are_never_at_it_at_once(self, db: None) -> None:
        now = timezone.now()
        Turn.objects.create(
            name="test",
            started_at=now - timedelta(seconds=30),
            lease_until=now + timedelta(seconds=30),
            worker="other",
        )
        assert not clock.run_in_turn("test")
        release_worker("other")
        assert clock.run_in_turn("test")

    def test_an_error_ends_in_the_log_and_frees_the_turn(
        self, db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        quoted = "private text"

        def fall() -> None:
            raise ValueError(quoted)

        monkeypatch.setitem(registry.periodics, "test", registry.Periodic("test", 10, fall))
        assert clock.run_in_turn("test")
        assert Turn.objects.get(name="test").lease_until is None
        assert "ValueError" in caplog.text
        assert quoted not in caplog.text

    def test_an_unknown_name_is_nothing(self, db: None) -> None:
        assert not clock.run_in_turn("nobody")
