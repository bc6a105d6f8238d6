"""The Data Bank file between two hands: our writing, a pass of the mirror, a person's edit, a worker that dies."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.enqueue import retry
from jobs.models import Job
from memories import memory_file, outside_text, write_back
from memories.file_editor import NewMemory
from memories.models import MemoryBlock, MemoryFile
from sync import mirror_files, outbox
from sync.mirror import mirror
from sync.models import Attachment, Character, FileConflict, Tavern
from tests.support.builders import make_tavern
from tests.support.databank import make_folder, path_of, text_of
from tests.support.generated_root import card_png, card_v2


@pytest.fixture
def tavern(alice: User, tmp_path: Path, transactional_db: Any) -> Tavern:
    """Mara's folder, read for the first time."""
    folder = make_folder(tmp_path / "st")
    (folder / "characters" / "Mara.png").write_bytes(card_png(card_v2("Mara")))
    tavern = make_tavern(alice, folder=str(folder))
    assert mirror(tavern).finished
    return tavern


@pytest.fixture
def file(tavern: Tavern, alice: User) -> MemoryFile:
    """A file that was written once and seen by a pass."""
    mara = Character.objects.for_user(alice).select_related("tavern__owner").get()
    made = memory_file.file_for(mara)
    add(made, "Mara keeps a lantern.")
    run_until_idle(alice)
    look(tavern)
    made.refresh_from_db()
    return made


def add(file: MemoryFile, text: str) -> None:
    with memory_file.change(file, reason="Extracted") as editor:
        evidence = [{"identity": "b" * 32, "index": 1, "quote": text}]
        editor.add_block("Pier", [NewMemory(text, evidence)], date="", origin=MemoryBlock.Origin.EXTRACTED)


def look(tavern: Tavern) -> None:
    tavern.refresh_from_db()
    assert mirror(tavern).finished


def attachment_of(file: MemoryFile) -> Attachment:
    file.refresh_from_db()
    assert file.attachment is not None
    return file.attachment


def questions(file: MemoryFile) -> int:
    return FileConflict.objects.for_user(file.owner).count()


def everything_agrees(file: MemoryFile, revisions: int) -> None:
    """File, rows and history say the same, and nobody was asked anything."""
    attachment = attachment_of(file)
    assert text_of(attachment) == memory_file.render(file)
    assert attachment.written_hash == attachment.file_hash == outbox.hash_of(text_of(attachment))
    assert file.version == file.written_version == revisions
    assert file.revisions.count() == revisions + 1
    assert questions(file) == 0
    assert all(one.evidence for one in memory_file.memories_of(file))


