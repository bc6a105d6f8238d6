"""What the product adds to a call of a model: against bare httpx that reads the same bytes, and with many at once."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench import Row, prepare_django
from bench.calling import QUESTION, connected

CALLS, WARM = 300, 30
AT_ONCE, EACH, LATENCY = 64, 20, 0.3


def run() -> list[Row]:
    """One call after the other, then 64 at once."""
    return [*_one_by_one(), *_at_once()]


@contextmanager
def steady_model(latency: float) -> Iterator[str]:
    """Base address of a server that takes `latency` seconds for an answer."""
    command = [sys.executable, "-m", "bench.steady_model", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.stdin.close()


def _one_by_one() -> list[Row]:
    """Medians of calls in turn, so that whatever else the computer does meets all of them."""
    prepare_django()
    import httpx

    from providers import adapters
    from providers.abilities import Abilities
    from providers.base import Request
    from providers.complete import complete
    from providers.openai_compatible import body_of

    request, can = Request("You list memories.", QUESTION, 300, temperature=0.3), Abilities()
    body = body_of(request, "m", can)
    with steady_model(0) as url, httpx.Client(timeout=60) as client:
        row = connected(url, 8)
        kinds: dict[str, Callable[[], object]] = {
            "bare": lambda: client.post(f"{url}/chat/completions", json=body).raise_for_status().json(),
            "adapter": lambda: adapters.ask(row, request, lambda: False, can),
            "complete": lambda: complete(row, request),
        }
        wall: dict[str, list[float]] = {name: [] for name in kinds}
        work: dict[str, list[float]] = {name: [] for name in kinds}
        for number in range(WARM + CALLS):
            for name in sorted(kinds, key=lambda name: (list(kinds).index(name) + number) % len(kinds)):
                began, worked = time.perf_counter(), time.thread_time()
                kinds[name]()
                if number >= WARM:
                    wall[name].append(1000 * (time.perf_counter() - began))
                    work[name].append(1000 * (time.thread_time() - worked))
    return [*_added("time", wall, limit=5), *_added("processor time", work)]


def _added(what: str, taken: dict[str, list[float]], limit: float | None = None) -> list[Row]:
    bare, adapter, whole = (statistics.median(taken[name]) for name in ("bare", "adapter", "complete"))
    return [
        Row(f"{what} that the adapter adds to a call by bare httpx", adapter - bare, "ms", bare=bare, limit=limit),
        Row("  with place, ledger and budgets on SQLite", whole - bare, "ms", bare=bare),
    ]


def _at_once() -> list[Row]:
    """The limit stands for 95 % of what the model gives: 64 answers in 300 ms."""
    with tempfile.TemporaryDirectory(prefix="charmem-bench-") as folder, steady_model(LATENCY) as url:
        env = {**os.environ, "CHARMEM_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "charmem_site.settings"}
        command = [sys.executable, "-m", "bench.calling", url, str(AT_ONCE), str(EACH), str(LATENCY)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=300)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    title = f"{AT_ONCE * EACH:,} calls of {1000 * LATENCY:.0f} ms, {AT_ONCE} at once in one process"
    return [
        Row(title, found["ours"], "s", bare=found["model"], ratio=found["ours"] / found["model"], limit=1 / 0.95),
        Row("  the same by bare httpx", found["bare"], "s", bare=found["model"], ratio=found["bare"] / found["model"]),
        Row("  processor time of one of our calls", 1000 * found["processor"], "ms", bare=1000 * LATENCY / AT_ONCE),
    ]
