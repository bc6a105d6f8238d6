"""`manage.py consolidate`: from the command line nothing is applied that lost a memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from accounts.commands import CommandFailed
from accounts.models import User
from memories.memory_file import file_for
from memories.models import MemoryFile, Proposal
from tests.support.builders import make_block, make_connection
from tests.support.consolidating import Merger, fill, listed
from tests.support.story import make_character


@pytest.fixture(autouse=True)
def one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command closes the database when it ends; here that is the test's own."""
    monkeypatch.setattr(connections, "close_all", lambda: None)


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture
def file(alice: User, fake: Merger) -> MemoryFile:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    return file_for(make_character(alice))


def consolidate(*arguments: str, **options: Any) -> None:
    call_command("consolidate", "--user", "alice", "--character", "Flux", *arguments, skip_checks=True, **options)


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_it_is_queued_and_waits_for_nobody(file: MemoryFile, capsys: pytest.CaptureFixture[str]) -> None:
    fill(file, 2)
    consolidate()
    assert capsys.readouterr().out == "Flux: the consolidation is queued.\n"
    assert Proposal.objects.for_user(file.owner).get().state == Proposal.State.PLANNED


def test_with_wait_the_result_waits_for_its_review(
    file: MemoryFile, fake: Merger, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(file, 2)
    make_block(file, "Earlier", ["Wren was consolidated.", "Twice."], origin="consolidated", order=9)
    consolidate("--wait", "--strategy", "conservative", "--json")
    said = told(capsys)
    assert (said["state"], said["before"], said["after"], said["missing"]) == ("ready", 4, 2, 0)
    assert (said["calls"], said["revision"]) == (1, None)
    assert len(listed(fake.prompts()[0])) == 4, "what was consolidated before stays out"
    assert Proposal.objects.for_user(file.owner).get().params["strategy"] == "consolidation_conservative"
    file.refresh_from_db()
    assert file.version == 0


def test_apply_makes_one_revision(file: MemoryFile, capsys: pytest.CaptureFixture[str]) -> None:
    fill(file, 2)
    consolidate("--wait", "--apply")
    assert capsys.readouterr().out == "Flux: 4 memories became 2. Applied as revision 1.\n"


def test_nothing_is_applied_while_a_memory_is_missing(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 2)
    fake.lose = {memories[2].text}
    with pytest.raises(CommandFailed, match="1 memory is not accounted for; nothing") as failure:
        consolidate("--wait", "--apply")
    assert failure.value.returncode == 1
    file.refresh_from_db()
    assert file.version == 0
    assert Proposal.objects.for_user(file.owner).get().state == Proposal.State.READY


def test_why_it_cannot_is_said_in_a_sentence(file: MemoryFile, fake: Merger) -> None:
    with pytest.raises(CommandFailed, match="at least two memories"):
        consolidate()
    fill(file, 2)
    with pytest.raises(CommandFailed, match="no prompt called reckless"):
        consolidate("--strategy", "reckless")
    with pytest.raises(CommandFailed, match="--apply needs --wait") as failure:
        consolidate("--apply")
    assert failure.value.returncode == 2
    fake.respond(401, {"error": {"message": "no"}})
    with pytest.raises(CommandFailed, match="key"):
        consolidate("--wait")
    with pytest.raises(CommandFailed, match="no character named “Nobody”"):
        call_command("consolidate", "--user", "alice", "--character", "Nobody", skip_checks=True)
