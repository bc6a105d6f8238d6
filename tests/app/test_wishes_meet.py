"""Wishes that meet: what is asked for while something is stopped, paused, tried again or about to end is done, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from jobs import batch, holding
from jobs.batch import enqueue_batch
from jobs.chunk import run_next
from jobs.drain import run_until_idle
from jobs.enqueue import enqueue, request_cancel, retry
from jobs.lease import claim
from jobs.models import Job
from jobs.reaper import reap
from memories import batch_start, extraction, extraction_group, queries
from memories.extraction import start_extraction
from memories.models import ExtractionOverride, ExtractionSettings
from memories.wanted import Wanted
from providers.models import Call
from sync.models import Character, Chat, Group
from tests.support import story
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.group_story import make_chat, make_group, members
from tests.support.kinds import forget_test_kinds, use_test_kinds

TALK = ["Ren: Who goes to the mill?", "Orla: Orla goes at dawn.", "Pim: Pim carries the lamp.", "Ren: Good."]


@pytest.fixture(autouse=True)
def test_kinds() -> Iterator[None]:
    use_test_kinds()
    yield
    forget_test_kinds()


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def group(alice: User, fake: FakeModel) -> Group:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return make_group(alice, "Orla", "Pim")


def parts(user: User, count: int = 2, **fields: Any) -> Job:
    rows = [{"label": f"part {n}", "key": f"part-{n}", "total": 1, **fields} for n in range(count)]
    return enqueue_batch(user, "count", rows)[0]


def left(user: User, chat: Chat, *characters: Character) -> int:
    return sum(queries.reading_of(user, chat, one).waiting for one in characters)


def state(job: Job) -> str:
    job.refresh_from_db()
    return job.state


def test_a_batch_is_tried_again_although_one_of_its_parts_is_under_way_elsewhere(alice: User) -> None:
    whole = parts(alice)
    request_cancel(whole)
    elsewhere, _new = enqueue(alice, "count", key="part-0", total=1)
    assert retry(whole), "the part that nobody else does is done"
    run_until_idle(alice)
    assert sorted(whole.children.values_list("key", "state")) == [("part-0", "cancelled"), ("part-1", "done")]
    assert state(elsewhere) == Job.State.DONE
    assert not retry(parts(alice, key="")), "nothing had ended"


def test_a_batch_of_which_every_part_is_under_way_elsewhere_stays_ended(alice: User) -> None:
    whole = parts(alice, 1)
    request_cancel(whole)
    enqueue(alice, "count", key="part-0", total=1)
    assert not retry(whole)
    assert state(whole) == Job.State.CANCELLED


def test_a_batch_that_was_paused_and_stopped_is_not_paused_when_it_is_tried_again(alice: User) -> None:
    whole = parts(alice)
    holding.hold(whole)
    request_cancel(whole)
    retry(whole)
    whole.refresh_from_db()
    assert whole.is_active and not whole.is_held


def test_asking_for_a_part_of_a_paused_batch_shows_the_batch_at_work(alice: User) -> None:
    whole = parts(alice)
    holding.hold(whole)
    enqueue(alice, "count", key="part-0", total=1)
    whole.refresh_from_db()
    assert not whole.is_held
    assert sorted(whole.children.values_list("key", "is_held")) == [("part-0", False), ("part-1", True)]


def test_the_last_part_that_is_let_go_or_held_says_so_for_the_batch(alice: User) -> None:
    whole = parts(alice)
    for part in whole.children.all():
        holding.hold(part)
    batch.settle(whole.pk)
    reap()
    for part in whole.children.all():
        holding.let_go(part)
    run_until_idle(alice)
    assert state(whole) == Job.State.DONE


def test_asking_a_paused_group_again_lets_everybody_go_on(alice: User, group: Group, fake: FakeModel) -> None:
    chat = make_chat(group, TALK)
    whole = extraction_group.start_group(alice, group)
    holding.hold(whole)
    again = extraction_group.start_group(alice, group)
    assert again == whole
    run_until_idle(alice)
    assert state(whole) == Job.State.DONE and not left(alice, chat, *members(group))


def test_choosing_chats_of_whoever_is_paused_lets_it_go_on(alice: User, group: Group, fake: FakeModel) -> None:
    orla = members(group)[0]
    own = story.make_chat(orla, "alone", ["The ice broke.", "Did it?"])
    job = start_extraction(alice, character=orla, chat=own)
    holding.hold(job)
    batch_start.start_batch(alice, batch_start.everything(alice))
    run_until_idle(alice)
    assert state(job) == Job.State.DONE and not left(alice, own, orla)


def test_what_reads_by_itself_lets_nothing_go_on_that_a_person_paused(alice: User, group: Group) -> None:
    make_chat(group, TALK)
    orla = members(group)[0]
    own = story.make_chat(orla, "alone", ["The ice broke.", "Did it?"])
    job = start_extraction(alice, character=orla, chat=own)
    holding.hold(job)
    start_extraction(alice, character=orla, chat=own, is_automatic=True)
    extraction_group.start_group(alice, group, is_automatic=True)
    job.refresh_from_db()
    assert job.is_held


@pytest.mark.parametrize("way", ["group", "batch", "together"])
def test_a_wish_beside_a_job_that_is_being_stopped_is_not_lost(alice: User, group: Group, way: str) -> None:
    """The member's own job was told to stop, but its call still runs: the stop ends what was asked before it."""
    chat = make_chat(group, TALK)
    orla = members(group)[0]
    own = story.make_chat(orla, "alone", ["The ice broke.", "Did it?"])
    if way == "together":
        ExtractionOverride.objects.create(owner=alice, group=group, values={"group_calls": "together"})
        job = extraction_group.start_group(alice, group)
    else:
        job = start_extraction(alice, character=orla, chat=own)
    with unscoped("a call is under way"):
        claim(job.pk)
    request_cancel(job)
    assert state(job) == Job.State.RUNNING and job.cancel_requested
    if way == "batch":
        batch_start.start_batch(alice, batch_start.chosen(alice, [str(chat.pk)]))
    else:
        extraction_group.start_group(alice, group)
    with unscoped("its worker dies"):
        Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED, token=None, lease_until=None)
    reap()
    run_until_idle(alice)
    assert not left(alice, chat, *members(group))


