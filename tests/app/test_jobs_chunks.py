"""One job from the queue to its end, chunk by chunk."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.db import IntegrityError, OperationalError
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.chunk import run_chunk, run_next
from jobs.drain import run_until_ended, run_until_idle
from jobs.enqueue import enqueue, request_cancel, retry
from jobs.lease import Lease, claim, claim_next
from jobs.models import Job, JobEvent
from jobs.registry import JobKind, register
from jobs.run import MORE, JobPaused, JobRun, LeaseLost, Outcome, Stopped, done
from jobs.stopping import forget_stop, request_stop
from tests.support.kinds import forget_test_kinds, use_test_kinds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def test_kinds() -> Iterator[None]:
    use_test_kinds()
    yield
    forget_test_kinds()
    forget_stop()


def kind_of(call: object) -> str:
    """Register a kind for this test and return its name."""
    register(JobKind("count", "Count", call))  # type: ignore[arg-type]
    return "count"


def fresh(job: Job) -> Job:
    job.refresh_from_db()
    return job


def held(job: Job) -> Lease:
    with unscoped("the test claims it"):
        lease = claim(job.pk)
    assert lease is not None
    return lease


def test_a_job_runs_chunk_by_chunk_until_done(alice: User) -> None:
    job, is_new = enqueue(alice, "count", total=3)
    assert is_new
    assert run_until_idle(alice) == 3
    fresh(job)
    assert (job.state, job.step, job.attempts) == (Job.State.DONE, 3, 3)
    assert job.result == {"text": "Counted to 3."}
    assert [event.text for event in job.events.filter(level="effect")] == ["0", "1", "2"]
    assert job.token is None
    assert job.finished_at is not None


def test_the_slot_is_given_back_after_each_chunk(alice: User) -> None:
    job, _new = enqueue(alice, "count", total=2)
    assert run_next()
    assert fresh(job).state == Job.State.QUEUED
    assert job.token is None


def test_only_one_job_per_key_is_active(alice: User, bob: User) -> None:
    first, _new = enqueue(alice, "count", key="chat 1")
    again, is_new = enqueue(alice, "count", key="chat 1")
    assert (again, is_new) == (first, False)
    assert enqueue(bob, "count", key="chat 1")[1]
    with pytest.raises(IntegrityError):
        Job.objects.create(owner=alice, kind="count", key="chat 1")


def test_a_key_is_free_again_when_its_job_ended(alice: User) -> None:
    enqueue(alice, "count", key="chat 1", total=1)
    run_until_idle()
    assert enqueue(alice, "count", key="chat 1")[1]


def test_a_failure_is_a_sentence_and_can_be_retried(alice: User) -> None:
    job, _new = enqueue(alice, "fall")
    run_until_idle()
    fresh(job)
    assert (job.state, job.error, job.hint, job.error_type) == (
        Job.State.FAILED,
        "The tide was out.",
        "Wait for the tide.",
        "Tide",
    )
    assert job.events.get().text == "The tide was out."
    assert retry(job)
    assert (job.state, job.error) == (Job.State.QUEUED, "")


def test_an_unforeseen_error_tells_its_kind_and_nothing_private(alice: User, caplog: pytest.LogCaptureFixture) -> None:
    job, _new = enqueue(alice, "stumble")
    with caplog.at_level(logging.DEBUG):
        run_until_idle()
    assert fresh(job).error == "Something unexpected went wrong (ValueError). What was finished before is kept."
    assert "stumble" in caplog.text
    assert "walnut" not in caplog.text
    assert "walnut" not in str(list(Job.objects.for_user(alice).values())) + str(list(job.events.values()))


def test_a_kind_that_is_not_known_fails_with_a_sentence(alice: User) -> None:
    job, _new = enqueue(alice, "from the future")
    run_until_idle()
    assert fresh(job).error == "This version of CharMem does not know this kind of work."


def test_a_paused_job_waits_without_a_thread_and_goes_on(alice: User) -> None:
    def pause_once(run: JobRun) -> Outcome:
        if run.job.attempts == 1:
            raise JobPaused(timezone.now() + timedelta(seconds=60), "The model asked for a pause.")
        return done()

    job, _new = enqueue(alice, kind_of(pause_once))
    assert run_until_idle(timeout=5) == 1
    assert (fresh(job).state, job.doing) == (Job.State.PAUSED, "The model asked for a pause.")
    assert job.token is None
    Job.objects.for_user(alice).update(not_before=timezone.now())
    run_until_idle()
    assert fresh(job).state == Job.State.DONE


def test_waiting_for_a_job_waits_for_its_pause(alice: User) -> None:
    def pause_once(run: JobRun) -> Outcome:
        if run.job.attempts == 1:
            raise JobPaused(timezone.now() + timedelta(milliseconds=30), "A moment.")
        return done()

    job, _new = enqueue(alice, kind_of(pause_once))
    assert run_until_ended(job, timeout=10).state == Job.State.DONE


def test_a_pause_wakes_a_worker_at_its_end(
    alice: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: object
) -> None:
    sent: list[tuple[object, object]] = []
    monkeypatch.setattr("jobs.ending.send_for_row", lambda job_id, at: sent.append((job_id, at)))
    job, _new = enqueue(alice, "count", total=1, params={"pause": 60})
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        run_next()
    assert sent == [(job.pk, fresh(job).not_before)]
    assert job.sent_at is None


def test_a_job_for_later_is_not_due(alice: User) -> None:
    enqueue(alice, "count", not_before=timezone.now() + timedelta(minutes=1))
    assert run_until_idle() == 0


def test_a_waiting_job_is_cancelled_at_once(alice: User) -> None:
    job, _new = enqueue(alice, "count")
    request_cancel(job)
    assert job.state == Job.State.CANCELLED
    assert run_until_idle() == 0


def test_a_running_job_ends_at_its_next_question_when_cancelled(alice: User) -> None:
    seen: list[bool] = []

    def cancelled_in_the_middle(run: JobRun) -> Outcome:
        run.check()
        request_cancel(Job.objects.get(pk=run.job.pk))
        seen.append(run.should_stop())
        run.check()
        raise AssertionError("unreachable")

    job, _new = enqueue(alice, kind_of(cancelled_in_the_middle))
    run_until_idle()
    assert seen == [True]
    assert fresh(job).state == Job.State.CANCELLED
    assert not job.cancel_requested


def test_a_chunk_that_ends_before_it_saw_the_cancel_is_the_last(alice: User) -> None:
    def blind(run: JobRun) -> Outcome:
        request_cancel(Job.objects.get(pk=run.job.pk))
        return MORE

    job, _new = enqueue(alice, kind_of(blind))
    assert run_until_idle() == 1
    assert fresh(job).state == Job.State.CANCELLED


def test_asking_again_for_what_is_about_to_stop_lets_it_go_on(alice: User) -> None:
    def stopped_and_wanted_again(run: JobRun) -> Outcome:
        if run.job.attempts == 1:
            request_cancel(Job.objects.get(pk=run.job.pk))
            assert run.should_stop()
            assert enqueue(alice, "count", key="chat 1")[1] is False
            run.check()
        return done()

    job, _new = enqueue(alice, kind_of(stopped_and_wanted_again), key="chat 1")
    run_until_idle()
    assert (fresh(job).state, job.attempts) == (Job.State.DONE, 2)


def test_a_stopping_worker_gives_the_job_back(alice: User) -> None:
    job, _new = enqueue(alice, "count", total=2)
    request_stop()
    lease = held(job)
    run_chunk(lease)
    assert (fresh(job).state, job.step, job.failures) == (Job.State.QUEUED, 0, 0)
    forget_stop()
    run_until_idle()
    assert fresh(job).state == Job.State.DONE


def test_a_zombie_cannot_commit_nor_end_the_job_of_its_successor(alice: User) -> None:
    ended: list[type[Exception]] = []

    def overtaken(run: JobRun) -> Outcome:
        Job.objects.filter(pk=run.job.pk).update(token=uuid.uuid4(), worker="successor")
        try:
            with run.commit():
                JobEvent.objects.create(job=run.job, text="written twice")
        except LeaseLost as lost:
            ended.append(type(lost))
            raise
        return done()

    job, _new = enqueue(alice, kind_of(overtaken))
    run_until_idle()
    assert ended == [LeaseLost]
    assert (fresh(job).state, job.worker) == (Job.State.RUNNING, "successor")
    assert not job.events.exists()


def test_a_zombie_that_finishes_changes_nothing(alice: User) -> None:
    def overtaken(run: JobRun) -> Outcome:
        Job.objects.filter(pk=run.job.pk).update(token=uuid.uuid4())
        run.log("too late")
        run.progress(step=9)
        return done({"text": "mine"})

    job, _new = enqueue(alice, kind_of(overtaken))
    run_until_idle()
    assert (fresh(job).state, job.step, job.result) == (Job.State.RUNNING, 0, {})
    assert not job.events.exists()


def test_an_error_inside_commit_takes_the_whole_chunk_back(alice: User) -> None:
    def half(run: JobRun) -> Outcome:
        with run.commit():
            JobEvent.objects.create(job=run.job, text="half")
            raise RuntimeError
        return done()

    job, _new = enqueue(alice, kind_of(half))
    run_until_idle()
    assert fresh(job).state == Job.State.FAILED
    assert not job.events.filter(text="half").exists()


def test_progress_and_log_are_written_with_the_end_of_the_chunk(alice: User) -> None:
    def talk(run: JobRun) -> Outcome:
        run.log("asked with Authorization: Bearer abcdefghijkl")
        run.progress(step=1, total=4, doing="reading")
        run.keep(cursor=7)
        return MORE

    job, _new = enqueue(alice, kind_of(talk))
    run_next()
    fresh(job)
    assert (job.step, job.total, job.doing, job.params) == (1, 4, "reading", {"cursor": 7})
    assert "abcdefghijkl" not in job.events.get().text


def test_what_is_kept_stands_beside_what_somebody_asked_for_meanwhile(alice: User) -> None:
    """Alice wants one more chat read while the chunk is at work and remembers something of its own."""

    def read(run: JobRun) -> Outcome:
        Job.objects.filter(pk=run.job.pk).update(params={"chats": ["one", "two"]})
        run.keep(halvings=1)
        return MORE

    job, _new = enqueue(alice, kind_of(read), params={"chats": ["one"]})
    run_next()
    fresh(job)
    assert job.params == {"chats": ["one", "two"], "halvings": 1}


def test_a_busy_database_is_waited_for_and_given_up_after_three_times(alice: User) -> None:
    def busy(run: JobRun) -> Outcome:
        raise OperationalError("database is locked")

    job, _new = enqueue(alice, kind_of(busy))
    for state in (Job.State.PAUSED, Job.State.PAUSED, Job.State.FAILED):
        Job.objects.for_user(alice).update(not_before=None)
        run_next()
        assert fresh(job).state == state


def test_retry_says_no_where_nothing_can_be_retried(alice: User) -> None:
    job, _new = enqueue(alice, "count", key="chat 1", total=1)
    assert not retry(job)
    run_until_idle()
    assert not retry(fresh(job))
    failed, _new = enqueue(alice, "fall", key="chat 2")
    run_until_idle()
    enqueue(alice, "count", key="chat 2")
    assert not retry(fresh(failed))
    assert failed.state == Job.State.FAILED


def test_a_job_that_vanishes_while_it_runs_ends_quietly(alice: User) -> None:
    def vanish(run: JobRun) -> Outcome:
        Job.objects.filter(pk=run.job.pk).delete()
        with pytest.raises(Stopped):
            run.check()
        run.log("nobody reads this")
        return MORE

    enqueue(alice, kind_of(vanish))
    assert run_until_idle() == 1


def test_nothing_due_is_claimed_by_nobody(alice: User) -> None:
    with unscoped("the test looks"):
        assert claim_next() is None
        assert claim(uuid.uuid4()) is None


def test_the_heartbeat_writes_what_waits_renews_the_lease_and_sees_a_cancel(alice: User) -> None:
    job, _new = enqueue(alice, "count")
    lease = held(job)
    first = fresh(job).lease_until
    assert first is not None
    with unscoped("the side thread of a worker"):
        run = JobRun(job, lease)
        run.log("asked")
        run.progress(step=1, total=2)
        run.beat()
        assert (fresh(job).step, job.events.get().text, job.lease_until) == (1, "asked", first)
        with time_machine.travel(timezone.now() + timedelta(seconds=11), tick=False):
            run.beat()
        assert fresh(job).lease_until > first + timedelta(seconds=10)
        request_cancel(job)
        run.beat()
    assert lease.cancelled
    assert not lease.lost
