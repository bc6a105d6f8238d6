"""Settings → Models: connections are added, tested, changed and removed; keys go in and never come out."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from providers import connecting, queries, vault
from providers import test_connection as testing
from providers.catalogue import LocalPort
from providers.connecting import ConnectionProblem, Wish
from providers.discover import discover_local
from providers.models import Connection
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.pages import soup
from tests.support.raw_server import RawServer, silent
from tests.support.wire import connect

pytestmark = pytest.mark.django_db
KEY = "sk-or-v1-0123456789abcdef"
MODELS = "/settings/models/"


def form(**fields: str) -> dict[str, str]:
    return {
        "name": "Box",
        "base_url": "",
        "key": "",
        "model": "",
        "max_parallel": "8",
        "headers": "",
        "body": "",
        **fields,
    }


def mine(person: User) -> Connection:
    return Connection.objects.for_user(person).get()


def words(html: bytes) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.decode()))


def test_a_local_server_is_added_tested_and_ready(alice: User, alice_client: Client) -> None:
    with FakeModel() as fake:
        given = form(base_url=f" {fake.base_url}/chat/completions/ ", key=KEY)
        page = alice_client.post(f"{MODELS}new/local/", given, follow=True)
        assert "The test waits for its turn." in words(page.content)
        run_until_idle(alice)
        row = mine(alice)
        assert row.base_url == fake.base_url and row.model == "fake-small" and row.is_default
        assert fake.chats[0].headers["Authorization"] == f"Bearer {KEY}"
    said = words(alice_client.get(f"{MODELS}{row.pk}/").content)
    assert "Box works" in said and "accepted" in said
    assert row.test_result["ok"] and connecting.listed_models(row) == ["fake-small", "fake-large"]
    assert queries.default_connection(alice) == row
    assert "fake-small reads your chats" in words(alice_client.get(MODELS).content)


def test_a_key_is_never_shown_again(alice: User, alice_client: Client) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake, key=KEY)
    pages = [MODELS, f"{MODELS}{row.pk}/", f"{MODELS}{row.pk}/delete/", "/settings/spending/"]
    shown = b"".join(alice_client.get(url).content for url in pages)
    assert KEY.encode() not in shown and row.key_sealed.encode() not in shown and "…cdef".encode() in shown
    alice_client.post(f"{MODELS}{row.pk}/forget-key")
    row.refresh_from_db()
    assert (row.key_sealed, row.key_hint) == ("", "")


def test_another_address_forgets_the_key(alice: User, alice_client: Client) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake, key=KEY)
        url = f"{MODELS}{row.pk}/"
        same = alice_client.post(url, form(base_url=fake.base_url, name="Renamed"), follow=True)
        assert "Saved." in words(same.content)
        row.refresh_from_db()
        assert row.name == "Renamed" and vault.unseal(row.key_sealed, owner_id=alice.pk, row_id=row.pk) == KEY
        moved = alice_client.post(url, form(base_url="http://127.0.0.1:5001/v1"), follow=True)
    assert "The address changed, so the key was forgotten; enter it again." in words(moved.content)
    row.refresh_from_db()
    assert row.key_sealed == "" and row.base_url == "http://127.0.0.1:5001/v1"
    alice_client.post(url, form(base_url="http://127.0.0.1:5002/v1", key="new-key-0123456789"))
    row.refresh_from_db()
    assert row.key_hint == "…6789"


@pytest.mark.parametrize(
    ("preset", "fields", "sentence"),
    [
        ("local", {"base_url": "http://10.99.0.1:5001"}, "10.99.0.1 is in a local network that is not allowed here."),
        ("local", {"base_url": "http://169.254.169.254/"}, "is a kind of address that CharMem never talks to."),
        ("local", {"base_url": ""}, "This field is required."),
        ("custom", {"base_url": "http://127.0.0.1:5001"}, "choose “Local server” for it."),
        ("custom", {"base_url": "https://me:pw@example.com"}, "may not contain a name and password"),
        ("openrouter", {"key": "two words"}, "A key is one word of plain characters; please copy it again."),
        ("openrouter", {"key": "line\nbreak"}, "A key is one word of plain characters; please copy it again."),
        ("openrouter", {"headers": "Host: evil"}, "The header Host is set by CharMem itself."),
        ("openrouter", {"headers": "No colon"}, "“No colon” is not a header name."),
        ("openrouter", {"body": '{"model": "x", "messages": []}'}, "messages, model cannot be replaced here."),
        ("gemini", {"body": '{"contents": [], "system_instruction": {}}'}, "contents, system_instruction cannot be"),
        ("gemini", {"body": '{"generationConfig": {"maxOutputTokens": 9}}'}, "generationConfig.maxOutputTokens cannot"),
        ("gemini", {"body": '{"generationConfig": 5}'}, "generationConfig cannot be replaced here."),
        ("gemini", {"headers": "X-Goog-Api-Key: evil"}, "The header X-Goog-Api-Key is set by CharMem itself."),
        ("openrouter", {"body": "[1]"}, "A JSON object in { } is needed here."),
        ("openrouter", {"body": "{"}, "This is not JSON."),
    ],
)
def test_what_cannot_be_saved_is_said_at_its_field(
    alice: User, alice_client: Client, preset: str, fields: dict[str, str], sentence: str
) -> None:
    answer = alice_client.post(f"{MODELS}new/{preset}/", form(**fields))
    assert answer.status_code == 422 and sentence in words(answer.content)
    assert not Connection.objects.for_user(alice).exists()


def test_a_forgotten_v1_is_found_by_trying(alice: User) -> None:
    with FakeModel() as fake:
        row = connecting.add_connection(alice, Wish(preset="local", base_url=fake.root_url))
        verdict = testing.test_connection(row)
        row.refresh_from_db()
        assert row.base_url == fake.base_url and verdict.state == "ok"
    assert verdict.hint == "/v1 was missing at the end of the address and was added."


def test_ten_tests_a_minute(alice: User, alice_client: Client) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake)
        for _n in range(10):
            assert testing.may_test(alice)
        page = alice_client.post(f"{MODELS}{row.pk}/test", follow=True)
        assert "Ten tests a minute are enough" in words(page.content) and fake.requests == []


def test_there_is_one_default_and_it_has_an_heir(alice: User, alice_client: Client) -> None:
    first = make_connection(alice, preset="local", name="First")
    second = connecting.add_connection(alice, Wish(preset="openrouter", name="Second", key=KEY))
    assert not second.is_default
    alice_client.post(f"{MODELS}{second.pk}/default")
    assert queries.default_connection(alice) == second
    assert "Nothing has happened yet." in words(alice_client.get(f"{MODELS}{second.pk}/delete/").content)
    alice_client.post(f"{MODELS}{second.pk}/delete/")
    assert mine(alice) == first and queries.default_connection(alice) == first
    first.refresh_from_db()
    assert first.is_default


def test_hosted_presets_keep_their_own_address(alice: User) -> None:
    row = connecting.add_connection(alice, Wish(preset="openrouter", base_url="https://evil.example/v1", key=KEY))
    assert row.base_url == "https://openrouter.ai/api/v1"
    with pytest.raises(ConnectionProblem, match="There is no kind of connection called “nonsense”"):
        connecting.add_connection(alice, Wish(preset="nonsense"))


def test_a_stranger_finds_nothing(alice: User, charlie_client: Client) -> None:
    row = make_connection(alice)
    for path in ("", "delete/"):
        assert charlie_client.get(f"{MODELS}{row.pk}/{path}").status_code == 404
    for path in ("", "test", "models", "default", "forget-key", "delete/"):
        assert charlie_client.post(f"{MODELS}{row.pk}/{path}").status_code == 404
    assert "No model yet" in words(charlie_client.get(MODELS).content)


def test_servers_on_the_usual_ports_are_found(alice: User, bob: User) -> None:
    with FakeModel() as fake, RawServer(silent) as hanging:
        ports = (LocalPort("Ollama", hanging.port), LocalPort("LM Studio", fake.port))
        assert discover_local(bob, ports) == []  # nobody opened loopback for members
        found = discover_local(alice, ports)
    assert [(f.preset, f.label, f.base_url) for f in found] == [("local", "LM Studio", fake.base_url)]
    assert found[0].models == ["fake-small", "fake-large"]


def test_a_page_of_a_kind_that_is_not_known_any_more_opens(alice: User, alice_client: Client) -> None:
    row = make_connection(alice, preset="gone")
    assert alice_client.get(MODELS).status_code == 200
    assert alice_client.get(f"{MODELS}{row.pk}/").status_code == 200
    assert alice_client.get(f"{MODELS}new/gone/").status_code == 404
    assert alice_client.get(f"{MODELS}new/").status_code == 200


@pytest.mark.parametrize(
    ("preset", "name", "model"),
    [
        ("openrouter", "OpenRouter", "openai/gpt-4.1-nano"),
        ("nanogpt", "NanoGPT", ""),
        ("local", "Local server", ""),
        ("builtin", "Built-in (this computer)", None),
    ],
)
def test_a_new_connection_asks_for_no_more_than_it_needs(
    alice_client: Client, preset: str, name: str, model: str | None
) -> None:
    page = soup(alice_client.get(f"{MODELS}new/{preset}/"))
    assert page.select_one("#id_name")["value"] == name
    field = page.select_one("#id_model")
    assert field is None if model is None else field.get("value", "") == model
    needed = [one["name"] for one in page.select("main input[required]")]
    assert needed in ([], ["base_url"], ["max_parallel"], ["base_url", "max_parallel"])
