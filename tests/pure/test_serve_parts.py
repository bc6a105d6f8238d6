"""The supervisor's small parts: addresses, log files, the lock, news from children."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from charmem_site.env import EnvError
from charmem_site.serve import lifeline, messages, options
from charmem_site.serve.child import CALM_SECONDS, FIRST_PAUSE, LONGEST_PAUSE, Child
from charmem_site.serve.load import Look, is_too_much
from charmem_site.serve.lock import AlreadyRunning, DataFolderLock, holder
from charmem_site.serve.logfile import LogFile
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "parts"),
    [("127.0.0.1:8420", ("127.0.0.1", 8420)), ("[::1]:80", ("::1", 80)), ("localhost:65535", ("localhost", 65535))],
)
def test_an_address_has_host_and_port(text: str, parts: tuple[str, int]) -> None:
    assert options.split_bind(text) == parts


@pytest.mark.parametrize("text", ["", "8420", "127.0.0.1", ":8420", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000"])
def test_half_an_address_is_refused_by_name(text: str) -> None:
    with pytest.raises(options.BadBind, match="CHARMEM_BIND="):
        options.split_bind(text)


def test_lan_answers_everywhere_and_names_every_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "lan_addresses", lambda: ["192.168.1.5", "fd00::5"])
    monkeypatch.setenv("CHARMEM_BIND", "127.0.0.1:9000")

    asked = options.read(["--lan"])

    assert asked.bind == "0.0.0.0:9000"
    assert asked.addresses() == ["http://127.0.0.1:9000/", "http://192.168.1.5:9000/", "http://[fd00::5]:9000/"]
    assert asked.child_environment()["CHARMEM_LAN"] == "1"


def test_without_lan_the_local_network_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHARMEM_LAN", raising=False)
    monkeypatch.setenv("CHARMEM_BIND", "127.0.0.1:9000")

    assert options.read([]).addresses() == ["http://127.0.0.1:9000/"]


def test_a_log_file_starts_over_at_its_limit_and_keeps_two(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "logs" / "web.log", limit=25)
    for number in range(8):
        log.write(f"line number {number}\n".encode())
    log.close()

    kept = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert kept == {
        "web.log": "line number 7\n",
        "web.log.1": "line number 6\n",
        "web.log.2": "line number 5\n",
    }


def test_one_process_holds_a_data_folder(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with DataFolderLock(tmp_path):
        assert holder(tmp_path) == os.getpid()
        with pytest.raises(AlreadyRunning, match=f"as process {os.getpid()}"), DataFolderLock(tmp_path):
            pass
    assert holder(tmp_path) is None


def test_news_are_told_apart_from_output() -> None:
    assert messages.heard(b"\x1esetup http://127.0.0.1:8420/setup/?token=a b\n") == (
        "setup",
        "http://127.0.0.1:8420/setup/?token=a b",
    )
    assert messages.heard(b"\x1eready \n") == ("ready", "")
    assert messages.heard(b"GET /setup\n") is None


def test_restarts_wait_longer_each_time_until_a_calm_stretch(tmp_path: Path) -> None:
    child = Child("web", {}, tmp_path, lambda word, value: None)
    child.started = time.monotonic()
    pauses = [child.plan_restart() for _number in range(8)]
    assert pauses == [0.5, 1, 2, 4, 8, 16, LONGEST_PAUSE, LONGEST_PAUSE]

    child.started = time.monotonic() - CALM_SECONDS - 1
    assert child.plan_restart() == FIRST_PAUSE


def test_a_child_notices_the_end_of_its_parent() -> None:
    reading, writing = os.pipe()
    gone: list[bool] = []
    lifeline.watch(reading, lambda: gone.append(True))
    assert gone == []

    os.close(writing)

    wait_until(lambda: gone)
    os.close(reading)


def test_the_supervisor_holds_no_django() -> None:
    code = "import sys, charmem_site.serve.__main__; print({'django', 'celery', 'httpx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(("cores", "text", "most"), [(8, "", 2), (8, "1", 1), (8, "2", 2), (1, "", 1), (1, "2", 1)])
def test_a_second_worker_needs_a_second_core_and_may_be_switched_off(
    monkeypatch: pytest.MonkeyPatch, cores: int, text: str, most: int
) -> None:
    monkeypatch.setattr(options, "_cores", lambda: cores)
    monkeypatch.setenv("CHARMEM_WORKERS", text)
    assert options.read([]).workers == most


def test_another_number_of_workers_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARMEM_WORKERS", "many")
    with pytest.raises(EnvError, match="CHARMEM_WORKERS=many"):
        options.read([])


@pytest.mark.parametrize(
    ("used", "taken", "is_full", "is_much"),
    [
        (0.95, 14, True, True),
        (0.2, 14, True, True),  # others use the computer too
        (0.03, 14, True, False),  # all wait for one slow model
        (0.9, 8, False, True),
        (0.5, 8, False, False),
        (0.95, 1, False, False),  # one job cannot be shared
    ],
)
def test_more_than_one_process_can_do_is_told_from_waiting(
    used: float, taken: int, is_full: bool, is_much: bool
) -> None:
    assert is_too_much(Look(10, 5, taken, is_full), Look(11, 5 + used, taken, is_full)) is is_much


def test_a_second_worker_holds_its_jobs_under_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHARMEM_WORKER_NAME", "box")
    asked = options.read([])
    assert asked.child_environment()["CHARMEM_WORKER_NAME"] == "box"
    assert asked.helper_environment()["CHARMEM_WORKER_NAME"] == "box (2)"
