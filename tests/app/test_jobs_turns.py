"""Who gets the next free slot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from jobs.batch import enqueue_batch
from jobs.chunk import run_chunk
from jobs.enqueue import enqueue
from jobs.lease import Lease, claim_next
from jobs.models import Job
from tests.support.kinds import forget_test_kinds, use_test_kinds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def test_kinds() -> Iterator[None]:
    use_test_kinds()
    yield
    forget_test_kinds()


def next_lease() -> Lease:
    with unscoped("the test is a worker"):
        lease = claim_next()
    assert lease is not None
    return lease


def label_of(lease: Lease) -> str:
    with unscoped("the test looks"):
        return Job.objects.get(pk=lease.job_id).label


def order(chunks: int) -> list[str]:
    """Labels in the order in which one worker runs them."""
    found = []
    for _number in range(chunks):
        lease = next_lease()
        found.append(label_of(lease))
        run_chunk(lease)
    return found


def test_another_person_waits_one_chunk_at_most(alice: User, bob: User) -> None:
    enqueue_batch(alice, "count", [{"label": f"alice {n}", "total": 50} for n in range(20)])
    order(3)
    enqueue(bob, "count", label="bob", total=2)
    assert order(4)[:2].count("bob") == 1


def test_a_free_slot_goes_to_whom_has_fewest_running(alice: User, bob: User) -> None:
    for n in range(3):
        enqueue(alice, "count", label=f"alice {n}", total=9)
    enqueue(bob, "count", label="bob 0", total=9)
    enqueue(bob, "count", label="bob 1", total=9)
    owners = [label_of(next_lease()).split()[0] for _number in range(4)]
    assert sorted(owners) == ["alice", "alice", "bob", "bob"]


def test_jobs_of_one_person_take_turns(alice: User) -> None:
    for name in ("a", "b", "c"):
        enqueue(alice, "count", label=name, total=9)
    assert order(6) == ["a", "b", "c", "a", "b", "c"]


def test_a_single_chat_does_not_wait_behind_the_persons_own_batch(alice: User) -> None:
    enqueue_batch(alice, "count", [{"label": "batch", "total": 30} for _number in range(30)])
    order(2)
    enqueue(alice, "count", label="single", total=2)
    assert order(4).count("single") == 2


def test_in_a_batch_the_longest_queue_comes_first(alice: User) -> None:
    enqueue_batch(alice, "count", [{"label": str(total), "total": total} for total in (2, 5, 3)])
    assert order(10) == ["5", "5", "3", "5", "2", "3", "5", "2", "3", "5"]


def test_nobody_starves(alice: User, bob: User, charlie: User) -> None:
    for n, person in enumerate((alice, bob, charlie)):
        for m in range(n + 1):
            enqueue(person, "count", label=f"{person.username} {m}", total=4)
    seen = order(24)
    assert {label: seen.count(label) for label in seen} == dict.fromkeys(set(seen), 4)
    assert {label.split()[0] for label in seen[:3]} == {"alice", "bob", "charlie"}
