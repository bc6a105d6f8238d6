"""The main job in real processes: whatever is killed, each chunk's effects stand exactly once and are paid once.

The sample story is linked, a model that answers slowly keeps a log of what it was asked, and in the middle of chunks
workers, pages and the supervisor are killed.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support import compose
from tests.support.fake_model import FakeModel, memory_answer, prompt_of
from tests.support.processes import ROOT, Running, family, is_gone, part, python, rows
from tests.support.waiting import wait_until

STORY = ROOT / "sync" / "sample_story" / "tavern"
AT_ONCE = 4  # the story has four characters, and each has one job that asks one question at a time
BEGIN = """
import sys
import django; django.setup()
from accounts.models import User
from memories.models import ExtractionSettings
ExtractionSettings.objects.create(user=User.objects.get(), messages_per_call=int(sys.argv[1]))
"""
FACTS = """
import json
import django; django.setup()
from accounts.ownership import unscoped
from jobs.models import Job
from memories.extraction import waiting
from memories.memory_file import memories_of, render
from memories.models import ExtractedChunk, MemoryFile, Watermark
from sync.models import Character
with unscoped("a test counts"):
    files = list(MemoryFile.objects.select_related("owner", "attachment__tavern"))
    print(json.dumps({
        "jobs": list(Job.objects.values_list("kind", "state")),
        "chunks": [[str(c), *rest] for c, *rest in ExtractedChunk.objects.order_by("created_at").values_list(
            "chat", "first_index", "last_index", "messages", "memories")],
        "waiting": [one.messages for character in Character.objects.select_related("tavern__owner")
                    for one in waiting(character)],
        "marks": list(Watermark.objects.values_list("index", "waiting", "chat__message_count")),
        "files": [{
            "version": file.version,
            "revisions": list(file.revisions.order_by("number").values_list("number", flat=True)),
            "memories": [m.text for m in memories_of(file) if not m.is_topic],
            "text": render(file),
            "path": file.attachment.tavern.folder + file.attachment.url if file.attachment else "",
        } for file in files],
    }))
