"""`serve` at rest, and how soon it is there: memory and processor time with one open dashboard, a fresh start."""

from __future__ import annotations

import re
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from bench import Row
from tests.support.processes import Running, family, interrupt, part
from tests.support.waiting import wait_until

MEASURED_SECONDS = 60.0
WARM_UP_SECONDS = 3.0
STARTS = 3
POLL = re.compile(r'hx-get="([^"]+)"[^>]*hx-trigger="every (\d+)s"')
LOGIN = """
import django; django.setup()
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from accounts.models import User
alice = User.objects.create_person("alice", "correct horse battery", role="admin")
session = SessionStore()
session[SESSION_KEY] = str(alice.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = alice.get_session_auth_hash()
session.save()
print(session.session_key)
"""


def _start(house: Running) -> tuple[psutil.Process, float]:
    """Start serve; seconds until the first page."""
    begin = time.perf_counter()
    supervisor = house.start("serve")
    wait_until(lambda: house.get("/healthz") == 200, 60, every=0.01)
    seconds = time.perf_counter() - begin
    wait_until(lambda: "takes jobs" in house.printed(), 60)
    return supervisor, seconds


def _house(folder: Path) -> Running:
    folder.mkdir()
    return Running(folder / "data")


def _first_page(folder: Path) -> float:
    house = _house(folder)
    try:
        supervisor, seconds = _start(house)
        interrupt(supervisor)
        house.started[0].wait(30)
        return seconds
    finally:
        house.end()


def _dashboard(house: Running) -> urllib.request.OpenerDirector:
    """A browser that is logged in as alice."""
    done = house.command("shell", "--no-imports", "-c", LOGIN)
    opener = urllib.request.build_opener()
    opener.addheaders = [("Cookie", f"charmem={done.stdout.strip()}")]
    return opener


def _look(opener: urllib.request.OpenerDirector, house: Running, path: str) -> str:
    with opener.open(f"http://127.0.0.1:{house.port}{path}", timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def _keep_open(opener: urllib.request.OpenerDirector, house: Running, seconds: float) -> None:
    """Ask for each part of the landing page at the pace that the page itself sets."""
    parts = {path.replace("&amp;", "&"): float(pace) for path, pace in POLL.findall(_look(opener, house, "/"))}
    now = time.monotonic()
    end, due = now + seconds, {path: now + pace for path, pace in parts.items()}
    while due and (path := min(due, key=lambda name: due[name])) and due[path] < end:
        time.sleep(max(due[path] - time.monotonic(), 0))
        _look(opener, house, path)
        due[path] += parts[path]
    time.sleep(max(end - time.monotonic(), 0))


def _processor_seconds(processes: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (one.cpu_times() for one in processes))


def _at_rest(house: Running) -> list[Row]:
    supervisor, _seconds = _start(house)
    opener = _dashboard(house)
    _keep_open(opener, house, WARM_UP_SECONDS)
    everybody = family(supervisor.pid)
    before, begin = _processor_seconds(everybody), time.monotonic()
    _keep_open(opener, house, MEASURED_SECONDS)
    share = (_processor_seconds(everybody) - before) / (time.monotonic() - begin) * 100
    memory = {one.pid: one.memory_full_info().pss / 1e6 for one in everybody}
    rows = [Row("idle: memory of all processes", sum(memory.values()), "MB PSS", limit=260)]
    for name in ("web", "worker"):
        rows.append(Row(f"  of which {name}", sum(memory[one.pid] for one in part(supervisor, name)), "MB PSS"))
    return [*rows, Row("idle: processor time with one open dashboard", share, "% of core", limit=1)]


def run() -> list[Row]:
    """Start several times on fresh folders, then rest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = [_first_page(folder / str(number)) for number in range(STARTS)]
        house = _house(folder / "rest")
        try:
            rows = _at_rest(house)
        finally:
            house.end()
    return [Row("fresh folder to first page, median", statistics.median(first), "s", limit=1.5), *rows]
