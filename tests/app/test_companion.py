"""The companion: put into a folder, taken out, and what its token opens, for one tavern alone."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from accounts.models import User
from companion import install as companion
from companion.models import Pairing
from companion.pairing import may_call_from
from memories.models import MemoryFile
from sync import registration
from sync.models import Attachment, Character, Registration, Tavern
from tests.support.builders import make_memory_file
from tests.support.databank import link_folder, make_file, make_mara

PAGE = "http://127.0.0.1:8000"


@pytest.fixture
def mara(alice: User, tmp_path: Path) -> Character:
    return make_mara(alice, tmp_path / "alice", url=PAGE)


def place(tavern: Tavern) -> Path:
    return tavern.root / companion.PLACE


def installed(tavern: Tavern) -> str:
    """Install it; the token that lies beside the module."""
    companion.install(tavern, f"http://127.0.0.1:8420/companion/api/{tavern.pk}/")
    return str(json.loads((place(tavern) / "charmem.json").read_text(encoding="utf-8"))["token"])


def call(
    tavern: Tavern, what: str, token: str, body: Any = None, origin: str = PAGE, method: str = "POST"
) -> HttpResponse:
    headers = {"Authorization": f"Bearer {token}"} | ({"Origin": origin} if origin else {})
    path = f"/companion/api/{tavern.pk}/{what}/"
    data = json.dumps(body if body is not None else {"avatar": "Mara Veldt.png"})
    client = Client(headers=headers, enforce_csrf_checks=True)
    return client.generic(method, path, data, content_type="application/json")


def waiting_file(mara: Character, **fields: Any) -> Attachment:
    """A written file that SillyTavern does not know yet."""
    attachment = make_file(mara, "text", is_registered=False, file_hash="f" * 64, **fields)
    make_memory_file(mara, attachment=attachment)
    registration.ask(attachment, name="Mara_Veldt-memories.md", size=4)
    return attachment


def test_installing_writes_the_extension_and_keeps_only_a_hash_of_the_token(mara: Character) -> None:
    token = installed(mara.tavern)
    names = {path.name for path in place(mara.tavern).iterdir()}
    assert names == {"manifest.json", "index.js", "calm.js", "charmem.json"}
    pairing = Pairing.objects.for_user(mara.tavern.owner).get()
    assert token not in json.dumps([pairing.token_hash, pairing.files, pairing.address])
    assert companion.status(mara.tavern).is_whole


def test_what_was_changed_by_hand_is_shown_and_not_overwritten(mara: Character) -> None:
    installed(mara.tavern)
    (place(mara.tavern) / "index.js").write_text("mine", encoding="utf-8")
    assert companion.status(mara.tavern).changed == ["index.js"]
    with pytest.raises(companion.InstallRefused, match=r"index\.js in SillyTavern's extension folder was changed"):
        companion.install(mara.tavern, "http://x/")
    assert (place(mara.tavern) / "index.js").read_text(encoding="utf-8") == "mine"
    companion.install(mara.tavern, "http://x/", replace=True)
    assert companion.status(mara.tavern).is_whole


def test_removing_takes_out_what_we_wrote_and_ends_the_token(mara: Character) -> None:
    token = installed(mara.tavern)
    (place(mara.tavern) / "calm.js").write_text("mine", encoding="utf-8")
    assert companion.remove(mara.tavern) == ["calm.js"]
    assert [path.name for path in place(mara.tavern).iterdir()] == ["calm.js"]
    assert call(mara.tavern, "pending", token).status_code == 404


def test_a_folder_that_cannot_be_written_is_said(alice: User) -> None:
    from tests.support.builders import make_tavern

    tavern = make_tavern(alice, folder="/nowhere/at/all")
    with pytest.raises(companion.InstallRefused, match="No such file or directory"):
        companion.install(tavern, "http://x/")
    assert not Pairing.objects.for_user(alice).exists()


def test_the_page_installs_and_removes(mara: Character, alice_client: Client) -> None:
    url = f"/settings/sillytavern/{mara.tavern.pk}/companion/"
    assert b"Not installed" in alice_client.get(url).content
    answer = alice_client.post(f"{url}install/", follow=True)
    assert b"The companion is installed. Reload the SillyTavern page once." in answer.content
    address = json.loads((place(mara.tavern) / "charmem.json").read_text(encoding="utf-8"))["api"]
    assert address == f"http://testserver/companion/api/{mara.tavern.pk}/"
    alice_client.post(f"{url}remove/")
    assert not Pairing.objects.for_user(mara.tavern.owner).exists()


def test_a_waiting_file_is_offered_until_the_mirror_sees_it(mara: Character) -> None:
    token, attachment = installed(mara.tavern), waiting_file(mara)
    answer = call(mara.tavern, "pending", token).json()
    assert answer == {
        "register": [
            {
                "avatar": "Mara Veldt.png",
                "url": attachment.url,
                "name": "Mara_Veldt-memories.md",
                "size": 4,
                "created": 0,
            }
        ],
        "files": [{"url": attachment.url, "hash": "f" * 64}],
    }
    assert call(mara.tavern, "done", token, {"registered": [{"url": attachment.url}]}).json() == {"noted": 1}
    assert call(mara.tavern, "pending", token).json()["register"] == []
    Registration.objects.for_user(mara.tavern.owner).update(done_at=timezone.now() - timedelta(minutes=2))
    assert len(call(mara.tavern, "pending", token).json()["register"]) == 1  # the page did not save it
    attachment.is_registered, attachment.name, attachment.registered_size = True, "Mara_Veldt-memories.md", 4
    attachment.save()
    registration.settle(mara.tavern)
    assert call(mara.tavern, "pending", token).json()["register"] == []


def test_a_file_that_is_not_on_the_disk_is_never_offered(mara: Character) -> None:
    token, attachment = installed(mara.tavern), waiting_file(mara)
    attachment.file_present = False
    attachment.save()
    assert call(mara.tavern, "pending", token).json()["register"] == []


def test_a_grown_file_is_registered_anew_only_when_its_chunks_change(mara: Character) -> None:
    attachment = make_file(mara, "text", name="m.md", registered_size=300)
    assert not registration.ask(attachment, name="m.md", size=5 * 1024)
    assert registration.ask(attachment, name="m.md", size=5 * 1024 + 1)
    assert registration.wanted_size(attachment) == 5 * 1024 + 1


def test_only_the_time_of_a_memory_in_a_prompt_is_kept(mara: Character) -> None:
    token, attachment = installed(mara.tavern), waiting_file(mara)
    other = {"avatar": "Mara Veldt.png", "text": "Related information:\nnothing of ours"}
    assert call(mara.tavern, "seen", token, other).json() == {"files": []}
    text = "Related information:\n- Met at the well.\n"
    assert call(mara.tavern, "seen", token, {"avatar": "Mara Veldt.png", "text": text}).json() == {
        "files": [attachment.url]
    }
    attachment.refresh_from_db()
    assert attachment.seen_in_prompt_at is not None
    assert call(mara.tavern, "seen", token, {"avatar": "Zolta.png", "text": text}).json() == {"files": []}


def test_another_taverns_token_opens_nothing(mara: Character, bob: User, tmp_path: Path) -> None:
    hers, his = mara.tavern, link_folder(bob, tmp_path / "bob", url=PAGE)
    installed(hers)
    bobs = installed(his)
    waiting_file(mara)
    for what in ("pending", "done", "seen"):
        assert call(hers, what, bobs).status_code == 404
        assert call(hers, what, "").status_code == 404
        assert call(his, what, bobs).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_only_post_is_answered(mara: Character, method: str) -> None:
    token = installed(mara.tavern)
    assert call(mara.tavern, "pending", token, method=method).status_code == 404


def test_a_session_does_not_count(mara: Character, alice_client: Client) -> None:
    installed(mara.tavern)
    path = f"/companion/api/{mara.tavern.pk}/pending/"
    assert alice_client.post(path, "{}", content_type="application/json").status_code == 404


def test_the_preflight_names_exactly_the_taverns_page(mara: Character) -> None:
    installed(mara.tavern)
    answer = call(mara.tavern, "pending", "", method="OPTIONS")
    assert answer.status_code == 204
    assert answer["Access-Control-Allow-Origin"] == PAGE
    assert answer["Access-Control-Allow-Headers"] == "authorization, content-type"
    assert "Origin" in answer["Vary"]
    assert "Access-Control-Allow-Credentials" not in answer
    for origin in ("https://evil.example", "http://192.168.1.9:8000", "null", ""):
        assert call(mara.tavern, "pending", "", origin=origin, method="OPTIONS").status_code == 404


def test_a_strange_page_is_refused_even_with_the_token(mara: Character) -> None:
    token = installed(mara.tavern)
    assert call(mara.tavern, "pending", token, origin="https://evil.example").status_code == 404
    answer = call(mara.tavern, "pending", token)
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (200, PAGE)


@pytest.mark.parametrize(
    ("origin", "tavern_url", "charmem", "expected"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "127.0.0.1:8420", True),
        ("http://localhost:8000", "http://127.0.0.1:8000", "127.0.0.1:8420", True),
        ("https://tavern.home", "https://tavern.home/", "charmem.home", True),
        ("https://tavern.home:8443", "https://tavern.home", "charmem.home", False),
        ("http://192.168.1.5:8000", "http://127.0.0.1:8000", "192.168.1.5:8420", True),
        ("http://192.168.1.6:8000", "http://127.0.0.1:8000", "192.168.1.5:8420", False),
        ("http://localhost:8000", "", "127.0.0.1:8420", True),
        ("http://192.168.1.6:8000", "", "192.168.1.5:8420", False),
        ("http://localhost:8000", "https://tavern.home", "charmem.home", False),
        ("file://", "http://127.0.0.1:8000", "127.0.0.1:8420", False),
        ("null", "", "127.0.0.1:8420", False),
        ("http://[", "", "127.0.0.1:8420", False),
        ("http://127.0.0.1:99999", "http://127.0.0.1:8000", "127.0.0.1:8420", False),
        ("http://127.0.0.1:8000", "http://[", "127.0.0.1:8420", False),
        ("http://127.0.0.1:8000.evil.example", "http://127.0.0.1:8000", "127.0.0.1:8420", False),
    ],
)
def test_which_pages_may_call(origin: str, tavern_url: str, charmem: str, expected: bool) -> None:
    assert may_call_from(origin, tavern_url, charmem) is expected


@pytest.mark.parametrize("body", ["", "[1]", "{", '"text"', "[" * 100_000, '{"a":' * 100_000])
def test_nonsense_is_answered_with_a_sentence(mara: Character, body: str) -> None:
    token = installed(mara.tavern)
    path = f"/companion/api/{mara.tavern.pk}/pending/"
    answer = Client(headers={"Authorization": f"Bearer {token}"}).post(path, body, content_type="application/json")
    assert (answer.status_code, answer.json()) == (400, {"error": "This is not a JSON object."})


def test_the_settings_page_says_how_the_companion_does(mara: Character, alice_client: Client) -> None:
    assert b"No companion in SillyTavern" in alice_client.get("/settings/sillytavern/").content
    token = installed(mara.tavern)
    assert b"Not heard yet" in alice_client.get("/settings/sillytavern/").content
    call(mara.tavern, "pending", token)
    assert b"Companion 0.1.0 in SillyTavern" in alice_client.get("/settings/sillytavern/").content


@pytest.mark.parametrize("what", ["pending", "done", "seen"])
@pytest.mark.parametrize("odd", [5, None, [[]], {"url": []}, "\x00", "\ud83d", [{"url": "\x00\ud83d"}], "x" * 100_000])
def test_odd_fields_are_no_trouble(mara: Character, what: str, odd: object) -> None:
    body = {"avatar": odd, "registered": odd, "text": odd}
    assert call(mara.tavern, what, installed(mara.tavern), body).status_code == 200


def test_a_closed_account_is_deaf(mara: Character) -> None:
    token = installed(mara.tavern)
    User.objects.filter(pk=mara.tavern.owner_id).update(is_active=False)
    assert call(mara.tavern, "pending", token).status_code == 404


def test_an_unlinked_tavern_is_deaf(mara: Character) -> None:
    token = installed(mara.tavern)
    Tavern.objects.for_user(mara.tavern.owner).update(unlinked_at=timezone.now())
    assert call(mara.tavern, "pending", token).status_code == 404
    assert MemoryFile.objects.for_user(mara.tavern.owner).count() == 0
