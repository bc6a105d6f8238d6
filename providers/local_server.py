"""The built-in model's own process: `python -m providers.local_server STATE_FILE SERVING`, the latter as JSON.

Serves llama.cpp's OpenAI-compatible API on a loopback port behind a token, and writes address and token into STATE_FILE
(mode 0600). Ends by itself when its starter is gone (end of standard input), when it has been idle, and, after the
answer it is at, when STATE_FILE is gone: the model is then out of memory altogether. Imports no Django, so that it
stays small.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from providers.file_lock import try_lock

CONTEXT_TOKENS = 4096
MOST_THREADS = 4
MODEL_NAME = "built-in"
LOOK_SECONDS = 0.5
_held: list[BinaryIO] = []  # until the end of the process: whoever gets the lock next has the memory too


@dataclass(frozen=True)
class Serving:
    """What is served and how. `threads` 0: half the cores; `port` 0: any free one."""

    model_file: str
    context_tokens: int = CONTEXT_TOKENS
    threads: int = 0
    idle_seconds: float = 300.0
    port: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def main(state_file: Path, serving: Serving) -> int:
    """Serve until idle or orphaned. Exit code 3: another server already holds this state file."""
    if (lock := try_lock(state_file.with_suffix(".lock"))) is None:
        return 3
    _held.append(lock)
    threading.Thread(target=_end_with_starter, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(5)  # the pages come first
    token = secrets.token_urlsafe(24)
    server = _start(serving, token)
    state = {"base_url": f"{server.listening_address}/v1", "token": token, "pid": os.getpid()}
    _publish(state_file, {**state, "serving": serving.as_json()})
    _wait_until_unused(server, state_file, serving.idle_seconds)
    state_file.unlink(missing_ok=True)
    return 0


def _start(serving: Serving, token: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = serving.model_file
    params.model_alias = {MODEL_NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = serving.port
    params.api_keys = [token]
    params.n_ctx = serving.context_tokens
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = serving.threads or usual_threads()
    params.n_threads_http = 2
    params.cache_ram_mib = 0
    params.warmup = False
    params.endpoint_slots = False
    params.endpoint_metrics = True
    params.ui = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def usual_threads() -> int:
    """Half the cores: llama.cpp's threads wait for each other in busy loops, and on a busy computer with a thread on
    every core each token takes ten times as long."""
    return max(1, min(MOST_THREADS, (os.cpu_count() or 1) // 2))


def _publish(state_file: Path, state: dict[str, Any]) -> None:
    draft = state_file.with_suffix(".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(state, file)
    draft.replace(state_file)


def _wait_until_unused(server: Any, state_file: Path, idle_seconds: float) -> None:
    """Users touch the state file, and take it away when they want another server; a request that is still being
    answered counts as use."""
    while True:
        time.sleep(min(LOOK_SECONDS, idle_seconds / 4))
        try:
            unused_for = time.time() - state_file.stat().st_mtime
        except FileNotFoundError:
            unused_for = float("inf")
        if unused_for > idle_seconds and not _is_busy(server):
            return


def _is_busy(server: Any) -> bool:
    text = str(server.handle_metrics())
    return any(
        line.startswith("llamacpp:requests_processing") and not line.rstrip().endswith(" 0")
        for line in text.splitlines()
    )


def _end_with_starter() -> None:
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    os._exit(main(Path(sys.argv[1]), Serving(**json.loads(sys.argv[2]))))
