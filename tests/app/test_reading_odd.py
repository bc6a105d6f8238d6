"""What may happen to a memory while a chat is read into it: chosen otherwise, forgotten, decided twice, taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import (
    editing,
    extraction_group,
    forgetting,
    held,
    memory_file,
    queries,
    scope_change,
    sharing,
    together,
    watermark,
)
from memories import extraction_chunk as chunks
from memories.extraction import start_extraction
from memories.extraction_verdict import Findings, Held
from memories.file_editor import NewMemory
from memories.memory_file import file_for
from memories.models import ExtractedChunk, ExtractionOverride, ExtractionSettings, HeldMemory, Snapshot
from memories.scopes import scope_of, share_of
from sync.models import Character, Chat
from tests.support import group_story
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.numbered import lines, told
from tests.support.story import make_character, make_chat, put_messages

MEMORY = "<memory>\n- [Flux, Alex — Harrow]\n- Flux came to Harrow with Alex.\n</memory>"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return make_character(alice)


def during_the_call(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None], module: Any = chunks) -> None:
    """Something happens while the model thinks about the first chunk."""
    original, left = module.ask, [what]

    def ask(*args: Any) -> Any:
        answer = original(*args)
        if left:
            left.pop()()
        return answer

    monkeypatch.setattr(module, "ask", ask)


def finish(user: User, job: Job) -> Job:
    run_until_idle(user)
    job.refresh_from_db()
    return job


@pytest.mark.parametrize("is_together", [False, True])
def test_a_memory_is_not_divided_while_its_group_is_read(alice: User, flux: Character, *, is_together: bool) -> None:
    group = group_story.make_group(alice, "Orla", "Pim")
    group_story.make_chat(group, ["Orla: Hello.", "Pim: Good evening."])
    if is_together:
        ExtractionOverride.objects.create(owner=alice, group=group, values={"group_calls": "together"})
    extraction_group.start_group(alice, group)
    orla, pim = group_story.members(group)
    with pytest.raises(ValueError, match="being read"):
        scope_change.choose(alice, orla, "chat", "shared")
    with pytest.raises(ValueError, match="being read"):
        sharing.share(alice, orla, pim, takes_along=False)
    assert scope_of(orla).scope == "all" and share_of(orla) is None
    run_until_idle(alice)
    scope_change.choose(alice, orla, "chat", "shared")


def test_a_choice_is_not_taken_back_while_chats_are_read(alice: User, flux: Character) -> None:
    chat = make_chat(flux, "Tea", lines(4))
    done = scope_change.choose(alice, flux, "chat", "shared")
    start_extraction(alice, character=flux, chat=chat)
    with pytest.raises(ValueError, match="being read"):
        scope_change.undo(alice, flux, done)
    assert scope_of(flux).scope == "chat"


def test_forgetting_a_chat_takes_along_what_was_injected_into_it(alice: User, flux: Character) -> None:
    chat, other = make_chat(flux, "Tea", lines(4)), make_chat(flux, "Dinner", lines(4))
    for one in (chat, other):
        data = {"memories": [{"text": "the canary sings"}]}
        Snapshot.objects.create(owner=alice, chat=one, identity="i", index=1, source="charmemory", data=data)
    forgetting.forget(alice, chat)
    assert list(Snapshot.objects.for_user(alice).values_list("chat", flat=True)) == [other.pk]


def hold(file: Any, chat: Chat, *texts: str) -> list[HeldMemory]:
    found = Findings([], held=[Held(NewMemory(one), "") for one in texts])
    held.write(file, found, chat=chat, label=chat.name, date="2026-03-01 18:00", first_index=0, last_index=3)
    return list(HeldMemory.objects.for_user(file.owner).filter(text__in=texts))


def facts(character: Character) -> list[str]:
    return [one.text for one in memory_file.memories_of(file_for(character)) if not one.is_topic]


def test_two_tabs_accept_once(alice: User, flux: Character) -> None:
    rows = hold(file_for(flux), make_chat(flux, "Tea", lines(4)), "Flux was wet.")
    stale = list(rows)
    held.decide(alice, rows, held.ACCEPT)
    for decision in (held.ACCEPT, held.REFUSE):
        with pytest.raises(ValueError, match="decided already"):
            held.decide(alice, stale, decision)
    assert facts(flux) == ["Flux was wet."]


def test_an_undo_that_comes_twice_takes_back_once(alice: User, flux: Character) -> None:
    rows = hold(file_for(flux), make_chat(flux, "Tea", lines(4)), "Flux was wet.")
    first = held.decide(alice, rows, held.ACCEPT)
    assert held.undo(alice, first.at, first.batch) == 1
    held.decide(alice, rows, held.ACCEPT)
    try:
        again = held.undo(alice, first.at, first.batch)
    except ValueError:
        again = 0
    assert again == 0
    assert facts(flux) == ["Flux was wet."], "the second decision stands"
    assert HeldMemory.objects.for_user(alice).get().state == "accepted"


def test_what_was_held_survives_the_undo_of_its_reading(alice: User, flux: Character) -> None:
    chat, file = make_chat(flux, "Tea", lines(4)), file_for(flux)
    with memory_file.change(file, reason="Extracted") as editor:
        editor.add_block("Tea", ["Flux sang."], origin="extracted", chat=chat, first_index=0, last_index=3)
    rows = hold(file, chat, "Flux was wet.")
    editing.undo(alice, file, file.version)
    chat.gone_at = chat.created_at
    chat.save()
    held.decide(alice, rows, held.ACCEPT)
    assert facts(flux) == ["Flux was wet."]


def test_what_was_held_does_not_come_back_when_its_chat_was_forgotten(alice: User, flux: Character) -> None:
    chat = make_chat(flux, "Tea", lines(4))
    rows = hold(file_for(flux), chat, "Flux was wet.")
    forgetting.forget(alice, chat)
    with pytest.raises(ValueError, match="decided already"):
        held.decide(alice, rows, held.ACCEPT)
    assert facts(flux) == []


def test_a_refusal_of_an_accepted_memorys_undo_keeps_the_file(alice: User, flux: Character) -> None:
    rows = hold(file_for(flux), make_chat(flux, "Tea", lines(4)), "Flux was wet.")
    done = held.decide(alice, rows, held.ACCEPT)
    file = file_for(flux)
    file.refresh_from_db()
    with memory_file.change(file, reason="Edited", author=alice) as editor:
        editor.add_block("Later", ["Flux sang."], origin="written")
    held.undo(alice, done.at, done.batch)
    assert facts(flux) == ["Flux sang."]


def test_a_point_moved_during_a_call_is_not_moved_back(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forward past what is being read: the rest counts as read, and is not asked about."""
    chat = make_chat(flux, "Tea", lines(12))
    during_the_call(monkeypatch, lambda: void(watermark.move_point(alice, chat, flux, 9)))
    job = finish(alice, start_extraction(alice, character=flux, chat=chat))
    assert job.state == Job.State.DONE, job.error
    assert told(fake) == [0, 1, 2, 3, 10, 11]
    assert queries.reading_of(alice, chat, flux).waiting == 0


