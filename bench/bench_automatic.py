"""From SillyTavern's save to a queued job, through the running product on polling; and what watching costs at rest."""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench import Row, prepare_django
from bench.bench_mirror import CHARACTERS as ROOT_CHARACTERS
from bench.bench_mirror import CHATS, _bare_walk, _best, _tavern
from tests.support.fake_model import FakeModel
from tests.support.generated_root import card_png, card_v2, header, make_root, message, write_lines
from tests.support.processes import Running
from tests.support.waiting import wait_until

SAVES = int(os.environ.get("CHARMEM_BENCH_SAVES", "40"))
OVER = 90.0  # seconds in which they happen
LONGEST_WAIT = 60.0
NOTICED = 15.0  # seconds from a save to its job, at the 95th percentile
EXCHANGES = 20  # what makes a chat worth reading
START = datetime(2025, 3, 1, 10, 0, tzinfo=UTC)
MAKE_ALICE = """
from accounts.models import User
User.objects.create_person("alice", "correct horse battery", role="admin")
"""
LOOK = """
import json
from accounts.ownership import unscoped
from jobs.models import Job
from sync.models import Character, Tavern
with unscoped("measuring"):
    is_read = Tavern.objects.filter(state="ok").exists()
    names = {str(pk): name for pk, name in Character.objects.values_list("pk", "name")}
    jobs = Job.objects.filter(kind="extract").values_list("params", "created_at")
    queued = {names[params["character"]]: at.timestamp() for params, at in jobs}
print(json.dumps({"is_read": is_read, "queued": queued}))
"""


def run() -> list[Row]:
    """Start the product on a scratch folder, then measure in this process with a database of its own."""
    with tempfile.TemporaryDirectory(prefix="charmem-bench-") as name, FakeModel() as fake:
        folder = Path(name)
        house = Running(folder / "data", extra={"CHARMEM_SILLYTAVERN_ROOTS": str(folder / "st")})
        house.data_dir.mkdir()
        try:
            user_folder = _make_folder(folder / "st" / "data" / "default-user")
            return [*_saves(house, user_folder, fake), *_at_rest(folder)]
        finally:
            house.end()


def _saves(house: Running, folder: Path, fake: FakeModel) -> list[Row]:
    """Each character gets its twenty replies in one save, at a random moment; nobody has a page open."""
    _prepare(house, folder, fake)
    dice = random.Random(7)
    moments = sorted(dice.uniform(0, OVER) for _save in range(SAVES))
    begun, saved = time.monotonic(), {}
    for number, moment in enumerate(moments):
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        name = f"Keeper{number}"
        _write(folder, number, 2 * EXCHANGES, is_said_now=True)
        saved[name] = time.time()
    wait_until(lambda: len(_look(house)["queued"]) == SAVES, LONGEST_WAIT, every=1)
    waits = sorted(at - saved[name] for name, at in _look(house)["queued"].items())
    p95 = statistics.quantiles(waits, n=20)[-1]
    return [
        Row(f"from a save to its queued job, {SAVES} saves, p50", statistics.median(waits), "s"),
        Row(f"from a save to its queued job, {SAVES} saves, p95", p95, "s", limit=NOTICED),
        Row("the slowest of them", waits[-1], "s"),
    ]


def _at_rest(folder: Path) -> list[Row]:
    """A pass over unchanged chats and the two sweeps that come with it, beside a bare walk with stat."""
    prepare_django()
    from accounts.ownership import unscoped
    from memories import automatic
    from memories.models import ChatActivity
    from sync.mirror import mirror

    facts = make_root(folder / "generated", characters=ROOT_CHARACTERS, chats=CHATS, messages=8)
    tavern = _tavern(facts.root, "generated")
    mirror(tavern)
    with unscoped("measuring"):
        known = ChatActivity.objects.filter(chat__tavern=tavern).count()
    if known != tavern.chats.count():
        raise RuntimeError(f"Only {known} chats are watched.")

    def look() -> None:
        mirror(tavern)
        automatic.sweep()
        automatic.sweep()

    _best(look, 3)
    bare = _best(lambda: _bare_walk(facts.root), 15)
    took = _best(look, 15)
    return [Row("pass and sweeps over 1,000 unchanged chats", took * 1000, "ms", bare * 1000, took / bare, 3.0)]


def _make_folder(folder: Path) -> Path:
    """A user folder: a character with a short chat for each save, and enough other chats to make a thousand."""
    keepers = [f"chats/Keeper{number}" for number in range(SAVES)]
    for name in ("characters", *keepers, "groups", "group chats", "worlds", "user/files", "vectors"):
        (folder / name).mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps({"username": "Ren"}), encoding="utf-8")
    for number in range(SAVES):
        (folder / "characters" / f"Keeper{number}.png").write_bytes(card_png(card_v2(f"Keeper{number}")))
        _write(folder, number, 2)
    for number in range(CHATS - SAVES):
        _write(folder, number % SAVES, 8, f"older {number}")
    return folder


def _write(folder: Path, keeper: int, count: int, title: str = "first", *, is_said_now: bool = False) -> None:
    """Save a chat as SillyTavern does: a new file in place of the old one. What was said long ago is not read."""
    name = f"Keeper{keeper}"
    begun = datetime.now(UTC) - timedelta(minutes=count) if is_said_now else START
    lines: list[Any] = [header(0, f"integrity-{name}-{title}")]
    for index in range(count):
        text = f"{title}: word {index} of the keeper about the lantern and the tide."
        date = (begun + timedelta(minutes=index)).isoformat()
        lines.append(message(text, user=bool(index % 2), date=date, name="Ren" if index % 2 else name))
    fresh = folder / "chats" / name / "fresh.tmp"
    write_lines(fresh, lines)
    fresh.replace(fresh.with_name(f"{name} - {title}.jsonl"))


def _prepare(house: Running, folder: Path, fake: FakeModel) -> None:
    house.start("serve")
    house.wait_for_page(60)
    _do(house, "shell", "--no-imports", "-c", MAKE_ALICE)
    _do(house, "link_sillytavern", "--user", "alice", "--folder", str(folder))
    wait_until(lambda: _look(house)["is_read"], 120, every=1)
    connect = ("connect_provider", "--user", "alice", "--preset", "local", "--base-url", fake.base_url)
    _do(house, *connect, "--model", "fake-small", "--default", "--no-test")
    if _look(house)["queued"]:
        raise RuntimeError("Something was read before anything was said.")


def _look(house: Running) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_do(house, "shell", "--no-imports", "-c", LOOK).strip().splitlines()[-1])
    return found


def _do(house: Running, *arguments: str) -> str:
    done = house.command(*arguments)
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed: {done.stdout} {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    for row in run():
        print(row)
