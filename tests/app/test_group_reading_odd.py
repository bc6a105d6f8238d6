"""Groups with odd members, odd messages and odd scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.enqueue import request_cancel
from jobs.models import Job
from memories import unread, watermark
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from memories.members import roster
from memories.models import ExtractedChunk, ExtractionSettings, MemberChoice
from sync.models import Character, Group, Message
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.group_story import make_chat, make_group, members
from tests.support.story import make_character


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def reader(alice: User, fake: FakeModel) -> User:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice)
    return alice


def read(group: Group, **wish: Any) -> Job:
    job = start_group(group.tavern.owner, group, **wish)
    run_until_idle(group.tavern.owner)
    job.refresh_from_db()
    return job


def about(fake: FakeModel, name: str) -> list[str]:
    """The prompts that asked what this member remembers."""
    return [one for one in fake.prompts() if f"Write down what {name}, and only {name}," in one]


def shown(prompt: str) -> list[str]:
    """The lines of the conversation in a prompt."""
    material = prompt.partition(" MESSAGES: the only")[2]
    return [line for line in material.splitlines() if line[:1] == "#"]


def others(prompt: str) -> list[str]:
    return prompt.partition("OTHER PARTICIPANTS\n")[2].partition("\n[")[0].splitlines()


def test_a_group_whose_members_were_all_deleted(reader: User) -> None:
    group = make_group(reader, "Orla", "Pim")
    chat = make_chat(group, ["Orla: The lamp is out.", "Pim: So it is."])
    for one in members(group):
        one.delete()
    with pytest.raises(ValueError, match="Nobody in The wardens has a card any more"):
        start_group(reader, group)
    assert watermark.marks_of_readers(reader, chat) == {}
    assert unread.unread_by_member(reader, group) == {} and unread.unread_by_group(reader) == {}


def test_members_that_go_while_the_job_waits_end_their_part_with_a_sentence(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Orla", "Pim")
    make_chat(group, ["Orla: The lamp is out.", "Pim: So it is."])
    job = start_group(reader, group)
    members(group)[0].delete()
    run_until_idle(reader)
    states = {one.label: (one.state, one.error) for one in job.children.all()}
    assert states == {
        "Orla (1 of 2)": (Job.State.FAILED, "This character is no longer in CharMem; nothing more was read."),
        "Pim (2 of 2)": (Job.State.DONE, ""),
    }


def test_two_members_of_one_name_keep_apart(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Lilith=Lilith.png", "Lilith=Lilith1.png")
    first, second = members(group)
    chat = make_chat(group, ["Ren: Hello.", "Lilith: The tower is mine."])
    chat.messages.filter(index=1).update(sender_avatar="Lilith1.png")
    read(group)
    assert len(fake.chats) == 1  # only one of them was there
    assert (first.extracted_chunks.get().outcome, second.extracted_chunks.get().outcome) == ("absent", "nothing")
    assert "[Lilith1" not in fake.prompts()[0] and others(fake.prompts()[0]) == ["Ren", "Lilith"]


def test_a_muted_member_and_one_who_only_spoke_remember_too(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Orla", "Pim")
    guest = make_character(reader, "Sefa", group.tavern)
    group.members.filter(avatar="Pim.png").update(is_disabled=True)
    chat = make_chat(group, ["Orla: Pim, the lamp.", "Guest: Sefa has it."])
    chat.messages.filter(index=1).update(role="character", name="Sefa", sender_avatar="Sefa.png")
    job = read(group)
    assert [one.label for one in job.children.order_by("label")] == ["Orla (1 of 3)", "Pim (2 of 3)", "Sefa (3 of 3)"]
    assert guest.extracted_chunks.get().outcome == "nothing"
    assert others(about(fake, "Sefa")[0]) == ["Ren" if group.tavern.persona_name else "Orla", "Pim"][-2:]


def test_whoever_a_person_left_out_is_not_asked(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Orla", "Pim")
    MemberChoice.objects.create(group=group, speaker="Pim.png", kind=MemberChoice.Kind.LEFT_OUT)
    make_chat(group, ["Orla: The lamp is out.", "Pim: So it is."])
    read(group)
    assert about(fake, "Pim") == [] and len(about(fake, "Orla")) == 1
    assert [one.name for one in roster(reader, group).characters] == ["Orla"]


def test_a_persona_that_changes_in_mid_chat_is_named_with_both_names(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Orla", "Pim")
    make_chat(group, ["Ren: I am Ren.", "Orla: Hello Ren.", "Captain Ash: Now I am Ash.", "Pim: Orla, who is that?"])
    read(group)
    assert others(about(fake, "Orla")[0]) == ["Ren", "Captain Ash", "Pim"]


@pytest.mark.parametrize("is_together", [False, True])
def test_messages_without_a_word_are_passed_over(reader: User, fake: FakeModel, *, is_together: bool) -> None:
    if is_together:
        ExtractionSettings.objects.filter(user=reader).update(group_calls="together")
    group = make_group(reader, "Orla", "Pim")
    chat = make_chat(group, ["Orla: ", "Pim:  \n ", "Orla: <img src='x.png'>", "Pim: <think>I wonder.</think>"])
    job = read(group)
    assert job.state == Job.State.DONE and fake.chats == []
    assert {one.index for one in watermark.marks_of_readers(reader, chat).values()} == {3}
    assert set(ExtractedChunk.objects.for_user(reader).values_list("outcome", flat=True)) == {"empty"}


def test_narrators_are_shown_and_notices_are_not(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Orla", "Pim")
    chat = make_chat(
        group, ["Ren: Go on.", "Storyteller: Orla hears the bell.", "Note: Group chat muted.", "Pim: Orla?"]
    )
    chat.messages.filter(index=1).update(role=Message.Role.SYSTEM)
    chat.messages.filter(index=2).update(role=Message.Role.SYSTEM, name="")
    read(group)
    assert [line.split()[0] for line in shown(about(fake, "Orla")[0])] == ["#0", "#1", "#3"]
    assert others(about(fake, "Orla")[0]) == ["Ren", "Pim"]  # a narrator is nobody who was there


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("小雪", "昨天小雪来过磨坊。"),
        ("נועה", "נועה הלכה לטחנה בשחר."),
        ("נור", "ذهبت נור إلى الطاحونة"),
        ("Ayşe", "AYŞE değirmene gitti."),
    ],
)
def test_scripts_from_right_to_left_and_without_spaces(reader: User, fake: FakeModel, name: str, text: str) -> None:
    group = make_group(reader, name, "Pim")
    make_chat(group, [f"Pim: {text}"])
    read(group)
    assert text in about(fake, name)[0]


def test_the_others_are_not_told_what_was_said_before_they_came(reader: User, fake: FakeModel) -> None:
    """A whole call's length, of which a member was there for the end only."""
    group = make_group(reader, "Orla", "Pim", "Sefa")
    before = [f"{'Orla' if n % 2 else 'Pim'}: The lantern{n} burns." for n in range(12)]
    make_chat(group, [*before, "Sefa: Good evening.", "Pim: Welcome."])
    read(group)
    assert len(about(fake, "Sefa")) == 1
    assert [line.split()[0] for line in shown(about(fake, "Sefa")[0])] == ["#12", "#13"]
    assert len(shown(about(fake, "Orla")[0])) == 14


