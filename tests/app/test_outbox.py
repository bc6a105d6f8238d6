"""Writing into the Data Bank: whole files, earlier versions kept, nobody's edit overwritten."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from accounts.models import User
from sync import outbox
from sync.models import Attachment
from tests.support.databank import make_file, make_mara, path_of, text_of


def ours(attachment: Attachment) -> Attachment:
    """The file as it stands counts as known."""
    outbox.accept(attachment, outbox.hash_of(text_of(attachment)))
    return attachment


def test_a_new_file_is_written_with_the_folders_mode(alice: User, tmp_path: Path) -> None:
    attachment = make_file(make_mara(alice, tmp_path / "t"), None)
    os.chmod(path_of(attachment).parent, 0o775)
    assert outbox.write_file(attachment, "żółta 蛾子") == outbox.Written(is_changed=True)
    attachment.refresh_from_db()
    assert text_of(attachment) == "żółta 蛾子"
    assert path_of(attachment).stat().st_mode & 0o777 == 0o664
    assert attachment.file_present and attachment.file_hash == attachment.written_hash
    assert [path.name for path in path_of(attachment).parent.iterdir()] == [attachment.file_name]


def test_the_same_text_is_not_written_again(alice: User, tmp_path: Path) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "as it is"))
    before = path_of(attachment).stat().st_mtime_ns
    assert outbox.write_file(attachment, "as it is") == outbox.Written(is_changed=False)
    assert path_of(attachment).stat().st_mtime_ns == before


def test_an_edit_from_outside_is_never_overwritten(alice: User, tmp_path: Path) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "what we wrote"))
    path_of(attachment).write_text("what Mara's player typed", encoding="utf-8")
    outcome = outbox.write_file(attachment, "our next text")
    assert isinstance(outcome, outbox.Conflict)
    assert outcome.theirs == text_of(attachment) == "what Mara's player typed"


def test_bytes_that_no_database_takes_are_shown_as_such(alice: User, tmp_path: Path) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "what we wrote"))
    path_of(attachment).write_bytes(b"typed \x00 outside \xff")
    outcome = outbox.write_file(attachment, "our next text")
    assert isinstance(outcome, outbox.Conflict)
    assert outcome.theirs == "typed \ufffd outside \ufffd"
    assert outbox.read_file(attachment) == (outcome.theirs, outcome.digest)


def test_an_edit_that_the_mirror_saw_but_nobody_took_over_is_not_overwritten_either(
    alice: User, tmp_path: Path
) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "what we wrote"))
    path_of(attachment).write_text("typed outside", encoding="utf-8")
    attachment.file_hash = outbox.hash_of("typed outside")
    attachment.save()
    assert isinstance(outbox.write_file(attachment, "our next text"), outbox.Conflict)


def test_the_last_five_versions_are_kept_in_our_own_folder(alice: User, tmp_path: Path) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "version 0"))
    for number in range(1, 8):
        outbox.write_file(attachment, f"version {number}")
    kept = [path.read_text(encoding="utf-8") for path in outbox.copies_of(attachment)]
    assert kept == [f"version {number}" for number in range(2, 7)]


def test_a_clock_that_goes_back_does_not_throw_the_newest_copy_away(
    alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "version 0"))
    backwards = itertools.count(1_790_000_000_000_000_000, -1)
    monkeypatch.setattr("sync.outbox.time.time_ns", lambda: next(backwards))
    for number in range(1, 8):
        outbox.write_file(attachment, f"version {number}")
    kept = [path.read_text(encoding="utf-8") for path in outbox.copies_of(attachment)]
    assert kept == [f"version {number}" for number in range(2, 7)]


def test_a_folder_that_refuses_says_so_and_nothing_is_half_written(alice: User, tmp_path: Path) -> None:
    attachment = make_file(make_mara(alice, tmp_path / "t"), None)
    path_of(attachment).parent.rmdir()
    with pytest.raises(outbox.WriteFailed) as failure:
        outbox.write_file(attachment, "text")
    assert failure.value.message == (
        "Mara Veldt-memories.md could not be written to the Data Bank: No such file or directory."
    )
    assert failure.value.hint.startswith("The memories are kept here.")


def test_what_a_killed_process_left_half_written_is_cleared_away(alice: User, tmp_path: Path) -> None:
    attachment = ours(make_file(make_mara(alice, tmp_path / "t"), "as it was"))
    place = path_of(attachment).parent
    old, fresh, foreign = (place / name for name in (".charmem-0123.tmp", ".charmem-4567.tmp", ".other.tmp"))
    for path in (old, fresh, foreign):
        path.write_text("as it w", encoding="utf-8")
    for path in (old, foreign):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    outbox.write_file(attachment, "as it is")
    assert sorted(place.iterdir()) == sorted([fresh, foreign, path_of(attachment)])


def test_a_link_in_the_place_of_the_file_is_not_followed(alice: User, tmp_path: Path) -> None:
    attachment = make_file(make_mara(alice, tmp_path / "t"), None)
    secret = tmp_path / "secret.txt"
    secret.write_text("keep out", encoding="utf-8")
    path_of(attachment).symlink_to(secret)
    with pytest.raises(outbox.WriteFailed):
        outbox.write_file(attachment, "text")
    assert secret.read_text(encoding="utf-8") == "keep out"
