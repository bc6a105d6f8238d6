"""Consolidations and imports in the hands of somebody hasty: pressed twice, taken for one another, out of turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import consolidation, conversion
from memories.memory_file import file_for, render
from memories.models import MemoryFile, Proposal
from memories.views import pace
from providers import retry
from tests.app.test_conversion import NOTES
from tests.support.builders import make_connection
from tests.support.consolidating import Merger, fill
from tests.support.routes import all_routes
from tests.support.story import make_character

ROUTES = [route for route in all_routes() if "<uuid:proposal_id>" in route.pattern]
FIELDS = {
    "all": "1",
    "lose": "yes",
    "add": "1",
    "line": ["0", "99999999", "9" * 5000, "-1", "x"],
    "known": ["0", "7", "9" * 5000, "²"],
    "source": ["nonsense", "s1.1"],
    "by": "model",
    "format": "nonsense",
    "strategy": "nonsense",
    "connection": "nonsense",
    "target": "file:nonsense",
    "name": "../../x.md",
}


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between two tries take no time."""
    monkeypatch.setattr(retry, "wait", lambda seconds, stop: None)


@pytest.fixture
def file(alice: User, fake: Merger) -> MemoryFile:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    file = file_for(make_character(alice))
    fill(file, 4)
    return file


def blocks(file: MemoryFile) -> list[Any]:
    return [block.pk for block in file.blocks.all()]


def one_of_each(file: MemoryFile) -> list[Proposal]:
    """Results that wait: consolidated, imported, sorted into topics."""
    user = file.owner
    merged = consolidation.start_consolidation(user, file, block_ids=blocks(file))
    run_until_idle(user)
    merged.refresh_from_db()
    imported = conversion.start_conversion(user, file, source_name="notes.md", text=NOTES)
    return [merged, imported, conversion.start_reformat(user, file, block_ids=blocks(file), by=conversion.RULES)]


@pytest.mark.parametrize("state", ["ready", "planned", "applied", "discarded", "without a draft"])
def test_every_button_of_every_kind_in_every_state_ends_in_a_page(
    alice_client: Client, file: MemoryFile, state: str
) -> None:
    made, before = one_of_each(file), render(file)
    changed = {"draft": None} if state == "without a draft" else {"state": state}
    for one, other in zip(made, [*made[1:], made[0]], strict=True):
        for route in ROUTES:
            Proposal.objects.for_user(file.owner).filter(pk=one.pk).update(**changed)
            ids: list[object] = [one.pk, other.pk]
            path = route.path(ids[: len(route.params)])
            for answer in (alice_client.get(path), alice_client.post(path, FIELDS)):
                assert answer.status_code < 500, (path, one.kind)
    if state not in (Proposal.State.READY, "without a draft"):
        assert render(file) == before


def test_a_second_press_of_run_pays_nothing(alice_client: Client, alice: User, file: MemoryFile) -> None:
    file.refresh_from_db()
    form = {"version": file.version, "strategy": "consolidation_balanced", "block": blocks(file)}
    url = f"/characters/{file.character_id}/consolidate/"
    first, second = (alice_client.post(url, form)["Location"] for _ in range(2))
    assert first == second
    assert alice_client.post(url, {**form, "strategy": "consolidation_aggressive"})["Location"] != first
    sort = f"/characters/{file.character_id}/reformat/"
    assert len({alice_client.post(sort, {"block": blocks(file)})["Location"] for _ in range(2)}) == 1
    assert Job.objects.for_user(alice).count() == 3


def test_a_run_that_was_stopped_is_not_taken_for_a_new_one(alice: User, file: MemoryFile) -> None:
    first = consolidation.start_consolidation(alice, file, block_ids=blocks(file))
    Job.objects.for_user(alice).update(state=Job.State.FAILED)
    assert consolidation.start_consolidation(alice, file, block_ids=blocks(file)) != first


def test_an_import_is_not_reviewed_as_a_consolidation(alice_client: Client, file: MemoryFile) -> None:
    merged, imported, _sorted = one_of_each(file)
    for name in ("keep", "let-go", "apply", "again"):
        assert alice_client.post(f"/proposals/{imported.pk}/{name}/").status_code == 404
    assert alice_client.get(f"/proposals/{merged.pk}/compare/{imported.pk}/").status_code == 404
    assert alice_client.post(f"/proposals/{merged.pk}/import/save/").status_code == 302
    assert "not waiting to be checked" in alice_client.get(f"/proposals/{merged.pk}/").content.decode()


def test_numbers_that_no_list_has_add_nothing(alice_client: Client, file: MemoryFile) -> None:
    imported = conversion.start_conversion(file.owner, file, source_name="notes.md", text=NOTES)
    for name, field in (("lines", "line"), ("known", "known")):
        answer = alice_client.post(f"/proposals/{imported.pk}/import/{name}/", {field: ["9" * 5000]}, follow=True)
        assert "integer" not in answer.content.decode()


@pytest.mark.parametrize("page", ["/characters/{}/consolidate/", "/characters/{}/import/", "/characters/{}/reformat/"])
def test_who_presses_without_end_hears_so(
    alice_client: Client, file: MemoryFile, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setattr(pace, "TIMES_A_MINUTE", 1)
    file.refresh_from_db()
    form = {"version": file.version, "strategy": "consolidation_balanced", "block": blocks(file), "text": "- A lamp."}
    url = page.format(file.character_id)
    assert alice_client.post(url, form).status_code == 302
    answer = alice_client.post(url, form)
    assert answer.status_code == 422
    assert "Wait a moment" in answer.content.decode()


def test_exports_are_not_uploaded_without_end(
    alice_client: Client, bob_client: Client, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "TIMES_A_MINUTE", 1)
    for client, sentence in ((alice_client, "not JSON"), (alice_client, "Wait a moment"), (bob_client, "not JSON")):
        answer = client.post("/import/", {"file": SimpleUploadedFile("export.json", b"{")})
        assert answer.status_code == 422
        assert sentence in answer.content.decode()
