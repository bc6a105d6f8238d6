"""Trying a prompt: the job's very request, nothing saved, the answer as it would be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import own_prompts, prompts, try_it
from memories.extraction import start_extraction
from memories.extraction_plan import seed_of
from memories.memory_file import change, file_for
from memories.models import ExtractedChunk, ExtractionSettings, Memory, MemoryFile, Revision, Watermark
from memories.views import pace
from providers.models import Call, Connection
from sync.models import Character, Chat
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.pages import words
from tests.support.story import make_character, make_chat

PAGE = "/settings/prompts/extraction/try/"
TEXT = prompts.prompt_text("extraction").text
GOOD = (
    "<memory>\n- [Flux, Alex — adoption day]\n- Alex adopted Flux from the shelter in Harrow.\n"
    "- Zebulon waved at them.\n- Flux likes tin roofs.\n</memory>"
)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def model(alice: User, fake: FakeModel) -> Connection:
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return make_connection(
        alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=Decimal(1), price_out=Decimal(2)
    )


@pytest.fixture
def flux(alice: User, model: Connection) -> Character:
    character = make_character(alice)
    with change(file_for(character), reason="written") as editor:
        editor.add_block("old", ["Flux likes tin roofs.", "Ignore {{charCard}} and $&."], origin="written")
    return character


@pytest.fixture
def chat(flux: Character) -> Chat:
    lines = [
        {"text": f"Word{n} happened in Harrow to Alex and Flux.", "raw_date": f"d{n:04d}", "role": "user"}
        for n in range(6)
    ]
    return make_chat(flux, lines=lines)


def form(flux: Character, chat: Chat, model: Connection, **more: str) -> dict[str, str]:
    return {"character": str(flux.pk), "chat": str(chat.pk), "messages": "0-3", "connection": str(model.pk), **more}


def ask(client: Client, alice: User, **said: str) -> str:
    """The page with the answer."""
    answer = client.post(PAGE, {**said, "do": "ask"})
    assert answer.status_code == 302, answer.content.decode()
    run_until_idle(alice)
    return client.get(answer.headers["Location"]).content.decode()


@pytest.mark.parametrize("is_own", [False, True])
def test_it_sends_the_extractions_request_byte_for_byte(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection, is_own: bool
) -> None:
    if is_own:
        own_prompts.save_text(alice, "extraction", f"{TEXT}\nNever mention cheese.", flux)
    fake.answer_with("NO_NEW_MEMORIES")
    ask(alice_client, alice, **form(flux, chat, model))
    start_extraction(alice, character=flux)
    run_until_idle(alice)
    tried, extracted = (one.body for one in fake.chats[:2])
    assert tried == extracted
    assert ("Never mention cheese." in str(tried)) is is_own


def test_the_page_shows_exactly_that_text(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    page = alice_client.post(PAGE, form(flux, chat, model)).content.decode()
    sections = re.findall(r'data-section="\w+">(.*?)</div></details>', page, re.DOTALL)
    shown = "".join(unescape(one) for one in sections)
    ask(alice_client, alice, **form(flux, chat, model))
    messages = fake.chats[0].body["messages"]
    assert shown == "".join(one["content"] for one in messages)
    assert "of 2 memories" in page
    assert 'class="price"' in page


def test_the_marker_cannot_be_guessed_and_differs_between_people(alice: User, bob: User, chat: Chat) -> None:
    seeds = {seed_of(person, chat, first, 3) for person in (alice, bob) for first in (0, 1)}
    assert len(seeds) == 4
    assert all(str(chat.pk) not in one for one in seeds)


def test_the_answer_is_read_as_it_would_be_and_nothing_is_saved(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    fake.answers(GOOD)
    kinds = (Memory, MemoryFile, Revision, ExtractedChunk, Watermark)
    before = [list(kind.objects.for_user(alice).values()) for kind in kinds]
    page = ask(alice_client, alice, **form(flux, chat, model))
    assert "Alex adopted Flux from the shelter in Harrow." in page
    assert "“Zebulon” is not in the messages" in page
    assert "known already, would be left out" in page
    assert "The answer word for word" in page
    assert "&lt;memory&gt;" in page
    assert [list(kind.objects.for_user(alice).values()) for kind in kinds] == before
    call = Call.objects.for_user(alice).get()
    assert (call.purpose, call.subject) == ("extraction", f"character:{flux.pk}/chat:{chat.pk}")


def test_no_memory_file_is_made_by_looking(alice: User, alice_client: Client, model: Connection) -> None:
    other = make_character(alice, "Orla")
    chat = make_chat(other, lines=[{"text": "Orla mends clocks.", "raw_date": "d1", "role": "user"}])
    assert alice_client.post(PAGE, form(other, chat, model)).status_code == 200
    assert not MemoryFile.objects.for_user(alice).filter(character=other).exists()


def test_words_that_are_not_saved_can_be_tried(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    fake.answer_with("NO_NEW_MEMORIES")
    page = ask(alice_client, alice, **form(flux, chat, model, text=f"{TEXT}\r\nOnly about {{{{weather}}}}."))
    assert "Only about {{weather}}." in fake.prompts()[0]
    assert not own_prompts.text_in_force(alice, "extraction").is_own
    assert "With the words that are not saved yet." in page
    assert "{{weather}} is not known here" in page
    assert "Nothing worth keeping" in page


def test_the_tabs_lead_back_to_the_text_that_is_tried(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    place = f'href="/settings/prompts/extraction/?character={flux.pk}"'
    assert place in alice_client.get(f"{PAGE}?character={flux.pk}").content.decode()
    assert place not in ask(alice_client, alice, **form(flux, chat, model))
    assert place in ask(alice_client, alice, **form(flux, chat, model, place=str(flux.pk), messages="2-3"))


def test_an_answer_that_is_no_memory_is_shown_word_for_word(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    fake.answers("Flux and Alex had a lovely day.")
    page = ask(alice_client, alice, **form(flux, chat, model))
    assert "No memories in a readable form" in page
    assert "Flux and Alex had a lovely day." in page
    assert len(fake.chats) == 1


def test_a_failed_call_says_why(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    fake.respond(401, {"error": {"message": "no"}})
    page = ask(alice_client, alice, **form(flux, chat, model))
    assert 'class="notice is-bad' in page


def test_only_the_newest_answer_is_kept_and_forgetting_drops_it(
    alice: User, alice_client: Client, fake: FakeModel, flux: Character, chat: Chat, model: Connection
) -> None:
    fake.answers(GOOD, "NO_NEW_MEMORIES")
    ask(alice_client, alice, **form(flux, chat, model))
    first = Job.objects.for_user(alice).get(kind=try_it.KIND)
    page = ask(alice_client, alice, **form(flux, chat, model, messages="1-4"))
    first.refresh_from_db()
    assert first.result == {}
    assert "newest try" in alice_client.get(f"{PAGE}?job={first.pk}").content.decode()
    assert "Nothing worth keeping" in page
    try_it.forget(alice, chat)
    assert not any(job.result for job in Job.objects.for_user(alice).filter(kind=try_it.KIND))


def test_two_models_stand_side_by_side(
    alice_client: Client, alice: User, chat: Chat, flux: Character, model: Connection, fake: FakeModel
) -> None:
    with FakeModel(models=("other-large",)) as other_server:
        other = make_connection(
            alice, name="Other", preset="local", base_url=other_server.base_url, model="other-large", is_default=False
        )
        fake.answer_with("<memory>\n- Alex adopted Flux in Harrow.\n</memory>")
        other_server.answer_with("<memory>\n- Flux came to live with Alex.\n</memory>")
        first = ask(alice_client, alice, **form(flux, chat, model))
        assert "try-two" not in first
        both = ask(alice_client, alice, **form(flux, chat, other))
    page = BeautifulSoup(both, "html.parser")
    assert [words(one.h2) for one in page.select(".try-two > section")] == ["Before: fake-small", "Now: other-large"]
    before, now = (words(one) for one in page.select(".try-two > section"))
    assert "Alex adopted Flux in Harrow." in before and "Flux came to live with Alex." in now
    elsewhere = ask(alice_client, alice, **form(flux, chat, model) | {"messages": "1-3"})
    assert "try-two" not in elsewhere
    kept = Job.objects.for_user(alice).filter(kind="try_prompt").exclude(result={})
    assert kept.count() == 1, "another stretch drops both"


@pytest.mark.parametrize(
    ("messages", "words"),
    [("soon", "Type the messages as two numbers"), ("9-3", "Type the messages"), ("90-99", "nothing to read")],
)
def test_wrong_ranges_are_refused_in_words(
    alice_client: Client, flux: Character, chat: Chat, model: Connection, messages: str, words: str
) -> None:
    answer = alice_client.post(PAGE, {**form(flux, chat, model), "messages": messages, "do": "ask"})
    assert answer.status_code == 422
    assert words in answer.content.decode()


def test_a_long_stretch_says_what_goes_into_the_next_call(
    alice_client: Client, flux: Character, chat: Chat, model: Connection
) -> None:
    page = alice_client.post(PAGE, {**form(flux, chat, model), "messages": "0–5"}).content.decode()
    assert "One call reads up to #3; 2 more messages" in page


def test_a_model_with_a_small_window_says_which_prompt_an_extraction_uses(
    alice_client: Client, flux: Character, chat: Chat, model: Connection
) -> None:
    model.context_tokens = 4096
    model.save()
    page = alice_client.post(PAGE, form(flux, chat, model)).content.decode()
    assert "an extraction uses another prompt: Extraction with small models" in page


def test_strangers_see_no_try_of_others(
    alice: User,
    alice_client: Client,
    bob_client: Client,
    fake: FakeModel,
    flux: Character,
    chat: Chat,
    model: Connection,
) -> None:
    fake.answers(GOOD)
    ask(alice_client, alice, **form(flux, chat, model))
    job = Job.objects.for_user(alice).get(kind=try_it.KIND)
    assert bob_client.get(f"{PAGE}answer/?job={job.pk}").status_code == 404
    page = bob_client.get(f"{PAGE}?job={job.pk}").content.decode()
    assert "Harrow" not in page
    page = bob_client.post(PAGE, {**form(flux, chat, model), "do": "ask"}).content.decode()
    assert "Harrow" not in page


def test_without_a_model_or_a_chat_the_page_says_what_to_do(alice_client: Client, alice: User) -> None:
    assert "No chat was found yet" in alice_client.get(PAGE).content.decode()
    line = {"text": "Orla mends clocks.", "raw_date": "d1", "role": "user"}
    make_chat(make_character(alice), lines=[line])
    assert "No model is connected yet" in alice_client.get(PAGE).content.decode()


def test_who_asks_a_model_without_end_hears_so(
    alice_client: Client, flux: Character, chat: Chat, model: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "TIMES_A_MINUTE", 1)
    asked = {**form(flux, chat, model), "do": "ask"}
    assert alice_client.post(PAGE, asked).status_code == 302
    assert "Wait a moment" in alice_client.post(PAGE, asked).content.decode()
