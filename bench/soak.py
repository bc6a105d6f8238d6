"""`make soak MINUTES=5`: serve at work while random parts are killed; every chunk's effect must happen once."""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil

from tests.support.processes import Running, family, interrupt, is_gone, part
from tests.support.waiting import wait_until

CHUNKS = 3
PARTS = ("web", "worker", "supervisor")
PAUSE_SECONDS = (2.0, 8.0)
START = 'from accounts.models import User; User.objects.create_person("alice", "correct horse battery")'
ENQUEUE = """
from accounts.models import User
from jobs.enqueue import enqueue
alice = User.objects.get(username="alice")
for number in range({first}, {first} + {count}):
    enqueue(alice, "count", key=f"count {{number}}", total={chunks}, params={{"slow": 0.3}})
"""


def _shell(house: Running, code: str) -> None:
    done = house.command("shell", "--no-imports", "-c", code)
    assert done.returncode == 0, done.stderr


def _rows(house: Running, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(house.data_dir / "charmem.sqlite3", timeout=20)) as database:
        return database.execute(query).fetchall()


def _serve(house: Running) -> psutil.Process:
    supervisor = house.start("serve")
    house.wait_for_page(60)
    return supervisor


def _kill(house: Running, supervisor: psutil.Process, name: str) -> psutil.Process:
    """Kill one part the hard way; a killed supervisor is started again."""
    if name == "supervisor":
        below = family(supervisor.pid)
        supervisor.kill()
        house.started[-1].wait(10)
        wait_until(lambda: is_gone(below), 20)
        return _serve(house)
    for victim in part(supervisor, name)[:1]:
        victim.kill()
    return supervisor


def _verdict(house: Running, jobs: int) -> list[str]:
    """What is wrong with the rows: jobs not done, chunks missing or done twice.

    A job whose worker was killed three times gives up, as it should; then its chunks may be fewer, never double.
    """
    effects = Counter(_rows(house, "SELECT job_id, text FROM jobs_jobevent WHERE level = 'effect'"))
    wrong = [f"chunk {chunk} happened {times} times" for chunk, times in effects.items() if times != 1]
    chunks = Counter(job for job, _text in effects)
    states = _rows(house, "SELECT id, state, failures >= max_failures FROM jobs_job")
    for job, state, gave_up in states:
        if state == "done" and chunks[job] != CHUNKS:
            wrong.append(f"job {job} is done with {chunks[job]} of {CHUNKS} chunks")
        if state != "done" and not gave_up:
            wrong.append(f"job {job} is {state}")
    return wrong if len(states) == jobs else [*wrong, f"{len(states)} jobs instead of {jobs}"]


def soak(house: Running, minutes: float, chance: random.Random) -> list[str]:
    """Work and kill for some minutes, let the rest be finished, stop, and look at what is left."""
    supervisor = _serve(house)
    _shell(house, START)
    end, jobs = time.monotonic() + minutes * 60, 0
    kills: Counter[str] = Counter()
    while time.monotonic() < end:
        _shell(house, ENQUEUE.format(first=jobs, count=10, chunks=CHUNKS))
        jobs += 10
        time.sleep(chance.uniform(*PAUSE_SECONDS))
        name = chance.choice(PARTS)
        supervisor = _kill(house, supervisor, name)
        kills[name] += 1
    print(f"{jobs} jobs, killed: {dict(kills)}", flush=True)
    active = "SELECT count(*) FROM jobs_job WHERE state IN ('queued', 'running', 'paused')"
    wait_until(lambda: _rows(house, active) == [(0,)], 300, every=1)
    everybody = family(supervisor.pid)
    interrupt(supervisor)
    house.started[-1].wait(30)
    orphans = [] if is_gone(everybody) else ["a process outlived serve"]
    return _verdict(house, jobs) + orphans


def main() -> int:
    """0 when nothing was lost, repeated or left behind."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        house = Running(Path(folder) / "data", extra={"DJANGO_SETTINGS_MODULE": "tests.services.jobs_settings"})
        try:
            wrong = soak(house, asked.minutes, random.Random(asked.seed))
        finally:
            house.end()
    print("\n".join(wrong) or "Every chunk's effect happened exactly once, and nothing was left behind.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
