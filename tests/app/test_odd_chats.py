"""Chats that are not what one expects, from SillyTavern's folder to the Data Bank.

Other personas, pictures, thoughts, narrators, other scripts and languages, a chat of which only the header is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import extraction, memory_file
from memories.automatic_state import state_of
from memories.extraction import start_extraction
from memories.memory_file import file_for
from memories.models import ExtractedChunk, ExtractionSettings, Memory
from sync.models import Character
from tests.app.test_extraction_disturbed import House, line, shown, story, text_of_disk, words
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.generated_root import message

WRONG = {"non_memory", "invented_name", "reversed_actor"}  # what nobody may say of something that was plainly said


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def reader(alice: User, fake: FakeModel, transactional_db: Any) -> User:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice)
    return alice


def extract(character: Character) -> Job:
    job = start_extraction(character.tavern.owner, character=character)
    run_until_idle(character.tavern.owner)
    job.refresh_from_db()
    return job


def facts(character: Character) -> list[Memory]:
    return [one for one in memory_file.memories_of(file_for(character)) if not one.is_topic]


def said(name: str, text: str, number: int, **fields: Any) -> dict[str, Any]:
    is_person = name in ("Ren", "Captain Ash")
    return message(text, user=is_person, date=f"2026-01-01T10:00:{number:02d}.000Z", name=name, **fields)


def lines_shown(fake: FakeModel) -> list[str]:
    material = "\n".join(prompt.partition("NEW MESSAGES")[2] for prompt in fake.prompts())
    return [row for row in material.splitlines() if row[:1] == "#" and row[1:2].isdigit()]


def test_a_persona_that_changes_in_mid_chat(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    house = House(reader, tmp_path / "st")
    talk = [
        said("Ren", "I am Ren and I sold my boat to the miller.", 0),
        said("Mara", "Then how will you cross, Ren?", 1),
        said("Captain Ash", "I am Captain Ash now. I bought a ferry in Harrow.", 2),
        said("Mara", "A ferry, Captain Ash!", 3),
    ]
    house.write(talk)
    house.look()
    fake.answers(
        "<memory>\n- [Mara, Ren, Captain Ash — boats]\n- Ren sold his boat to the miller.\n"
        "- Captain Ash bought a ferry in Harrow.\n</memory>"
    )
    extract(house.character())
    assert [row.split(": ")[0] for row in lines_shown(fake)] == ["#0 Ren", "#1 Mara", "#2 Captain Ash", "#3 Mara"]
    rows = facts(house.character())
    assert [one.text for one in rows] == ["Ren sold his boat to the miller.", "Captain Ash bought a ferry in Harrow."]
    assert not {doubt["check"] for one in rows for doubt in one.doubts} & WRONG


def test_messages_of_pictures_and_thoughts_alone(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    house = House(reader, tmp_path / "st")
    talk = [
        said("Mara", "", 0, extra={"image": "/user/images/Mara/1.png", "inline_image": True, "title": "a quay"}),
        said("Ren", "", 1, extra={"media": [{"url": "/user/images/2.png", "type": "image"}]}),
        said("Mara", "", 2, extra={"reasoning": "Ren is hiding a lantern from me."}),
        said("Mara", "<think>Ren is hiding a lantern from me.</think>", 3),
        said("Ren", "![the quay](/user/images/3.png)", 4),
        said("Mara", "<img src='/user/images/4.png'>", 5),
    ]
    house.write(talk)
    house.look()
    mara = house.character()
    job = extract(mara)
    assert job.state == Job.State.DONE
    assert not any("lantern" in prompt for prompt in fake.prompts()), "what somebody thought was not said"
    assert extraction.waiting(mara) == [] and mara.watermarks.get().index == 5
    paid = len(fake.chats)
    house.write([*talk, said("Mara", "There is a lantern under the quay.", 6)])
    house.look()
    extract(mara)
    assert len(fake.chats) == paid + 1 and "#6 Mara: There is a lantern under the quay." in lines_shown(fake)


def test_narrators_are_heard_and_notices_are_not(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    house = House(reader, tmp_path / "st")
    house.write(
        [
            said("Ren", "I open the door.", 0),
            said(
                "Narrator", "Behind the door lies the drowned library.", 1, is_system=True, extra={"type": "narrator"}
            ),
            said("", "Chat background was set.", 2, is_system=True) | {"name": ""},
            said("Mara", "So this is it.", 3),
        ]
    )
    house.look()
    extract(house.character())
    assert [row.split(": ")[0] for row in lines_shown(fake)] == ["#0 Ren", "#1 Narrator", "#3 Mara"]


@pytest.mark.parametrize(
    ("name", "asked", "told", "bullet"),
    [
        ("小雪", "你昨天去了哪里？", "我昨天去了磨坊，把银灯笼藏在地板下面。", "小雪把银灯笼藏在磨坊的地板下面。"),
        ("白川ゆき", "どこに行ったの？", "昨日、港で青い傘をなくしました。", "白川ゆきは港で青い傘をなくした。"),
        ("נועה", "לאן הלכת?", "הלכתי לטחנה והחבאתי את הפנס מתחת לרצפה.", "נועה החביאה את הפנס מתחת לרצפה בטחנה."),
        (
            "نور",
            "إلى أين ذهبت؟",
            "ذهبت إلى الطاحونة وأخفيت الفانوس تحت الأرض.",
            "أخفت نور الفانوس تحت الأرض في الطاحونة.",
        ),
        (
            "Björn",
            "Wo warst du gestern?",
            "Ich war in der Mühle und habe die Laterne versteckt.",
            "Björn hat die Laterne in der Mühle versteckt.",
        ),
        (
            "Зоя",
            "Где ты была?",
            "Я была на мельнице и спрятала фонарь под полом.",
            "Зоя спрятала фонарь под полом мельницы.",
        ),
    ],
)
def test_other_scripts_and_languages(
    reader: User, fake: FakeModel, tmp_path: Path, name: str, asked: str, told: str, bullet: str
) -> None:
    house = House(reader, tmp_path / "st", name)
    house.write([said("Ren", asked, 0), said(name, told, 1)], chat=f"{name} – 1", name=name)
    house.look()
    fake.answers(f"<memory>\n- [{name}, Ren — 1]\n- {bullet}\n</memory>")
    who = house.character(name)
    extract(who)
    assert f"#1 {name}: {told}" in lines_shown(fake)
    (row,) = facts(who)
    assert row.text == bullet
    assert not {one["check"] for one in row.doubts} & WRONG, "it was said, in whatever language"
    assert [one["index"] for one in row.evidence] == [1]
    assert bullet in text_of_disk(house)


def test_a_chat_that_shrinks_to_its_header_and_comes_back(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    ExtractionSettings.objects.filter(user=reader).update(messages_per_call=4)
    house = House(reader, tmp_path / "st")
    house.write(story(8))
    house.look()
    mara = house.character()
    extract(mara)
    house.write([])
    house.look()
    assert house.tavern.chats.get().message_count == 8, "what was read is kept"
    assert state_of(reader, mara).count == 0 and extraction.waiting(mara) == []
    extract(mara)
    house.write([*story(8), line(8), line(9)])
    house.look()
    extract(mara)
    assert shown(fake) == words(10)
    assert ExtractedChunk.objects.for_user(reader).count() == 3