@pytest.mark.parametrize("what", ["point", "reopen", "reset chat", "reset character"])
def test_what_is_taken_back_during_a_call_is_read_again_once_at_most(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    chat = make_chat(flux, "Tea", lines(12))
    fake.answers(MEMORY)
    finish(alice, start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [0, 3]}))
    fake.requests.clear()
    acts: dict[str, Callable[[], object]] = {
        "point": lambda: watermark.move_point(alice, chat, flux, -1),
        "reopen": lambda: watermark.reopen(alice, chat, flux, 0, 3),
        "reset chat": lambda: watermark.read_again(alice, chat, flux),
        "reset character": lambda: watermark.reset_character(alice, flux),
    }
    during_the_call(monkeypatch, lambda: void(acts[what]()))
    job = finish(alice, start_extraction(alice, character=flux, chat=chat))
    assert job.state == Job.State.DONE, job.error
    assert sorted(told(fake)) == list(range(12)), "each message once"
    assert queries.reading_of(alice, chat, flux).waiting == 0
    assert facts(flux) == ["Flux came to Harrow with Alex."]


def void(_result: object) -> None:
    return None


def test_what_was_reset_and_given_back_during_a_call_is_not_paid_for_again(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat(flux, "Tea", lines(12))
    finish(alice, start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [0, 3]}))
    fake.requests.clear()

    def there_and_back() -> None:
        kept = watermark.reading_of(alice, flux)
        watermark.reset_character(alice, flux)
        watermark.count_as_read(alice, flux, kept)

    during_the_call(monkeypatch, there_and_back)
    assert finish(alice, start_extraction(alice, character=flux, chat=chat)).state == Job.State.DONE
    assert sorted(told(fake)) == list(range(4, 12))


