"""The product as real processes: `Running` starts commands on a data folder and leaves nothing behind."""

from __future__ import annotations

import http.client
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.support.services import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SCRUBBED = ("CHARMEM_", "DJANGO_", "COV_")


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without the test run's own settings, plus `extra`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SCRUBBED)}
    return kept | dict(extra)


@dataclass
class Running:
    """One installation under test: a data folder, a port, and the processes started on them."""

    data_dir: Path
    extra: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        here = {"CHARMEM_DATA_DIR": str(self.data_dir), "CHARMEM_BIND": f"127.0.0.1:{self.port}"}
        return clean_environment(here | self.extra)

    @property
    def output(self) -> Path:
        """Where everything that the processes print ends up."""
        return self.data_dir.parent / f"{self.data_dir.name}.out"

    def start(self, *arguments: str, **variables: str) -> psutil.Process:
        """Start `manage.py ARGUMENTS` and return at once."""
        with self.output.open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env=self.environment | variables,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.started.append(process)
        return psutil.Process(process.pid)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `manage.py ARGUMENTS` to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def get(self, path: str = "/healthz", host: str = "") -> int:
        """The status of a page, 0 when nobody answers; `host` is the name by which the browser calls."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path, headers={"Host": host} if host else {})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def wait_for_page(self, seconds: float = 30) -> None:
        """Until the pages answer; shows what was printed when they never do."""
        try:
            wait_until(lambda: self.get() == 200, seconds)
        except AssertionError as error:
            raise AssertionError(f"No page. Output:\n{self.printed()}") from error

    def printed(self) -> str:
        return self.output.read_text("utf-8", "replace") if self.output.exists() else ""

    def end(self) -> None:
        """Kill whatever still runs of what was started, with everything below it."""
        for process in self.started:
            for one in family(process.pid):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            process.wait(10)


def python(house: Running, code: str, *arguments: object) -> str:
    """Run Python code as the installation would; what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={"DJANGO_SETTINGS_MODULE": "charmem_site.settings"} | house.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def rows(house: Running, query: str) -> list[tuple[Any, ...]]:
    """Read the database as it is, without Django."""
    if url := house.extra.get("CHARMEM_DATABASE_URL"):
        import psycopg

        with psycopg.connect(url) as connection:
            return connection.execute(query).fetchall()
    with closing(sqlite3.connect(house.data_dir / "charmem.sqlite3", timeout=20)) as connection:
        return connection.execute(query).fetchall()


def family(pid: int) -> list[psutil.Process]:
    """A process and everything below it; empty when it is gone."""
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def part(supervisor: psutil.Process, command: str) -> list[psutil.Process]:
    """The supervisor's processes that run `manage.py COMMAND`, outermost first."""
    return [one for one in supervisor.children(recursive=True) if _runs(one, command)]


def _runs(process: psutil.Process, command: str) -> bool:
    try:
        return command in process.cmdline()[1:3]
    except psutil.Error:
        return False


def is_gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether none of these runs any more; one that ended and waits for its parent counts as gone."""
    return not [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def interrupt(process: psutil.Process) -> None:
    """What Ctrl-C does."""
    process.send_signal(signal.SIGINT)