def test_two_wishes_at_the_same_moment_are_both_kept(
    alice: User, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever read the job's row a moment ago must not write back what it held then."""
    orla = members(group)[0]
    chats = [story.make_chat(orla, name, [f"{name} one", f"{name} two"]) for name in ("a", "b", "c")]
    first = start_extraction(alice, character=orla, chat=chats[0])
    stale = Job.objects.for_user(alice).get(pk=first.pk)
    start_extraction(alice, character=orla, chat=chats[1])
    extraction.widen(alice, stale, Wanted((str(chats[2].pk),)), is_automatic=False)
    run_until_idle(alice)
    assert [left(alice, one, orla) for one in chats] == [0, 0, 0]


def test_a_wish_does_not_undo_what_the_job_remembers(alice: User, group: Group) -> None:
    orla = members(group)[0]
    chats = [story.make_chat(orla, name, [f"{name} one", f"{name} two"]) for name in ("a", "b")]
    job = start_extraction(alice, character=orla, chat=chats[0])
    stale = Job.objects.for_user(alice).get(pk=job.pk)
    Job.objects.for_user(alice).filter(pk=job.pk).update(params={**job.params, "halvings": 2})
    extraction.widen(alice, stale, Wanted((str(chats[1].pk),)), is_automatic=False)
    job.refresh_from_db()
    assert job.params["halvings"] == 2 and len(job.params["chats"]) == 2


def test_what_is_asked_for_while_a_job_ends_is_read(alice: User, group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last look at what was asked for and the word that it is done."""
    orla = members(group)[0]
    first, second = (story.make_chat(orla, name, [f"{name} one", f"{name} two"]) for name in ("a", "b"))
    job = start_extraction(alice, character=orla, chat=first)
    ended = extraction.ended

    def slowly(*args: Any) -> Any:
        outcome = ended(*args)
        if not Call.objects.for_user(alice).filter(job=job).count() > 1:
            start_extraction(alice, character=orla, chat=second)
        return outcome

    monkeypatch.setattr(extraction, "ended", slowly)
    run_until_idle(alice)
    assert left(alice, second, orla) == 0
    assert state(job) == Job.State.DONE


def test_a_paused_job_survives_the_death_of_its_worker(alice: User) -> None:
    job, _new = enqueue(alice, "count", key="x", total=2)
    with unscoped("a worker takes it and dies"):
        lease = claim(job.pk)
    assert lease is not None
    holding.hold(job)
    with unscoped("its lease is over"):
        Job.objects.filter(pk=job.pk).update(lease_until="2020-01-01T00:00Z")
    reap()
    assert not run_next(alice)
    job.refresh_from_db()
    assert (job.state, job.is_held) == (Job.State.QUEUED, True)
    holding.let_go(job)
    run_until_idle(alice)
    assert state(job) == Job.State.DONE


@pytest.mark.parametrize("first", ["each", "together"])
@pytest.mark.parametrize("by_batch", [False, True], ids=["group", "batch"])
def test_a_group_that_is_asked_in_another_way_meanwhile(
    alice: User, group: Group, first: str, *, by_batch: bool
) -> None:
    """What is under way goes on as it began, and what was asked for afterwards is read too."""
    one, other = make_chat(group, TALK), make_chat(group, TALK, "the next evening")
    override = ExtractionOverride.objects.create(owner=alice, group=group, values={"group_calls": first})
    job = extraction_group.start_group(alice, group, chats=[one])
    ExtractionOverride.objects.for_user(alice).filter(pk=override.pk).update(
        values={"group_calls": "each" if first == "together" else "together"}
    )
    if by_batch:
        batch_start.start_batch(alice, batch_start.chosen(alice, [str(other.pk)]))
    else:
        assert extraction_group.start_group(alice, group, chats=[other]) == job
    with unscoped("rows that are at work without a worker"):
        assert not Job.objects.filter(state=Job.State.RUNNING, is_batch=False).exists()
    assert not Job.objects.for_user(alice).filter(parent=job).exclude(parent__is_batch=True).exists()
    run_until_idle(alice)
    assert state(job) == Job.State.DONE
    assert [left(alice, chat, *members(group)) for chat in (one, other)] == [0, 0]
    assert not Job.objects.for_user(alice).filter(state__in=Job.ACTIVE).exists()
