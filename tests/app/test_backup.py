"""A backup brings everything back, says what is wrong with a bad one, and changes nothing then."""

from __future__ import annotations

import errno
import json
import os
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from charmem_site.backup import daily
from charmem_site.backup.archive import BackupError, write
from charmem_site.backup.restoring import restore
from jobs.models import Job
from memories.models import Memory, MemoryBlock, MemoryFile, Revision, RevisionText
from providers.models import Connection
from sync.models import Character, Chat, Message, Tavern
from tests.support.people import make_person
from tests.support.st_folder import StFolder

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Iterator[Path]:
    settings.DATA_DIR = tmp_path
    (tmp_path / "vault-key").write_text("key-of-the-vault")
    (tmp_path / "sample" / "alice").mkdir(parents=True)
    (tmp_path / "sample" / "alice" / "settings.json").write_text("{}")
    yield tmp_path


def small_world() -> User:
    """alice with a tavern, a chat, a memory with its history, a connection and a waiting job."""
    alice = make_person("alice", role="admin")
    tavern = Tavern.objects.create(owner=alice, name="Home", folder="/srv/st/data/alice")
    character = Character.objects.create(tavern=tavern, avatar="Wenna.png", name="Wenna")
    chat = Chat.objects.create(tavern=tavern, character=character, name="First", path="chats/Wenna/First.jsonl")
    for index in range(3):
        Message.objects.create(
            chat=chat, index=index, role="user", text=f"line {index} żółć 蛾子", identity=f"{index:032}", content="c"
        )
    file = MemoryFile.objects.create(owner=alice, character=character, name="Wenna-memories.md", loose_text=[{"a": 1}])
    block = MemoryBlock.objects.create(file=file, label="First", chat=chat)
    Memory.objects.create(block=block, text="Keeps the log in green ink.", evidence=[{"index": 2}])
    text = RevisionText.objects.create(owner=alice, digest="d" * 64, data=b"\x00\xffbytes")
    Revision.objects.create(file=file, number=0, reason="found", text=text, state=text)
    Connection.objects.create(owner=alice, name="Local", preset="local", price_in="0.25", key_sealed="gAAAA-sealed")
    Job.objects.create(owner=alice, kind="extract", key="x", state="running")
    return alice


def everything() -> list[Any]:
    from charmem_site.backup import tables

    return [(m._meta.label, list(m._base_manager.order_by("pk").values())) for m in tables.tables()]


def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    alice = small_world()
    before = everything()
    made = write(tmp_path / "backups" / "b.zip")
    with unscoped("the test destroys things"):
        Memory.objects.all().delete()
        Tavern.objects.update(name="Changed")
    make_person("intruder")
    (tmp_path / "sample" / "alice" / "settings.json").write_text("changed")

    restored = restore(made.path)

    with unscoped("the test undoes what a restore does on purpose"):
        assert Tavern.objects.get().compare_only
        assert Job.objects.get().state == Job.State.CANCELLED
        Tavern.objects.update(compare_only=False)
        stopped = Job.objects.get()
        Job.objects.filter(pk=stopped.pk).update(state="running", error="", finished_at=None)
    assert everything() == before
    assert restored.rows == made.rows
    assert User.objects.get().pk == alice.pk
    assert (tmp_path / "sample" / "alice" / "settings.json").read_text() == "{}"


def test_the_state_before_a_restore_is_kept_and_can_be_restored(tmp_path: Path) -> None:
    small_world()
    made = write(tmp_path / "b.zip")
    make_person("late")
    aside = restore(made.path).kept_aside
    assert not User.objects.filter(username="late").exists()
    restore(aside / "charmem-before-restore.zip")
    assert User.objects.filter(username="late").exists()


def test_what_sillytavern_keeps_secret_is_in_no_backup(tmp_path: Path) -> None:
    folder = StFolder(make_person("alice"), tmp_path / "wren")
    (folder.root / "secrets.json").write_text('{"api_key_openai": "CANARY-7f3a91"}')
    (folder.root / "user/files/secrets.json").write_text("CANARY-7f3a91")
    folder.look()
    with zipfile.ZipFile(write(tmp_path / "backups" / "b.zip").path) as backup:
        names = backup.namelist()
        assert any("sync.Message" in name for name in names)
        assert [name for name in names if b"CANARY-7f3a91" in backup.read(name)] == []


def test_keys_go_along_only_when_asked(tmp_path: Path) -> None:
    small_world()
    plain = zipfile.ZipFile(write(tmp_path / "plain.zip").path)
    assert not [n for n in plain.namelist() if "vault-key" in n]
    assert b"key-of-the-vault" not in b"".join(plain.read(n) for n in plain.namelist())
    with_keys = zipfile.ZipFile(write(tmp_path / "keys.zip", with_keys=True).path)
    assert with_keys.read("files/vault-key") == b"key-of-the-vault"


def test_a_backup_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    small_world()
    assert write(tmp_path / "b.zip").path.stat().st_mode & 0o077 == 0


def rewrite(path: Path, change: dict[str, bytes | None]) -> Path:
    """A copy of a backup with some entries replaced (or left out with None)."""
    target = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as out:
        for name in source.namelist():
            if name not in change:
                out.writestr(name, source.read(name))
        for name, data in change.items():
            if data is not None:
                out.writestr(name, data)
    return target


