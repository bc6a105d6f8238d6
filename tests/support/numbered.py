"""Messages with a word of their own each, so that prompts tell which of them were shown."""

from __future__ import annotations

from typing import Any

from jobs.drain import run_until_idle
from jobs.models import Job
from memories.extraction import start_extraction
from sync.models import Character
from tests.support.fake_model import FakeModel


def lines(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Dated messages "Word<n> happened in Harrow."."""
    return [{"text": f"Word{n} happened in Harrow.", "raw_date": f"d{n:04d}"} for n in range(start, start + count)]


def told(fake: FakeModel) -> list[int]:
    """The numbers of the words that were shown since the last look."""
    found = []
    for prompt in fake.prompts():
        material = prompt.partition(" MESSAGES: the only")[2]
        found += [int(word.removeprefix("Word")) for word in material.split() if word.startswith("Word")]
    fake.requests.clear()
    return found


def read(character: Character, **wish: Any) -> Job:
    """Have it read, to the end and well."""
    job = start_extraction(character.tavern.owner, character=character, **wish)
    run_until_idle(character.tavern.owner)
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    return job
