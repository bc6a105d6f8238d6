"""Whose folder is whose: admins pick and assign, members link what is theirs, nobody takes another's."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.commands import CommandFailed
from accounts.models import User
from jobs.models import Job
from sync import outbox, proof
from sync.link import (
    LinkError,
    grant,
    inspect_folder,
    link_folder,
    link_sample,
    unlink,
)
from sync.models import FolderGrant, Tavern
from sync.places import guesses, user_folders
from sync.portraits import portraits_of
from sync.proof import prove_by_login
from sync.tavern.server import ServerError
from sync.watch import look
from tests.support.st_folder import FIXTURE


@pytest.fixture
def data(tmp_path: Path, settings: Any) -> Path:
    """An installation with two user folders, inside the allowed places."""
    data = tmp_path / "SillyTavern" / "data"
    for handle in ("wren", "milo"):
        shutil.copytree(FIXTURE, data / handle)
    (data / "_storage").mkdir()
    (data / "cookie-secret.txt").write_text("CANARY")
    settings.SILLYTAVERN_ROOTS = [str(tmp_path)]
    return data


def test_what_is_found_before_linking(data: Path) -> None:
    report = inspect_folder(data / "wren")
    assert report.is_user_folder
    assert (report.version, report.characters, report.chats, report.groups, report.group_chats) == (
        "1.19.0",
        3,
        9,
        1,
        2,
    )
    assert (report.lorebooks, report.databank_files) == (1, 5)
    able = report.abilities
    assert (able.can_write, able.can_rename, able.can_change_mode, able.problem) == (True, True, True, "")
    assert len(list((data / "wren/user/files").iterdir())) == 5


def test_an_installation_and_a_data_root_offer_their_user_folders(data: Path) -> None:
    for path in (data, data.parent):
        report = inspect_folder(path)
        assert (report.is_user_folder, [choice.handle for choice in report.choices]) == (False, ["milo", "wren"])
    assert [folder.handle for folder in user_folders(data / "wren")] == ["wren"]
    assert {folder.handle for folder in guesses()} == {"wren", "milo"}


def test_names_that_are_not_text_are_left_out(data: Path, alice_client: Client) -> None:
    for name in (b"bad\xff", b"<b>odd"):
        folder = os.fsencode(data) + b"/" + name
        shutil.copytree(os.fsencode(FIXTURE), folder)
    pages = [alice_client.get(url).content.decode() for url in ("/settings/sillytavern/link/", "/wizard/folder/")]
    pages.append(alice_client.post("/settings/sillytavern/link/", {"folder": str(data)}).content.decode())
    for page in pages:
        assert "&lt;b&gt;odd" in page and "<b>odd" not in page


def test_what_is_not_sillytaverns_is_said(data: Path, tmp_path: Path, alice: User) -> None:
    (tmp_path / "music").mkdir()
    with pytest.raises(LinkError) as caught:
        inspect_folder(tmp_path / "music")
    assert str(caught.value) == (
        f"{tmp_path / 'music'} is not a SillyTavern user folder: it has no characters beside chats or settings.json."
    )
    with pytest.raises(LinkError, match="There is no folder at"):
        inspect_folder(tmp_path / "nothing")
    with pytest.raises(LinkError, match="Name the folder by its whole path"):
        inspect_folder("relative/path")
    with pytest.raises(LinkError, match=r"holds the folders of several people. Choose one of them: milo, wren."):
        link_folder(alice, data)


def test_linking_starts_reading(data: Path, alice: User) -> None:
    tavern = link_folder(alice, data / "wren")
    assert (tavern.name, tavern.version, tavern.is_writable, tavern.state) == ("data/wren", "1.19.0", True, "new")
    job = Job.objects.for_user(alice).get()
    assert (job.kind, job.subject) == ("mirror", str(tavern.pk))
    assert link_folder(alice, data / "wren").pk == tavern.pk


def test_one_folder_belongs_to_one_account(data: Path, alice: User, bob: User) -> None:
    link_folder(alice, data / "wren")
    with pytest.raises(LinkError, match="belongs to another account here"):
        link_folder(bob, data / "wren", by_operator=True)
    (data.parent / "shortcut").symlink_to(data / "wren")
    with pytest.raises(LinkError, match="belongs to another account here"):
        link_folder(bob, data.parent / "shortcut", by_operator=True)
    with pytest.raises(LinkError, match="linked by another account already"):
        grant(data / "wren", bob)


def test_a_member_links_only_what_was_assigned(data: Path, alice: User, bob: User) -> None:
    with pytest.raises(LinkError, match="This folder is not assigned to you"):
        link_folder(bob, data / "milo")
    grant(data / "milo", bob)
    assert link_folder(bob, data / "milo").owner == bob
    grant(data / "wren", bob)
    with pytest.raises(LinkError, match="belongs to another account here"):
        link_folder(alice, data / "wren")


def test_an_admin_stays_inside_the_allowed_places(data: Path, alice: User, tmp_path: Path, settings: Any) -> None:
    settings.SILLYTAVERN_ROOTS = [str(data / "milo")]
    with pytest.raises(LinkError, match="is outside the places that may be linked"):
        link_folder(alice, data / "wren")
    with pytest.raises(LinkError, match="is outside the places that may be linked"):
        grant(data / "wren", alice)


class FakeServer:
    """A SillyTavern that serves one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read_file(self, name: str) -> str:
        return (self.root / "user/files" / name).read_text() if (self.root / "user/files" / name).exists() else ""


