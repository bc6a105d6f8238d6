"""Folders are looked at by the clock; the first import is a job that can be stopped, continued and repeated."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from jobs.registry import kinds, periodics
from sync import watch
from sync.models import Tavern
from tests.support.st_folder import StFolder


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> StFolder:
    return StFolder(alice, tmp_path / "wren")


def test_the_pass_and_the_first_import_are_known() -> None:
    assert periodics["sync"].seconds == 10
    assert kinds["mirror"].run


def test_a_new_folder_is_read_by_its_job(folder: StFolder) -> None:
    watch.look_at_all()
    watch.look_at_all()
    job = Job.objects.for_user(folder.tavern.owner).get()
    run_until_idle()
    job.refresh_from_db()
    assert (job.state, job.result["chats"], job.result["messages"]) == ("done", 11, 57)
    folder.tavern.refresh_from_db()
    assert folder.tavern.state == "ok"


def test_the_first_import_gives_its_slot_back_and_goes_on(folder: StFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SLICE", -1.0)
    watch.start_import(folder.tavern)
    original = watch.mirror

    def then_patient(*args: object, **more: object) -> object:
        monkeypatch.setattr(watch, "SLICE", 60.0)
        return original(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(watch, "mirror", then_patient)
    run_until_idle()
    job = Job.objects.for_user(folder.tavern.owner).get()
    assert (job.state, job.attempts) == ("done", 2)
    assert folder.tavern.chats.count() == 11


def test_a_folder_that_is_away_fails_the_job_with_its_sentence(folder: StFolder) -> None:
    folder.root.rename(folder.root.with_name("away"))
    watch.start_import(folder.tavern)
    run_until_idle()
    job = Job.objects.for_user(folder.tavern.owner).get()
    assert job.state == "failed"
    assert job.error == f"{folder.root} is not there. Everything read before is kept."


def test_a_change_is_seen_by_the_next_periodic_pass(folder: StFolder) -> None:
    folder.look()
    folder.change(lambda lines: lines.append({**lines[-1], "mes": "New.", "send_date": "2026-03-01T00:00:00.000Z"}))
    watch.look_at_all()
    assert folder.texts()[-1] == "New."


def test_a_pass_that_somebody_else_holds_is_left_to_them_until_it_runs_out(folder: StFolder) -> None:
    rows = Tavern.objects.for_user(folder.tavern.owner)
    rows.update(pass_token=uuid4(), pass_until=timezone.now() + timedelta(seconds=60))
    assert watch.look(folder.tavern) is None
    rows.update(pass_until=timezone.now() - timedelta(seconds=1))
    assert watch.look(folder.tavern)
    folder.tavern.refresh_from_db()
    assert (folder.tavern.pass_token, folder.tavern.pass_until) == (None, None)


def test_an_unlinked_folder_is_left_alone(folder: StFolder) -> None:
    Tavern.objects.for_user(folder.tavern.owner).update(unlinked_at=timezone.now())
    watch.look_at_all()
    assert not Job.objects.for_user(folder.tavern.owner).exists()


def test_one_broken_folder_does_not_stop_the_others(
    folder: StFolder, bob: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = StFolder(bob, tmp_path / "milo")
    Tavern.objects.for_user(bob).update(state="ok")
    Tavern.objects.for_user(folder.tavern.owner).update(state="ok")
    original = watch.look

    def fragile(tavern: Tavern) -> object:
        if tavern.pk == folder.tavern.pk:
            raise RuntimeError("defect")
        return original(tavern)

    monkeypatch.setattr(watch, "look", fragile)
    watch.look_at_all()
    assert other.tavern.chats.count() == 11
