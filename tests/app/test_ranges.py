"""Reading only a part: up to here, from here, this range, and what automatic reading leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from memories import events, memory_file, queries, watermark
from memories.events import ReadingBegan, ReadingEnded
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from memories.memory_file import file_for
from memories.models import ExtractionOverride, ExtractionSettings, Revision
from memories.reset_cost import cost_of_reading
from providers.models import Call, Connection
from sync.models import Character
from tests.support import group_story
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.numbered import lines, read, told
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


@pytest.mark.parametrize(
    ("ends", "expected", "left"),
    [
        ([None, 5], [0, 1, 2, 3, 4, 5], [6, 7, 8, 9]),
        ([7, None], [7, 8, 9], [0, 1, 2, 3, 4, 5, 6]),
        ([2, 7], [2, 3, 4, 5, 6, 7], [0, 1, 8, 9]),
        ([3, 3], [3], [0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ([20, 30], [], [*range(10)]),
        ([5, 2], [], [*range(10)]),
        ([-5, 1], [0, 1], [*range(2, 10)]),
    ],
)
def test_only_the_range_is_read_and_the_rest_afterwards(
    flux: Character, fake: FakeModel, ends: list[int | None], expected: list[int], left: list[int]
) -> None:
    chat = make_chat(flux, lines=lines(10))
    job = read(flux, chat=chat, ranges={str(chat.pk): ends})
    assert told(fake) == expected
    assert (job.total, job.result["messages"]) == (len(expected), len(expected))
    read(flux)
    assert told(fake) == left


def test_a_range_is_known_by_its_messages_when_the_chat_changes_while_it_waits(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    chat = make_chat(flux, lines=lines(10))
    start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [3, 6]})
    put_messages(chat, [*lines(2, 50), *lines(5), *lines(5, 5)])
    run_until_idle(alice)
    assert told(fake) == [3, 4, 5, 6]
    start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [None, 3]})
    put_messages(chat, [*lines(3), *lines(8, 10)])
    run_until_idle(alice)
    assert told(fake) == [0, 1]  # number 3 was Word1 when it was asked for


def test_a_wish_without_a_limit_lifts_the_limit_of_a_job_under_way(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    chat, other = make_chat(flux, "one", lines(8)), make_chat(flux, "two", lines(4, 20))
    first = start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [None, 1]})
    also = start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [5, 5]})
    run_until_idle(alice)
    assert first == also and told(fake) == [0, 1, 5]
    start_extraction(alice, character=flux, chat=chat, ranges={str(chat.pk): [None, 2]})
    start_extraction(alice, character=flux, chats=[chat, other])
    run_until_idle(alice)
    assert told(fake) == [2, 3, 4, 6, 7, 20, 21, 22, 23]


def test_automatic_reading_leaves_the_newest_alone_and_reading_by_hand_does_not(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    ExtractionSettings.objects.filter(user=alice).update(leaves_newest=True, newest=3)
    chat = make_chat(flux, lines=lines(10))
    ended: list[ReadingEnded] = []
    events.reading_ended.connect(ended.append)
    job = read(flux, chat=chat, is_automatic=True)
    assert told(fake) == [0, 1, 2, 3, 4, 5, 6] and job.params["automatic"] is True
    assert set(Call.objects.for_user(alice).values_list("is_automatic", flat=True)) == {True}
    assert ended[-1].left_over == {chat.pk: 1}  # of the last three, one was the character's
    read(flux, chat=chat)
    assert told(fake) == [7, 8, 9]
    assert Call.objects.for_user(alice).filter(is_automatic=False).count() == 1
    assert (ended[-1].character_id, ended[-1].chat_ids, ended[-1].left_over) == (flux.pk, [chat.pk], {})


def test_a_person_who_presses_the_button_during_automatic_reading_gets_everything(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    ExtractionSettings.objects.filter(user=alice).update(leaves_newest=True, newest=3)
    chat = make_chat(flux, lines=lines(6))
    start_extraction(alice, character=flux, chat=chat, is_automatic=True)
    job = start_extraction(alice, character=flux, chat=chat)
    assert job.params["automatic"] is False
    start_extraction(alice, character=flux, chat=chat, is_automatic=True)
    run_until_idle(alice)
    assert told(fake) == [0, 1, 2, 3, 4, 5]
    assert not Call.objects.for_user(alice).filter(is_automatic=True).exists()


def test_a_chat_shorter_than_what_is_protected_is_left_alone(alice: User, flux: Character, fake: FakeModel) -> None:
    ExtractionOverride.objects.create(owner=alice, character=flux, values={"leaves_newest": True, "newest": 20})
    chat = make_chat(flux, lines=lines(6))
    assert read(flux, chat=chat, is_automatic=True).result["text"] == "There was nothing new to read."
    assert told(fake) == []


def test_a_characters_own_choices_decide_how_much_goes_into_a_call(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    ExtractionOverride.objects.create(owner=alice, character=flux, values={"messages_per_call": 10})
    make_chat(flux, lines=lines(12))
    read(flux)
    assert len(fake.chats) == 2


def test_a_reading_says_when_it_begins_and_ends(alice: User, flux: Character, fake: FakeModel) -> None:
    began: list[ReadingBegan] = []
    ended: list[ReadingEnded] = []
    events.reading_began.connect(began.append)
    events.reading_ended.connect(ended.append)
    chat = make_chat(flux, lines=lines(4))
    fake.answers("<memory>\n- [Flux — Harrow]\n- Flux happened in Harrow.\n</memory>")
    read(flux)
    assert began[-1] == ReadingBegan(alice.pk, [chat.pk])
    assert ended[-1] == ReadingEnded(alice.pk, flux.pk, [chat.pk], 1, {})


def test_blocks_of_one_job_are_merged_by_topic_where_a_person_wants_that(
    alice: User, flux: Character, fake: FakeModel
) -> None:
    ExtractionSettings.objects.filter(user=alice).update(merge_chunks=True)
    make_chat(flux, lines=lines(12))
    one = "<memory>\n- [Flux — Harrow]\n- Word{} happened in Harrow with Flux.\n</memory>"
    two = "<memory>\n- [Flux — the ferry]\n- Flux saw that Word9 happened in Harrow.\n</memory>"
    fake.answers(one.format(1), one.format(5), two)
    read(flux)
    file = file_for(flux)
    blocks = list(file.blocks.order_by("order"))
    assert [(one.first_index, one.last_index) for one in blocks] == [(0, 7), (8, 11)]
    merged = list(blocks[0].memories.order_by("order"))
    assert [one.text for one in merged] == [
        "[Flux — Harrow]",
        "Word1 happened in Harrow with Flux.",
        "Word5 happened in Harrow with Flux.",
    ]
    assert [one.evidence[0]["index"] // 4 for one in merged[1:]] == [0, 1]
    revisions = Revision.objects.for_user(alice).filter(file=file).order_by("number")
    assert [one.number for one in revisions] == [0, 1, 2, 3, 4]
    assert memory_file.memories_of(file)[0].is_topic


def test_without_that_wish_blocks_stay_apart(alice: User, flux: Character, fake: FakeModel) -> None:
    make_chat(flux, lines=lines(8))
    one = "<memory>\n- [Flux — Harrow]\n- Word{} happened in Harrow with Flux.\n</memory>"
    fake.answers(one.format(1), one.format(5))
    read(flux)
    assert file_for(flux).blocks.count() == 2


def test_the_estimate_counts_messages_calls_tokens_and_money(alice: User, flux: Character, fake: FakeModel) -> None:
    chat = make_chat(flux, lines=lines(10))
    cost = cost_of_reading(alice, character=flux)
    assert (cost.messages, cost.calls, cost.price, cost.is_most) == (10, 3, Decimal(0), False)  # a local model is free
    assert cost.tokens_in > 3 * 500 and cost.tokens_out > 0
    Connection.objects.for_user(alice).update(preset="openai", price_in=2, price_out=4)
    dear = cost_of_reading(alice, character=flux)
    assert dear.price == (Decimal(dear.tokens_in) * 2 + Decimal(dear.tokens_out) * 4) / 1_000_000
    assert [(one.chat, one.messages, one.calls) for one in dear.per_chat] == [(chat.pk, 10, 3)]
    some = cost_of_reading(alice, character=flux, ranges={str(chat.pk): [None, 4]})
    assert (some.messages, some.calls) == (5, 2)
    Connection.objects.for_user(alice).update(preset="custom", price_in=None, price_out=None)
    assert cost_of_reading(alice, character=flux).price is None
    watermark.mark_read(alice, chat, flux, 9)
    assert cost_of_reading(alice, character=flux).messages == 0
    again = cost_of_reading(alice, character=flux, again=True)
    assert (again.messages, again.calls) == (10, 3)
    assert cost_of_reading(alice, character=flux, chats=[chat], ranges={str(chat.pk): [2, 3]}, again=True).messages == 2
    assert queries.reading_of(alice, chat, flux).waiting == 0


def test_the_estimate_of_a_group_is_for_all_members(alice: User, flux: Character, fake: FakeModel) -> None:
    group = group_story.make_group(alice, "Orla", "Pim", "Sefa")
    chat = group_story.make_chat(group, ["Orla: One.", "Pim: Two.", "Sefa: Three."] * 3)
    each = cost_of_reading(alice, group=group)
    assert (each.messages, each.calls, each.is_most) == (9, 9, True)
    ExtractionOverride.objects.create(owner=alice, group=group, values={"group_calls": "together"})
    together = cost_of_reading(alice, group=group)
    assert (together.messages, together.calls) == (9, 3)
    assert together.tokens_in < each.tokens_in
    watermark.mark_read(alice, chat, group_story.members(group)[0], 8)
    assert cost_of_reading(alice, group=group).messages == 9
    assert cost_of_reading(alice, group=group, chats=[]).calls == 0


def test_a_member_is_read_with_ranges_too(alice: User, flux: Character, fake: FakeModel) -> None:
    group = group_story.make_group(alice, "Orla", "Pim")
    chat = group_story.make_chat(group, [f"{'Orla' if n % 2 else 'Pim'}: Word{n} is out." for n in range(6)])
    start_group(alice, group, chats=[chat], ranges={str(chat.pk): [None, 1]})
    run_until_idle(alice)
    assert sorted(told(fake)) == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="neither sits nor speaks"):
        start_extraction(alice, character=flux, chat=chat)
