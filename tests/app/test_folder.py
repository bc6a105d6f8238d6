"""The one way into a folder: what it opens, what it never opens, and how it writes."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from sync.tavern.folder import Folder, NotRegular
from sync.tavern.paths import PathRefused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "wren"
    for name in ("characters", "chats/Mara", "user/files"):
        (root / name).mkdir(parents=True)
    (root / "chats/Mara/a.jsonl").write_text("inside")
    (root / "secrets.json").write_text("CANARY")
    (tmp_path / "outside.txt").write_text("CANARY")
    return root


def test_a_regular_file_is_read(root: Path) -> None:
    with Folder(root) as folder:
        assert folder.read("chats/Mara/a.jsonl") == b"inside"
        assert [(one.name, one.kind) for one in folder.list("chats")] == [("Mara", "folder")]
        assert folder.exists("chats/Mara/a.jsonl")
        assert not folder.exists("chats/Mara/b.jsonl")


@pytest.mark.parametrize(
    "path",
    [
        "secrets.json",
        "../outside.txt",
        "chats/../../outside.txt",
        "/etc/passwd",
        "chats/a\0b/c.jsonl",
        "user/files/../../secrets.json",
    ],
)
def test_nothing_outside_the_list_is_opened(root: Path, path: str) -> None:
    with Folder(root) as folder:
        for verb in (folder.open, folder.stat, folder.list):
            with pytest.raises(PathRefused):
                verb(path)
        with pytest.raises(PathRefused):
            folder.write_atomic(path, b"x")
    assert (root / "secrets.json").read_text() == "CANARY"


def test_links_are_not_followed_at_any_step(root: Path, tmp_path: Path) -> None:
    (root / "chats/Mara/link.jsonl").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.jsonl").write_text("CANARY")
    (root / "chats/Away").symlink_to(tmp_path / "elsewhere")
    with Folder(root) as folder:
        with pytest.raises(NotRegular):
            folder.open("chats/Mara/link.jsonl")
        with pytest.raises(OSError, match=r"regular|Not a directory"):
            folder.open("chats/Away/a.jsonl")
        with pytest.raises(OSError, match=r"regular|Not a directory"):
            folder.list("chats/Away")


def test_devices_pipes_and_folders_are_not_opened(root: Path) -> None:
    os.mkfifo(root / "chats/Mara/pipe.jsonl")
    (root / "chats/Mara/folder.jsonl").mkdir()
    with Folder(root) as folder:
        for name in ("pipe.jsonl", "folder.jsonl"):
            with pytest.raises(OSError, match=r"regular|directory"):
                folder.read(f"chats/Mara/{name}")


def test_a_folder_swapped_for_a_link_in_between_does_not_lead_outside(root: Path, tmp_path: Path) -> None:
    """Somebody swaps a folder for a link again and again while it is read; nothing foreign ever comes back."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.jsonl").write_text("CANARY")
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            (root / "chats/Mara").rename(root / "chats/aside")
            (root / "chats/Mara").symlink_to(tmp_path / "elsewhere")
            (root / "chats/Mara").unlink()
            (root / "chats/aside").rename(root / "chats/Mara")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        with Folder(root) as folder:
            for _try in range(3000):
                try:
                    assert folder.read("chats/Mara/a.jsonl") == b"inside"
                except OSError:
                    continue
    finally:
        is_over.set()
        thread.join()


def test_writing_is_whole_and_takes_over_the_mode(root: Path) -> None:
    (root / "user/files").chmod(0o750)
    with Folder(root) as folder:
        folder.write_atomic("user/files/new.txt", b"new")
        assert stat.S_IMODE((root / "user/files/new.txt").stat().st_mode) == 0o640
        (root / "user/files/new.txt").chmod(0o604)
        inode = (root / "user/files/new.txt").stat().st_ino
        folder.write_atomic("user/files/new.txt", b"newer")
    written = root / "user/files/new.txt"
    assert written.read_bytes() == b"newer"
    assert stat.S_IMODE(written.stat().st_mode) == 0o604
    assert written.stat().st_ino != inode
    assert os.listdir(root / "user/files") == ["new.txt"]


def test_a_link_is_never_written_through(root: Path, tmp_path: Path) -> None:
    (root / "user/files/link.txt").symlink_to(tmp_path / "outside.txt")
    with Folder(root) as folder, pytest.raises(NotRegular):
        folder.write_atomic("user/files/link.txt", b"overwritten")
    assert (tmp_path / "outside.txt").read_text() == "CANARY"


def test_a_failed_write_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with Folder(root) as folder, pytest.raises(OSError, match="disk full"):
        folder.write_atomic("user/files/new.txt", b"x")
    assert os.listdir(root / "user/files") == []


def test_folders_are_made_only_where_we_write(root: Path) -> None:
    with Folder(root) as folder:
        folder.make_folder("extensions/charmem/assets")
        folder.make_folder("extensions/charmem/assets")
        assert (root / "extensions/charmem/assets").is_dir()
        with pytest.raises(PathRefused):
            folder.make_folder("chats/new")


def test_a_root_that_is_a_link_or_missing_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    for path in (tmp_path / "link", tmp_path / "missing", tmp_path / "outside.txt"):
        with pytest.raises(OSError, match=r".+"):
            Folder(path)
