"""A group's chats are read for each member: own point, own memories, nothing it cannot know, nobody stops others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.enqueue import retry
from jobs.models import Job
from memories import memory_file, unread, watermark
from memories.extraction_group import start_group
from memories.memory_file import file_for
from memories.models import ExtractionSettings
from providers.models import Call
from sync.models import Character, Group
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.group_story import make_chat, make_group, members

TALK = [
    "Ren: Who goes to the mill?",
    "Orla: Orla goes to the mill at dawn.",
    "Pim: Pim carries the lamp.",
    "Sefa: Sefa locks the harbour gate.",
]


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def group(alice: User, fake: FakeModel) -> Group:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return make_group(alice, "Orla", "Pim", "Sefa")


def read(group: Group, **wish: object) -> Job:
    owner = group.tavern.owner
    job = start_group(owner, group, **wish)  # type: ignore[arg-type]
    run_until_idle(owner)
    job.refresh_from_db()
    return job


def about(fake: FakeModel, name: str) -> list[str]:
    """The prompts that asked what this member remembers."""
    return [one for one in fake.prompts() if f"Write down what {name}, and only {name}," in one]


def facts(character: Character) -> list[str]:
    return [one.text for one in memory_file.memories_of(file_for(character)) if not one.is_topic]


def test_each_member_is_asked_once_and_remembers_for_itself(alice: User, group: Group, fake: FakeModel) -> None:
    chat = make_chat(group, TALK)
    orla, pim, sefa = members(group)
    fake.answers(
        *(f"<memory>\n- [{one}, Ren — the mill]\n- {one} went to the mill.\n</memory>" for one in ("Orla", "Pim"))
    )
    job = read(group)
    assert (job.state, job.is_batch, job.key, job.subject) == (
        Job.State.DONE,
        True,
        f"extract:group:{group.pk}",
        f"group:{group.pk}",
    )
    assert list(job.children.order_by("label").values_list("label", flat=True)) == [
        "Orla (1 of 3)",
        "Pim (2 of 3)",
        "Sefa (3 of 3)",
    ]
    assert sorted([*facts(orla), *facts(pim), *facts(sefa)]) == ["Orla went to the mill.", "Pim went to the mill."]
    assert {one: len(about(fake, one)) for one in ("Orla", "Pim", "Sefa")} == {"Orla": 1, "Pim": 1, "Sefa": 1}
    prompt = about(fake, "Pim")[0]
    assert "OTHER PARTICIPANTS\nRen\nOrla\nSefa\n" in prompt
    marks = watermark.marks_of_readers(alice, chat)
    assert {marks[one.pk].index for one in (orla, pim, sefa)} == {3}
    assert unread.unread_by_member(alice, group) == {}
    read(group)
    assert len(fake.chats) == 3
    assert set(Call.objects.for_user(alice).values_list("subject", flat=True)) == {
        f"character:{one.pk}/chat:{chat.pk}" for one in (orla, pim, sefa)
    }


def test_a_member_that_fails_twice_stops_nobody_and_goes_on_alone(alice: User, group: Group, fake: FakeModel) -> None:
    names = ("Una", "Vera", "Wim", "Xenia", "Ylva")
    group = make_group(alice, *names, tavern=group.tavern, name="The five")
    make_chat(group, [f"{name}: The lamp is out." for name in names], name="long evening")
    ExtractionSettings.objects.filter(user=alice).update(messages_per_call=10)
    fake.answers("NO_NEW_MEMORIES", "NO_NEW_MEMORIES", *["What a lovely story."] * 2, *["NO_NEW_MEMORIES"] * 2)
    job = read(group)
    assert (job.state, job.error) == (Job.State.FAILED, "1 of 5 parts failed. The other parts are kept.")
    failed = job.children.get(state=Job.State.FAILED)
    whose = failed.label.split()[0]
    fake.answers(*["What a lovely story."] * 2)
    assert retry(failed)
    run_until_idle(alice)
    failed.refresh_from_db()
    assert (failed.state, failed.error_type) == (Job.State.FAILED, "answer_unreadable")
    assert retry(job)  # of the whole group: only what failed is tried again
    run_until_idle(alice)
    job.refresh_from_db()
    assert job.state == Job.State.DONE
    asked = {one.name: len(about(fake, one.name)) for one in members(group)}
    assert asked == {one.name: 5 if one.name == whose else 1 for one in members(group)}
    assert {one.extracted_chunks.count() for one in members(group)} == {1}


def test_an_absent_members_prompt_lacks_the_stretch(alice: User, group: Group, fake: FakeModel) -> None:
    lines = [f"{'Orla' if n % 2 else 'Pim'}: The lantern{n} is under the floor." for n in range(8)]
    chat = make_chat(group, [*lines, *TALK])
    sefa = members(group)[2]
    job = read(group)
    assert job.state == Job.State.DONE
    assert len(about(fake, "Sefa")) == 1
    assert "lantern" not in about(fake, "Sefa")[0] and "Pim carries the lamp." in about(fake, "Sefa")[0]
    assert list(sefa.extracted_chunks.order_by("pk").values_list("outcome", flat=True)) == [
        "absent",
        "absent",
        "nothing",
    ]
    assert watermark.marks_of_readers(alice, chat)[sefa.pk].index == 11
    assert len(about(fake, "Orla")) == 3
    child = Job.objects.for_user(alice).get(key=f"extract:{sefa.pk}")
    assert child.result["text"] == (
        "0 new memories from 4 messages. 8 messages without this character were passed over."
    )


def test_everybody_is_asked_where_a_person_wants_that(alice: User, group: Group, fake: FakeModel) -> None:
    ExtractionSettings.objects.filter(user=alice).update(asks_present_only=False)
    make_chat(group, ["Pim: The lamp is out."] * 2)
    read(group)
    assert len(about(fake, "Sefa")) == 1
