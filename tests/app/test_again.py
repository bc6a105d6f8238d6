"""A stretch read again: what was found waits for a review, and replaces the old memories or stands beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from memories import again, editing, forgetting, memory_file, proposals, queries, source_changes, watermark
from memories.again_range import range_of
from memories.memory_file import file_for
from memories.models import ExtractedChunk, ExtractionSettings, Memory, MemoryBlock, Proposal, Revision
from providers.models import Call, Connection
from sync.events import ChatsChanged
from sync.models import Character, Chat, Message
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.pages import soup, toast, words
from tests.support.reading import read
from tests.support.story import make_character, make_chat, put_messages

LANTERN = "Flux keeps a brass lantern in Harrow."
BOAT = "Alex sold the boat in Harrow."
CARD = "Flux is a cat of Alex."
NEW_LANTERN = "<memory>\n- [Flux, Alex — the lantern]\n- Flux keeps a brass lantern in Harrow at night.\n</memory>"
NEW_SONG = "<memory>\n- Alex sang for Flux in Harrow.\n</memory>"
NOTHING = "NO_NEW_MEMORIES"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return make_character(alice)


def lines(count: int) -> list[dict[str, Any]]:
    said = "Word{n} happened in Harrow to Alex and Flux: a brass lantern at night, a song, a boat."
    return [
        {"text": said.format(n=n), "raw_date": f"d{n:04d}", "role": "user" if n % 2 else "character"}
        for n in range(count)
    ]


@pytest.fixture
def chat(flux: Character) -> Chat:
    """Eight messages that were read; two memories came from #0 to #3, one from #4 to #7."""
    made = make_chat(flux, "Tea", lines(8))
    read(made, flux, 0, 3)
    read(made, flux, 4, 7)
    file = file_for(flux)
    with memory_file.change(file, reason="Extracted", author=flux.tavern.owner) as editor:
        first = [_new(made, LANTERN, 1), _new(made, BOAT, 2)]
        editor.add_block("Tea", first, origin="extracted", chat=made, first_index=0, last_index=3)
        editor.add_block("Tea", [_new(made, CARD, 5)], origin="extracted", chat=made, first_index=4, last_index=7)
    return made


def _new(chat: Chat, text: str, index: int) -> memory_file.NewMemory:
    message = chat.messages.get(index=index)
    item = {"identity": message.identity, "index": index, "quote": "", "content": message.content}
    return memory_file.NewMemory(text, evidence=[item])


def texts(user: User) -> list[str]:
    rows = Memory.objects.for_user(user).filter(is_topic=False).order_by("block__order", "order")
    return list(rows.values_list("text", flat=True))


def reread(user: User, chat: Chat, character: Character, first: int, last: int, mode: str = "replace") -> Proposal:
    proposal = again.start_again(user, range_of(user, chat, first, last), character, mode=mode)
    run_until_idle(user)
    proposal.refresh_from_db()
    return proposal


def fate(page: Any) -> dict[str, str]:
    rows = page.select(".old-memory")
    return {words(one.select_one(".memory-text")): words(one.select_one(".badge")) for one in rows}


def test_the_page_of_a_stretch_says_what_is_there_and_what_reading_costs(
    alice_client: Client, flux: Character, chat: Chat
) -> None:
    watermark.reopen(flux.tavern.owner, chat, flux, 3, 4)
    page = soup(alice_client.get(f"/chats/{chat.pk}/range/?from=0&to=4"))
    said = words(page.select_one("main"))
    assert "5 messages with words: 3 read, 2 not. 2 memories came from them ." in said.replace("them.", "them .")
    assert [words(one) for one in page.select("#olds .memory-text")] == [LANTERN, BOAT]
    assert [words(one) for one in page.select(".choices .btn")] == ["Read 2 free", "Read 5 again free"]
    assert "2 calls, about" in words(page.select(".choices form")[1]), "five messages, four to a call"
    page = soup(alice_client.get(f"/chats/{chat.pk}/range/?from=7&to=2"))
    assert words(page.select_one("h1")) == "Messages #2 to #7", "the smaller number comes first"
    for odd in ("?from=99999&to=x", "?from=-1", "?to=1e3"):
        assert alice_client.get(f"/chats/{chat.pk}/range/{odd}").status_code == 200


