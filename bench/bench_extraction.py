"""Extraction through the running product: many characters at once against a model that answers in 300 ms.

Ideal is calls × latency ÷ parallel calls; measured from the first request to the last commit.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from bench import Row
from tests.support.fake_model import FakeModel
from tests.support.generated_root import card_png, card_v2, header, message, write_lines
from tests.support.processes import Running, part
from tests.support.waiting import wait_until

CHARACTERS = int(os.environ.get("CHARMEM_BENCH_CHARACTERS", "20"))
CHUNKS = int(os.environ.get("CHARMEM_BENCH_CHUNKS", "40"))
PER_CALL = 20
LATENCY = 0.3  # seconds
PARALLEL = 8
START = datetime(2025, 3, 1, 10, 0, tzinfo=UTC)
WORDS = "harbour lantern promise bakery winter letter garden bridge sister captain apple music window river".split()
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


def _make_folder(folder: Path) -> Path:
    """A user folder: each character with one chat of CHUNKS × PER_CALL messages."""
    dice = random.Random(11)
    for name in ("characters", "chats", "groups", "group chats", "worlds", "user/files", "vectors"):
        (folder / name).mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps({"username": "Ren"}), encoding="utf-8")
    for number in range(CHARACTERS):
        name = f"Keeper{number}"
        (folder / "characters" / f"{name}.png").write_bytes(card_png(card_v2(name)))
        lines: list[Any] = [header(0, f"integrity-{number}")]
        for index in range(CHUNKS * PER_CALL):
            text = " ".join(dice.choices(WORDS, k=40)) + f" number {index}."
            date = (START + timedelta(minutes=index)).isoformat()
            lines.append(message(text, user=bool(index % 2), date=date, name="Ren" if index % 2 else name))
        write_lines(folder / "chats" / name / f"{name} - first.jsonl", lines)
    return folder


def _do(house: Running, *arguments: str) -> str:
    done = house.command(*arguments)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout} {done.stderr}")
    return done.stdout


def _look(house: Running) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_do(house, "shell", "--no-imports", "-c", LOOK).strip().splitlines()[-1])
    return found


def _is_over(house: Running) -> bool:
    states = json.loads(_do(house, "status", "--user", "alice", "--json"))["jobs"]
    return not states.get("queued") and not states.get("running") and not states.get("paused")


def _prepare(house: Running, folder: Path, fake: FakeModel) -> psutil.Process:
    supervisor = house.start("serve")
    house.wait_for_page(60)
    _do(house, "shell", "--no-imports", "-c", MAKE_ALICE)
    _do(house, "link_sillytavern", "--user", "alice", "--folder", str(folder))
    _do(house, "sync", "--user", "alice")
    connect = ("connect_provider", "--user", "alice", "--preset", "local", "--base-url", fake.base_url)
    _do(house, *connect, "--model", "fake-small", "--default", "--no-test")
    wait_until(lambda: _is_over(house), 120, every=1)
    return supervisor


def _measure(house: Running, folder: Path, fake: FakeModel) -> list[Row]:
    supervisor = _prepare(house, folder, fake)
    fake.latency = LATENCY
    worker = part(supervisor, "worker")
    load = os.getloadavg()[0]
    before = sum(sum(one.cpu_times()[:2]) for one in worker)
    _do(house, "extract", "--user", "alice", "--all")
    calls = CHARACTERS * CHUNKS
    wait_until(lambda: len(fake.chats) >= calls, calls * LATENCY, every=0.5)
    time.sleep(2 * LATENCY)
    used = sum(sum(one.cpu_times()[:2]) for one in worker) - before
    wait_until(lambda: _is_over(house), 120, every=1)
    found = _look(house)
    ideal = calls * LATENCY / PARALLEL
    name = f"{CHARACTERS} characters × {CHUNKS} chunks, {PARALLEL} calls at a time"
    return [
        Row(name, found["seconds"], "s", bare=ideal, ratio=found["seconds"] / ideal, limit=1.15),
        Row("  chunks that were not read exactly once", abs(found["chunks"] - calls), "chunks", limit=0),
        Row("  most calls at the same moment", fake.max_in_flight, "calls", limit=PARALLEL),
        Row("  processor time of the worker", used / calls * 1000, "ms a call"),
        Row("  what else wanted this machine's processors (load before it began)", load, "processes"),
        Row("  memories made", found["memories"], "memories"),
    ]


def run() -> list[Row]:
    """One fresh installation, one extraction of everything."""
    with tempfile.TemporaryDirectory() as name, FakeModel() as fake:
        folder = _make_folder(Path(name) / "st" / "data" / "default-user")
        house = Running(Path(name) / "data", extra={"CHARMEM_SILLYTAVERN_ROOTS": str(Path(name) / "st")})
        house.data_dir.mkdir()
        try:
            return _measure(house, folder, fake)
        finally:
            house.end()
