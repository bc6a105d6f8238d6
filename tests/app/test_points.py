"""The point up to which a chat is read: moved by hand, taken back, inherited by branches, and never reset by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from memories import chat_points, memory_file, queries, unread, watermark
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from memories.memory_file import file_for
from memories.models import ExtractedChunk, ExtractionSettings, Watermark
from memories.reset_cost import cost_of_reading
from memories.unread import unread_among, unread_by_chat
from sync.events import ChatsChanged
from sync.models import Character, Chat, Group
from tests.support import group_story
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.numbered import lines, read, told
from tests.support.pages import soup, words
from tests.support.story import make_character, make_chat, put_messages


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


def branch_of(chat: Chat, name: str, upto: int, more: list[dict[str, Any]]) -> Chat:
    kept = lines(upto + 1)
    return make_chat(chat.character, name, [*kept, *more], parent=chat, fork_index=upto)  # type: ignore[arg-type]


def test_the_point_moves_back_and_forward(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(8))
    read(flux)
    assert told(fake) == list(range(8))
    mark = watermark.move_point(alice, chat, flux, 4)
    assert (mark.index, mark.waiting) == (4, 3)
    assert unread.unread_by_chat(alice, flux)[chat.pk].messages == 3
    read(flux)
    assert told(fake) == [5, 6, 7]
    read(flux)
    assert told(fake) == []
    assert watermark.move_point(alice, chat, flux, -1).waiting == 8
    assert watermark.move_point(alice, chat, flux, 6).waiting == 1
    read(flux)
    assert told(fake) == [7]


def test_the_same_stretch_can_be_paid_for_again_and_again(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(4))
    for _time in range(3):
        read(flux)
        assert told(fake) == [0, 1, 2, 3]
        assert watermark.reopen(alice, chat, flux) == 4
    assert watermark.reopen(alice, chat, flux) == 0
    outcomes = ExtractedChunk.objects.for_user(alice).order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["nothing", "reopened"] * 3


def test_a_range_in_the_middle_is_read_again_and_nothing_else(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(10))
    read(flux)
    told(fake)
    assert watermark.reopen(alice, chat, flux, 3, 5) == 3
    assert queries.reading_of(alice, chat, flux).waiting == 3
    read(flux)
    assert told(fake) == [3, 4, 5]
    read(flux)
    assert told(fake) == []
    assert Watermark.objects.for_user(alice).get().index == 9


def test_memories_stay_when_the_point_goes_back(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(4))
    fake.answers("<memory>\n- [Flux, Alex — Harrow]\n- Flux happened in Harrow.\n</memory>")
    read(flux)
    before = [one.text for one in memory_file.memories_of(file_for(flux))]
    assert len(before) == 2
    watermark.move_point(alice, chat, flux, -1)
    watermark.reset_character(alice, flux)
    assert [one.text for one in memory_file.memories_of(file_for(flux))] == before


def test_a_branch_takes_back_what_it_inherited_and_the_parent_keeps_it(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    chat = make_chat(flux, "parent", lines(8))
    read(flux)
    branch = branch_of(chat, "branch", 5, lines(2, 20))
    assert queries.reading_of(alice, branch, flux).waiting == 2
    read(flux)
    assert told(fake) == [*range(8), 20, 21]
    assert watermark.move_point(alice, branch, flux, 3).waiting == 4  # 4 and 5 lie below the fork
    assert queries.reading_of(alice, chat, flux).waiting == 0
    read(flux)
    assert told(fake) == [4, 5, 20, 21]
    read(flux)
    assert told(fake) == []


def test_a_parent_that_is_read_again_is_not_paid_for_by_its_branch_too(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    chat = make_chat(flux, "parent", lines(6))
    read(flux)
    branch_of(chat, "branch", 5, lines(1, 20))
    read(flux)
    told(fake)
    watermark.reopen(alice, chat, flux)
    read(flux)
    assert told(fake) == [0, 1, 2, 3, 4, 5]


def test_a_branch_of_a_group_inherits_for_each_member(alice: User, flux: Character, fake: FakeModel) -> None:
    ExtractionSettings.objects.filter(user=alice).update(asks_present_only=False)
    group = group_story.make_group(alice, "Orla", "Pim")
    orla, pim = group_story.members(group)
    story = [f"{'Orla' if n % 2 else 'Pim'}: Word{n} of the mill." for n in range(6)]
    chat = group_story.make_chat(group, story, "evening")
    start_extraction(alice, character=orla, chat=chat)
    run_until_idle(alice)
    assert told(fake) == [0, 1, 2, 3, 4, 5]
    branch = group_story.make_chat(
        group, [*story[:4], "Ren: Word20 and out."], "evening two", parent=chat, fork_index=3
    )
    assert {one: part.messages for one, part in unread.unread_by_member(alice, group).items()} == {
        orla.pk: 1,
        pim.pk: 7,
    }
    assert unread.unread_by_group(alice)[group.pk].messages == 7
    start_group(alice, group)
    run_until_idle(alice)
    assert sorted(told(fake)) == sorted([20, 0, 1, 2, 3, 4, 5, 20])
    assert {one.index for one in watermark.marks_of_readers(alice, branch).values()} == {4}
    assert unread.unread_by_group(alice) == {} and unread.unread_in(alice, [chat, branch], pim) == {}


def test_news_from_sillytavern_settle_the_points_of_all_members(alice: User, flux: Character, fake: FakeModel) -> None:
    group = group_story.make_group(alice, "Orla", "Pim")
    story = ["Orla: Word0 of Pim.", "Pim: Word1 of Orla.", "Ren: Word2."]
    chat = group_story.make_chat(group, story)
    start_group(alice, group)
    run_until_idle(alice)
    group_story.put(chat, [*story[1:], "Orla: Word3 again."], start=1)
    chat.refresh_from_db()
    watermark.settle(ChatsChanged(group.tavern.pk, [chat.pk]))
    rows = Watermark.objects.for_user(alice).filter(chat=chat)
    assert {(one.index, one.waiting, one.counted_version) for one in rows} == {(1, 1, chat.version)}


def test_a_reset_forgets_everything_that_was_read(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, "parent", lines(6))
    branch_of(chat, "branch", 3, lines(1, 20))
    read(flux)
    told(fake)
    kept = watermark.reading_of(alice, flux)
    assert watermark.reset_character(alice, flux) == 7  # what the branch shares is read once
    watermark.count_as_read(alice, flux, kept)
    read(flux)
    assert told(fake) == []
    watermark.reset_character(alice, flux)
    read(flux)
    assert told(fake) == [0, 1, 2, 3, 4, 5, 20]


def test_a_reset_of_all_chats_has_each_message_read_once(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel
) -> None:
    chat = make_chat(flux, "parent", lines(6))
    branch = branch_of(chat, "branch", 3, lines(1, 20))
    read(flux)
    told(fake)
    page = soup(alice_client.get(f"/characters/{flux.pk}/reset/"))
    assert "7 messages are read" in words(page)
    wish = chat_points.reset(alice, chat_points.chats_with_reading(alice, flux), flux)
    assert wish.messages == 7
    assert {pk: one.messages for pk, one in unread_by_chat(alice, flux).items()} == {chat.pk: 6, branch.pk: 1}
    assert unread_among(alice, [chat, branch], [flux]) == {(chat.pk, flux.pk): 6, (branch.pk, flux.pk): 1}
    assert cost_of_reading(alice, character=flux).messages == 7
    job = start_extraction(alice, character=flux)
    assert job.total == 7
    run_until_idle(alice)
    assert told(fake) == [0, 1, 2, 3, 4, 5, 20]
    assert unread_by_chat(alice, flux) == {}


def test_what_a_branch_alone_is_to_read_again_is_counted_there(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, "parent", lines(6))
    branch = branch_of(chat, "branch", 3, lines(1, 20))
    read(flux)
    chat_points.reset(alice, [branch], flux)
    assert {pk: one.messages for pk, one in unread_by_chat(alice, flux).items()} == {branch.pk: 5}


def test_a_reset_taken_back_leaves_what_was_read_anew_alone(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(4))
    read(flux)
    watermark.reopen(alice, chat, flux, 2)
    kept = watermark.reading_of(alice, flux)
    watermark.reset_character(alice, flux)
    read(flux)
    told(fake)
    watermark.count_as_read(alice, flux, kept)
    read(flux)
    assert told(fake) == []


def test_nothing_resets_when_a_chat_shrinks_to_its_header(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(6))
    read(flux)
    put_messages(chat, [])
    watermark.settle(ChatsChanged(flux.tavern.pk, [chat.pk]))
    read(flux)
    put_messages(chat, lines(6))
    watermark.settle(ChatsChanged(flux.tavern.pk, [chat.pk]))
    read(flux)
    assert told(fake) == [0, 1, 2, 3, 4, 5]


def test_an_old_backup_that_grows_again_reads_only_what_is_new(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(8))
    read(flux)
    told(fake)
    put_messages(chat, lines(4))
    watermark.settle(ChatsChanged(flux.tavern.pk, [chat.pk]))
    read(flux)
    put_messages(chat, [*lines(4), *lines(3, 30)])
    watermark.settle(ChatsChanged(flux.tavern.pk, [chat.pk]))
    read(flux)
    assert told(fake) == [30, 31, 32]


def test_a_file_that_is_gone_resets_nothing(alice: User, flux: Character, fake: FakeModel) -> None:
    """The memory file is no measure of what was read (problem reports 1 and 4)."""
    make_chat(flux, lines=lines(4))
    fake.answers("<memory>\n- [Flux — Harrow]\n- Flux happened in Harrow.\n</memory>")
    read(flux)
    told(fake)
    file_for(flux).delete()
    read(flux)
    assert told(fake) == []


def test_a_stranger_is_no_reader(alice: User, bob: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(4))
    assert watermark.marks_of_readers(alice, chat)[flux.pk].waiting == 4
    read(flux)
    assert watermark.marks_of_readers(alice, chat)[flux.pk].index == 3
    assert watermark.reopen(bob, chat, flux) == 0
    assert watermark.reset_character(bob, flux) == 0
    assert queries.reading_of(alice, chat, flux).waiting == 0


def test_group_points_move_for_one_member_only(alice: User, flux: Character, fake: FakeModel) -> None:
    group: Group = group_story.make_group(alice, "Orla", "Pim")
    orla, pim = group_story.members(group)
    chat = group_story.make_chat(group, ["Orla: Word0 of Pim.", "Pim: Word1 of Orla."])
    start_group(alice, group)
    run_until_idle(alice)
    told(fake)
    watermark.move_point(alice, chat, orla, 0)
    assert {pk: one.waiting for pk, one in watermark.marks_of_readers(alice, chat).items()} == {orla.pk: 1, pim.pk: 0}
    start_group(alice, group)
    run_until_idle(alice)
    assert told(fake) == [1]
