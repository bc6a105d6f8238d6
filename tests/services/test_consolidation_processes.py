"""A consolidation in real processes: a worker killed in the middle of a call costs that call and nothing else."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.test_extraction_processes import prepare
from tests.support.consolidating import Merger, listed
from tests.support.processes import Running, part, python, rows
from tests.support.waiting import wait_until

BEGIN = """
import django; django.setup()
from accounts.models import User
from memories.consolidation import start_consolidation
from memories.memory_file import file_for
from providers.models import Connection
from sync.models import Character
from tests.support.consolidating import fill
person = User.objects.get()
Connection.objects.for_user(person).update(context_tokens=3000)
file = file_for(Character.objects.for_user(person).order_by("name").first())
fill(file, 90)
file.refresh_from_db()
start_consolidation(person, file, block_ids=[block.pk for block in file.blocks.all()])
"""
FACTS = """
import json
import django; django.setup()
from accounts.models import User
from memories.consolidation import undecided
from memories.models import Proposal
proposal = Proposal.objects.for_user(User.objects.get()).select_related("draft", "file").get()
print(json.dumps({
    "state": proposal.state,
    "sources": len(proposal.report.get("sources", {})),
    "missing": len(undecided(proposal)) if proposal.draft else None,
    "parts": list(proposal.parts.values_list("level", "number", "state")),
    "drafts": proposal.file.drafts.count(),
    "version": proposal.file.version,
}))
"""


@pytest.fixture
def model() -> Iterator[Merger]:
    with Merger() as fake:
        fake.latency = 0.8
        yield fake


def done(house: Running) -> int:
    return int(rows(house, "SELECT count(*) FROM memories_proposalpart WHERE state = 'done'")[0][0])


def in_mid_call(house: Running, model: Merger, more: int) -> int:
    """Wait for `more` further parts and a question that is not answered yet; how many parts are done."""
    before = done(house)
    wait_until(lambda: done(house) >= before + more and model._in_flight, 60)
    return done(house)


def asked(model: Merger) -> Counter[tuple[str, ...]]:
    return Counter(tuple(text for _ref, text in listed(prompt)) for prompt in model.prompts())


def test_killed_twice_it_asks_each_part_once_more_at_most(house: Running, model: Merger, tmp_path: Path) -> None:
    prepare(house, model, tmp_path)
    python(house, BEGIN)
    supervisor = house.start("serve")
    house.wait_for_page()
    for more in (2, 1):
        wait_until(lambda: part(supervisor, "worker"), 30)
        in_mid_call(house, model, more)
        part(supervisor, "worker")[0].kill()

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = json.loads(python(house, FACTS))
        return found if found["state"] not in ("planned", "running") else None

    found = wait_until(ended, 150, every=1)
    assert isinstance(found, dict)
    assert (found["state"], found["sources"], found["missing"], found["drafts"]) == ("ready", 180, 0, 1)
    assert found["version"] == 0, "nothing is applied before a person has seen it"
    assert {state for _level, _number, state in found["parts"]} <= {"done", "split"}
    again = [count - 1 for count in asked(model).values() if count > 1]
    assert sum(again) <= 2
    supervisor.send_signal(signal.SIGINT)
    assert house.started[-1].wait(25) == 0
