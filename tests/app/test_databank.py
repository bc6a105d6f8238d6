"""Which Data Bank file is a character's memory file, and what happens when somebody else changes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from memories import memory_file, outside_text
from memories.models import MemoryBlock, MemoryFile
from sync import outbox, registration
from sync.databank import find_or_create_attachment, take_over_pasted
from sync.events import DatabankText
from sync.models import Attachment, Character, FileConflict
from tests.support.builders import make_attachment, make_character
from tests.support.databank import make_file, make_mara, path_of, text_of
from tests.support.pages import soup, words

FOUND = '# My heading\n\n<memory chat="Pier" date="2025-06-15 15:30">\n- Mara keeps a lantern.\n</memory>\n\nA note.'
Run = Callable[[], None]


@pytest.fixture
def mara(alice: User, tmp_path: Path) -> Character:
    return make_mara(alice, tmp_path / "t")


@pytest.fixture
def work(alice: User, transactional_db: Any) -> Run:
    """Run what is queued for alice."""

    def run() -> None:
        run_until_idle(alice)

    return run


def add(file: MemoryFile, *bullets: str) -> None:
    """What an extraction does."""
    with memory_file.change(file, reason="Extracted") as editor:
        editor.add_block("Pier", bullets, date="2026-03-01 18:00", origin=MemoryBlock.Origin.EXTRACTED)


def hear(attachment: Attachment, text: str, **more: Any) -> None:
    """The mirror saw this text in the file."""
    attachment.file_hash = outbox.hash_of(text)
    attachment.save(update_fields=["file_hash"])
    outside_text.hear(DatabankText(attachment.pk, text, was_known=attachment.is_ours, **more))


def edit_outside(attachment: Attachment, text: str) -> None:
    path_of(attachment).write_text(text, encoding="utf-8")
    hear(attachment, text)


def adopted(mara: Character) -> tuple[MemoryFile, Attachment]:
    """A file that lay in the Data Bank before we came."""
    attachment = make_file(mara, FOUND, is_ours=False, name="Mara_Veldt-memories.md", url="/user/files/17_42.txt")
    hear(attachment, FOUND)
    attachment.refresh_from_db()
    return MemoryFile.objects.for_user(mara.tavern.owner).get(attachment=attachment), attachment


def test_a_found_memory_file_is_adopted_word_for_word_with_its_address(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    first = file.revisions.get(number=0)
    assert memory_file.revision_text(first) == FOUND
    assert [memory.text for memory in memory_file.memories_of(file)] == ["Mara keeps a lantern."]
    assert (attachment.url, attachment.is_ours, file.name) == (
        "/user/files/17_42.txt",
        True,
        "Mara_Veldt-memories.md",
    )
    work()
    assert text_of(attachment) == FOUND


def test_hand_written_text_stays_when_memories_are_added(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    add(file, "Mara fears the eastern buoy.")
    work()
    text = text_of(attachment)
    assert text.startswith("# My heading") and text.count("A note.") == 1
    assert text.index("Mara keeps a lantern.") < text.index("Mara fears the eastern buoy.")
    attachment.refresh_from_db()
    assert attachment.url == "/user/files/17_42.txt"


def test_two_characters_with_one_file_do_not_write_over_each_other(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    zolta = make_character(mara.tavern, "Zolta")
    second = make_attachment(zolta, "Zolta-memories.md", url=attachment.url, is_ours=False)
    hear(second, FOUND)
    add(memory_file.file_for(zolta), "Zolta paints boats.")
    add(file, "Mara fears the buoy.")
    work()
    hers = MemoryFile.objects.for_user(mara.tavern.owner).select_related("attachment__tavern").get(character=zolta)
    assert hers.attachment is not None and hers.attachment.url != attachment.url
    assert "Zolta" in text_of(hers.attachment) and "Zolta" not in text_of(attachment)
    assert "buoy" in text_of(attachment)


def test_another_data_bank_file_is_left_alone(mara: Character) -> None:
    attachment = make_file(mara, "rules", is_ours=False, name="house-rules.txt")
    hear(attachment, "rules")
    attachment.refresh_from_db()
    assert not attachment.is_ours


def test_a_character_without_a_file_gets_one_and_it_waits_to_be_registered(mara: Character, work: Run) -> None:
    file = memory_file.file_for(mara)
    add(file, "Mara keeps a lantern.")
    work()
    file.refresh_from_db()
    attachment = file.attachment
    assert attachment is not None and file.written_version == file.version
    assert text_of(attachment) == memory_file.render(file)
    assert attachment.url.startswith("/user/files/cm_") and attachment.url.isascii()
    offered = registration.offer(mara.tavern)
    assert [(one.avatar, one.url, one.name) for one in offered] == [
        ("Mara Veldt.png", attachment.url, "Mara_Veldt-memories.md")
    ]
    assert offered[0].size == len(text_of(attachment).encode())


def test_the_file_keeps_its_address_through_every_change(mara: Character, work: Run) -> None:
    file = memory_file.file_for(mara)
    urls = set()
    for number in range(3):
        add(file, f"Memory number {number}.")
        work()
        file.refresh_from_db()
        assert file.attachment is not None
        urls.add(file.attachment.url)
    assert len(urls) == 1


def test_a_name_of_ones_own_keeps_address_and_asks_for_a_new_entry(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    work()
    outside_text.rename(file, "Mara, the keeper.md")
    work()
    attachment.refresh_from_db()
    assert attachment.url == "/user/files/17_42.txt"
    assert [one.name for one in registration.offer(mara.tavern)] == ["Mara, the keeper.md"]
    attachment.name = "Mara, the keeper.md"  # what the next pass finds in settings.json
    attachment.save()
    registration.settle(mara.tavern)
    assert registration.offer(mara.tavern) == []


@pytest.mark.parametrize("name", ["", "   ", "a\nb.md", "x" * 301])
def test_a_name_that_cannot_be_one_is_refused(mara: Character, name: str) -> None:
    file = memory_file.file_for(mara)
    with pytest.raises(ValueError, match="name"):
        outside_text.rename(file, name)


def test_an_outside_edit_becomes_a_revision(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    work()
    edit_outside(attachment, FOUND.replace("a lantern", "two lanterns"))
    work()
    file.refresh_from_db()
    assert file.revisions.first().reason == "Changed in SillyTavern"
    assert [memory.text for memory in memory_file.memories_of(file)] == ["Mara keeps two lanterns."]
    assert "two lanterns" in text_of(attachment)


def test_two_changes_of_a_file_are_put_together_block_by_block(
    mara: Character, work: Run, alice_client: Client
) -> None:
    file, attachment = adopted(mara)
    work()
    path_of(attachment).write_text(FOUND.replace("a lantern", "two lanterns"), encoding="utf-8")
    add(file, "Mara fears the eastern buoy.")
    work()
    conflict = FileConflict.objects.for_user(mara.tavern.owner).get()
    page = soup(alice_client.get(f"/conflicts/{conflict.pk}/"))
    assert page.select("[name^=choice-]") == [] and "Put together" in words(page.select_one("button.is-primary"))
    alice_client.post(f"/conflicts/{conflict.pk}/decide/", {"decision": "blocks"})
    work()
    text = text_of(attachment)
    assert "two lanterns" in text and "eastern buoy" in text and "a lantern" not in text
    file.refresh_from_db()
    assert file.version == file.written_version and outside_text.open_conflict(file) is None
    assert [one.reason for one in file.revisions.all()[:2]] == ["Put together by block", "Ours kept"]


def test_a_block_that_both_changed_is_put_to_the_person(mara: Character, work: Run, alice_client: Client) -> None:
    file, attachment = adopted(mara)
    work()
    path_of(attachment).write_text(FOUND.replace("a lantern", "two lanterns"), encoding="utf-8")
    with memory_file.change(file, reason="Edited") as editor:
        editor.set_text(memory_file.memories_of(file)[0].pk, "Mara keeps no lantern.")
    work()
    conflict = FileConflict.objects.for_user(mara.tavern.owner).get()
    page = soup(alice_client.get(f"/conflicts/{conflict.pk}/"))
    name = page.select_one("[name^=choice-]")["name"]
    alice_client.post(f"/conflicts/{conflict.pk}/decide/", {"decision": "blocks", name: "both"})
    work()
    assert [one.text for one in memory_file.memories_of(file)] == ["Mara keeps two lanterns.", "Mara keeps no lantern."]


def test_an_edit_that_meets_new_memories_asks_and_writes_nothing(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    work()
    theirs = FOUND.replace("a lantern", "two lanterns")
    path_of(attachment).write_text(theirs, encoding="utf-8")  # the mirror has not passed yet
    add(file, "Mara fears the eastern buoy.")
    work()
    conflict = FileConflict.objects.for_user(mara.tavern.owner).get()
    assert conflict.theirs == theirs == text_of(attachment)
    assert "eastern buoy" in conflict.ours and "two lanterns" not in conflict.ours
    hear(attachment, theirs)
    work()
    assert FileConflict.objects.for_user(mara.tavern.owner).count() == 1
    assert text_of(attachment) == theirs


@pytest.mark.parametrize(
    ("decision", "kept", "lost"),
    [
        ("ours", ["eastern buoy", "a lantern"], ["two lanterns"]),
        ("theirs", ["two lanterns"], ["eastern buoy"]),
        ("both", ["two lanterns", "eastern buoy"], []),
    ],
)
def test_each_decision_keeps_what_it_says_and_the_rest_in_the_history(
    mara: Character, work: Run, alice_client: Client, decision: str, kept: list[str], lost: list[str]
) -> None:
    file, attachment = adopted(mara)
    work()
    path_of(attachment).write_text(FOUND.replace("a lantern", "two lanterns"), encoding="utf-8")
    add(file, "Mara fears the eastern buoy.")
    work()
    conflict = FileConflict.objects.for_user(mara.tavern.owner).get()
    outside_text.decide(mara.tavern.owner, conflict, decision)
    work()
    text = text_of(attachment)
    assert all(words in text for words in kept) and not any(words in text for words in lost)
    history = "".join(memory_file.revision_text(one) for one in file.revisions.all())
    assert all(words in history for words in (*kept, *lost))
    file.refresh_from_db()
    assert file.version == file.written_version and outside_text.open_conflict(file) is None


def test_after_a_restore_a_difference_is_a_question(mara: Character, work: Run) -> None:
    file, attachment = adopted(mara)
    work()
    hear(attachment, FOUND + "\n\nmore", compare_only=True)
    assert outside_text.open_conflict(file) is not None
    file.refresh_from_db()
    assert file.version == 0


def test_what_a_person_pasted_is_taken_over_and_filled(mara: Character, work: Run) -> None:
    file = memory_file.file_for(mara)
    add(file, "Mara keeps a lantern.")
    work()
    file.refresh_from_db()
    pasted = make_file(mara, "cut short", is_ours=False, name=file.name, url="/user/files/99_7.txt")
    pasted.file_hash = outbox.hash_of("cut short")
    pasted.save()
    moved = take_over_pasted(mara.tavern)
    assert [one.url for one in moved] == ["/user/files/99_7.txt"]
    MemoryFile.objects.for_user(mara.tavern.owner).update(written_version=-1)
    from memories import write_back

    file.refresh_from_db()
    write_back.schedule(file)
    work()
    file.refresh_from_db()
    assert file.attachment is not None and file.attachment.is_registered
    assert text_of(file.attachment) == memory_file.render(file)
    assert registration.offer(mara.tavern) == []


def test_the_same_name_of_another_character_is_not_taken(mara: Character) -> None:
    ours = find_or_create_attachment(mara, "diary-memories.md")
    other = make_character(mara.tavern, "Zolta")
    make_file(other, "hers", is_ours=False, name="diary-memories.md")
    assert take_over_pasted(mara.tavern) == []
    ours.refresh_from_db()
    assert ours.url.startswith("/user/files/cm_")
