"""Two people's saves and an extraction at the same moment, in processes of their own: all land, or one is told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.processes import ROOT, Running, python

pytestmark = [pytest.mark.postgres]
MAKE = """
import django; django.setup()
from accounts.models import User
from memories.memory_file import file_for
from sync.models import Character, Tavern
alice = User.objects.create_person("alice", "correct horse battery")
tavern = Tavern.objects.create(owner=alice, name="home", folder="/nowhere")
file_for(Character.objects.create(tavern=tavern, name="Mara", avatar="Mara.png"))
"""
SAVE = """
import sys
import django; django.setup()
from accounts.ownership import unscoped
from memories.memory_file import VersionConflict, change
from memories.models import MemoryFile
who, times, expects = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "yes"
with unscoped("a test edits"):
    file = MemoryFile.objects.select_related("owner").get()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(times):
        try:
            with change(file, reason=who, expected_version=0 if expects else None, writes_back=False) as editor:
                editor.add_block(who, [f"{who} wrote {number}."], origin="written")
            print("saved", flush=True)
        except VersionConflict as conflict:
            print(conflict, flush=True)
"""
FOUND = """
import django; django.setup()
from accounts.ownership import unscoped
from memories.memory_file import memories_of, render, revision_text
from memories.models import MemoryFile
with unscoped("a test counts"):
    file = MemoryFile.objects.select_related("owner").get()
    numbers = sorted(file.revisions.values_list("number", flat=True))
    print(file.version, numbers == list(range(file.version + 1)), revision_text(file.revisions.first()) == render(file))
    print(*sorted(one.text for one in memories_of(file)), sep="\\n")
"""
REFUSED = "Mara-memories.md was changed in the meantime. Nothing was overwritten; look at the newer version first."
PEOPLE = ("Alice", "Bob", "Extraction")


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def file(request: pytest.FixtureRequest, house: Running) -> Running:
    """An installation with one empty memory file."""
    if request.param == "PostgreSQL":
        house.extra["CHARMEM_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    house.data_dir.mkdir(parents=True, exist_ok=True)
    done = house.command("migrate", "-v0")
    assert done.returncode == 0, done.stderr
    python(house, MAKE)
    return house


def save_together(house: Running, times: int, expects: str) -> list[str]:
    """Everybody saves `times` times from the same starting shot; what they were told."""
    environment = {"DJANGO_SETTINGS_MODULE": "charmem_site.settings"} | house.environment
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SAVE, who, str(times), expects],
            cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for who in PEOPLE
    ]  # fmt: skip
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [line for process in started for line in process.communicate(timeout=60)[0].splitlines()]
    assert [process.returncode for process in started] == [0] * len(started)
    return told


def test_all_saves_land_one_after_the_other(file: Running) -> None:
    assert save_together(file, 8, "no") == ["saved"] * 24

    first, *texts = python(file, FOUND).splitlines()
    assert first == "24 True True"
    assert texts == sorted(f"{who} wrote {number}." for who in PEOPLE for number in range(8))


def test_of_those_who_saw_the_same_version_one_saves_and_the_others_are_told(file: Running) -> None:
    told = save_together(file, 1, "yes")

    assert sorted(told) == [
        *["Mara-memories.md was changed in the meantime. Nothing was overwritten; look at the newer version first."]
        * 2,
        "saved",
    ]
    assert python(file, FOUND).splitlines()[0] == "1 True True"