"""
EXPIRE = """
import django; django.setup()
from datetime import timedelta
from django.utils import timezone
from accounts.ownership import unscoped
from jobs.models import Job
from jobs.reaper import reap
with unscoped("a test lets every lease run out"):
    Job.objects.filter(state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
reap()
"""


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        fake.latency = 0.8
        yield fake


@pytest.fixture
def linked(house: Running, model: FakeModel, tmp_path: Path) -> Running:
    """Alice's SillyTavern folder was read and her model is connected; nothing runs yet."""
    return prepare(house, model, tmp_path)


@pytest.fixture
def linked_on_postgres(house: Running, model: FakeModel, tmp_path: Path, postgres_url: str, valkey_url: str) -> Running:
    house.extra = {"CHARMEM_DATABASE_URL": postgres_url, "CHARMEM_BROKER_URL": valkey_url}
    return prepare(house, model, tmp_path)


def prepare(house: Running, model: FakeModel, tmp_path: Path) -> Running:
    folder = tmp_path / "tavern"
    shutil.copytree(STORY, folder)
    (tmp_path / "password").write_text("correct horse battery\n")
    house.data_dir.mkdir(parents=True, exist_ok=True)
    for arguments in (
        ["migrate", "-v0"],
        ["bootstrap", "--admin", "alice", "--password-file", str(tmp_path / "password")],
        ["link_sillytavern", "--user", "alice", "--folder", str(folder)],
        ["connect_provider", "--user", "alice", "--preset", "local", "--base-url", model.base_url,
         "--model", "fake-small", "--default", "--no-test"],
        ["sync", "--user", "alice"],
    ):  # fmt: skip
        done = house.command(*arguments)
        assert done.returncode == 0, done.stderr
    python(house, BEGIN, 8)
    return house


def extract(house: Running) -> None:
    """Of every character its own chats; a group's chat is read once for each member."""
    for (avatar,) in rows(house, "SELECT avatar FROM sync_character ORDER BY name"):
        done = house.command("extract", "--user", "alice", "--avatar", avatar)
        assert done.returncode == 0, done.stderr


def facts(house: Running) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(python(house, FACTS))
    return found


def chunks(house: Running) -> int:
    return int(rows(house, "SELECT count(*) FROM memories_extractedchunk")[0][0])


def asked(model: FakeModel) -> Counter[tuple[str, ...]]:
    """How often the model was asked about each stretch of messages."""
    found: Counter[tuple[str, ...]] = Counter()
    for prompt in model.prompts():
        lines = prompt.partition("NEW MESSAGES")[2].splitlines()
        found[tuple(line for line in lines if line[:1] == "#" and line[1:2].isdigit())] += 1
    return found


def in_mid_chunk(house: Running, model: FakeModel, more: int) -> int:
    """Wait for `more` further chunks and a question that the model has not answered yet; how many were committed."""
    before = chunks(house)
    wait_until(lambda: chunks(house) >= before + more and model._in_flight, 60)
    return chunks(house)


def wait_for_the_end(house: Running) -> dict[str, Any]:
    def ended() -> dict[str, Any] | None:
        found = facts(house)
        kinds = {kind for kind, _state in found["jobs"]}
        is_done = {state for _kind, state in found["jobs"]} == {"done"} and kinds >= {"extract", "write_back"}
        return found if is_done and all(file["path"] for file in found["files"]) else None

    try:
        return wait_until(ended, 120, every=0.5)  # type: ignore[return-value]
    except AssertionError as error:
        raise AssertionError(f"{facts(house)['jobs']}\n{house.printed()}") from error


def assert_everything_once(found: dict[str, Any], model: FakeModel, kills: int) -> None:
    """Chunks, watermarks, memories, revisions and files, and what the model was asked."""
    read = Counter((chat, index) for chat, first, last, *_ in found["chunks"] for index in range(first, last + 1))
    assert set(read.values()) == {1}
    assert found["waiting"] == []
    assert all(index == count - 1 and not waiting for index, waiting, count in found["marks"])
    once = asked(model)
    assert len(once) == len(found["chunks"])
    assert sum(once.values()) - len(once) <= kills * AT_ONCE
    answers = [memory_answer(prompt_of(request.body)) for request in model.chats]
    expected = {line[2:] for answer in answers for line in answer.splitlines() if line[:2] == "- " and line[2] != "["}
    kept = Counter(text for file in found["files"] for text in file["memories"] if text[0] != "[")
    assert set(kept) == expected
    assert set(kept.values()) == {1}
    for file in found["files"]:
        assert file["revisions"] == list(range(file["version"] + 1))
        assert Path(file["path"]).read_text("utf-8") == file["text"]
    with_memories = sum(1 for *_, memories in found["chunks"] if memories)
    assert sum(file["version"] for file in found["files"]) == with_memories


def assert_not_paid_again(model: FakeModel, before: Counter[tuple[str, ...]], in_flight: int) -> None:
    """Of the stretches that were asked about before a kill only those without an answer yet were asked about again."""
    again = [stretch for stretch, count in asked(model).items() if count > 1 and stretch in before]
    assert len(again) <= in_flight


def start_serve(house: Running) -> psutil.Process:
    supervisor = house.start("serve")
    house.wait_for_page()
    wait_until(lambda: part(supervisor, "worker"))
    return supervisor


def test_serve_killed_part_by_part_reads_each_message_once(linked: Running, model: FakeModel) -> None:
    supervisor = start_serve(linked)
    extract(linked)

    in_mid_chunk(linked, model, 3)
    first, before = part(supervisor, "worker")[0], asked(model)
    first.kill()

    done = in_mid_chunk(linked, model, 5)
    assert_not_paid_again(model, before, AT_ONCE)
    web = part(supervisor, "web")
    for process in web:
        process.kill()
    wait_until(lambda: chunks(linked) > done, 30)
    linked.wait_for_page()

    in_mid_chunk(linked, model, 5)
    below = supervisor.children(recursive=True)
    supervisor.send_signal(signal.SIGKILL)
    linked.started[-1].wait(5)
    wait_until(lambda: is_gone(below), 12)

    supervisor = start_serve(linked)
    found = wait_for_the_end(linked)
    assert_everything_once(found, model, kills=2)
    everybody = [supervisor, *supervisor.children(recursive=True)]
    supervisor.send_signal(signal.SIGINT)
    assert linked.started[-1].wait(25) == 0
    assert is_gone(everybody)


@pytest.mark.postgres
@pytest.mark.valkey
def test_parts_on_postgres_and_valkey_killed_one_by_one(linked_on_postgres: Running, model: FakeModel) -> None:
    house = linked_on_postgres
    web = house.start(*compose.command("web"))
    house.wait_for_page()
    workers = [house.start(*compose.command("worker"), CHARMEM_WORKER_NAME=f"worker-{n}") for n in range(2)]
    beat = house.start(*compose.command("beat"))
    wait_until(lambda: all(f"worker-{n} takes jobs." in house.printed() for n in range(2)), 20)
    extract(house)

    in_mid_chunk(house, model, 3)
    before = asked(model)
    workers[0].kill()
    wait_until(lambda: is_gone([workers[0]]))
    python(house, EXPIRE)

    done = in_mid_chunk(house, model, 5)
    assert_not_paid_again(model, before, AT_ONCE)
    for process in [*family(web.pid), beat]:
        process.kill()
    wait_until(lambda: chunks(house) > done + 2, 30)
    assert house.get() == 0
    house.start(*compose.command("web"))
    house.start(*compose.command("beat"))
    house.wait_for_page()

    in_mid_chunk(house, model, 3)
    workers[1].kill()
    wait_until(lambda: is_gone([workers[1]]))
    house.start(*compose.command("worker"), CHARMEM_WORKER_NAME="worker-1")

    assert_everything_once(wait_for_the_end(house), model, kills=2)
