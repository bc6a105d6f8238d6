"""The guard around private rows."""

from __future__ import annotations

import pytest

from accounts.models import User
from accounts.ownership import UnscopedQuery, unscoped
from jobs.models import Job, JobEvent


def make_job(owner: User) -> Job:
    return Job.objects.create(owner=owner, kind="test")


def test_an_unscoped_query_is_refused_when_it_is_evaluated(alice: User) -> None:
    make_job(alice)
    for evaluate in (
        list,
        len,
        lambda q: q.count(),
        lambda q: q.exists(),
        lambda q: q.first(),
        lambda q: q.update(step=1),
        lambda q: q.delete(),
    ):
        with pytest.raises(UnscopedQuery, match="Job rows are private"):
            evaluate(Job.objects.filter(kind="test"))


def test_each_person_sees_only_their_own_rows(alice: User, bob: User) -> None:
    mine = make_job(alice)
    theirs = make_job(bob)
    assert list(Job.objects.for_user(alice)) == [mine]
    assert list(Job.objects.for_user(bob).filter(kind="test")) == [theirs]


def test_rows_below_a_held_row_are_open(alice: User) -> None:
    job = make_job(alice)
    JobEvent.objects.create(job=job, text="started")
    assert job.events.count() == 1
    assert [event.text for event in job.events.all()] == ["started"]


def test_a_reason_opens_everything_inside_the_block(alice: User, bob: User) -> None:
    make_job(alice)
    make_job(bob)
    with unscoped("the test looks at both"):
        assert Job.objects.count() == 2
    with pytest.raises(UnscopedQuery):
        Job.objects.count()
