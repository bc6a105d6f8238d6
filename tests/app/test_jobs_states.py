"""Random histories of jobs: workers that claim, die, come back as zombies, people who cancel and retry."""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import Count
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from accounts.models import User
from accounts.ownership import unscoped
from jobs.ending import News, end
from jobs.enqueue import enqueue, request_cancel, retry
from jobs.lease import Lease, claim_next, release_worker, worker_name
from jobs.models import Job
from jobs.reaper import reap
from jobs.run import MORE, JobFailed, JobPaused, JobRun, LeaseLost, done
from tests.support.people import make_person


class Jobs(RuleBasedStateMachine):
    """`holder` is what the test believes: which lease is good for which job."""

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.people = [make_person(f"person {uuid.uuid4()}") for _number in range(2)]
        self.holder: dict[uuid.UUID, uuid.UUID] = {}
        self.done: set[uuid.UUID] = set()
        self.asked_to_stop: set[uuid.UUID] = set()

    def teardown(self) -> None:
        for person in self.people:
            person.delete()

    def rows(self) -> list[Job]:
        with unscoped("the test looks at everything"):
            return list(Job.objects.filter(owner__in=self.people))

    @rule(person=st.integers(0, 1), key=st.sampled_from(["", "a", "b"]))
    def enqueue(self, person: int, key: str) -> None:
        active = {row.pk for row in self.rows() if row.is_active and row.key == key and key}
        job, is_new = enqueue(self.people[person], "count", key=key, total=3)
        assert is_new == (job.pk not in active)
        assert not job.cancel_requested, "asking again is the later wish"
        self.asked_to_stop.discard(job.pk)

    @rule(person=st.integers(0, 1), key=st.sampled_from(["a", "b"]))
    def enqueue_by_itself(self, person: int, key: str) -> None:
        before = {row.pk: row.cancel_requested for row in self.rows()}
        job, is_new = enqueue(self.people[person], "count", key=key, total=3, lets_go=False)
        assert is_new or job.cancel_requested == before[job.pk], "nobody's wish takes a stop back"

    @rule(target=leases)
    def claim(self) -> Lease | None:
        with unscoped("the test is a worker"):
            lease = claim_next()
        if lease is None:
            assert not any(self.is_due(row) for row in self.rows())
            return None
        assert lease.job_id not in self.holder, "two owners of one job"
        assert lease.job_id not in self.done, "a finished job ran again"
        assert lease.job_id not in self.asked_to_stop, "a cancelled job ran"
        self.holder[lease.job_id] = lease.token
        return lease

    def is_due(self, row: Job) -> bool:
        waits = row.state in (Job.State.QUEUED, Job.State.PAUSED) and not row.cancel_requested
        return waits and (row.not_before is None or row.not_before <= timezone.now())

    def holds(self, lease: Lease) -> bool:
        return self.holder.get(lease.job_id) == lease.token

    @rule(lease=leases)
    def heartbeat(self, lease: Lease | None) -> None:
        if lease:
            with unscoped("the test is a worker"):
                assert lease.renew() == self.holds(lease)

    @rule(lease=leases)
    def commit(self, lease: Lease | None) -> None:
        if not lease:
            return
        with unscoped("the test is a worker"):
            run = JobRun(Job.objects.get(pk=lease.job_id), lease)
            try:
                with run.commit():
                    run.progress(step=run.job.step + 1)
                committed = True
            except LeaseLost:
                committed = False
        assert committed == self.holds(lease)

    @rule(
        lease=consumes(leases),
        news=st.sampled_from([MORE, done(), JobFailed("It broke."), JobPaused(timezone.now(), "Wait.")]),
    )
    def end(self, lease: Lease | None, news: News) -> None:
        if not lease:
            return
        with unscoped("the test is a worker"):
            before = Job.objects.get(pk=lease.job_id)
            end(JobRun(before, lease), news)
            after = Job.objects.get(pk=lease.job_id)
        if not self.holds(lease):
            assert (after.state, after.token, after.step) == (before.state, before.token, before.step)
            return
        del self.holder[lease.job_id]
        assert after.state != Job.State.RUNNING
        if after.state == Job.State.DONE:
            self.done.add(after.pk)

    @rule(lease=leases)
    def expire_and_reap(self, lease: Lease | None) -> None:
        if not lease:
            return
        past = timezone.now() - timedelta(seconds=1)
        with unscoped("the lease runs out"):
            lease.rows().update(lease_until=past)
        reap()
        if self.holds(lease):
            del self.holder[lease.job_id]

    @rule()
    def every_worker_dies(self) -> None:
        release_worker(worker_name())
        self.holder.clear()

    @rule(number=st.integers(0, 9))
    def cancel(self, number: int) -> None:
        rows = self.rows()
        if rows:
            job = rows[number % len(rows)]
            was_active = job.is_active
            request_cancel(job)
            if was_active:
                self.asked_to_stop.add(job.pk)

    @rule(number=st.integers(0, 9))
    def retry(self, number: int) -> None:
        rows = self.rows()
        if rows:
            job = rows[number % len(rows)]
            state = job.state
            if retry(job):
                assert state in (Job.State.FAILED, Job.State.CANCELLED)
                self.asked_to_stop.discard(job.pk)

    @invariant()
    def leases_are_held_by_one(self) -> None:
        running = {row.pk: row.token for row in self.rows() if row.state == Job.State.RUNNING}
        assert running == self.holder

    @invariant()
    def what_is_done_stays_done(self) -> None:
        states = {row.pk: row.state for row in self.rows()}
        assert all(states[pk] == Job.State.DONE for pk in self.done)

    @invariant()
    def one_is_active_for_each_key(self) -> None:
        keys = Counter((row.owner_id, row.key) for row in self.rows() if row.is_active and row.key)
        assert all(count == 1 for count in keys.values())

    @invariant()
    def an_ended_job_holds_nothing(self) -> None:
        for row in self.rows():
            assert (row.token is None) == (row.state != Job.State.RUNNING)
            assert (row.finished_at is None) == row.is_active


@pytest.mark.django_db
def test_no_history_of_jobs_breaks_a_promise() -> None:
    with unscoped("the test asks about all rows"):
        assert not Job.objects.aggregate(Count("pk"))["pk__count"]
    run_state_machine_as_test(
        Jobs,
        settings=settings(
            max_examples=40,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
    assert not User.objects.filter(username__startswith="person").exists()