def test_a_pass_between_our_writing_and_our_note_of_it_asks_nothing(
    file: MemoryFile, tavern: Tavern, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = outbox.accept

    def accept_after_a_pass(attachment: Attachment, digest: str) -> None:
        monkeypatch.setattr(outbox, "accept", accept)
        look(tavern)
        accept(attachment, digest)

    monkeypatch.setattr(outbox, "accept", accept_after_a_pass)
    add(file, "Mara fears the buoy.")
    run_until_idle(alice)
    look(tavern)
    run_until_idle(alice)
    everything_agrees(file, revisions=2)


def test_a_pass_that_read_the_text_before_ours_takes_nothing_back(
    file: MemoryFile, tavern: Tavern, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bytes are in the pass's hands while a job writes the new ones."""
    read = mirror_files._digest

    def read_then_wait(*args: Any, **options: Any) -> Any:
        found = read(*args, **options)
        monkeypatch.setattr(mirror_files, "_digest", read)
        add(file, "Mara fears the buoy.")
        run_until_idle(alice)
        return found

    monkeypatch.setattr(mirror_files, "_digest", read_then_wait)
    path_of(attachment_of(file)).touch()
    look(tavern)
    look(tavern)
    run_until_idle(alice)
    everything_agrees(file, revisions=2)


def test_a_worker_that_died_after_writing_leaves_no_question(
    file: MemoryFile, tavern: Tavern, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file holds version 2, nobody noted it, and then version 3 was made."""
    add(file, "Mara fears the buoy.")
    path_of(attachment_of(file)).write_text(memory_file.render(file), "utf-8")
    add(file, "Mara sails at dawn.")
    run_until_idle(alice)
    look(tavern)
    run_until_idle(alice)
    everything_agrees(file, revisions=3)


def test_the_text_of_a_dead_worker_is_known_to_the_mirror_too(file: MemoryFile, tavern: Tavern, alice: User) -> None:
    add(file, "Mara fears the buoy.")
    path_of(attachment_of(file)).write_text(memory_file.render(file), "utf-8")
    add(file, "Mara sails at dawn.")
    look(tavern)
    assert questions(file) == 0
    run_until_idle(alice)
    everything_agrees(file, revisions=3)


def test_an_edit_outside_while_a_job_writes_is_asked_about(
    file: MemoryFile, tavern: Tavern, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = "<memory>\n- Mara keeps two lanterns.\n</memory>"
    render = memory_file.render

    def render_while_somebody_types(one: MemoryFile) -> str:
        monkeypatch.setattr(memory_file, "render", render)
        path_of(attachment_of(file)).write_text(theirs, "utf-8")
        return render(one)

    add(file, "Mara fears the buoy.")
    monkeypatch.setattr(memory_file, "render", render_while_somebody_types)
    run_until_idle(alice)
    look(tavern)
    conflict = FileConflict.objects.for_user(alice).get()
    assert conflict.theirs == theirs == text_of(attachment_of(file))
    assert "buoy" in conflict.ours


def test_an_edit_outside_at_the_very_moment_of_replacing_is_not_overwritten(
    file: MemoryFile, tavern: Tavern, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = "<memory>\n- Mara keeps two lanterns.\n</memory>"
    sync = os.fsync
    path = path_of(attachment_of(file))

    def sync_while_somebody_types(number: int) -> None:
        path.write_text(theirs, "utf-8")
        sync(number)

    with monkeypatch.context() as patch:
        patch.setattr("sync.tavern.folder.os.fsync", sync_while_somebody_types)
        add(file, "Mara fears the buoy.")
        run_until_idle(alice)
    job = Job.objects.for_user(alice).filter(kind=write_back.KIND).latest("created_at")
    assert job.error == "Mara-memories.md was changed by somebody else at the very moment it was to be written."
    assert path.read_text("utf-8") == theirs
    look(tavern)
    assert FileConflict.objects.for_user(alice).get().theirs == theirs
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("decision", ["ours", "both"])
def test_memories_that_land_while_the_question_waits_are_kept_with_their_sources(
    file: MemoryFile, tavern: Tavern, alice: User, decision: str
) -> None:
    add(file, "Mara fears the buoy.")
    path_of(attachment_of(file)).write_text("<memory>\n- Mara keeps two lanterns.\n</memory>", "utf-8")
    look(tavern)
    conflict = FileConflict.objects.for_user(alice).get()
    add(file, "Mara sails at dawn.")
    outside_text.decide(alice, conflict, decision)
    outside_text.decide(alice, conflict, decision)  # the button was pressed twice
    run_until_idle(alice)
    ours = ["Mara keeps a lantern.", "Mara fears the buoy.", "Mara sails at dawn."]
    kept = {one.text: one.evidence for one in memory_file.memories_of(file)}
    assert list(kept) == (ours if decision == "ours" else ["Mara keeps two lanterns.", *ours])
    assert all(kept[text] for text in ours)
    assert text_of(attachment_of(file)).count("dawn") == 1
    assert not FileConflict.objects.for_user(alice).filter(decided_at=None).exists()


@pytest.mark.parametrize(
    ("moment", "number", "reason"),
    [
        ("fsync", errno.ENOSPC, "No space left on device"),
        ("replace", errno.ENOSPC, "No space left on device"),
        ("open", errno.EROFS, "Read-only file system"),
        ("open", errno.EACCES, "Permission denied"),
    ],
)
def test_a_disk_that_refuses_leaves_the_old_file_whole_and_the_next_try_brings_the_new_one(
    file: MemoryFile, alice: User, monkeypatch: pytest.MonkeyPatch, moment: str, number: int, reason: str
) -> None:
    real = getattr(os, moment)

    def refuse(*arguments: Any, **options: Any) -> Any:
        is_reading = moment == "open" and not arguments[1] & os.O_CREAT
        if is_reading:
            return real(*arguments, **options)
        raise OSError(number, os.strerror(number))

    attachment = attachment_of(file)
    before = text_of(attachment)
    with monkeypatch.context() as patch:
        patch.setattr(f"sync.tavern.folder.os.{moment}", refuse)
        add(file, "Mara fears the buoy.")
        run_until_idle(alice)
    job = Job.objects.for_user(alice).filter(kind=write_back.KIND).latest("created_at")
    assert (job.state, job.error) == (
        Job.State.FAILED,
        f"{attachment.name} could not be written to the Data Bank: {reason}.",
    )
    assert text_of(attachment) == before
    assert [one.name for one in path_of(attachment).parent.iterdir()] == [attachment.file_name]
    assert retry(job)
    run_until_idle(alice)
    everything_agrees(file, revisions=2)


def test_our_own_full_disk_keeps_sillytaverns_file_as_it_is(
    file: MemoryFile, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of the version before cannot be kept, so that version is not replaced."""

    def full(*_things: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = text_of(attachment_of(file))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        add(file, "Mara fears the buoy.")
        run_until_idle(alice)
    job = Job.objects.for_user(alice).filter(kind=write_back.KIND).latest("created_at")
    assert (job.state, job.error) == (
        Job.State.FAILED,
        "The earlier version of Mara-memories.md could not be kept in CharMem’s data folder: No space left on device.",
    )
    assert text_of(attachment_of(file)) == before
    assert retry(job)
    run_until_idle(alice)
    everything_agrees(file, revisions=2)


def test_a_file_that_was_deleted_in_sillytavern_comes_back_with_the_next_memory(
    file: MemoryFile, tavern: Tavern, alice: User
) -> None:
    """Deleted there, its memories are here; nothing is written before there is something new to write."""
    attachment = attachment_of(file)
    path_of(attachment).unlink()
    look(tavern)
    run_until_idle(alice)
    assert not path_of(attachment).exists()
    assert not attachment_of(file).file_present
    add(file, "Mara fears the buoy.")
    run_until_idle(alice)
    look(tavern)
    everything_agrees(file, revisions=2)
    assert attachment_of(file).url == attachment.url


def test_a_file_sent_again_under_another_address_is_followed_and_written_there(
    file: MemoryFile, tavern: Tavern, alice: User
) -> None:
    """SillyTavern's editor deletes the old upload and makes a new one; name and character stay."""
    old = attachment_of(file)
    register(tavern, old.url, old.name)
    look(tavern)
    theirs = text_of(old).replace("a lantern", "two lanterns")
    path_of(old).unlink()
    (tavern.root / "user/files/1790000000000_x.txt").write_text(theirs, "utf-8")
    register(tavern, "/user/files/1790000000000_x.txt", old.name)
    look(tavern)
    run_until_idle(alice)
    add(file, "Mara fears the buoy.")
    run_until_idle(alice)
    look(tavern)
    new = attachment_of(file)
    assert (new.pk, new.url) == (old.pk, "/user/files/1790000000000_x.txt")
    assert [one.text for one in memory_file.memories_of(file)] == ["Mara keeps two lanterns.", "Mara fears the buoy."]
    assert text_of(new) == memory_file.render(file)
    assert questions(file) == 0


def register(tavern: Tavern, url: str, name: str) -> None:
    """What SillyTavern keeps about Mara's Data Bank."""
    entry = {"url": url, "name": name, "size": 60, "created": 1_790_000_000_000}
    settings = {"extension_settings": {"character_attachments": {"Mara.png": [entry]}}}
    (tavern.root / "settings.json").write_text(json.dumps(settings), "utf-8")
