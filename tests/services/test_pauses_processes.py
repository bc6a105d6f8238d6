"""A provider that asks for a minute gets it, and the worker's only slot is free for somebody else meanwhile."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.support.fake_model import FakeModel
from tests.support.processes import Running, python, rows
from tests.support.waiting import wait_until

BEGIN = """
import sys
import django; django.setup()
from accounts.models import User
from memories.extraction import start_extraction
from providers.models import Connection
from tests.support.story import make_character, make_chat
for name, url, characters in (("alice", sys.argv[1], 3), ("bob", sys.argv[2], 1)):
    person = User.objects.create_person(name, "correct horse battery", role="admin")
    Connection.objects.create(owner=person, name="Box", preset="local", base_url=url, model="m", is_default=True)
    for number in range(characters):
        flux = make_character(person, f"{name} {number}")
        make_chat(flux, "first night", [f"Word{n} of the lantern in Harrow." for n in range(4)])
        start_extraction(person, character=flux)
"""
LOOK = """
import json
import django; django.setup()
from accounts.ownership import unscoped
from django.utils import timezone
from jobs.models import Job
from providers.models import Connection
with unscoped("a test looks"):
    jobs = Job.objects.filter(kind="extract", state="paused")
    left = [(job.not_before - timezone.now()).total_seconds() for job in jobs]
    row = Connection.objects.exclude(paused_until=None).get()
print(json.dumps({"left": left, "lowered": row.lowered_to, "whose": row.owner.username}))
"""


def states(house: Running) -> Counter[str]:
    return Counter(state for (state,) in rows(house, "SELECT state FROM jobs_job WHERE kind = 'extract'"))


def test_a_minute_s_pause_frees_the_only_slot(house: Running) -> None:
    house.extra["DJANGO_SETTINGS_MODULE"] = "tests.services.one_slot_settings"
    house.data_dir.mkdir(parents=True)
    assert house.command("migrate", "-v0").returncode == 0
    with FakeModel() as busy, FakeModel() as free:
        busy.respond(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "60"}, times=50)
        python(house, BEGIN, busy.base_url, free.base_url)
        house.start("worker", "--no-beat")
        try:
            wait_until(lambda: states(house) == {"paused": 3, "done": 1}, 40, every=0.25)
        except AssertionError as error:
            raise AssertionError(f"{states(house)}\n{house.printed()}") from error
        assert len(free.chats) == 1
        assert len(busy.chats) == 1, "the others heard of the pause and did not knock"
    found: dict[str, Any] = json.loads(python(house, LOOK))
    assert found["whose"] == "alice" and found["lowered"] == 1
    assert len(found["left"]) == 3 and all(0 < seconds <= 61 for seconds in found["left"])
