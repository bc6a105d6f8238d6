"""Removing an account: first the consequences in numbers, then everything it owned is gone and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts import people
from accounts.models import User
from accounts.ownership import ScopedModel, unscoped
from jobs.models import Job
from memories import importing_export_upload as uploads
from sync import outbox
from sync.link import link_sample
from sync.portraits import portraits_of
from sync.watch import look
from tests.support.builders import make_tavern, make_world

SCOPED = [model for model in apps.get_models() if issubclass(model, ScopedModel)]


def rows_of(person: User) -> dict[str, int]:
    found = {model.__name__: model.objects.for_user(person).count() for model in SCOPED}
    return {name: count for name, count in found.items() if count}


def test_first_it_says_what_will_happen(alice_client: Client, bob: User) -> None:
    make_world(bob)
    before = rows_of(bob)
    page = alice_client.get(f"/people/{bob.pk}/remove/").content.decode()
    for sentence in (
        "1 job is stopped.",
        "2 memories and their whole history are deleted from CharMem (memory files: 1).",
        "1 memory file stays in SillyTavern’s Data Bank and goes on working there.",
        "Characters, chats and lorebooks in SillyTavern are not touched; only CharMem’s copies are deleted.",
        "1 connection to a model and its key are deleted. Nobody else uses it.",
        "1 SillyTavern folder is free and can be linked by somebody else.",
    ):
        assert sentence in page
    assert rows_of(bob) == before


def test_the_name_must_be_typed(alice_client: Client, bob: User) -> None:
    answer = alice_client.post(f"/people/{bob.pk}/remove/", {"name": "Bob"})
    assert answer.status_code == 422
    assert "Type the name exactly. Nothing was removed." in answer.content.decode()
    assert User.objects.filter(pk=bob.pk).exists()


def test_everything_of_one_person_goes_and_nothing_of_others(
    alice: User, alice_client: Client, bob: User, bob_client: Client, charlie: User
) -> None:
    make_world(bob)
    make_world(charlie)
    before = rows_of(charlie)
    assert set(rows_of(bob)) == set(before)
    assert alice_client.post(f"/people/{bob.pk}/remove/", {"name": "bob"}).status_code == 302
    assert rows_of(bob) == {}
    assert rows_of(charlie) == before
    assert not User.objects.filter(pk=bob.pk).exists()
    assert bob_client.get("/settings/you/").status_code == 302


def test_what_lies_in_our_own_folder_goes_too(bob: User, charlie: User) -> None:
    places = {}
    for person in (bob, charlie):
        tavern = link_sample(person)
        look(tavern)
        outbox.copies_of_tavern(tavern.pk).mkdir(parents=True)
        places[person.username] = tavern.root, outbox.copies_of_tavern(tavern.pk), tavern.characters.all()[0].pk
    people.remove(bob)
    there = {
        name: (sample.exists(), copies.exists(), bool(portraits_of(character)))
        for name, (sample, copies, character) in places.items()
    }
    assert there == {"bob": (False, False, False), "charlie": (True, True, True)}


def test_exports_that_wait_to_be_imported_go_too(bob: User, charlie: User, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    waiting = {
        person.username: [uploads.keep(person, SimpleUploadedFile("export.json", b"{}")) for _n in range(2)]
        for person in (bob, charlie)
    }
    people.remove(bob)
    names = sorted(path.name for path in (tmp_path / "imports").iterdir())
    assert names == sorted(f"{charlie.pk}-{token}.json" for token in waiting["charlie"])


def test_files_in_sillytavern_stay(alice: User, bob: User, tmp_path: Path) -> None:
    (tmp_path / "user" / "files").mkdir(parents=True)
    kept = tmp_path / "user" / "files" / "memories.txt"
    kept.write_text("<memory>…</memory>")
    make_tavern(bob, folder=str(tmp_path))
    people.remove(bob)
    assert kept.read_text() == "<memory>…</memory>"


def test_an_interrupted_removal_leaves_a_closed_account_that_can_be_removed_again(
    alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_world(bob)

    def power_cut(self: User) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(User, "delete", power_cut)
    with pytest.raises(KeyboardInterrupt):
        people.remove(bob)
    bob.refresh_from_db()
    assert not bob.is_active
    with unscoped("the test looks at what is left"):
        assert not Job.objects.filter(owner=bob, state__in=Job.ACTIVE).exists()
    monkeypatch.undo()
    people.remove(bob)
    assert not User.objects.filter(pk=bob.pk).exists()


def test_somebody_who_invited_others_can_be_removed(alice: User, alice_client: Client, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(role="admin")
    make_world(bob, admin=bob)
    assert alice_client.post(f"/people/{bob.pk}/remove/", {"name": "bob"}).status_code == 302
