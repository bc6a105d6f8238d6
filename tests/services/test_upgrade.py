"""An installation with rows of the release before comes up to date on both engines, and nothing begins by itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.processes import ROOT, Running

BEFORE = """
import django; django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
OLD = {"jobs": "0001_initial", "providers": "0001_initial", "sync": "0002_forgotten", "memories": "0002_manager"}
run = MigrationExecutor(connection)
last = [(app, name) for app, name in run.loader.graph.leaf_nodes() if app not in OLD]
targets = [*OLD.items(), *(one for one in last if one[0] != "companion")]
run.migrate(targets)
at = MigrationExecutor(connection).loader.project_state(targets).apps.get_model
now = timezone.now()
alice = at("accounts", "User").objects.create(username="alice", is_active=True)
tavern = at("sync", "Tavern").objects.create(
    owner=alice, name="home", folder="/nowhere/alice", state="ok", last_pass_at=now
)
flux = at("sync", "Character").objects.create(tavern=tavern, name="Flux", avatar="Flux.png")
fields = {"tavern": tavern, "character": flux, "name": "Tea", "path": "chats/Flux/Tea.jsonl"}
chat = at("sync", "Chat").objects.create(**fields, message_count=60, version=3)
for n in range(60):
    at("sync", "Message").objects.create(
        chat=chat, index=n, role="character", name="Flux", text=f"Word {n}.", raw_date=f"d{n:04d}",
        identity=f"{n:032}", content="c"
    )
job = at("jobs", "Job").objects.create(owner=alice, kind="extract", key="x", state="done")
call = at("providers", "Call").objects.create(owner=alice, purpose="extraction", model="m", cost="0.01", job=job)
at("providers", "Call").objects.create(owner=alice, purpose="extraction", model="m", error_type="unfinished")
file = at("memories", "MemoryFile").objects.create(owner=alice, character=flux, name="Flux-memories.md", version=1)
block = at("memories", "MemoryBlock").objects.create(file=file, label="Tea", chat=chat, job=job)
at("memories", "Memory").objects.create(block=block, text="Flux naps.")
at("memories", "ExtractionSettings").objects.create(user=alice, interval=30, messages_per_call=12)
at("memories", "ExtractedChunk").objects.create(
    owner=alice, key="k", chat=chat, character=flux, first_index=0, last_index=4, job=job, call=call,
    marks=[[f"{n:032}", "c", ""] for n in range(5)], messages=5, memories=1,
)
at("memories", "Watermark").objects.create(chat=chat, character=flux, index=4, anchor=f"{4:032}")
at("memories", "Draft").objects.create(owner=alice, file=file, kind="edit")
at("memories", "Proposal").objects.create(owner=alice, file=file, kind="consolidation")
at("sync", "Tavern").objects.update(last_pass_at=timezone.now())
"""
AFTER = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("migrate", check_unapplied=True, verbosity=0)
from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from memories import automatic, queries
from memories.chosen import choices_for
from memories.models import *
from providers.models import Call
from sync.events import ChatsChanged
from sync.models import Chat
alice = User.objects.get()
with unscoped("a test looks"):
    chat = Chat.objects.select_related("character__tavern__owner", "tavern__owner").get()
    automatic.sweep()
    automatic.hear(ChatsChanged(chat.tavern_id, [chat.pk]))
    automatic.sweep()
    chosen = choices_for(alice, chat.character)
    assert (chosen.interval, chosen.messages_per_call, chosen.cooldown_minutes) == (30, 12, 10)
    assert queries.reading_of(alice, chat, chat.character).fresh == list(range(5, 60))
    assert Memory.objects.get().doubts == [] and ExtractedChunk.objects.get().left_out == 0
    assert Draft.objects.get().kind == "edit" and Proposal.objects.get().kind == "consolidation"
    assert list(Call.objects.values_list("is_automatic", "reserved").distinct()) == [(False, None)]
    assert list(Job.objects.values_list("state", "is_held")) == [("done", False)], "nothing began by itself"
    assert ChatActivity.objects.get().new_at is None
    print("as it was")
"""


def python(house: Running, code: str) -> str:
    environment = house.environment | {"DJANGO_SETTINGS_MODULE": "charmem_site.settings"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_rows_of_the_release_before_come_along(house: Running, engine: str, request: pytest.FixtureRequest) -> None:
    if engine == "postgres":
        house.extra = {"CHARMEM_DATABASE_URL": request.getfixturevalue("postgres_url")}
    house.data_dir.mkdir(parents=True, exist_ok=True)
    python(house, BEFORE)
    assert python(house, AFTER).endswith("as it was")