def test_a_reset_that_is_taken_back_after_the_same_was_read_again_pays_nothing_more(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    chat = make_chat(flux, "Tea", lines(8))
    finish(alice, start_extraction(alice, character=flux, chat=chat))
    kept = watermark.reading_of(alice, flux)
    watermark.reset_character(alice, flux)
    finish(alice, start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [2, 5]}))
    watermark.count_as_read(alice, flux, kept)
    fake.requests.clear()
    watermark.reopen(alice, chat, flux, 0, 7)
    job = finish(alice, start_extraction(alice, character=flux, chat=chat))
    assert (job.state, sorted(told(fake))) == (Job.State.DONE, list(range(8))), job.error


@pytest.mark.parametrize("kept", [0, 2, 6])
def test_a_chat_that_shrinks_during_a_call_and_comes_back(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    chat = make_chat(flux, "Tea", lines(12))

    def shrink() -> None:
        put_messages(Chat.objects.for_user(alice).get(pk=chat.pk), lines(kept))

    during_the_call(monkeypatch, shrink)
    job = finish(alice, start_extraction(alice, character=flux, chat=chat))
    assert job.state == Job.State.DONE, job.error
    put_messages(Chat.objects.for_user(alice).get(pk=chat.pk), lines(12))
    job = finish(alice, start_extraction(alice, character=flux, chat=chat))
    assert job.state == Job.State.DONE, job.error
    assert sorted(told(fake)) == list(range(12)), "each message once"


def test_a_chat_that_is_forgotten_during_a_call_leaves_nothing(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat(flux, "Tea", lines(8))
    fake.answers(MEMORY)
    during_the_call(monkeypatch, lambda: void(forgetting.forget(alice, chat)))
    assert finish(alice, start_extraction(alice, character=flux, chat=chat)).state == Job.State.DONE
    assert facts(flux) == [] and told(fake) == [0, 1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_a_card_that_goes_during_a_call_ends_with_a_sentence(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat(flux, "Tea", lines(8))
    during_the_call(monkeypatch, lambda: void(Character.objects.for_user(alice).filter(pk=flux.pk).delete()))
    job = finish(alice, start_extraction(alice, character=flux, chat=chat))
    assert (job.state, job.error_type) == (Job.State.FAILED, "gone")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_together", [False, True])
def test_a_group_that_goes_during_a_call(
    alice: User, flux: Character, fake: FakeModel, monkeypatch: pytest.MonkeyPatch, *, is_together: bool
) -> None:
    group = group_story.make_group(alice, "Orla", "Pim", tavern=flux.tavern)
    group_story.make_chat(group, [f"{name}: Word{n} said." for n in range(8) for name in ("Orla", "Pim")])
    fake.answers(MEMORY)
    if is_together:
        ExtractionOverride.objects.create(owner=alice, group=group, values={"group_calls": "together"})
    during_the_call(monkeypatch, lambda: void(group.delete()), module=together if is_together else chunks)
    job = finish(alice, extraction_group.start_group(alice, group))
    states = [(one.state, one.error_type) for one in ([job] if not job.is_batch else job.children.all())]
    assert all(one in ((Job.State.DONE, ""), (Job.State.FAILED, "gone")) for one in states), states
    assert not Job.objects.for_user(alice).filter(state__in=Job.ACTIVE).exists()


def test_two_groups_of_the_same_people_and_their_own_chats_are_each_read_once(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    group = group_story.make_group(alice, "Orla", "Pim", tavern=flux.tavern)
    group_story.make_chat(group, ["Orla: The first lamp.", "Pim: The first oil."])
    twin = group.__class__.objects.create(tavern=group.tavern, file_id="twin", name="The wardens")
    for seat in group.members.all():
        twin.members.create(avatar=seat.avatar, character=seat.character, position=seat.position)
    group_story.make_chat(twin, ["Orla: The second lamp.", "Pim: The second oil."], "of the twin")
    orla = group_story.members(group)[0]
    own = make_chat(orla, "alone", lines(4))
    jobs = [
        start_extraction(alice, character=orla, chat=own),
        extraction_group.start_group(alice, group),
        extraction_group.start_group(alice, twin),
    ]
    assert len({job.pk for job in jobs}) == 3
    assert Job.objects.for_user(alice).filter(key=f"extract:{orla.pk}", state__in=Job.ACTIVE).count() == 1
    for job in jobs:
        assert finish(alice, job).state == Job.State.DONE
    rows = list(ExtractedChunk.objects.for_user(alice).values_list("chat__name", "character__name"))
    assert len(rows) == len(set(rows)) == 5
