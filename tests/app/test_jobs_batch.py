"""Batches: a parent that shows the sum of its parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from jobs.batch import enqueue_batch
from jobs.chunk import run_next
from jobs.drain import run_until_idle
from jobs.enqueue import enqueue, request_cancel, retry
from jobs.models import Job
from tests.support.kinds import forget_test_kinds, use_test_kinds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def test_kinds() -> Iterator[None]:
    use_test_kinds()
    yield
    forget_test_kinds()


def batch_of(owner: User, *totals: int) -> Job:
    parent, is_new = enqueue_batch(
        owner, "count", [{"total": total, "key": f"part {n}"} for n, total in enumerate(totals)]
    )
    assert is_new
    return parent


def test_a_batch_shows_the_sum_of_its_parts_and_ends_with_them(alice: User) -> None:
    parent = batch_of(alice, 2, 3)
    assert (parent.state, parent.step, parent.total) == (Job.State.QUEUED, 0, 5)
    run_next()
    parent.refresh_from_db()
    assert (parent.state, parent.step) == (Job.State.RUNNING, 1)
    assert run_until_idle() == 4
    parent.refresh_from_db()
    assert (parent.state, parent.step, parent.attempts) == (Job.State.DONE, 5, 0)
    assert parent.finished_at is not None


def test_one_failed_part_does_not_stop_the_others_and_is_retried_alone(alice: User) -> None:
    parent = batch_of(alice, 2, 2)
    bad = parent.children.first()
    assert bad is not None
    Job.objects.for_user(alice).filter(pk=bad.pk).update(kind="fall")
    run_until_idle()
    parent.refresh_from_db()
    assert (parent.state, parent.error) == (Job.State.FAILED, "1 of 2 parts failed. The other parts are kept.")
    Job.objects.for_user(alice).filter(pk=bad.pk).update(kind="count")
    assert retry(parent)
    parent.refresh_from_db()
    assert (parent.state, parent.error) == (Job.State.RUNNING, "")
    assert run_until_idle() == 2
    parent.refresh_from_db()
    assert (parent.state, parent.step) == (Job.State.DONE, 4)


def test_a_part_that_is_retried_opens_its_batch_again(alice: User) -> None:
    parent = batch_of(alice, 1)
    Job.objects.for_user(alice).filter(parent=parent).update(kind="fall")
    run_until_idle()
    assert retry(parent.children.get())
    parent.refresh_from_db()
    assert parent.state == Job.State.RUNNING


def test_stopping_a_batch_stops_its_parts(alice: User) -> None:
    parent = batch_of(alice, 2, 2)
    run_next()
    request_cancel(parent)
    assert parent.state == Job.State.CANCELLED
    assert {part.state for part in parent.children.all()} == {Job.State.CANCELLED}
    assert run_until_idle() == 0


def test_what_runs_anyway_is_left_out(alice: User) -> None:
    alone, _new = enqueue(alice, "count", key="part 0", total=1)
    parent = batch_of(alice, 1, 1)
    assert parent.total == 1
    assert alone.parent_id is None
    assert run_until_idle() == 2


def test_a_batch_of_nothing_is_done(alice: User) -> None:
    assert batch_of(alice).state == Job.State.DONE


def test_the_same_batch_is_not_started_twice(alice: User) -> None:
    first, _new = enqueue_batch(alice, "count", [{"total": 1}], key="all")
    assert enqueue_batch(alice, "count", [{"total": 1}], key="all") == (first, False)


def test_a_batch_is_paused_while_all_that_is_left_is_paused(alice: User) -> None:
    parent = batch_of(alice, 1, 1)
    first = parent.children.earliest("created_at")
    Job.objects.for_user(alice).filter(pk=first.pk).update(params={"pause": 60})
    run_until_idle()
    parent.refresh_from_db()
    first.refresh_from_db()
    assert (parent.state, parent.step, parent.not_before) == (Job.State.PAUSED, 1, first.not_before)
    Job.objects.for_user(alice).filter(pk=first.pk).update(not_before=None)
    run_until_idle()
    parent.refresh_from_db()
    assert (parent.state, parent.step) == (Job.State.DONE, 2)
