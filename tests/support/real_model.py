"""The real small model in tests: settings for the built-in one, and the same server as a stranger's local server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from accounts.models import User
from providers import connecting, local_model, model_files
from providers.connecting import Wish
from providers.local_server import MODEL_NAME, Serving
from providers.models import Connection
from tests.support.services import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


def serving(**changes: Any) -> Serving:
    """The packaged model as it is served unless `changes` says otherwise."""
    path = model_files.installed()
    assert path is not None
    return Serving(**{"model_file": str(path), **changes})


def end_children() -> None:
    """Close the lifelines of the built-in model's processes, and wait."""
    for child in local_model._children:
        child.communicate(timeout=10)
    local_model._children.clear()


class LocalServer:
    """llama.cpp's server, started by hand on one port, as people run it beside CharMem."""

    def __init__(self, folder: Path) -> None:
        self._state_file = folder / "by-hand.json"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it can be asked."""
        self._state_file.unlink(missing_ok=True)
        what = json.dumps(serving(port=self._port).as_json())
        command = [sys.executable, "-m", "providers.local_server", str(self._state_file), what]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, **quiet)  # type: ignore[call-overload]
        wait_until(self._state_file.exists, 60)

    def kill(self) -> None:
        """As a crash does it."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._state_file.read_text())
        return found

    def connect(self, owner: User) -> Connection:
        """A connection as the page makes it for a local server."""
        wish = Wish("local", base_url=self.state["base_url"], key=self.state["token"], model=MODEL_NAME)
        return connecting.add_connection(owner, wish)


@contextmanager
def local_server(folder: Path) -> Iterator[LocalServer]:
    """Running while the block lasts."""
    server = LocalServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def is_answering(pid: int) -> bool:
    """Whether somebody is connected to the server process."""
    found = psutil.Process(pid).net_connections("tcp")
    return any(one.status == psutil.CONN_ESTABLISHED for one in found)
