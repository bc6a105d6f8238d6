"""One part of the product as a child process: start, listen to its output, stop, start again with back-off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from charmem_site.serve import lifeline
from charmem_site.serve.logfile import LogFile
from charmem_site.serve.messages import heard
from charmem_site.serve.options import BASE_DIR

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
NEW_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows' form of a session of its own
CALM_SECONDS = 60.0  # a part that ran this long starts over with the shortest pause


@dataclass
class Child:
    """`command` is the management command, `name` what it is called here; `on_word` hears its marked lines
    (messages.py)."""

    name: str
    environment: dict[str, str]
    log_dir: Path
    on_word: Callable[[str, str], None]
    command: tuple[str, ...] = ()  # with its arguments; empty: as `name`
    process: subprocess.Popen[bytes] | None = None
    pause: float = FIRST_PAUSE
    started: float = 0.0
    due: float = field(default=0.0)
    _pump: threading.Thread | None = None

    def start(self, *arguments: str) -> None:
        """Start the process in a session of its own, so that a Ctrl-C reaches only the supervisor."""
        self.started = time.monotonic()
        self.due = 0.0
        self.process = subprocess.Popen(
            [sys.executable, str(BASE_DIR / "manage.py"), *(self.command or (self.name,)), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**self.environment, lifeline.VARIABLE: "1"},
            cwd=BASE_DIR,
            start_new_session=sys.platform != "win32",
            creationflags=NEW_GROUP,
        )
        self._pump = threading.Thread(target=self._listen, args=(self.process,), name=self.name, daemon=True)
        self._pump.start()

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def code(self) -> int | None:
        """The exit code, None while it runs."""
        return self.process.poll() if self.process else None

    def ask_to_stop(self) -> None:
        """Send the polite signal and close the lifeline."""
        if self.process is None or not self.is_alive():
            return
        if sys.platform == "win32":
            self.process.send_signal(signal.CTRL_BREAK_EVENT)
        else:
            self.process.terminate()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False when it still runs."""
        if self.process is None:
            return True
        try:
            self.process.wait(timeout=max(seconds, 0))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End the process and whatever it started, without waiting: safe inside a signal handler."""
        if self.process is None:
            return
        if sys.platform == "win32":
            self.process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def finish(self) -> None:
        """Let the last lines of an ended process reach console and log, and let go of its pipes."""
        if self._pump is not None:
            self._pump.join(timeout=2)
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()

    def plan_restart(self) -> float:
        """Set when to start again; returns the pause in seconds (0.5 s doubling to 30 s)."""
        now = time.monotonic()
        if now - self.started > CALM_SECONDS:
            self.pause = FIRST_PAUSE
        pause, self.pause = self.pause, min(self.pause * 2, LONGEST_PAUSE)
        self.due = now + pause
        return pause

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        log = LogFile(self.log_dir / f"{self.name}.log")
        assert process.stdout is not None  # noqa: S101  a pipe was asked for
        for line in process.stdout:
            word = heard(line)
            if word:
                self.on_word(*word)
                continue
            _pass_on(line, log)
        log.close()


def _pass_on(line: bytes, log: LogFile) -> None:
    """To the log and the console. Neither a full disk nor a closed terminal may stop it: the child would block."""
    with suppress(OSError):
        log.write(line)
    with suppress(OSError):
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
