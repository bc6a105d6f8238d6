"""The product as real processes with many characters to read, for measurements of everything between a click and the
last commit."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import psutil

from tests.support.fake_model import FakeModel
from tests.support.processes import Running, part
from tests.support.waiting import wait_until

LATENCY = 0.3  # seconds of the model
PARALLEL = 8
MAKE_ALICE = """
from accounts.models import User
User.objects.create_person("alice", "correct horse battery", role="admin")
"""
LOOK = """
import json
from django.db.models import Max, Min
from accounts.ownership import unscoped
from memories.models import ExtractedChunk, Memory
from providers.models import Call
with unscoped("measuring"):
    times = Call.objects.aggregate(first=Min("started_at")) | ExtractedChunk.objects.aggregate(last=Max("created_at"))
    counts = {"chunks": ExtractedChunk.objects.count(), "memories": Memory.objects.count()}
seconds = (times["last"] - times["first"]).total_seconds() if times["last"] else 0
print(json.dumps({**counts, "seconds": seconds}))
"""


def do(house: Running, *arguments: str) -> str:
    """What a command printed; RuntimeError when it failed."""
    done = house.command(*arguments)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout} {done.stderr}")
    return done.stdout


def shell(house: Running, code: str) -> str:
    """The last line that some code prints inside the product."""
    return do(house, "shell", "--no-imports", "-c", code).strip().splitlines()[-1]


def look(house: Running) -> dict[str, Any]:
    """Chunks, memories, and the seconds from the first request to the last commit."""
    found: dict[str, Any] = json.loads(shell(house, LOOK))
    return found


def is_over(house: Running) -> bool:
    """Whether no job waits or runs."""
    states = json.loads(do(house, "status", "--user", "alice", "--json"))["jobs"]
    return not states.get("queued") and not states.get("running") and not states.get("paused")


def prepare(house: Running, folder: Path, fake: FakeModel) -> psutil.Process:
    """Serve runs, Alice's folder was read, her model is connected."""
    supervisor = house.start("serve")
    house.wait_for_page(60)
    do(house, "shell", "--no-imports", "-c", MAKE_ALICE)
    do(house, "link_sillytavern", "--user", "alice", "--folder", str(folder))
    do(house, "sync", "--user", "alice")
    connect = ("connect_provider", "--user", "alice", "--preset", "local", "--base-url", fake.base_url)
    do(house, *connect, "--model", "fake-small", "--default", "--no-test")
    wait_until(lambda: is_over(house), 120, every=1)
    return supervisor


class Work:
    """What the workers used: processor time of all that run jobs, also of one that came later, and how many they
    were."""

    def __init__(self, supervisor: psutil.Process) -> None:
        self._supervisor = supervisor
        self._used: dict[int, float] = {}
        self.look()
        self._before = sum(self._used.values())
        self._model_before = time.process_time()
        self.load = os.getloadavg()[0]

    def look(self) -> bool:
        """Read the times; call it now and then, as a process that ended tells nothing any more."""
        for one in part(self._supervisor, "worker"):
            try:
                self._used[one.pid] = sum(one.cpu_times()[:2])
            except psutil.Error:
                continue
        return True

    @property
    def seconds(self) -> float:
        return sum(self._used.values()) - self._before

    @property
    def model_seconds(self) -> float:
        """Processor time of this process since, which answers as the model on the same cores."""
        return time.process_time() - self._model_before

    @property
    def processes(self) -> int:
        return len(self._used)
