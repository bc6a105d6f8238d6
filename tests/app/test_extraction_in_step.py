"""Extraction behind the real mirror: whatever is done to a chat file in SillyTavern, nothing is lost or repeated."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from memories.extraction import start_extraction, waiting
from memories.models import ExtractionSettings
from sync.mirror import mirror
from sync.models import Character, Tavern
from tests.support.builders import make_connection, make_tavern
from tests.support.databank import make_folder
from tests.support.fake_model import FakeModel
from tests.support.generated_root import START as BEGIN
from tests.support.generated_root import card_png, card_v2, date_of, header, message, write_lines


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


class Play:
    """Mara's folder as SillyTavern would leave it; `form` is the date form, None writes no dates."""

    def __init__(self, owner: User, folder: Path, form: int | None = 0) -> None:
        (make_folder(folder) / "characters" / "Mara.png").write_bytes(card_png(card_v2("Mara")))
        self.tavern: Tavern = make_tavern(owner, folder=str(folder))
        self.folder, self.form, self.clock = folder, form, 0
        self.told: list[str] = []

    def message(self) -> dict[str, Any]:
        from datetime import timedelta

        self.clock += 1
        # Two messages a minute, as a quick player writes them.
        date = "" if self.form is None else date_of(self.form, BEGIN + timedelta(seconds=30 * self.clock))
        return message(f"Word{self.clock} of the tide.", user=self.clock % 2 == 0, date=date, name="Ren")

    def write(self, name: str, lines: list[dict[str, Any]], integrity: str = "first", **metadata: Any) -> None:
        write_lines(self.folder / "chats" / "Mara" / f"{name}.jsonl", [header(0, integrity, **metadata), *lines])

    def read(self, fake: FakeModel) -> list[str]:
        """A pass, an extraction; the words that the model was shown."""
        assert mirror(self.tavern).finished
        fake.requests.clear()
        mara = Character.objects.for_user(self.tavern.owner).select_related("tavern__owner").get()
        start_extraction(self.tavern.owner, character=mara)
        run_until_idle(self.tavern.owner)
        assert waiting(mara) == []
        shown = []
        for prompt in fake.prompts():
            for line in prompt.partition("NEW MESSAGES")[2].splitlines():
                if line[:1] == "#" and " Ren: Word" in line:
                    shown.append(line.split()[2])
        self.told += shown
        return shown


@pytest.fixture
def alice_reads(alice: User, fake: FakeModel) -> User:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=5)
    return alice


@pytest.mark.parametrize("form", [0, 2, 5])
def test_delete_message_3_and_insert_two(alice_reads: User, fake: FakeModel, tmp_path: Path, form: int) -> None:
    play = Play(alice_reads, tmp_path / "st", form)
    story = [play.message() for _ in range(10)]
    play.write("first", story)
    assert len(play.read(fake)) == 10
    two = [play.message(), play.message()]
    play.write("first", [*story[:3], *two, *story[4:]])
    assert play.read(fake) == ["Word11", "Word12"]
    assert play.read(fake) == []


def test_a_chat_without_dates(alice_reads: User, fake: FakeModel, tmp_path: Path) -> None:
    play = Play(alice_reads, tmp_path / "st", None)
    story = [play.message() for _ in range(10)]
    play.write("first", story)
    assert len(play.read(fake)) == 10
    play.write("first", [*story[:4], play.message(), play.message(), *story[4:], play.message()])
    assert sorted(play.read(fake)) == ["Word11", "Word12", "Word13"]


def test_a_swipe_and_a_rename_read_nothing_again(alice_reads: User, fake: FakeModel, tmp_path: Path) -> None:
    play = Play(alice_reads, tmp_path / "st")
    story = [play.message() for _ in range(7)]
    play.write("first", story)
    play.read(fake)
    old = story[-1]
    swiped = {**old, "mes": "Another answer.", "swipes": [old["mes"], "Another answer."], "swipe_id": 1}
    play.write("first", [*story[:-1], swiped])
    assert play.read(fake) == []
    folder = tmp_path / "st" / "chats" / "Mara"
    (folder / "first.jsonl").rename(folder / "The tide.jsonl")
    assert play.read(fake) == []


def test_a_renamed_branch_reads_only_its_own_messages(alice_reads: User, fake: FakeModel, tmp_path: Path) -> None:
    play = Play(alice_reads, tmp_path / "st")
    story = [play.message() for _ in range(8)]
    play.write("first", story)
    play.read(fake)
    own = [play.message(), play.message()]
    play.write("A better name", [*story[:5], *own], integrity="second", main_chat="first")
    assert play.read(fake) == ["Word9", "Word10"]


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(alice_reads: User, fake: FakeModel, tmp_path: Path, seed: int) -> None:
    """Additions, deletions, insertions, edits and readings in any order: each message is shown once."""
    dice = random.Random(seed)
    play = Play(alice_reads, tmp_path / "st", dice.choice([0, 1, 2, 5]))
    story = [play.message() for _ in range(dice.randrange(4, 12))]
    play.write("first", story)
    play.read(fake)
    for _step in range(6):
        for _edit in range(dice.randrange(1, 4)):
            action = dice.randrange(4)
            if action == 0:
                story += [play.message() for _ in range(dice.randrange(1, 4))]
            elif action == 1 and len(story) > 6:
                story.pop(dice.randrange(len(story)))
            elif action == 2:
                story.insert(dice.randrange(len(story)), play.message())
            else:
                place = dice.randrange(len(story))
                story[place] = {**story[place], "mes": story[place]["mes"] + " Edited."}
        play.write("first", story)
        play.read(fake)
    assert len(play.told) == len(set(play.told))
    assert {one["mes"].split()[0] for one in story} <= set(play.told)
