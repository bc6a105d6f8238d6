"""One batch over many chats through the running product, beside the same work in order, one call at a time, as an
extension in a browser tab does it.

Ideal is calls × latency ÷ parallel calls; measured from the first request to the last commit. In order, a few
characters are read with one call at a time, and their seconds are scaled to the calls of the batch.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from bench import Row
from bench.running import LATENCY, PARALLEL, Work, is_over, look, prepare, shell
from tests.support.fake_model import FakeModel
from tests.support.many_characters import make_folder
from tests.support.processes import Running
from tests.support.waiting import wait_until

CHARACTERS = int(os.environ.get("CHARMEM_BENCH_CHARACTERS", "20"))
CHATS = 2  # of each character
MESSAGES = 300
PER_CALL = 20
IN_ORDER = 2  # characters that are read one call at a time
CALLS_A_CHARACTER = CHATS * MESSAGES // PER_CALL
START = """
import json
from accounts.models import User
from accounts.ownership import unscoped
from memories.batch_start import everything, start_batch
from providers.models import Connection
alice = User.objects.get()
with unscoped("measuring"):
    Connection.objects.update(max_parallel=PARALLEL)
job = start_batch(alice, everything(alice))
print(json.dumps({"parts": job.children.count(), "messages": sum(one.total for one in job.children.all())}))
"""


def _run(characters: int, parallel: int) -> tuple[dict[str, float], FakeModel, Work]:
    """Read everything of so many characters in a fresh installation: what was found, the model, the workers."""
    calls = characters * CALLS_A_CHARACTER
    with tempfile.TemporaryDirectory() as name, FakeModel() as fake:
        st = Path(name) / "st"
        folder = make_folder(st / "data" / "default-user", characters=characters, messages=MESSAGES, chats=CHATS)
        house = Running(Path(name) / "data", extra={"CHARMEM_SILLYTAVERN_ROOTS": str(st)})
        house.data_dir.mkdir()
        try:
            supervisor = prepare(house, folder, fake)
            fake.latency = LATENCY
            work = Work(supervisor)
            started = json.loads(shell(house, START.replace("PARALLEL", str(parallel))))
            wait_until(lambda: work.look() and len(fake.chats) >= calls, calls * LATENCY * 2 + 60, every=0.5)
            wait_until(lambda: work.look() and is_over(house), 120, every=1)
            return look(house) | started, fake, work
        finally:
            house.end()


def run() -> list[Row]:
    """The batch, then a part of it in order."""
    found, fake, work = _run(CHARACTERS, PARALLEL)
    model = work.model_seconds
    slow, slow_fake, _work = _run(IN_ORDER, 1)
    calls = CHARACTERS * CALLS_A_CHARACTER
    ideal = calls * LATENCY / PARALLEL
    in_order = slow["seconds"] * calls / slow["chunks"]
    return [
        Row(
            f"{CHARACTERS * CHATS} chats × {MESSAGES} messages over {found['parts']} characters",
            found["seconds"],
            "s",
            bare=ideal,
            ratio=found["seconds"] / ideal,
            limit=1.15,
        ),
        Row(f"  one call at a time ({slow['chunks']} calls measured, scaled to {calls})", in_order, "s"),
        Row("  times as fast as one call at a time", in_order / found["seconds"], "×"),
        Row("  calls that were not made exactly once", abs(len(fake.chats) - calls), "calls", limit=0),
        Row("  chunks that were not read exactly once", abs(found["chunks"] - calls), "chunks", limit=0),
        Row(f"  places of {PARALLEL} that were never used", PARALLEL - fake.max_in_flight, "calls", limit=0),
        Row("  calls beyond that at the same moment", max(0, fake.max_in_flight - PARALLEL), "calls", limit=0),
        Row("  calls beyond one in order", slow_fake.max_in_flight - 1, "calls", limit=0),
        Row("  processor time of the workers", work.seconds / calls * 1000, "ms a call"),
        Row("  processor time of the model, on the same cores", model / calls * 1000, "ms a call"),
        Row("  processes that worked", work.processes, "processes"),
        Row("  what else wanted this machine's processors (load before it began)", work.load, "processes"),
        Row("  memories made", found["memories"], "memories"),
    ]
