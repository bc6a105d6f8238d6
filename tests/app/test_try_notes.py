"""Trying the prompt of imports: the job's very first request, the answer checked as it would be, nothing saved."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import conversion, own_prompts, try_it
from memories.memory_file import change, file_for
from memories.models import Memory, MemoryFile, Proposal, Revision, RevisionText
from memories.prompts import prompt_text
from providers.models import Call, Connection
from sync.models import Attachment, Character
from tests.support.builders import make_attachment, make_connection
from tests.support.fake_model import FakeModel
from tests.support.pages import soup, words
from tests.support.story import make_character, make_tavern

PAGE = "/settings/prompts/conversion/try/"
NOTES = (
    "# Flux\n\n## The lantern\n* Flux hid the lantern in Harrow.\n* Wren lit it at dusk.\n"
    "<memory chat=\n* Orla saw it.\n"
)
GOOD = (
    '<memory chat="The lantern">\n- [Flux, Wren — the lantern]\n- Flux hid the lantern in Harrow. (from: b1.1)\n'
    "- Wren lit it at dusk. (from: b1.2)\n- Corvid sold a ferry to Maren.\n</memory>"
)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def flux(alice: User, fake: FakeModel) -> Character:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=1, price_out=2)
    return make_character(alice)


def form(flux: Character, notes: str = NOTES, **more: str) -> dict[str, str]:
    return {"character": str(flux.pk), "source": "", "notes": notes, **more}


def ask(client: Client, alice: User, **said: str) -> str:
    """The page with the answer, in words."""
    answer = client.post(PAGE, {**said, "do": "ask"})
    assert answer.status_code == 302, answer.content.decode()
    run_until_idle(alice)
    return words(soup(client.get(answer.headers["Location"])))


def data_bank(flux: Character, folder: Path, name: str, text: str) -> Attachment:
    """A file in the Data Bank that can be read."""
    tavern = flux.tavern
    tavern.folder = str(folder)
    tavern.save()
    (folder / "user" / "files").mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text("{}", encoding="utf-8")
    (folder / "user" / "files" / name).write_text(text, encoding="utf-8")
    return make_attachment(flux, name, url=f"/user/files/{name}", is_ours=False)


@pytest.mark.parametrize("size", ["one call", "several calls"])
@pytest.mark.parametrize("is_own", [False, True])
def test_it_sends_the_first_request_of_an_import_byte_for_byte(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel, is_own: bool, size: str
) -> None:
    if is_own:
        text = f"{prompt_text('conversion').text}\nNever mention cheese."
        own_prompts.save_text(alice, "conversion", text, flux)
    long = "".join(f"* Wren found thing {n} below the water that night.\n" for n in range(600))
    notes = NOTES if size == "one call" else long
    file = file_for(flux)
    shown = soup(alice_client.post(PAGE, form(flux, notes)))
    assert ("more notes would go into further calls" in words(shown)) is (size != "one call")
    assert shown.select_one(".price") is not None
    learned = Connection.objects.for_user(alice).get().bytes_per_token
    ask(alice_client, alice, **form(flux, notes))
    # Every answer teaches how many tokens a text has, and with it how much room the next answer gets.
    Connection.objects.for_user(alice).update(bytes_per_token=learned)
    conversion.start_conversion(alice, file, source_name="notes.md", text=notes, by=conversion.MODEL)
    run_until_idle(alice)
    tried, sent = (one.body for one in fake.chats[:2])
    assert tried == sent
    assert ("Never mention cheese." in str(tried)) is is_own
    sections = "".join(unescape(one.get_text()) for one in shown.select("[data-section]"))
    assert sections == "".join(one["content"] for one in tried["messages"])
    first, second, *_rest = Call.objects.for_user(alice).order_by("started_at")
    assert (first.purpose, first.subject) == (second.purpose, second.subject) == ("conversion", f"character:{flux.pk}")


def test_what_would_be_left_over_is_told_and_nothing_is_saved(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel
) -> None:
    with change(file_for(flux), reason="written") as editor:
        editor.add_block("old", ["Wren lit it at dusk."], origin="written")
    kinds = (Memory, MemoryFile, Revision, RevisionText, Proposal)
    before = [list(kind.objects.for_user(alice).values()) for kind in kinds]
    fake.answers(GOOD)
    page = ask(alice_client, alice, **form(flux))
    assert "2 memories from 3 notes" in page
    assert "1 is doubtful. 1 more was known." in page
    assert "Corvid sold a ferry to Maren. not in any of the sources" in page
    assert "Wren lit it at dusk. known already, would be left out" in page
    left = page.partition("Left over")[2].partition("Left out")[0]
    assert "Orla saw it." in left and "the model left it out" in left
    assert "<memory chat= line 6" in left, "what no rule could read is told as well"
    assert [list(kind.objects.for_user(alice).values()) for kind in kinds] == before


def test_it_tells_what_an_import_tells(alice: User, alice_client: Client, flux: Character, fake: FakeModel) -> None:
    fake.answers(GOOD, GOOD)
    tried = ask(alice_client, alice, **form(flux))
    proposal = conversion.start_conversion(
        alice, file_for(flux), source_name="notes.md", text=NOTES, by=conversion.MODEL
    )
    run_until_idle(alice)
    proposal.refresh_from_db()
    lines = proposal.report["lines"]
    assert lines
    for one in lines:
        assert f"{one['text']} line {one['n']}" in tried
    assert f"{len(lines)} lines would be left over." in tried
    assert f"{proposal.report['memories']} memories from" in tried


def test_only_the_newest_try_is_kept_with_what_was_pasted(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel
) -> None:
    fake.answers(GOOD, GOOD)
    ask(alice_client, alice, **form(flux))
    first = Job.objects.for_user(alice).get(kind=try_it.KIND)
    ask(alice_client, alice, **form(flux, f"{NOTES}* Pim slept.\n"))
    first.refresh_from_db()
    assert (first.result, first.params["notes"]) == ({}, "")
    page = words(soup(alice_client.get(f"{PAGE}?job={first.pk}")))
    assert "Only the answer of your newest try is kept." in page
    newest = Job.objects.for_user(alice).exclude(pk=first.pk).get(kind=try_it.KIND)
    assert "Pim slept." in newest.params["notes"]


def test_a_data_bank_file_is_tried_and_looking_makes_no_memory_file(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel, tmp_path: Path
) -> None:
    notes = data_bank(flux, tmp_path, "notes.md", NOTES)
    shown = soup(alice_client.get(PAGE))
    assert words(shown.h1) == "What would be sent for 3 notes"
    assert [one["value"] for one in shown.select("#ts option[selected]")] == [str(notes.pk)]
    fake.answers(GOOD)
    page = ask(alice_client, alice, **form(flux, "", source=str(notes.pk)))
    assert "3 memories from 3 notes" in page
    assert "Flux hid the lantern in Harrow." in fake.prompts()[0]
    sections = "".join(unescape(one.get_text()) for one in shown.select("[data-section]"))
    assert sections == "".join(one["content"] for one in fake.chats[0].body["messages"])
    assert not MemoryFile.objects.for_user(alice).exists()


def test_the_file_that_goes_away_is_told(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel, tmp_path: Path
) -> None:
    notes = data_bank(flux, tmp_path, "notes.md", NOTES)
    answer = alice_client.post(PAGE, {**form(flux, "", source=str(notes.pk)), "do": "ask"})
    (tmp_path / "user" / "files" / "notes.md").unlink()
    run_until_idle(alice)
    page = words(soup(alice_client.get(answer.headers["Location"])))
    assert "notes.md is registered in SillyTavern, but its file is gone." in page
    assert not fake.chats


def test_words_that_are_not_saved_can_be_tried(
    alice: User, alice_client: Client, flux: Character, fake: FakeModel
) -> None:
    text = f"{prompt_text('conversion').text}\nOnly about lanterns."
    fake.answers(GOOD)
    page = ask(alice_client, alice, **form(flux, text=text))
    assert "With the words that are not saved yet." in page
    assert "Only about lanterns." in fake.prompts()[0]
    assert not own_prompts.text_in_force(alice, "conversion").is_own


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ("---\n\n", "holds no words"),
        ("x" * 100_001, "Paste at most 100000 characters"),
    ],
)
def test_what_is_no_notes_is_refused_in_words(alice_client: Client, flux: Character, notes: str, said: str) -> None:
    assert said in words(soup(alice_client.post(PAGE, {**form(flux, notes), "do": "ask"}), 422))


def test_without_notes_the_page_waits_for_them(alice_client: Client, flux: Character) -> None:
    for answer in (alice_client.get(PAGE), alice_client.post(PAGE, {**form(flux, " "), "do": "ask"})):
        page = soup(answer)
        assert words(page.h1) == "Try it on notes"
        assert page.select_one(".try-error") is None
        assert page.select_one("textarea[name=notes]") is not None


def test_an_answer_of_no_use_says_why(alice: User, alice_client: Client, flux: Character, fake: FakeModel) -> None:
    fake.answers("What lovely notes.")
    assert "not with memories" in ask(alice_client, alice, **form(flux))


def test_strangers_try_nothing_of_others(
    alice: User, alice_client: Client, bob: User, bob_client: Client, flux: Character, fake: FakeModel, tmp_path: Path
) -> None:
    notes = data_bank(flux, tmp_path, "notes.md", NOTES)
    fake.answers(GOOD)
    ask(alice_client, alice, **form(flux, "", source=str(notes.pk)))
    make_character(bob, "Bram", make_tavern(bob))
    make_connection(bob, preset="local", base_url=fake.base_url, model="fake-small")
    page = soup(bob_client.post(PAGE, form(flux, "", source=str(notes.pk))))
    assert "lantern" not in words(page) and "notes.md" not in words(page)
    assert [words(one) for one in page.select("#tc option")] == ["Bram"]
