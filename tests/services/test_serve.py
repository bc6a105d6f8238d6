"""`manage.py serve` as a person and a power cut see it (stack-notes §4.2)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys

import psutil

from charmem_site.local_addresses import lan_addresses
from tests.support.processes import ROOT, Running, interrupt, is_gone, part
from tests.support.waiting import wait_until


def _serve(house: Running) -> psutil.Process:
    """Start serve and wait until pages and worker are there."""
    supervisor = house.start("serve")
    house.wait_for_page()
    wait_until(lambda: part(supervisor, "worker"))
    return supervisor


def test_a_fresh_folder_becomes_a_running_house_and_ctrl_c_ends_it(house: Running) -> None:
    supervisor = _serve(house)
    everybody = [supervisor, *supervisor.children(recursive=True)]
    wait_until(lambda: f"http://127.0.0.1:{house.port}/" in house.printed())
    assert (house.data_dir / "charmem.sqlite3").exists()

    interrupt(supervisor)

    assert house.started[0].wait(25) == 0
    assert is_gone(everybody)
    assert "CharMem has stopped." in house.printed()


def test_the_first_start_prints_a_setup_link_that_no_log_file_keeps(house: Running) -> None:
    _serve(house)

    wait_until(lambda: "/setup" in house.printed())

    for log in (house.data_dir / "logs").iterdir():
        assert "/setup" not in log.read_text("utf-8")


def test_a_second_start_on_the_same_folder_is_refused_in_one_sentence(house: Running) -> None:
    supervisor = _serve(house)

    second = house.command("serve")

    assert second.returncode == 1
    assert second.stderr == f"CharMem already runs on {house.data_dir} as process {supervisor.pid}.\n"
    assert house.get() == 200


def test_a_taken_port_is_named(house: Running) -> None:
    _serve(house)
    other = Running(house.data_dir.with_name("other"), port=house.port)

    refused = other.command("serve")

    assert refused.returncode == 1
    assert f"Another program uses 127.0.0.1:{house.port}." in refused.stderr


def test_a_wrong_address_is_wrong_usage(house: Running) -> None:
    house.extra["CHARMEM_BIND"] = "anywhere"

    refused = house.command("serve")

    assert refused.returncode == 2
    assert refused.stderr == "CHARMEM_BIND=anywhere is not an address with a port, like 127.0.0.1:8420.\n"


def test_lan_answers_under_this_computers_names_and_no_others(house: Running) -> None:
    house.start("serve", "--lan")
    house.wait_for_page()

    assert house.get(host=f"{socket.gethostname()}:{house.port}") == 200
    assert house.get(host=f"rebound.example:{house.port}") == 400
    wait_until(lambda: "CharMem is running" in house.printed())
    for address in lan_addresses():
        assert f"http://{f'[{address}]' if ':' in address else address}:{house.port}/" in house.printed()


def test_pages_come_back_after_kill_9(house: Running) -> None:
    supervisor = _serve(house)
    worker = part(supervisor, "worker")[0]
    web = part(supervisor, "web")

    web[0].kill()

    wait_until(lambda: is_gone(web), 15)
    house.wait_for_page(15)
    assert worker.is_running()


def test_pages_come_back_when_only_the_answering_process_dies(house: Running) -> None:
    supervisor = _serve(house)
    web = part(supervisor, "web")

    web[-1].kill()

    wait_until(lambda: is_gone(web), 15)
    house.wait_for_page(15)


def test_the_worker_comes_back_after_kill_9(house: Running) -> None:
    supervisor = _serve(house)
    first = part(supervisor, "worker")[0]

    first.kill()

    wait_until(lambda: [one for one in part(supervisor, "worker") if one != first], 15)
    assert "worker ended unexpectedly" in house.printed()
    assert house.get() == 200


def test_kill_9_of_the_supervisor_leaves_no_orphan_and_frees_the_folder(house: Running) -> None:
    supervisor = _serve(house)
    below = supervisor.children(recursive=True)

    supervisor.send_signal(signal.SIGKILL)
    house.started[0].wait(5)

    wait_until(lambda: is_gone(below), 12)
    _serve(house)


def test_with_json_the_addresses_are_one_object_and_the_rest_goes_to_stderr(house: Running) -> None:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--json"],
        cwd=ROOT,
        env=house.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    house.started.append(process)
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    assert said["addresses"] == [f"http://127.0.0.1:{house.port}/"]
    assert said["setup_link"].startswith(f"http://127.0.0.1:{house.port}/setup")
    refused = house.command("serve", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout) == {"error": refused.stderr.strip()}
    interrupt(psutil.Process(process.pid))
    with process.stdout as rest:
        assert rest.read() == b""
    assert process.wait(25) == 0
