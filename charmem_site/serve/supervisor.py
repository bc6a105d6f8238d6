"""The parent of web and worker.

start: web prepares (migrate, static files) ──prepared, ready──▶ worker starts ──▶ watch
watch: a part that ends is started again after 0.5 s, doubling to 30 s
busy:  worker says that it is too much ──▶ helper starts, a second worker that ends by itself when there is no work
stop:  web first, then the workers, 10 s each, then the hard way; a second Ctrl-C goes straight to the hard way
"""

from __future__ import annotations

import json
import queue
import signal
import time
from contextlib import suppress
from types import FrameType
from typing import TextIO

from charmem_site.serve.child import Child
from charmem_site.serve.messages import BUSY, PREPARED, READY, SETUP
from charmem_site.serve.options import Options

GRACE_SECONDS = 10.0
TICK_SECONDS = 1.0


def say(text: str) -> None:
    """A line for the person at the console; nobody may be there any more."""
    with suppress(OSError):
        print(text, flush=True)


class Supervisor:
    """Run web and worker until asked to stop; `run` returns the exit code. The addresses go to `out` as JSON."""

    def __init__(self, options: Options, out: TextIO | None = None) -> None:
        self.options = options
        self._out = out
        environment, logs = options.child_environment(), options.data_dir / "logs"
        self.web = Child("web", environment, logs, self._hear)
        self.worker = Child("worker", environment, logs, self._hear)
        helper = ("worker", "--until-idle")
        self.helper = Child("worker-2", options.helper_environment(), logs, self._hear, helper)
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._prepared = self._announced = False
        self._setup_link = ""
        self._stops = 0

    def run(self) -> int:
        """Start everything, watch it, stop it: 0 after a wanted stop, 1 when the pages never came up."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        self.web.start("--prepare")
        try:
            return self._watch()
        finally:
            self._stop()

    @property
    def _children(self) -> tuple[Child, ...]:
        return self.web, self.worker, self.helper

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1
        self._news.put("stop")
        if self._stops > 1:
            for child in self._children:
                child.kill()

    def _hear(self, word: str, value: str) -> None:
        """Called in a listening thread: note it and wake the watcher."""
        if word == SETUP:
            self._setup_link = value
        self._news.put(word)

    def _watch(self) -> int:
        while not self._stops:
            self._take_news()
            if not self.web.is_alive() and not self._prepared:
                self.web.finish()
                say("CharMem could not start; the lines above say why.")
                return 1
            for child in self._children:
                self._look_after(child)
        return 0

    def _take_news(self) -> None:
        """Wait up to one tick for a word from a child; a restart that is due shortens the wait."""
        try:
            word = self._news.get(timeout=self._wait_seconds())
        except queue.Empty:
            return
        if word == PREPARED:
            self._prepared = True
        if word == READY:
            self._on_ready()
        if word == BUSY and self.helper.process is None and self.options.workers > 1 and not self._stops:
            self.helper.start()

    def _wait_seconds(self) -> float:
        dues = [child.due for child in self._children if child.due]
        return min([TICK_SECONDS, *(max(due - time.monotonic(), 0.01) for due in dues)])

    def _on_ready(self) -> None:
        if self.worker.process is None and not self._stops:
            self.worker.start()
        if not self._announced:
            self._announced = True
            self._announce()

    def _announce(self) -> None:
        if self._out:
            facts = {"addresses": self.options.addresses(), "setup_link": self._setup_link or None}
            print(json.dumps(facts), file=self._out, flush=True)
        say("CharMem is running. Open:")
        for address in self.options.addresses():
            say(f"  {address}")
        if self._setup_link:
            say(f"First visit: make your account here (this link works once, for 30 minutes):\n  {self._setup_link}")
        say("Stop with Ctrl-C.")

    def _look_after(self, child: Child) -> None:
        """Start a part that has ended again, when its pause is over."""
        if child.process is None or child.is_alive():
            return
        if child is self.helper and child.code() == 0:  # nothing was left to do
            child.finish()
            child.process = None
        elif not child.due:
            code, pause = child.code(), child.plan_restart()
            child.finish()
            say(f"{child.name} ended unexpectedly (code {code}); starting it again in {pause:g} s.")
        elif time.monotonic() >= child.due:
            child.start()

    def _stop(self) -> None:
        """Web first, so that nobody asks for new work, then the workers, which give their jobs back."""
        for together in ((self.web,), (self.worker, self.helper)):
            for child in together:
                child.ask_to_stop()
            for child in together:
                self._see_off(child)
        if self._announced:
            say("CharMem has stopped.")

    def _see_off(self, child: Child) -> None:
        if not child.wait(GRACE_SECONDS):
            say(f"{child.name} did not stop in {GRACE_SECONDS:g} s; ending it.")
            child.kill()
            child.wait(GRACE_SECONDS)
        child.finish()
