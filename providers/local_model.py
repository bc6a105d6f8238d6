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
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, TypeGuard
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.wording import size as size_words
from providers import gguf, machine, model_files, network
from providers.base import ProviderError, Stop
from providers.file_lock import try_lock
from providers.local_server import CONTEXT_TOKENS, MODEL_NAME, Serving

__all__ = ["CONTEXT_TOKENS", "MODEL_NAME", "Serving", "is_available", "is_loaded", "running"]

START_SECONDS = 90.0
SECONDS_A_GIGABYTE = 30.0  # a slow disk
LONGEST_ANSWER_SECONDS = 600.0  # that somebody else may be waiting for, when the settings change
ENDING_SECONDS = 10.0
POLL_SECONDS = 0.05
_starter_lock = threading.Lock()
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Place:
    """Where the running model is reached, and with what token."""

    base_url: str
    token: str
    policy: network.Policy


def is_available() -> bool:
    """Whether this computer can run the built-in model at all."""
    return has_engine() and any(not file.problem for file in model_files.all_files())


def has_engine() -> bool:
    """Whether llama.cpp was installed."""
    return find_spec("xllamacpp") is not None


def is_loaded() -> bool:
    """Whether the model is in memory at this moment."""
    return _state() is not None


@contextmanager
def running(serving: Serving, stop: Stop | None = None) -> Iterator[Place]:
    """The running model, started when needed, and again when it runs otherwise than it should by now. Raises
    ProviderError when it cannot start."""
    state = _state()
    if not _is_as(state, serving):
        state = _started(serving, stop)
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


def _is_as(state: dict[str, object] | None, serving: Serving) -> TypeGuard[dict[str, object]]:
    return state is not None and state.get("serving") == serving.as_json()


def _started(serving: Serving, stop: Stop | None) -> dict[str, object]:
    """Start the server, unless another thread or process is just doing so."""
    patience = START_SECONDS + LONGEST_ANSWER_SECONDS
    with _starter_lock, _only_starter(stop, time.monotonic() + patience):
        state = _state()
        if _is_as(state, serving):
            return state
        if state is not None:
            _retire(state["pid"], stop)
        size = Path(serving.model_file).stat().st_size if Path(serving.model_file).is_file() else 0
        return _wait_for(_spawn(serving), stop, time.monotonic() + START_SECONDS + SECONDS_A_GIGABYTE * (size >> 30))


def _retire(pid: object, stop: Stop | None) -> None:
    """Have the server that runs end, after the answer that it is giving, and wait until its memory is free again."""
    _state_file().unlink(missing_ok=True)
    until = time.monotonic() + LONGEST_ANSWER_SECONDS
    while (lock := try_lock(_state_file().with_suffix(".lock"))) is None:
        _pause(stop, until)
    lock.close()
    for child in _children:
        if child.pid == pid:
            child.wait(ENDING_SECONDS)


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


def _spawn(serving: Serving) -> subprocess.Popen[bytes]:
    _check(serving)
    _state_file().unlink(missing_ok=True)
    command = [sys.executable, "-m", "providers.local_server", str(_state_file()), json.dumps(serving.as_json())]
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


def _check(serving: Serving) -> None:
    """Raise when it cannot run here, or would take more memory than there is."""
    if not has_engine():
        raise ProviderError(
            _("The built-in model is not installed here."),
            retryable=False,
            hint=_("Start CharMem with “make run”, without MODEL=no, or choose another connection."),
            error_type="setup",
        )
    try:
        need = gguf.facts_of(Path(serving.model_file)).memory_for(serving.context_tokens)
    except (OSError, gguf.NotGguf) as error:
        raise ProviderError(
            _("The file of the built-in model is gone, or it is no GGUF file."),
            retryable=False,
            hint=_("An admin chooses another one: Settings, Models, Built-in model."),
            error_type="setup",
        ) from error
    there = machine.memory()
    if there is not None and need > there.free:
        sizes = {"need": size_words(need), "free": size_words(there.free)}
        raise ProviderError(
            _("The built-in model needs about %(need)s of memory, and %(free)s are free.") % sizes,
            retryable=False,
            hint=_("Close other programs, or have an admin choose a smaller model or window."),
            error_type="setup",
        )


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
                hint=_("It may be too large for this computer, or of a kind that this version cannot run."),
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