def changed_manifest(path: Path, **values: Any) -> bytes:
    manifest = json.loads(zipfile.ZipFile(path).read("manifest.json"))
    manifest.update(values)
    return json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("tables/memories.Memory.jsonl", "The backup is damaged: tables/memories.Memory.jsonl"),
        ("files/sample/alice/settings.json", "The backup is damaged: files/sample/alice/settings.json"),
    ],
)
@pytest.mark.parametrize("data", [None, b"{}\n"])
def test_a_damaged_backup_changes_nothing(tmp_path: Path, entry: str, sentence: str, data: bytes | None) -> None:
    small_world()
    broken = rewrite(write(tmp_path / "b.zip").path, {entry: data})
    before = everything()
    with pytest.raises(BackupError, match="Nothing was changed") as caught:
        restore(broken)
    assert str(caught.value).startswith(sentence)
    assert everything() == before


def test_a_backup_cannot_write_outside_the_data_folder(tmp_path: Path) -> None:
    small_world()
    made = write(tmp_path / "b.zip").path
    for name in ("../escape.txt", "/etc/escape", "sample/../../escape", "charmem.sqlite3", "sample\\..\\x"):
        bad = rewrite(made, {"manifest.json": changed_manifest(made, files={name: "0" * 64}), f"files/{name}": b"x"})
        with pytest.raises(BackupError, match="outside the data folder"):
            restore(bad)
    assert not (tmp_path.parent / "escape.txt").exists()


def test_unlisted_entries_are_ignored(tmp_path: Path) -> None:
    small_world()
    made = write(tmp_path / "b.zip").path
    restore(rewrite(made, {"files/sample/evil.txt": b"x"}))
    assert not (tmp_path / "sample" / "evil.txt").exists()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut"])
def test_something_else_is_not_a_backup(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.zip"
    path.write_bytes(content)
    with pytest.raises(BackupError, match=r"is not a backup of CharMem: .* Nothing was changed\."):
        restore(path)


def test_a_backup_of_another_version_is_named_as_such(tmp_path: Path) -> None:
    small_world()
    made = write(tmp_path / "b.zip").path
    other = rewrite(made, {"manifest.json": changed_manifest(made, migrations=[["memories", "0099_future"]])})
    with pytest.raises(BackupError, match="made by another version of CharMem"):
        restore(other)


def test_a_bad_row_leaves_the_old_state(tmp_path: Path) -> None:
    import hashlib

    small_world()
    made = write(tmp_path / "b.zip").path
    bad = b'{"model":"memories.memory","pk":"nonsense","fields":{}}\n'
    listing = json.loads(zipfile.ZipFile(made).read("manifest.json"))["tables"]
    listing["memories.Memory"] = {"rows": 1, "sha256": hashlib.sha256(bad).hexdigest()}
    before = everything()
    with pytest.raises(BackupError, match=r"memories\.Memory, line 1"):
        restore(
            rewrite(
                made,
                {"manifest.json": changed_manifest(made, tables=listing), "tables/memories.Memory.jsonl": bad},
            )
        )
    assert everything() == before


def test_one_backup_a_day_and_seven_are_kept(tmp_path: Path) -> None:
    assert daily.backup_if_due() is None, "nobody lives here yet"
    small_world()
    first = daily.backup_if_due()
    assert first is not None
    assert daily.backup_if_due() is None
    for days in range(1, 10):
        old = daily.folder() / f"charmem-old-{days}.zip"
        old.write_bytes(b"x")
        stamp = (timezone.now() - timedelta(days=days)).timestamp()
        os.utime(old, (stamp, stamp))
    daily.rotate()
    assert len(daily.kept()) == daily.KEEP
    assert daily.kept()[0].path == first.path


def test_a_clock_that_was_wrong_neither_stops_backups_nor_loses_the_new_one(tmp_path: Path) -> None:
    make_person("alice")
    future = (timezone.now() + timedelta(days=400)).timestamp()
    daily.folder().mkdir()
    for number in range(daily.KEEP + 1):
        one = daily.folder() / f"charmem-{number}.zip"
        one.write_bytes(b"")
        os.utime(one, (future, future))
    made = daily.backup_if_due()
    assert made is not None and made.path.exists()
    assert daily.kept()[0].path == made.path
    assert len(daily.kept()) == daily.KEEP
    assert daily.backup_if_due() is None


def test_a_disk_that_is_full_while_unpacking_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_person("alice")
    (tmp_path / "sample" / "story.txt").write_text("before")
    made = write(tmp_path / "b.zip")
    make_person("bob")
    (tmp_path / "sample" / "story.txt").write_text("after")

    def full(*_things: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("charmem_site.backup.restoring.shutil.copyfileobj", full)
    with pytest.raises(BackupError) as caught:
        restore(made.path)
    assert str(caught.value) == "There is no room to unpack it: No space left on device. Nothing was changed."
    assert User.objects.count() == 2
    assert (tmp_path / "sample" / "story.txt").read_text() == "after"


def test_a_backup_that_breaks_off_leaves_no_part_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_things: Any) -> Any:
        raise DatabaseError("gone")

    monkeypatch.setattr("charmem_site.backup.archive.tables.rows", away)
    with pytest.raises(DatabaseError):
        write(tmp_path / "b.zip")
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("b.zip")]
