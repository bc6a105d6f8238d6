"""A worker's process that does nothing but call a model: `python -m bench.calling URL THREADS CALLS LATENCY`.

Prints one JSON line with seconds: for the product's calls (`complete`, with line, ledger and budgets), for bare httpx
with the same requests, what the model takes of itself, and the processor time of one of our calls.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

QUESTION = "Mira: I live in Oslo now.\n" * 60


def connected(url: str, parallel: int) -> Any:
    """A connection on the scratch database of this run."""
    from accounts.models import User
    from providers.models import Connection

    person = User.objects.filter(username="alice").first() or User.objects.create_person(
        "alice", "correct horse battery", role="admin"
    )
    return Connection.objects.create(
        owner=person, name="Box", preset="local", base_url=url, model="m", max_parallel=parallel
    )


def spent(threads: int, calls: int, ready: Callable[[], Callable[[], object]]) -> float:
    """Seconds until each thread has called so often; each has connected and called once before."""
    begin, failures = threading.Barrier(threads + 1), list[BaseException]()

    def work() -> None:
        try:
            call = ready()
            call()
            begin.wait()
            for _number in range(calls):
                call()
        except BaseException as error:  # noqa: BLE001  told by the main thread
            failures.append(error)
            begin.abort()

    workers = [threading.Thread(target=work) for _number in range(threads)]
    for one in workers:
        one.start()
    begin.wait()
    started = time.perf_counter()
    for one in workers:
        one.join()
    if failures:
        raise failures[0]
    return time.perf_counter() - started


def main(url: str, threads: int, calls: int, latency: float) -> None:
    """Measure in the order of the promise: ours first, then the bare one on the warm machine."""
    from bench import prepare_django

    prepare_django()
    import httpx

    from charmem_site.management.commands.worker import SWITCH_SECONDS
    from providers.abilities import Abilities
    from providers.base import Request
    from providers.complete import complete
    from providers.openai_compatible import body_of

    sys.setswitchinterval(SWITCH_SECONDS)
    row, request = connected(url, threads), Request("You list memories.", QUESTION, 300, temperature=0.3)
    body = body_of(request, "m", Abilities())
    gc.collect()
    gc.freeze()

    def bare() -> Callable[[], object]:
        client = httpx.Client(timeout=60)
        return lambda: client.post(f"{url}/chat/completions", json=body).raise_for_status().json()

    began = time.process_time()
    ours = spent(threads, calls, lambda: lambda: complete(row, request))
    worked = time.process_time() - began
    alone = spent(threads, calls, bare)
    done = threads * (calls + 1)
    print(json.dumps({"ours": ours, "bare": alone, "model": calls * latency, "processor": worked / done}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