def test_nothing_is_written_before_it_is_applied(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_LANTERN)
    answer = alice_client.post(f"/chats/{chat.pk}/range/", {"do": "again", "from": "0", "to": "3", "mode": "replace"})
    run_until_idle(alice)
    before = texts(alice), Revision.objects.for_user(alice).count(), ExtractedChunk.objects.for_user(alice).count()
    page = soup(alice_client.get(answer["Location"]))
    assert fate(page) == {LANTERN: "is replaced", BOAT: "is replaced"}
    assert "nothing new says it" in words(page.select(".old-memory")[1])
    assert words(page.select_one(".again-new .bullet .edit-this")) == "Flux keeps a brass lantern in Harrow at night."
    assert "Add 1, take out 2" in words(page.select_one(".selection-bar"))
    now = texts(alice), Revision.objects.for_user(alice).count(), ExtractedChunk.objects.for_user(alice).count()
    assert now == before == ([LANTERN, BOAT, CARD], before[1], 2)


def test_the_model_is_not_told_what_it_shall_find_again(
    alice: User, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_SONG, NOTHING)
    reread(alice, chat, flux, 0, 3)
    reread(alice, chat, flux, 4, 7)
    first, second = fake.prompts()
    assert CARD in first and LANTERN not in first and BOAT not in first
    assert LANTERN in second and CARD not in second


