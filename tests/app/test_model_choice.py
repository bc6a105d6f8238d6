"""A model is chosen from the list that its provider gave: searched, filtered, grouped, and nothing else changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from providers import connecting, model_choice
from providers.models import Call, Connection, ModelListing
from tests.support.builders import make_call, make_connection
from tests.support.fake_model import FakeModel
from tests.support.wire import connect, redirect_preset

pytestmark = pytest.mark.django_db
EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7|add:7 }}%s"
ROWS: list[Any] = [
    {"id": "z-ai/glm-4.7", "name": "GLM 4.7", "in": "0.4", "out": "1.75", "context": 202752,
     "flags": ["subscription", "open", "reasoning"]},
    {"id": "qwen/qwen3-235b-a22b", "name": "Qwen3 235B", "in": "0.1", "out": "0.5", "flags": ["open"]},
    {"id": "z-ai/glm-4.5-air:free", "in": "0", "out": "0", "flags": ["open", "reasoning"]},
    {"id": "wren-rp", "name": "Wren", "upstream": "Harrow", "flags": ["roleplay"]},
    "plain",
]  # fmt: skip


@pytest.fixture
def row(alice: User) -> Connection:
    return listed(make_connection(alice, preset="openrouter", model="plain", system_prompt="Be kind."), ROWS)


def listed(row: Connection, models: list[Any]) -> Connection:
    ModelListing.objects.create(connection=row, models_json=models)
    return row


def path(row: Connection) -> str:
    return f"/settings/models/{row.pk}/choose/"


def page(client: Client, row: Connection, **query: Any) -> Tag:
    answer = client.get(path(row), query)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "html.parser")


def ids(found: Tag) -> list[str]:
    return [str(button["value"]) for button in found.select("button.model-pick")]


def titles(found: Tag) -> list[str]:
    return [head.get_text(" ", strip=True) for head in found.select(".group-row")]


def test_the_connection_leads_to_all_its_models(alice_client: Client, row: Connection) -> None:
    edit = alice_client.get(f"/settings/models/{row.pk}/").content.decode()
    assert path(row) in edit and "Choose from 5 models" in edit and 'name="model"' in edit
    found = page(alice_client, row)
    assert titles(found) == ["Harrow 1", "qwen 1", "z-ai 2", "Others 1"]
    assert ids(found) == ["wren-rp", "qwen/qwen3-235b-a22b", "z-ai/glm-4.7", "z-ai/glm-4.5-air:free", "plain"]
    glm = next(line for line in found.select("tr[data-item]") if "glm-4.7" in str(line))
    said = glm.get_text(" ", strip=True)
    assert "GLM 4.7" in said and "40 ¢" in said and "$1.75" in said and "202,752" in said
    assert "In the subscription" in said and "Reasoning" in said and "First choice" in said
    assert "Tends to retell" in found.get_text()
    assert [line.select_one("button")["value"] for line in found.select("tr.is-chosen")] == ["plain"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "4.7 glm"}, {"z-ai/glm-4.7"}),
        ({"q": "harrow WREN"}, {"wren-rp"}),
        ({"q": "unicorn"}, set()),
        ({"only": ["open"]}, {"z-ai/glm-4.7", "qwen/qwen3-235b-a22b", "z-ai/glm-4.5-air:free"}),
        ({"only": ["open", "reasoning"]}, {"z-ai/glm-4.7", "z-ai/glm-4.5-air:free"}),
        ({"only": ["open", "reasoning", "free"]}, {"z-ai/glm-4.5-air:free"}),
        ({"only": ["open", "roleplay"]}, set()),
        ({"only": ["subscription"], "q": "qwen"}, set()),
        ({"only": ["nonsense"], "q": "plain"}, {"plain"}),
    ],
)
def test_words_and_filters_must_all_hold(
    alice_client: Client, row: Connection, query: dict[str, Any], expected: set[str]
) -> None:
    found = page(alice_client, row, **query)
    assert set(ids(found)) == expected
    assert f"{len(expected)} of 5 models" in found.get_text()
    assert ("No model fits" in found.get_text()) is (not expected)


def test_typing_gets_the_part_below_the_field(alice_client: Client, row: Connection) -> None:
    answer = alice_client.get(path(row), {"q": "wren"}, headers={"HX-Request": "true", "HX-Target": "found"})
    part = BeautifulSoup(answer.content, "html.parser")
    assert (
        ids(part) == ["wren-rp"]
        and part.find("html") is None
        and part.select_one("form#found [name=csrfmiddlewaretoken]")
    )


def test_a_filter_stands_there_only_where_the_list_tells(alice: User, alice_client: Client) -> None:
    row = listed(make_connection(alice, preset="openai"), ["a", {"id": "b", "in": "1", "out": "2"}])
    found = page(alice_client, row, only="free")
    assert found.select(".chip") == [] and ids(found) == ["a", "b"] and titles(found) == []


def test_choosing_keeps_everything_else(alice: User, alice_client: Client, row: Connection) -> None:
    connecting.set_key(row, "sk-0123456789")
    row.learned, row.temperature, row.extra_body = {"plain": {"x": 1}}, 0.7, {"top_k": 5}
    row.save()
    before = Connection.objects.for_user(alice).filter(pk=row.pk).values().get()
    answer = alice_client.post(path(row), {"model": "z-ai/glm-4.7"}, follow=True)
    assert answer.redirect_chain == [(f"/settings/models/{row.pk}/", 302)]
    assert "z-ai/glm-4.7 is asked from now on." in answer.content.decode()
    after = Connection.objects.for_user(alice).filter(pk=row.pk).values().get()
    assert {name for name in before if before[name] != after[name]} == {"model", "updated_at"}
    assert after["model"] == "z-ai/glm-4.7"
    assert len(connecting.listed_models(row)) == 5


def test_a_test_says_nothing_of_another_model(alice: User, alice_client: Client, row: Connection) -> None:
    row.tested_at, row.test_result = timezone.now(), {"state": "ok"}
    row.save()
    connecting.choose_model(row, "plain")
    row.refresh_from_db()
    assert row.test_result == {"state": "ok"}, "the same model again"
    alice_client.post(path(row), {"model": "wren-rp"})
    row.refresh_from_db()
    assert (row.tested_at, row.test_result) == (None, {})
    kept = connecting.Wish("openrouter", name=row.name, model=row.model)
    connecting.change_connection(row, kept)
    row.tested_at, row.test_result = timezone.now(), {"state": "ok"}
    row.save()
    assert connecting.change_connection(row, kept).test_result == {"state": "ok"}
    another = connecting.Wish("openrouter", name=row.name, model=row.model, key="sk-another-key-altogether")
    assert connecting.change_connection(row, another).tested_at is None


@pytest.mark.parametrize("model", ["", "  ", "x" * 201, "a\x00b"])
def test_what_cannot_be_a_model_changes_nothing(alice_client: Client, row: Connection, model: str) -> None:
    answer = alice_client.post(path(row), {"model": model}, follow=True)
    assert answer.status_code == 200 and "Nothing was changed." in answer.content.decode()
    row.refresh_from_db()
    assert row.model == "plain"


def test_strangers_see_and_choose_nothing(charlie_client: Client, row: Connection) -> None:
    assert charlie_client.get(path(row)).status_code == 404
    assert charlie_client.post(path(row), {"model": "wren-rp"}).status_code == 404
    row.refresh_from_db()
    assert row.model == "plain"


def test_lately_used_ones_stand_on_top(alice: User, bob: User, alice_client: Client, row: Connection) -> None:
    other = make_connection(alice, is_default=False)
    calls = {name: make_call(alice, row, model=name) for name in ("old", "a", "b", "c", "wren-rp", "d", "e")}
    make_call(alice, other, model="elsewhere")
    make_call(bob, None, model="bobs")
    for hours, name in enumerate(("e", "wren-rp", "d", "c", "b", "a")):
        moment = timezone.now() - timedelta(hours=hours)
        Call.objects.for_user(alice).filter(pk=calls[name].pk).update(started_at=moment)
    Call.objects.for_user(alice).filter(pk=calls["old"].pk).update(started_at=timezone.now() - timedelta(days=31))
    found = page(alice_client, row)
    assert titles(found)[0] == "Used lately"
    assert ids(found)[:6] == ["e", "wren-rp", "d", "c", "b", "wren-rp"]
    assert ids(page(alice_client, row, q="wren")) == ["wren-rp", "wren-rp"]


def test_the_list_is_fetched_again_and_a_failure_keeps_the_old_one(alice: User, alice_client: Client) -> None:
    with FakeModel() as fake:
        row = connect(alice, fake)
        assert "No list of Kitchen box is kept yet." in page(alice_client, row).get_text()
        again = alice_client.post(f"/settings/models/{row.pk}/models", {"back": "choose"}, follow=True)
        assert again.redirect_chain == [(path(row), 302)]
        assert "2 models are offered." in again.content.decode()
        assert "was fetched now" in page(alice_client, row).get_text()
    Connection.objects.for_user(alice).filter(pk=row.pk).update(base_url="http://127.0.0.1:9/v1")
    failed = alice_client.post(f"/settings/models/{row.pk}/models", {"back": "choose"}, follow=True)
    assert "is-error" in failed.content.decode()
    assert ids(BeautifulSoup(failed.content, "html.parser")) == ["fake-small", "fake-large"]


def test_nanogpts_list_is_grouped_by_who_made_them(
    alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeModel() as fake:
        redirect_preset(monkeypatch, "nanogpt", fake.base_url.removesuffix("/v1"))
        row = connecting.add_connection(alice, connecting.Wish("nanogpt", key="k" * 20, model="fake-small"))
        unit = {"pricing": {"prompt": 1, "completion": 2, "unit": "per_million_tokens"}}
        fake.facts["fake-small"] = {"owned_by": "zhipu", "name": "Small", "capabilities": ["reasoning"], **unit}
        fake.facts["fake-large"] = {"provider": "Acme", "isOpenSource": True, **unit}
        connecting.refresh_listing(row)
        assert len(page(alice_client, row).select(".chip")) == 2  # who pays for what is not told: no filter, no failure
        fake.included = ("fake-large", "gone")
        connecting.refresh_listing(row)
    assert ids(page(alice_client, row, only="subscription")) == ["fake-large"]
    found = page(alice_client, row)
    assert titles(found) == ["Acme 1", "zhipu 1"] and len(found.select(".chip")) == 3
    assert "$1.00" in found.get_text() and "Small" in found.get_text()


@pytest.mark.parametrize("preset", ["pollinations", "builtin"])
def test_where_nobody_lists_models_one_is_typed(alice: User, alice_client: Client, preset: str) -> None:
    row = make_connection(alice, preset=preset, model="openai")
    found = page(alice_client, row)
    assert "gives no list of its models" in found.get_text() and "Get the list" not in found.get_text()
    assert found.select_one("input#typed")["value"] == "openai"  # type: ignore[index]
    alice_client.post(path(row), {"model": "another"})
    row.refresh_from_db()
    assert row.model == "another"


def test_names_are_shown_and_never_run(alice: User, alice_client: Client) -> None:
    rows = [{"id": f"{EVIL}{n}", "name": EVIL, "upstream": EVIL, "in": "1", "out": "1", "flags": [EVIL]} for n in "ab"]
    row = listed(make_connection(alice, preset="nanogpt", model=f"{EVIL}a"), rows)
    make_call(alice, row, model=EVIL)
    found = page(alice_client, row, q=EVIL)
    assert ids(found) == [EVIL, f"{EVIL}a", f"{EVIL}b"]
    assert not found.select("main script, img[onerror], [style]") and len(found.select("tr.is-chosen")) == 1
    alice_client.post(path(row), {"model": f"{EVIL}b"})
    row.refresh_from_db()
    assert row.model == f"{EVIL}b"


@pytest.mark.parametrize("kept", [[None, 5, [], {}, {"id": None}, {"id": "ok", "context": "x"}], []])
def test_odd_rows_break_no_page(alice: User, alice_client: Client, kept: list[Any]) -> None:
    page(alice_client, listed(make_connection(alice, preset="nanogpt"), kept))


def test_hundreds_of_rows_cost_no_more_queries(
    alice: User, alice_client: Client, row: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [{"id": f"maker-{n % 40}/model-{n}", "in": "1", "out": "2", "flags": ["open"]} for n in range(900)]
    big = listed(make_connection(alice, preset="openrouter", is_default=False), many)
    for n in range(40):
        make_call(alice, big, model=f"maker-{n}/model-{n}")
    counts = []
    for one in (row, big):
        page(alice_client, one)
        with CaptureQueriesContext(database) as asked:
            found = page(alice_client, one)
        counts.append(len(asked))
    assert counts[0] == counts[1] and len(ids(found)) == 905
    monkeypatch.setattr(model_choice, "MOST_SHOWN", 100)
    found = page(alice_client, big, q="model")
    assert len(ids(found)) == 105 and "too many to show" in found.get_text()
