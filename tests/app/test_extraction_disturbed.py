"""Extraction while the world changes under it: whatever happens during a call, nothing is lost or read twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.enqueue import request_cancel, retry
from jobs.models import Job
from memories import extraction, extraction_chunk, forgetting, queries
from memories.memory_file import file_for, memories_of
from memories.models import ExtractedChunk, ExtractionSettings, MemoryFile
from providers import adapters
from providers.models import Call, Connection
from sync.link import link_folder, unlink
from sync.mirror import mirror
from sync.models import Character, Chat, Tavern
from tests.support.builders import make_connection, make_tavern
from tests.support.databank import make_folder, text_of
from tests.support.fake_model import FakeModel
from tests.support.generated_root import card_png, card_v2, header, message, write_lines

Lines = list[dict[str, Any]]


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def alice_reads(alice: User, fake: FakeModel, transactional_db: Any) -> User:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return alice


class House:
    """A SillyTavern folder with characters and their chats on disk."""

    def __init__(self, owner: User, folder: Path, *names: str) -> None:
        make_folder(folder)
        self.folder = folder
        for name in names or ("Mara",):
            (folder / "characters" / f"{name}.png").write_bytes(card_png(card_v2(name)))
        self.tavern = make_tavern(owner, folder=str(folder))

    def write(self, lines: Lines, chat: str = "first", name: str = "Mara", integrity: str = "") -> None:
        write_lines(self.folder / "chats" / name / f"{chat}.jsonl", [header(0, integrity or f"{name} {chat}"), *lines])

    def look(self) -> None:
        self.tavern.refresh_from_db()
        assert mirror(self.tavern).finished

    def character(self, name: str = "Mara") -> Character:
        rows = Character.objects.for_user(self.tavern.owner).select_related("tavern__owner")
        return rows.get(tavern=self.tavern, name=name)


def story(count: int, start: int = 0) -> Lines:
    return [line(number) for number in range(start, start + count)]


def line(number: int, text: str = "", date: str | None = None) -> dict[str, Any]:
    moment = f"2026-01-01T10:{number // 60 % 60:02d}:{number % 60:02d}.{number // 3600:03d}Z" if date is None else date
    return message(text or f"Word{number} of the tide.", user=number % 2 == 0, date=moment, name="Ren")


def extract(character: Character) -> Job:
    job = extraction.start_extraction(character.tavern.owner, character=character)
    run_until_idle(character.tavern.owner)
    return Job.objects.for_user(character.tavern.owner).get(pk=job.pk)


def shown(fake: FakeModel) -> list[str]:
    """The distinguishing word of each message that the model was shown, in order."""
    words = []
    for prompt in fake.prompts():
        lines = prompt.partition("NEW MESSAGES")[2].splitlines()
        words += [line.split()[2] for line in lines if line[:1] == "#" and line[1:2].isdigit()]
    return words


def during_a_call(monkeypatch: pytest.MonkeyPatch, happening: Callable[[], object]) -> None:
    """While the model thinks about the first question, this happens."""
    after(monkeypatch, extraction_chunk, "ask", happening)


def after(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, happening: Callable[[], object]) -> None:
    """When the function has been called once, this happens before its caller goes on."""
    function = getattr(module, name)

    def called(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(module, name, function)
        answer = function(*args, **options)
        happening()
        return answer

    monkeypatch.setattr(module, name, called)


def words(count: int) -> list[str]:
    return [f"Word{number}" for number in range(count)]


@pytest.mark.parametrize("moment", ["counting", "asking"])
def test_messages_deleted_and_inserted_while_it_reads(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    house = House(alice_reads, tmp_path / "st")
    tale = story(8)
    house.write(tale)
    house.look()
    fake.answer_with("NO_NEW_MEMORIES")
    mara = house.character()
    extract(mara)
    tale += story(8, start=8)
    house.write(tale)
    house.look()
    fake.requests.clear()

    def edit() -> None:
        house.write([*tale[:3], *story(2, start=50), *tale[4:]])
        house.look()

    if moment == "asking":
        during_a_call(monkeypatch, edit)
    else:
        first_entries = queries.first_entries

        def edited_before(*args: Any) -> Any:
            monkeypatch.setattr(queries, "first_entries", first_entries)
            edit()
            return first_entries(*args)

        monkeypatch.setattr(queries, "first_entries", edited_before)
    assert extract(mara).state == Job.State.DONE
    assert sorted(shown(fake)) == sorted([*words(16)[8:], "Word50", "Word51"])
    assert extraction.waiting(mara) == []


def test_the_character_is_renamed_in_sillytavern_during_a_call(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(12))
    house.look()
    mara = house.character()

    def rename() -> None:
        (house.folder / "characters" / "Mara.png").unlink()
        (house.folder / "characters" / "Maren.png").write_bytes(card_png(card_v2("Maren")))
        (house.folder / "chats" / "Mara").rename(house.folder / "chats" / "Maren")
        (house.folder / "chats" / "Maren" / "first.jsonl").rename(house.folder / "chats" / "Maren" / "second.jsonl")
        house.look()

    during_a_call(monkeypatch, rename)
    assert extract(mara).state == Job.State.DONE
    assert house.character("Maren").pk == mara.pk
    assert shown(fake) == words(12)
    file = MemoryFile.objects.for_user(alice_reads).select_related("attachment__tavern").get()
    assert file.attachment is not None and file.attachment.avatar == "Maren.png"
    assert text_of(file.attachment).count("Word11") == 1


def test_cancelled_in_mid_call_keeps_what_was_answered_and_goes_on_later(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(8))
    house.look()
    mara = house.character()
    during_a_call(monkeypatch, lambda: request_cancel(Job.objects.for_user(alice_reads).get(kind="extract")))
    job = extract(mara)
    assert job.state == Job.State.CANCELLED
    assert len(fake.chats) == 1
    assert ExtractedChunk.objects.for_user(alice_reads).count() == file_for(mara).blocks.count() == 1
    assert retry(job)
    run_until_idle(alice_reads)
    assert extraction.waiting(mara) == []
    assert shown(fake) == words(8)
    facts = [one.text for one in memories_of(file_for(mara)) if not one.is_topic]
    assert len(set(facts)) == len(facts) == 6


def test_the_folder_is_forgotten_during_a_call(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(8))
    house.look()
    during_a_call(monkeypatch, lambda: unlink(house.tavern, forget=True))
    job = extract(house.character())
    assert (job.state, job.error) == (
        Job.State.FAILED,
        "This character is no longer in CharMem; nothing more was read.",
    )
    assert not job.can_retry
    with unscoped("a test counts"):
        assert (MemoryFile.objects.count(), ExtractedChunk.objects.count()) == (0, 0)


def test_the_chat_is_forgotten_during_a_call(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(8))
    house.look()
    chat = Chat.objects.for_user(alice_reads).get()
    during_a_call(monkeypatch, lambda: forgetting.forget(alice_reads, chat))
    job = extract(house.character())
    assert job.state == Job.State.DONE
    assert len(fake.chats) == 1
    assert memories_of(file_for(house.character())) == []
    assert not ExtractedChunk.objects.for_user(alice_reads).exists()


def test_the_account_is_removed_during_a_call(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(8))
    house.look()
    mara = house.character()
    after(monkeypatch, adapters, "ask", lambda: User.objects.get(pk=alice_reads.pk).delete())
    extraction.start_extraction(alice_reads, character=mara)
    run_until_idle()
    with unscoped("a test counts"):
        assert (Job.objects.count(), Tavern.objects.count(), ExtractedChunk.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize("moment", ["before the ledger", "after the ledger"])
def test_the_connection_is_deleted_during_a_call(
    alice_reads: User, fake: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(8))
    house.look()

    def delete() -> None:
        Connection.objects.for_user(alice_reads).get().delete()

    if moment == "after the ledger":
        during_a_call(monkeypatch, delete)
    else:
        after(monkeypatch, adapters, "ask", delete)
    job = extract(house.character())
    assert (job.state, job.error, job.hint) == (
        Job.State.FAILED,
        "No model is connected any more. Everything read before is kept.",
        "Connect one under Settings, Models, then press Retry.",
    )
    assert shown(fake) == words(4)
    make_connection(alice_reads, preset="local", base_url=fake.base_url, model="fake-small")
    assert retry(job)
    run_until_idle(alice_reads)
    assert shown(fake) == words(8)
    assert set(Call.objects.for_user(alice_reads).values_list("error_type", flat=True)) == {""}


def test_unlinked_and_linked_again_reads_nothing_twice_and_writes_on_into_the_same_file(
    alice_reads: User, fake: FakeModel, tmp_path: Path, settings: Any
) -> None:
    settings.SILLYTAVERN_ROOTS = [str(tmp_path)]
    house = House(alice_reads, tmp_path / "st")
    house.write(story(8))
    house.look()
    extract(house.character())
    before = MemoryFile.objects.for_user(alice_reads).select_related("attachment__tavern").get()
    assert before.attachment is not None
    unlink(house.tavern)
    house.write(story(12))
    extraction.start_extraction(alice_reads, character=house.character())
    run_until_idle(alice_reads)
    assert "Word11" not in text_of_disk(house)
    link_folder(alice_reads, house.folder)
    run_until_idle(alice_reads)
    extract(house.character())
    assert shown(fake) == words(12)
    after = MemoryFile.objects.for_user(alice_reads).select_related("attachment__tavern").get()
    assert after.attachment is not None and after.attachment.url == before.attachment.url
    assert text_of(after.attachment).count("Word11") == 1


def text_of_disk(house: House) -> str:
    return "".join(path.read_text("utf-8") for path in (house.folder / "user" / "files").iterdir())


def test_two_folders_with_characters_of_one_name_stay_apart(alice_reads: User, fake: FakeModel, tmp_path: Path) -> None:
    houses = [House(alice_reads, tmp_path / name) for name in ("one", "two")]
    for number, house in enumerate(houses):
        house.write(story(4, start=10 * number), integrity="the same")
        house.look()
        extract(house.character())
    assert shown(fake) == [f"Word{number}" for number in (0, 1, 2, 3, 10, 11, 12, 13)]
    for number, house in enumerate(houses):
        text = text_of_disk(house)
        assert f"Word{10 * number + 3}" in text
        assert f"Word{10 * (1 - number) + 3}" not in text


@pytest.mark.parametrize("name", ["🦊🌙", "Maya \\ Lisa", "a: b", 'say "hi"', "it's 100% %s", "-", "Žofie"])
def test_odd_names_reach_their_own_file(alice_reads: User, fake: FakeModel, tmp_path: Path, name: str) -> None:
    house = House(alice_reads, tmp_path / "st", name, "🦊🌚")
    house.write(story(4), name=name)
    house.write(story(4, start=20), name="🦊🌚")
    house.look()
    for one in (name, "🦊🌚"):
        assert extract(house.character(one)).state == Job.State.DONE
    rows = MemoryFile.objects.for_user(alice_reads).select_related("attachment__tavern", "character")
    texts = {row.character.name: text_of(row.attachment) for row in rows if row.attachment}
    assert "Word3" in texts[name] and "Word23" not in texts[name]
    assert "Word23" in texts["🦊🌚"] and "Word3 " not in texts["🦊🌚"]
    assert len(list((house.folder / "user" / "files").iterdir())) == 2


ODD = ["NUL \x00 inside", "half a pair \ud83d alone", "\u202eback \u2066and forth", "a\u0085b\u2028c", "{{char}} $& %s"]


def test_odd_characters_are_read_and_kept(alice_reads: User, fake: FakeModel, tmp_path: Path) -> None:
    house = House(alice_reads, tmp_path / "st")
    tale = [line(number, f"Word{number} {text}") for number, text in enumerate(ODD)]
    whole = [header(0, "odd"), *tale]
    (house.folder / "chats" / "Mara").mkdir()
    path = house.folder / "chats" / "Mara" / "first.jsonl"
    path.write_text("\n".join(map(json.dumps, whole)), "ascii")
    house.look()
    mara = house.character()
    assert extract(mara).state == Job.State.DONE
    assert shown(fake) == words(5)
    path.write_text("\n".join(map(json.dumps, [*whole, line(9)])), "ascii")
    house.look()
    extract(mara)
    assert shown(fake) == [*words(5), "Word9"]
    file = MemoryFile.objects.for_user(alice_reads).select_related("attachment__tavern").get()
    assert file.attachment is not None and file.version == file.written_version


@pytest.mark.parametrize("date", ["", "June 15, 2025 3:06pm", "not a date"])
def test_messages_with_the_same_date_or_none_are_told_apart(
    alice_reads: User, fake: FakeModel, tmp_path: Path, date: str
) -> None:
    house = House(alice_reads, tmp_path / "st")
    fake.answer_with("NO_NEW_MEMORIES")
    tale = [line(number, date=date) for number in range(12)]
    house.write(tale)
    house.look()
    mara = house.character()
    extract(mara)
    assert shown(fake) == words(12)
    house.write([*tale, *(line(number, date=date) for number in range(12, 16))])
    house.look()
    extract(mara)
    assert set(shown(fake)) == set(words(16))
    assert extraction.waiting(mara) == []


def test_ten_thousand_messages_are_shown_once_each(alice_reads: User, fake: FakeModel, tmp_path: Path) -> None:
    ExtractionSettings.objects.filter(user=alice_reads).update(messages_per_call=400)
    house = House(alice_reads, tmp_path / "st")
    fake.answer_with("NO_NEW_MEMORIES")
    house.write(story(10_000))
    house.look()
    mara = house.character()
    assert extract(mara).state == Job.State.DONE
    assert shown(fake) == words(10_000)
    assert extraction.waiting(mara) == []


def test_a_clock_that_goes_back_between_chunks_repeats_nothing(
    alice_reads: User, fake: FakeModel, tmp_path: Path
) -> None:
    house = House(alice_reads, tmp_path / "st")
    house.write(story(4))
    house.look()
    mara = house.character()
    extract(mara)
    house.write(story(12))
    house.look()
    with time_machine.travel(timezone.now() - timedelta(days=400), tick=True):
        extract(mara)
    extract(mara)
    assert shown(fake) == words(12)
    assert extraction.waiting(mara) == []