def test_replacing_is_one_revision_and_the_stretch_counts_as_read(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    chat.messages.filter(index=2).update(content="edited since it was read")
    assert soup(alice_client.get(f"/chats/{chat.pk}/")).select("#m2 .is-pen")
    fake.answers(NEW_LANTERN)
    proposal = reread(alice, chat, flux, 0, 3)
    revisions = Revision.objects.for_user(alice).count()
    alice_client.post(f"/proposals/{proposal.pk}/reread/apply/")
    assert texts(alice) == [CARD, "Flux keeps a brass lantern in Harrow at night."]
    assert Revision.objects.for_user(alice).count() == revisions + 1
    block = MemoryBlock.objects.for_user(alice).get(memories__text__contains="at night")
    assert (block.origin, block.chat_id, block.first_index, block.last_index) == ("extracted", chat.pk, 0, 3)
    assert block.call_id is not None and block.prompt_version
    chunk = ExtractedChunk.objects.for_user(alice).latest("pk")
    assert (chunk.first_index, chunk.last_index, chunk.outcome, chunk.memories) == (0, 3, "memories", 1)
    undo = toast(alice_client).select_one("form")["action"]
    assert not soup(alice_client.get(f"/chats/{chat.pk}/")).select("#m2 .is-pen"), "read as it is now"
    alice_client.post(undo)
    assert texts(alice) == [LANTERN, BOAT, CARD]


def test_adding_keeps_the_old_ones(alice: User, fake: FakeModel, flux: Character, chat: Chat) -> None:
    fake.answers(NEW_SONG)
    proposal = reread(alice, chat, flux, 0, 3, mode="add")
    again.apply(alice, proposal)
    assert texts(alice) == [LANTERN, BOAT, CARD, "Alex sang for Flux in Harrow."]


def test_the_choice_can_be_changed_until_it_is_applied(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_SONG)
    proposal = reread(alice, chat, flux, 0, 3)
    boat = Memory.objects.for_user(alice).get(text=BOAT)
    choose = f"/proposals/{proposal.pk}/reread/"
    alice_client.post(choose, {"keep": str(boat.pk)})
    assert fate(soup(alice_client.get(f"/proposals/{proposal.pk}/"))) == {LANTERN: "is replaced", BOAT: "stays"}
    alice_client.post(choose, {"mode": "add"})
    assert set(fate(soup(alice_client.get(f"/proposals/{proposal.pk}/"))).values()) == {"stays"}
    alice_client.post(choose, {"mode": "replace"})
    alice_client.post(f"{choose}apply/")
    assert texts(alice) == [BOAT, CARD, "Alex sang for Flux in Harrow."]


def test_what_is_locked_or_also_from_elsewhere_is_never_replaced(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    boat = Memory.objects.for_user(alice).get(text=BOAT)
    beyond = {"identity": chat.messages.get(index=6).identity, "index": 6, "quote": ""}
    Memory.objects.for_user(alice).filter(text=LANTERN).update(is_locked=True)
    Memory.objects.for_user(alice).filter(pk=boat.pk).update(evidence=[*boat.evidence, beyond])
    fake.answers(NEW_SONG)
    proposal = reread(alice, chat, flux, 0, 3)
    page = soup(alice_client.get(f"/proposals/{proposal.pk}/"))
    assert fate(page) == {LANTERN: "stays", BOAT: "stays"}
    assert "It is locked." in words(page.select_one("#olds"))
    again.apply(alice, proposal)
    assert texts(alice) == [LANTERN, BOAT, CARD, "Alex sang for Flux in Harrow."]


def test_an_old_memory_that_was_changed_meanwhile_stays(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_SONG)
    proposal = reread(alice, chat, flux, 0, 3)
    editing.edit_memory(alice, Memory.objects.for_user(alice).get(text=LANTERN), "Flux keeps two lanterns.")
    page = soup(alice_client.get(f"/proposals/{proposal.pk}/"))
    assert "It was changed meanwhile and is left alone." in words(page.select_one("#olds"))
    answer = alice_client.post(f"/proposals/{proposal.pk}/reread/apply/")
    assert answer["Location"].endswith("/merge/"), "the block was changed on both sides: the person is asked"
    assert texts(alice) == ["Flux keeps two lanterns.", BOAT, CARD]
    alice_client.post(f"/proposals/{proposal.pk}/reread/", {"mode": "add"})
    alice_client.post(f"/proposals/{proposal.pk}/reread/apply/")
    assert texts(alice) == ["Flux keeps two lanterns.", BOAT, CARD, "Alex sang for Flux in Harrow."]


def test_discarding_changes_nothing_and_can_be_taken_back(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_SONG)
    proposal = reread(alice, chat, flux, 0, 3)
    chunks = ExtractedChunk.objects.for_user(alice).count()
    alice_client.post(f"/proposals/{proposal.pk}/discard/")
    assert texts(alice) == [LANTERN, BOAT, CARD]
    assert ExtractedChunk.objects.for_user(alice).count() == chunks
    alice_client.post(toast(alice_client).select_one("form")["action"])
    assert "Add 1, take out 2" in words(
        soup(alice_client.get(f"/proposals/{proposal.pk}/")).select_one(".selection-bar")
    )


def test_a_model_that_finds_nothing_may_still_be_applied(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NOTHING)
    proposal = reread(alice, chat, flux, 0, 3, mode="add")
    page = soup(alice_client.get(f"/proposals/{proposal.pk}/"))
    assert "found nothing new" in words(page.select_one(".again-new"))
    alice_client.post(f"/proposals/{proposal.pk}/reread/apply/")
    assert texts(alice) == [LANTERN, BOAT, CARD]
    assert "The stretch counts as read" in words(toast(alice_client))
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.APPLIED


def test_it_goes_on_behind_what_was_answered(alice: User, fake: FakeModel, flux: Character, chat: Chat) -> None:
    fake.answers(NEW_LANTERN)
    fake.respond(401, {"error": {"message": "bad key"}})
    proposal = reread(alice, chat, flux, 0, 7)
    assert proposal.state == Proposal.State.FAILED
    assert proposal.parts.filter(state="done").count() == 1
    asked = len(fake.prompts())
    fake.answers(NEW_SONG)
    proposals.resume(alice, proposal)
    run_until_idle(alice)
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.READY
    assert len(fake.prompts()) == asked + 1, "the first part was not asked again"
    again.apply(alice, proposal)
    assert len(texts(alice)) == 2


def test_without_words_or_a_model_it_says_why(alice: User, alice_client: Client, flux: Character, chat: Chat) -> None:
    chat.messages.update(role="unreadable")
    answer = alice_client.post(f"/chats/{chat.pk}/range/", {"do": "again", "from": "0", "to": "3"})
    assert "No message in this stretch has words to read." in words(soup(answer).select_one("#toasts"))
    chat.messages.update(role="user")
    Connection.objects.for_user(alice).delete()
    answer = alice_client.post(f"/chats/{chat.pk}/range/", {"do": "again", "from": "0", "to": "3"})
    assert "No model is connected yet." in words(soup(answer).select_one("#toasts"))
    assert not Proposal.objects.for_user(alice).exists()


def test_reading_what_is_unread_in_a_stretch_reads_no_more(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character
) -> None:
    chat = make_chat(flux, "Late", lines(8))
    fake.answers(NEW_SONG)
    alice_client.post(f"/chats/{chat.pk}/range/", {"do": "unread", "from": "2", "to": "4"})
    run_until_idle(alice)
    assert len(fake.prompts()) == 1
    assert [n in queries.reading_of(alice, chat, flux).fresh for n in range(8)] == [
        True, True, False, False, False, True, True, True,
    ]  # fmt: skip


def test_a_stretch_of_a_branch_shows_what_its_parent_made(
    alice: User, alice_client: Client, flux: Character, chat: Chat
) -> None:
    branch = make_chat(flux, "Otherwise", [])
    put_messages(branch, lines(6))
    Chat.objects.for_user(alice).filter(pk=branch.pk).update(parent=chat, parent_name="Tea", fork_index=5)
    for row in chat.messages.all():
        Message.objects.for_user(alice).filter(chat=branch, index=row.index).update(identity=row.identity)
    page = soup(alice_client.get(f"/chats/{branch.pk}/range/?from=0&to=3"))
    assert [words(one) for one in page.select("#olds .memory-text")] == [LANTERN, BOAT]


def test_a_second_press_pays_nothing(alice: User, fake: FakeModel, flux: Character, chat: Chat) -> None:
    stretch = range_of(alice, chat, 0, 3)
    first = again.start_again(alice, stretch, flux)
    second = again.start_again(alice, stretch, flux)
    assert first.pk == second.pk
    fake.answers(NEW_SONG)
    run_until_idle(alice)
    assert Call.objects.for_user(alice).count() == 1


def test_verbs_of_imports_and_consolidations_leave_a_reading_alone(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_SONG)
    proposal = reread(alice, chat, flux, 0, 3)
    for verb in ("import/lines", "import/known", "import/save", "import/next", "keep", "let-go", "apply", "again"):
        answer = alice_client.post(f"/proposals/{proposal.pk}/{verb}/", {"line": "0", "place": "0", "source": "x"})
        assert answer.status_code < 500, verb
    assert texts(alice) == [LANTERN, BOAT, CARD]
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.READY


def test_changed_sources_offer_to_read_just_their_stretch_again(
    alice: User, alice_client: Client, flux: Character, chat: Chat
) -> None:
    chat.messages.filter(index__in=(1, 5)).update(content="edited")
    source_changes.hear(ChatsChanged(chat.tavern_id, [chat.pk]))
    page = soup(alice_client.get(f"/characters/{flux.pk}/review/changed/"))
    offers = [one["href"] for one in page.select('.review-card a[data-key="5"]')]
    assert offers == [f"/chats/{chat.pk}/range/?from={n}&to={n}&whose={flux.pk}" for n in (1, 5)]
    assert [words(one) for one in page.select(".stretches li")] == ["Tea, #1 1 memory", "Tea, #5 1 memory"]
    chat.messages.filter(index=5).delete()
    page = soup(alice_client.get(f"/characters/{flux.pk}/review/changed/"))
    assert "from=4&to=7" in page.select('.review-card a[data-key="5"]')[1]["href"], "what was read with it"
    assert alice_client.get(offers[0]).status_code == 200


def test_forgetting_the_chat_takes_its_words_out_of_a_waiting_result(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat
) -> None:
    fake.answers(NEW_LANTERN)
    proposal = reread(alice, chat, flux, 0, 3)
    assert "brass lantern at night, a song" in everything_kept(proposal)
    forgetting.forget(alice, chat)
    proposal.refresh_from_db()
    assert "brass lantern at night, a song" not in everything_kept(proposal)
    alice_client.post(f"/proposals/{proposal.pk}/reread/apply/")
    assert texts(alice) == [CARD, "Flux keeps a brass lantern in Harrow at night."]
    assert not ExtractedChunk.objects.for_user(alice).filter(key__startswith="again-").exists()


def everything_kept(proposal: Proposal) -> str:
    """What the rows of a result hold, as text."""
    assert proposal.draft is not None
    steps = list(proposal.draft.steps.values_list("changes", flat=True))
    return json.dumps([proposal.report, list(proposal.parts.values_list("answer", flat=True)), steps])
