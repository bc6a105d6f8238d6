"""Extraction through the running product: many characters at once against a model that answers in 300 ms.

Ideal is calls × latency ÷ parallel calls; measured from the first request to the last commit.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench import Row
from bench.running import LATENCY, PARALLEL, Work, do, is_over, look, prepare
from tests.support.fake_model import FakeModel
from tests.support.many_characters import make_folder
from tests.support.processes import Running
from tests.support.waiting import wait_until

CHARACTERS = int(os.environ.get("CHARMEM_BENCH_CHARACTERS", "20"))
CHUNKS = int(os.environ.get("CHARMEM_BENCH_CHUNKS", "40"))
PER_CALL = 20


def _measure(house: Running, folder: Path, fake: FakeModel) -> list[Row]:
    supervisor = prepare(house, folder, fake)
    fake.latency = LATENCY
    work = Work(supervisor)
    do(house, "extract", "--user", "alice", "--all")
    calls = CHARACTERS * CHUNKS
    wait_until(lambda: work.look() and len(fake.chats) >= calls, calls * LATENCY, every=0.5)
    model = work.model_seconds
    wait_until(lambda: work.look() and is_over(house), 120, every=1)
    found = look(house)
    ideal = calls * LATENCY / PARALLEL
    name = f"{CHARACTERS} characters × {CHUNKS} chunks, {PARALLEL} calls at a time"
    return [
        Row(name, found["seconds"], "s", bare=ideal, ratio=found["seconds"] / ideal, limit=1.15),
        Row("  chunks that were not read exactly once", abs(found["chunks"] - calls), "chunks", limit=0),
        Row("  most calls at the same moment", fake.max_in_flight, "calls", limit=PARALLEL),
        Row("  processor time of the workers", work.seconds / calls * 1000, "ms a call"),
        Row("  processor time of the model, on the same cores", model / calls * 1000, "ms a call"),
        Row("  processes that worked", work.processes, "processes"),
        Row("  what else wanted this machine's processors (load before it began)", work.load, "processes"),
        Row("  memories made", found["memories"], "memories"),
    ]


def run() -> list[Row]:
    """One fresh installation, one extraction of everything."""
    with tempfile.TemporaryDirectory() as name, FakeModel() as fake:
        st = Path(name) / "st"
        folder = make_folder(st / "data" / "default-user", characters=CHARACTERS, messages=CHUNKS * PER_CALL)
        house = Running(Path(name) / "data", extra={"CHARMEM_SILLYTAVERN_ROOTS": str(st)})
        house.data_dir.mkdir()
        try:
            return _measure(house, folder, fake)
        finally:
            house.end()