def test_a_job_of_ones_own_takes_the_groups_chats_along(reader: User, fake: FakeModel) -> None:
    group = make_group(reader, "Orla", "Pim")
    orla = members(group)[0]
    make_chat(group, ["Orla: The lamp is out.", "Pim: So it is, Orla."])
    own = start_extraction(reader, character=orla)
    job = start_group(reader, group)
    assert [one.label for one in job.children.all()] == ["Pim (2 of 2)"]
    run_until_idle(reader)
    own.refresh_from_db()
    assert (own.state, own.result["messages"]) == (Job.State.DONE, 2)
    assert len(fake.chats) == 2
    start_group(reader, group)
    assert start_group(reader, group).children.count() == 2
    run_until_idle(reader)
    assert len(fake.chats) == 2


def test_a_stopped_group_keeps_what_is_done_and_goes_on_later(reader: User, fake: FakeModel) -> None:
    ExtractionSettings.objects.filter(user=reader).update(messages_per_call=2)
    group = make_group(reader, "Orla")
    make_chat(group, [f"Orla: The lantern{n} burns." for n in range(6)])
    job = start_group(reader, group)
    from jobs.chunk import run_next

    run_next(reader)
    request_cancel(job)
    run_until_idle(reader)
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED and len(fake.chats) == 1
    read(group)
    numbers = [line.split()[0] for prompt in fake.prompts() for line in shown(prompt)]
    assert numbers == [f"#{n}" for n in range(6)]


def test_bobs_groups_are_not_alices(reader: User, bob: User) -> None:
    group = make_group(reader, "Orla")
    chat = make_chat(group, ["Orla: The lamp is out."])
    make_connection(bob)
    with pytest.raises(ValueError, match="Nobody in The wardens"):
        start_group(bob, group)
    assert unread.unread_by_group(bob) == {}
    assert unread.unread_in(bob, [chat], Character.objects.for_user(reader).get()) == {}
