"""One call for all members of a group: each block goes to the member that it names, or to nobody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.enqueue import retry
from jobs.models import Job
from jobs.run import JobRun
from memories import memory_file, together, watermark
from memories.extraction import start_extraction
from memories.extraction_call import Read
from memories.extraction_group import start_group
from memories.extraction_plan import Question
from memories.extraction_write import Share
from memories.memory_file import file_for
from memories.models import ExtractedChunk, ExtractionSettings
from memories.transcript import Chunk
from providers.models import Call
from sync.models import Character, Group
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.group_story import make_chat, make_group, members, put

TALK = ["Ren: Who goes?", "Orla: Orla goes at dawn.", "Pim: Pim carries the lamp.", "Sefa: Sefa locks the gate."]
BOTH = (
    '<memory character="Orla">\n- [Orla, Pim — the lamp]\n- Orla went at dawn.\n</memory>\n'
    '<memory character="Pim">\n- [Pim, Orla — the lamp]\n- Pim carried the lamp.\n</memory>'
)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def group(alice: User, fake: FakeModel) -> Group:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4, group_calls="together")
    return make_group(alice, "Orla", "Pim", "Sefa")


def read(group: Group) -> Job:
    owner = group.tavern.owner
    job = start_group(owner, group)
    run_until_idle(owner)
    job.refresh_from_db()
    return job


def facts(character: Character) -> list[str]:
    return [one.text for one in memory_file.memories_of(file_for(character)) if not one.is_topic]


def test_one_call_fills_several_files(alice: User, group: Group, fake: FakeModel) -> None:
    chat = make_chat(group, TALK)
    orla, pim, sefa = members(group)
    fake.answers(BOTH)
    job = read(group)
    assert (job.state, job.kind, job.error) == (Job.State.DONE, "extract_together", "")
    assert (job.step, job.total) == (4, 4)
    assert len(fake.chats) == 1
    assert "still remember months from now: Orla, Pim, Sefa." in fake.prompts()[0]
    assert (facts(orla), facts(pim), facts(sefa)) == (["Orla went at dawn."], ["Pim carried the lamp."], [])
    assert {one.index for one in watermark.marks_of_readers(alice, chat).values()} == {3}
    assert dict(ExtractedChunk.objects.for_user(alice).values_list("character__name", "outcome")) == {
        "Orla": "memories",
        "Pim": "memories",
        "Sefa": "nothing",
    }
    assert Call.objects.for_user(alice).get().subject == f"group:{group.pk}/chat:{chat.pk}"
    assert job.result["text"] == "2 new memories from 4 messages."
    assert file_for(orla).blocks.get().prompt_version == "extraction_together 1.0"
    assert read(group).result["text"] == "There was nothing new to read." and len(fake.chats) == 1


@pytest.mark.parametrize(
    "answer",
    [
        BOTH.replace(' character="Pim"', ""),
        BOTH.replace('"Pim"', '"Pimm"'),
        BOTH.replace('"Pim"', '"Ren"'),
        f"- Orla liked the lamp a lot.\n{BOTH}",
    ],
)
def test_a_block_of_nobody_is_asked_for_once_more_and_then_fails(
    alice: User, group: Group, fake: FakeModel, answer: str
) -> None:
    make_chat(group, TALK)
    fake.answers(answer, answer)
    job = read(group)
    assert (job.state, job.error_type) == (Job.State.FAILED, "answer_unreadable")
    assert len(fake.chats) == 2
    assert not ExtractedChunk.objects.for_user(alice).exists()
    assert [facts(one) for one in members(group)] == [[], [], []]
    fake.answers(answer, BOTH)
    assert retry(job)
    run_until_idle(alice)
    assert facts(members(group)[1]) == ["Pim carried the lamp."]


def test_the_absent_are_not_named_and_get_nothing(alice: User, group: Group, fake: FakeModel) -> None:
    chat = make_chat(group, ["Orla: The lamp is out.", "Pim: So it is."])
    sefa = members(group)[2]
    fake.answers(BOTH.replace('"Pim"', '"Sefa"'), BOTH)
    read(group)
    assert "months from now: Orla, Pim." in fake.prompts()[0]
    assert len(fake.chats) == 2 and facts(sefa) == []
    assert sefa.extracted_chunks.get().outcome == "absent"
    put(chat, ["Orla: The lamp is out.", "Pim: So it is.", "Ren: Hm."])
    read(group)
    assert len(fake.chats) == 2
    assert {one.index for one in watermark.marks_of_readers(alice, chat).values()} == {2}


def test_whoever_is_ahead_is_not_asked_again(alice: User, group: Group, fake: FakeModel) -> None:
    ExtractionSettings.objects.filter(user=alice).update(asks_present_only=False)
    chat = make_chat(group, [*TALK, *TALK])
    orla, pim, _sefa = members(group)
    watermark.mark_read(alice, chat, orla, 5)
    start_extraction(alice, character=pim, chat=chat, ranges={str(chat.pk): [None, 3]})
    run_until_idle(alice)
    fake.requests.clear()
    read(group)
    asked = [one.partition("months from now: ")[2].partition(".")[0] for one in fake.prompts()]
    assert asked == ["Sefa", "Pim, Sefa", "Orla, Pim, Sefa"]
    shown = [[line[:2] for line in one.splitlines() if line[:1] == "#"] for one in fake.prompts()]
    assert shown == [["#0", "#1", "#2", "#3"], ["#4", "#5"], ["#6", "#7"]]


def test_two_of_one_name_are_told_apart_by_number(alice: User, fake: FakeModel) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, group_calls="together")
    group = make_group(alice, "Orla=Orla.png", "Orla=Orla1.png")
    make_chat(group, ["Orla: The lamp is out.", "Ren: Which Orla is that?"])
    first, second = members(group)
    fake.answers('<memory character="Orla (2)">\n- [Orla, Ren — the lamp]\n- Orla put out the lamp.\n</memory>')
    read(group)
    assert "months from now: Orla, Orla (2)." in fake.prompts()[0]
    assert (facts(first), facts(second)) == ([], ["Orla put out the lamp."])


def test_a_member_that_left_meanwhile_does_not_stop_the_others(alice: User, group: Group, fake: FakeModel) -> None:
    make_chat(group, TALK)
    job = start_group(alice, group)
    members(group)[0].delete()
    run_until_idle(alice)
    job.refresh_from_db()
    assert job.state == Job.State.DONE and "months from now: Pim, Sefa." in fake.prompts()[0]


def test_two_jobs_at_once_keep_what_the_first_one_heard(
    alice: User, group: Group, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member's own job and the one for all ask about the same stretch at the same time."""
    chat = make_chat(group, TALK)
    orla = members(group)[0]
    start_group(alice, group)
    ask = together.ask

    def slowly(run: JobRun, question: Question) -> Read:
        answer = ask(run, question)
        start_extraction(alice, character=orla, chat=chat)
        run_until_idle(alice)
        return answer

    monkeypatch.setattr(together, "ask", slowly)
    fake.answers(BOTH, "<memory>\n- [Orla — the lamp]\n- Orla went at noon.\n</memory>")
    run_until_idle(alice)
    assert facts(orla) == ["Orla went at noon."] and facts(members(group)[1]) == ["Pim carried the lamp."]
    assert list(orla.extracted_chunks.values_list("outcome", flat=True)) == ["memories"]


def test_what_one_member_cannot_keep_nobody_keeps(
    alice: User, group: Group, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies while the second of three is written: all of them are as before, and later all are written."""
    make_chat(group, TALK)
    fake.answers(BOTH)
    write = together.write_share

    def die(run: JobRun, chunk: Chunk, share: Share, call: Call) -> None:
        if share.character.name == "Pim":
            raise KeyboardInterrupt
        write(run, chunk, share, call)

    monkeypatch.setattr(together, "write_share", die)
    start_group(alice, group)
    with pytest.raises(KeyboardInterrupt):
        run_until_idle(alice)
    assert facts(members(group)[0]) == [] and not ExtractedChunk.objects.for_user(alice).exists()
