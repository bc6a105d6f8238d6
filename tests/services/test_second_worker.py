"""`serve` with more work than one process can do: a second worker comes, helps, and goes; nothing is lost by it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.services.test_extraction_processes import (
    BEGIN,
    asked,
    assert_not_paid_again,
    chunks,
    start_serve,
    wait_for_the_end,
)
from tests.support.fake_model import FakeModel
from tests.support.many_characters import make_folder
from tests.support.processes import Running, is_gone, part, python, rows
from tests.support.waiting import wait_until

CHARACTERS = 18  # more than one worker has slots
PER_CALL = 8


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


def _prepare(house: Running, model: FakeModel, tmp_path: Path, calls: int) -> psutil.Process:
    """Serve runs, and everybody's chat waits to be read in `calls` calls."""
    folder = make_folder(tmp_path / "tavern", characters=CHARACTERS, messages=calls * PER_CALL)
    (tmp_path / "password").write_text("correct horse battery\n")
    house.data_dir.mkdir(parents=True, exist_ok=True)
    for arguments in (
        ["migrate", "-v0"],
        ["bootstrap", "--admin", "alice", "--password-file", str(tmp_path / "password")],
        ["link_sillytavern", "--user", "alice", "--folder", str(folder)],
        ["connect_provider", "--user", "alice", "--preset", "local", "--base-url", model.base_url,
         "--model", "fake-small", "--default", "--no-test"],
        ["sync", "--user", "alice"],
    ):  # fmt: skip
        done = house.command(*arguments)
        assert done.returncode == 0, done.stderr
    python(house, BEGIN, PER_CALL)
    return start_serve(house)


def _extract(house: Running) -> None:
    assert house.command("extract", "--user", "alice", "--all").returncode == 0


def _helpers(supervisor: psutil.Process) -> list[psutil.Process]:
    return [one for one in part(supervisor, "worker") if "--until-idle" in one.cmdline()]


def _helper(house: Running, supervisor: psutil.Process) -> psutil.Process:
    """The second worker, in the middle of a chunk."""
    return wait_until(lambda: _helpers(supervisor) if _in_mid_chunk(house) else [], 60)[0]


def _in_mid_chunk(house: Running) -> int:
    return int(rows(house, "SELECT count(*) FROM jobs_job WHERE state = 'running' AND worker LIKE '%(2)'")[0][0])


def _assert_read_once(house: Running, calls: int) -> None:
    found = wait_for_the_end(house)
    read = [(chat, index) for chat, first, last, *_ in found["chunks"] for index in range(first, last + 1)]
    assert len(read) == len(set(read)) == CHARACTERS * calls * PER_CALL
    assert found["waiting"] == []
    for file in found["files"]:
        assert file["revisions"] == list(range(file["version"] + 1))
        assert Path(file["path"]).read_text("utf-8") == file["text"]


def test_a_second_worker_comes_under_load_and_goes_when_nothing_is_left(
    house: Running, model: FakeModel, tmp_path: Path
) -> None:
    supervisor = _prepare(house, model, tmp_path, 6)
    first = part(supervisor, "worker")
    model.latency = 0.3

    _extract(house)

    second = _helper(house, supervisor)
    _assert_read_once(house, 6)
    assert model.max_in_flight <= 8
    wait_until(lambda: is_gone([second]), 60)
    wait_until(lambda: part(supervisor, "worker") == first)
    assert "ended unexpectedly" not in house.printed()
    assert "helps." in (house.data_dir / "logs" / "worker-2.log").read_text("utf-8")


def test_kill_9_of_the_second_worker_loses_and_repeats_nothing(
    house: Running, model: FakeModel, tmp_path: Path
) -> None:
    supervisor = _prepare(house, model, tmp_path, 8)
    model.latency = 0.6
    _extract(house)
    second = _helper(house, supervisor)

    at_work, before = _in_mid_chunk(house), asked(model)
    second.kill()

    wait_until(lambda: [one for one in _helpers(supervisor) if one != second], 20)
    _assert_read_once(house, 8)
    assert_not_paid_again(model, before, at_work)


def test_the_end_of_serve_ends_both_workers_and_gives_their_jobs_back(
    house: Running, model: FakeModel, tmp_path: Path
) -> None:
    supervisor = _prepare(house, model, tmp_path, 8)
    model.latency = 0.6
    _extract(house)
    _helper(house, supervisor)
    everybody = [supervisor, *supervisor.children(recursive=True)]

    supervisor.send_signal(signal.SIGINT)

    assert house.started[-1].wait(30) == 0
    assert is_gone(everybody)
    assert rows(house, "SELECT count(*) FROM jobs_job WHERE state = 'running'") == [(0,)]
    assert 0 < chunks(house) < CHARACTERS * 8


def test_a_helper_without_work_ends(house: Running) -> None:
    assert house.command("migrate", "-v0").returncode == 0

    done = house.command("worker", "--until-idle", "0.5")

    assert done.returncode == 0, done.stderr
    assert "helps." in done.stdout
