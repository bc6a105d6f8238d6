"""A pass that is interrupted, dies or loses the disk half-way: the next ones bring everything, once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from sync import events, mirror_chats
from sync.link import unlink
from sync.mirror import mirror
from sync.models import Character, Chat, Message, Tavern
from sync.tavern.folder import Folder
from sync.watch import start_import
from tests.support.people import make_person
from tests.support.st_folder import MARA, StFolder

Family = dict[str, tuple[str, int | None]]


@pytest.fixture
def heard() -> Iterator[list[events.ChatsChanged]]:
    """What listeners are told about changed chats."""
    told: list[events.ChatsChanged] = []
    events.chats_changed.connect(told.append)
    yield told
    events.chats_changed._listeners.remove(told.append)


def family(folder: StFolder) -> Family:
    """Each branch with its parent and where it leaves it."""
    rows = folder.tavern.chats.exclude(parent=None).select_related("parent")
    return {row.path: (row.parent.path, row.fork_index) for row in rows if row.parent}


@pytest.mark.parametrize("steps", [2, 3, 5, 7, 11])
def test_slices_of_a_first_import_know_every_branch(alice: User, tmp_path: Path, steps: int) -> None:
    whole = StFolder(alice, tmp_path / "whole")
    whole.look()
    sliced = StFolder(alice, tmp_path / "sliced")
    for _slice in range(60):
        asked = 0

        def stop() -> bool:
            nonlocal asked
            asked += 1
            return asked > steps + 1

        if mirror(sliced.tavern, should_stop=stop).finished:
            break
    else:
        raise AssertionError("The slices never came to an end.")
    assert len(family(whole)) == 4
    assert family(sliced) == family(whole)
    assert sliced.tavern.chats.count() == 11
    assert sum(chat.messages.count() for chat in sliced.tavern.chats.all()) == 57


def test_a_pass_that_dies_between_messages_and_chat_is_told_later(
    alice: User, tmp_path: Path, heard: list[events.ChatsChanged], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    version = folder.chat().version
    folder.change(lambda lines: lines.append({**lines[-1], "mes": "More.", "send_date": "2025-07-01T00:00:00.000Z"}))

    def die(*_things: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mirror_chats, "_finish", die)
        with pytest.raises(KeyboardInterrupt):
            folder.look()
    heard.clear()
    folder.look()
    chat = folder.chat()
    assert (chat.messages.count(), chat.message_count, chat.version > version) == (10, 10, True)
    assert [news.chat_ids for news in heard] == [[chat.pk]]


def test_a_disk_that_goes_away_in_the_middle_of_a_pass_deletes_nothing(
    alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the walk every file is gone; the next pass sees an empty folder, the third one the disk again."""
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    folder.change(lambda lines: lines.append({**lines[-1], "mes": "More.", "send_date": "2025-07-01T00:00:00.000Z"}))
    away = tmp_path / "away"
    opened = Folder.open

    def unmount_then_open(self: Folder, relative: str) -> Any:
        monkeypatch.setattr(Folder, "open", opened)
        shutil.copytree(folder.root, away)
        for child in folder.root.iterdir():
            shutil.rmtree(child) if child.is_dir() else child.unlink()
        return opened(self, relative)

    monkeypatch.setattr(Folder, "open", unmount_then_open)
    folder.look()
    assert folder.look().state == "paused"
    assert folder.chat().messages.count() == 9
    folder.root.rmdir()
    away.rename(folder.root)
    assert folder.look().state == "ok"
    assert folder.tavern.chats.filter(gone_at=None).count() == 11
    assert folder.tavern.characters.filter(gone_at=None).count() == 3
    assert folder.texts(MARA)[-1] == "More."


def test_a_clock_that_goes_back_hides_no_change(alice: User, tmp_path: Path) -> None:
    """Files are compared for being different, not for being newer."""
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    folder.change(lambda lines: lines.append({**lines[-1], "mes": "More.", "send_date": "2025-07-01T00:00:00.000Z"}))
    os.utime(folder.root / MARA, (1_000_000_000, 1_000_000_000))
    folder.look()
    assert folder.texts()[-1] == "More."


@pytest.mark.django_db(transaction=True)
def test_a_folder_that_is_forgotten_in_the_middle_of_a_pass_leaves_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass ends quietly, and the job of a first import says why it stopped."""
    alice = make_person("alice")
    folder = StFolder(alice, tmp_path / "wren")
    Tavern.objects.for_user(alice).update(state=Tavern.State.NEW)
    job = start_import(folder.tavern)
    write = mirror_chats.write_messages
    calls = 0

    def forget_then_write(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            unlink(Tavern.objects.for_user(alice).get(), forget=True)
        return write(*args, **options)

    monkeypatch.setattr(mirror_chats, "write_messages", forget_then_write)
    run_until_idle(alice)
    with time_machine.travel(timezone.now() + timedelta(seconds=10)):
        run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.error) == (job.State.FAILED, "This folder is not linked any more.")
    with unscoped("a test counts"):
        assert [model.objects.count() for model in (Tavern, Character, Chat, Message)] == [0, 0, 0, 0]


def test_forgetting_begins_again_when_a_pass_adds_a_row_in_between(
    alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    delete = QuerySet.delete
    calls = 0

    def refuse_once(self: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise IntegrityError("a chat came in between")
        return delete(self)

    monkeypatch.setattr(QuerySet, "delete", refuse_once)
    unlink(folder.tavern, forget=True)
    assert Tavern.objects.for_user(alice).count() == 0