def serve(monkeypatch: pytest.MonkeyPatch, root: Path, handle: str) -> None:
    @contextmanager
    def connect(*_args: object, **_more: object) -> Iterator[FakeServer]:
        yield FakeServer(root)

    monkeypatch.setattr(proof, "connect", connect)
    monkeypatch.setattr(proof, "check_login", lambda *_args, **_more: handle)


def test_a_login_to_the_server_of_that_folder_proves_it(data: Path, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, data / "milo", "milo")
    row = prove_by_login(bob, "http://127.0.0.1:8000", "milo", "password")
    assert (row.folder, row.user) == (str(data / "milo"), bob)
    assert link_folder(bob, row.folder).owner == bob
    assert len(list((data / "milo/user/files").iterdir())) == 5


def test_a_login_to_some_other_server_proves_nothing(
    data: Path, bob: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serve(monkeypatch, tmp_path / "bobs own server", "milo")
    with pytest.raises(LinkError, match="none of the folders here belongs to that account"):
        prove_by_login(bob, "http://127.0.0.1:8000", "milo", "password")
    assert not FolderGrant.objects.exists()


def test_nothing_is_written_into_a_folder_that_somebody_has_linked(
    data: Path, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_folder(alice, data / "milo")
    serve(monkeypatch, data / "milo", "milo")
    before = (data / "milo/user/files").stat().st_mtime_ns
    with pytest.raises(LinkError, match="none of the folders here belongs to that account"):
        prove_by_login(bob, "http://127.0.0.1:8000", "milo", "password")
    assert (data / "milo/user/files").stat().st_mtime_ns == before


@pytest.mark.parametrize("said", ["", "not ascii: ż"])
def test_a_server_that_says_anything_proves_nothing(
    data: Path, bob: User, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    serve(monkeypatch, data / "milo", "milo")
    monkeypatch.setattr(FakeServer, "read_file", lambda *_args: said)
    with pytest.raises(LinkError, match="none of the folders here belongs to that account"):
        prove_by_login(bob, "http://127.0.0.1:8000", "milo", "password")
    assert len(list((data / "milo/user/files").iterdir())) == 5


def test_a_folder_that_cannot_be_written_proves_nothing(data: Path, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, data / "milo", "milo")
    shutil.rmtree(data / "milo/user")
    with pytest.raises(LinkError, match="none of the folders here belongs to that account"):
        prove_by_login(bob, "http://127.0.0.1:8000", "milo", "password")


def test_nobody_guesses_passwords_of_sillytavern_here(
    data: Path, bob_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, data / "wren", "somebody")
    form = {"url": "http://127.0.0.1:8000", "login": "wren", "password": "guess"}
    pages = [bob_client.post("/settings/sillytavern/link/prove", form).content.decode() for _n in range(6)]
    assert ["These were many tries." in page for page in pages] == [False] * 5 + [True]


def test_a_member_does_not_learn_which_folders_there_are(data: Path, bob: User, bob_client: Client) -> None:
    said = set()
    for path in (data / "wren", data / "nobody", data / "wren/settings.json", "/", "~"):
        page = bob_client.post("/settings/sillytavern/link/", {"folder": str(path)}).content.decode()
        assert "This folder is not assigned to you." in page
        with pytest.raises(LinkError) as caught:
            link_folder(bob, path)
        said.add(str(caught.value))
    assert len(said) == 1
    with pytest.raises(LinkError, match="Name the folder by its whole path"):
        link_folder(bob, "~nobody-here/data")


def test_a_folder_around_or_inside_anothers_is_anothers_too(data: Path, alice: User, bob: User) -> None:
    inside = data / "wren/backups/old"
    shutil.copytree(data / "milo", inside)
    for name in ("characters", "chats"):
        (data / name).mkdir()
    link_folder(alice, data / "wren")
    for path in (inside, data, data / "wren/."):
        with pytest.raises(LinkError, match="belongs to another account here"):
            link_folder(bob, path, by_operator=True)
        with pytest.raises(LinkError, match="linked by another account already"):
            grant(path, bob)


def test_a_new_address_while_linking_again_forgets_the_passwords(data: Path, alice: User) -> None:
    tavern = link_folder(alice, data / "wren", "http://127.0.0.1:59991")
    Tavern.objects.for_user(alice).update(password_sealed="sealed", basic_auth_sealed="sealed")
    link_folder(alice, data / "wren", "http://127.0.0.1:59991/")
    tavern.refresh_from_db()
    assert tavern.password_sealed == "sealed"
    link_folder(alice, data / "wren", "http://127.0.0.1:59992")
    tavern.refresh_from_db()
    assert (tavern.url, tavern.password_sealed, tavern.basic_auth_sealed) == ("http://127.0.0.1:59992", "", "")


def test_a_wrong_password_is_said(data: Path, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_more: object) -> str:
        raise ServerError("SillyTavern did not accept this name and password.", "Check the account's name.")

    monkeypatch.setattr(proof, "check_login", refuse)
    with pytest.raises(LinkError, match=r"did not accept this name and password. Check the account's name."):
        prove_by_login(bob, "http://127.0.0.1:8000", "milo", "wrong")


def test_unlinking_keeps_everything_and_linking_again_brings_it_back(data: Path, alice: User, bob: User) -> None:
    tavern = link_folder(alice, data / "wren")
    look(tavern)
    mara = tavern.characters.get(avatar="Mara Veldt.png")
    unlink(tavern)
    assert mara.chats.count() == 6
    assert (data / "wren/settings.json").exists()
    again = link_folder(alice, data / "wren")
    assert (again.pk, again.state, again.unlinked_at) == (tavern.pk, "new", None)
    assert look(again)
    unlink(again)
    other = link_folder(bob, data / "wren", by_operator=True)
    assert other.pk != tavern.pk
    assert other.characters.count() == 0


def test_forgetting_removes_what_was_read_and_no_file(data: Path, alice: User) -> None:
    tavern = link_folder(alice, data / "wren")
    look(tavern)
    mara = tavern.characters.get(avatar="Mara Veldt.png")
    copies = outbox.copies_of_tavern(tavern.pk)
    copies.mkdir(parents=True)
    assert portraits_of(mara.pk)
    unlink(tavern, forget=True)
    assert not Tavern.objects.for_user(alice).exists()
    assert (data / "wren/settings.json").exists()
    assert not portraits_of(mara.pk) and not copies.exists()


def test_a_forgotten_sample_can_be_tried_afresh(alice: User) -> None:
    tavern = link_sample(alice)
    (tavern.root / "settings.json").unlink()
    unlink(tavern, forget=True)
    assert not tavern.root.exists()
    assert (link_sample(alice).root / "settings.json").exists()


def test_the_sample_is_a_copy_of_ones_own(alice: User, bob: User) -> None:
    mine, theirs = link_sample(alice), link_sample(bob)
    assert mine.folder != theirs.folder
    assert link_sample(alice).pk == mine.pk
    report = look(mine)
    assert report
    assert (report.state, mine.characters.count(), mine.chats.count(), mine.is_sample) == ("ok", 4, 12, True)


def test_the_command_links_and_says_what_it_found(data: Path, alice: User) -> None:
    out = io.StringIO()
    call_command("link_sillytavern", user="alice", folder=str(data / "wren"), json=True, stdout=out)
    facts = json.loads(out.getvalue())
    assert (facts["folder"], facts["version"], facts["is_writable"]) == (str(data / "wren"), "1.19.0", True)
    out = io.StringIO()
    call_command("sync", user="alice", json=True, stdout=out)
    (found,) = json.loads(out.getvalue())["folders"]
    assert (found["state"], found["chats"], found["messages_written"]) == ("ok", 11, 57)
    with pytest.raises(CommandFailed, match="is not a SillyTavern user folder"):
        call_command("link_sillytavern", user="alice", folder=str(data / "_storage"))


def test_only_one_pass_at_a_time(data: Path, alice: User) -> None:
    tavern = link_folder(alice, data / "wren")
    inside: list[object] = []
    look(tavern, note=lambda **_progress: inside.append(look(tavern)))
    assert inside
    assert set(inside) == {None}
    assert look(tavern) is not None


def test_pages_choose_inspect_and_confirm(data: Path, alice_client: Client, bob_client: Client) -> None:
    url = "/settings/sillytavern/link/"
    assert "data/wren" in alice_client.get(url).content.decode()
    page = alice_client.post(url, {"folder": str(data / "wren")}).content.decode()
    assert "Link 3 characters" in page
    assert alice_client.post(url, {"folder": str(data / "wren"), "confirm": "1"}).status_code == 302
    page = alice_client.get("/settings/sillytavern/").content.decode()
    assert "data/wren" in page
    assert "Writing, renaming and modes work" in page
    page = bob_client.post(url, {"folder": str(data / "milo")}).content.decode()
    assert "This folder is not assigned to you." in page
    assert bob_client.get("/settings/sillytavern/folders/").status_code == 404
    assert "data/milo" not in bob_client.get(url).content.decode()


def test_an_admin_assigns_and_takes_back(data: Path, alice_client: Client, bob: User) -> None:
    url = "/settings/sillytavern/folders/"
    answer = alice_client.post(url, {"folder": str(data / "milo"), "person": str(bob.pk)})
    assert answer.status_code == 302
    row = FolderGrant.objects.get()
    assert row.user == bob
    assert "milo" in alice_client.get(url).content.decode()
    alice_client.post(f"{url}{row.pk}/revoke")
    assert not FolderGrant.objects.exists()


def test_look_now_unlink_data_bank_and_portraits(
    data: Path, alice: User, alice_client: Client, bob_client: Client
) -> None:
    tavern = link_folder(alice, data / "wren")
    base = f"/settings/sillytavern/{tavern.pk}"
    assert alice_client.post(f"{base}/look").status_code == 302
    assert "Mara_Veldt-memories.md" in alice_client.get(f"{base}/databank/").content.decode()
    mara = tavern.characters.get(avatar="Mara Veldt.png")
    portrait = alice_client.get(f"/characters/{mara.pk}/portrait")
    assert portrait["Content-Type"] == "image/webp"
    assert b"".join(portrait.streaming_content)[:4] == b"RIFF"
    tavern.characters.filter(pk=mara.pk).update(portrait_hash="")
    initials = alice_client.get(f"/characters/{mara.pk}/portrait")
    assert (initials["Content-Type"], b">MV<" in initials.content) == ("image/svg+xml", True)
    for path in (f"{base}/databank/", f"{base}/server/", f"{base}/unlink/", f"/characters/{mara.pk}/portrait"):
        assert bob_client.get(path).status_code == 404
    assert bob_client.post(f"{base}/look").status_code == 404
    assert "stay readable" in alice_client.get(f"{base}/unlink/").content.decode()
    alice_client.post(f"{base}/unlink/", {"forget": "0"})
    assert "No SillyTavern is linked yet" in alice_client.get("/settings/sillytavern/").content.decode()


def test_a_new_address_forgets_the_passwords(data: Path, alice: User, alice_client: Client) -> None:
    tavern = link_folder(alice, data / "wren")
    url = f"/settings/sillytavern/{tavern.pk}/server/"
    page = alice_client.post(url, {"url": "http://127.0.0.1:59991", "login": "wren", "password": "s3cret-canary"})
    assert "s3cret-canary" not in page.content.decode()
    tavern.refresh_from_db()
    assert (tavern.url, tavern.login) == ("http://127.0.0.1:59991", "wren")
    assert tavern.password_sealed
    assert "s3cret-canary" not in tavern.password_sealed
    alice_client.post(url, {"url": "http://127.0.0.1:59992", "login": "wren"})
    tavern.refresh_from_db()
    assert (tavern.url, tavern.password_sealed) == ("http://127.0.0.1:59992", "")
    page = alice_client.post(url, {"url": "ftp://x"}).content.decode()
    assert "An address starts with http:// or https://" in page


def test_a_rename_is_said_and_can_be_taken_back(
    data: Path, alice: User, alice_client: Client, bob_client: Client
) -> None:
    tavern = link_folder(alice, data / "wren")
    look(tavern)
    mara = tavern.characters.get(avatar="Mara Veldt.png")
    (data / "wren/characters/Mara Veldt.png").rename(data / "wren/characters/Another.png")
    (data / "wren/chats/Mara Veldt").rename(data / "wren/chats/Another")
    look(tavern)
    page = alice_client.get("/settings/sillytavern/").content.decode()
    assert "<bdi>Mara Veldt.png</bdi> is now <bdi>Another.png</bdi>" in page
    assert bob_client.post(f"/characters/{mara.pk}/undo-rename").status_code == 404
    alice_client.post(f"/characters/{mara.pk}/undo-rename")
    look(tavern)
    mara.refresh_from_db()
    assert (mara.avatar, mara.chats.count()) == ("Mara Veldt.png", 0)
    assert mara.gone_at
    other = tavern.characters.get(avatar="Another.png")
    assert (other.gone_at, other.former_avatars, other.chats.filter(gone_at=None).count()) == (None, [], 6)
    assert look(tavern)
    assert tavern.characters.count() == 4
