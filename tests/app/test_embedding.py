"""What texts mean, as vectors: who is asked, what is sent, what it costs, and what is said when it fails."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from providers import assigning, budgets, built_in_embedding, embedding, queries
from providers.base import ProviderError
from providers.embedding import Embedder, embed, embedder_for, prefix_of
from providers.models import Call, Connection, Duty
from providers.purposes import EXTRACTION
from tests.support import services
from tests.support.builders import make_connection
from tests.support.fake_model import DIMENSIONS, FakeModel, vector
from tests.support.pages import soup, toast, words
from tests.support.raw_server import HEAD, RawServer

pytestmark = pytest.mark.django_db
MODELS, SAVE = "/settings/models/", "/settings/models/embeddings"
LAMP, RAIN = "The lamp stands in the window.", "It rained all day."


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def local(alice: User, fake: FakeModel) -> Connection:
    return make_connection(alice, name="Kitchen", preset="local", base_url=fake.base_url)


def chosen(person: User, connection: Connection, model: str = "nomic-embed-text") -> Embedder:
    assigning.choose_embedder(person, connection, model)
    by = embedder_for(person)
    assert by is not None
    return by


def test_texts_become_vectors_in_batches_and_in_the_ledger(alice: User, local: Connection, fake: FakeModel) -> None:
    by = chosen(alice, local, "bge-m3")
    texts = [f"Memory number {n}." for n in range(embedding.BATCH + 3)]
    found = embed(by, texts, kind="passage", subject="character:1")
    assert [len(one) for one in found] == [DIMENSIONS] * len(texts)
    assert found[7] == pytest.approx(vector(texts[7])) and fake.embedded == texts
    assert {request.body["model"] for request in fake.requests} == {"bge-m3"}
    rows = list(Call.objects.for_user(alice))
    assert [(row.purpose, row.model, row.error_type, row.subject) for row in rows] == [
        ("embeddings", "bge-m3", "", "character:1")
    ] * 2
    assert {row.cost for row in rows} == {Decimal(0)} and rows[0].purpose_name == "Embeddings"
    local.refresh_from_db()
    assert local.model == "small" and local.bytes_per_token == 3.35, "the chat model's own ratio is left alone"
    assert embed(by, [], kind="query") == []


def test_models_that_were_taught_with_words_in_front_get_them(alice: User, local: Connection, fake: FakeModel) -> None:
    embed(chosen(alice, local, "nomic-embed-text"), [LAMP], kind="query")
    assert fake.embedded == [f"search_query: {LAMP}"]
    assert prefix_of("intfloat/multilingual-e5-large", "passage") == "passage: "
    assert prefix_of("text-embedding-3-small", "query") == "" == prefix_of("somee5model", "query")


def test_long_and_empty_texts_are_made_fit(alice: User, local: Connection, fake: FakeModel) -> None:
    embed(chosen(alice, local, "bge-m3"), ["x" * 9000, "  "], kind="passage")
    assert [len(text) for text in fake.embedded] == [embedding.LONGEST, 1]


def test_the_typed_price_is_the_chat_model_s(alice: User, local: Connection) -> None:
    local.price_in = local.price_out = Decimal(50)
    local.save()
    embed(chosen(alice, local, "bge-m3"), [LAMP], kind="passage")
    assert Call.objects.for_user(alice).get().cost == 0


def test_a_used_up_budget_stops_it(alice: User, local: Connection, fake: FakeModel) -> None:
    budgets.set_budget(alice, day_tokens=1)
    with pytest.raises(ProviderError) as caught:
        embed(chosen(alice, local), [LAMP], kind="passage")
    assert caught.value.error_type == "budget" and fake.embedded == []


def test_google_is_asked_in_its_own_words(alice: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = make_connection(alice, preset="local", base_url=f"{fake.root_url}/v1beta")
    monkeypatch.setitem(embedding.WIRES, "openai", embedding.WIRES["gemini"])
    found = embed(chosen(alice, connection, "models/gemini-embedding-001"), [LAMP, RAIN], kind="query")
    assert found[1] == pytest.approx(vector(RAIN))
    sent = fake.requests[-1]
    assert sent.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert {(one["model"], one["taskType"]) for one in sent.body["requests"]} == {
        ("models/gemini-embedding-001", "RETRIEVAL_QUERY")
    }


@pytest.mark.parametrize(
    "body",
    [
        '{"data": []}',
        '{"data": [{"embedding": []}]}',
        '{"data": [{"embedding": [0, 0]}]}',
        '{"data": [{"embedding": ["x"]}]}',
        '{"data": [{"embedding": [1e999]}]}',
        '{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}',
        '{"data": {"embedding": 3}}',
        '{"data": [{"embedding": null}]}',
        "{}",
        "[]",
    ],
)
def test_an_answer_without_vectors_is_said_to_be_none(alice: User, body: str) -> None:
    def talk(connection: Any, closing: Any) -> None:
        connection.sendall(HEAD + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())

    with RawServer(talk) as server:
        connection = make_connection(alice, preset="local", base_url=server.url)
        with pytest.raises(ProviderError):
            embed(chosen(alice, connection), [LAMP], kind="passage", tries=1)
    row = Call.objects.for_user(alice).get()
    assert row.error_type not in ("", "unfinished")


def test_an_error_repeats_no_memory(alice: User) -> None:
    def talk(connection: Any, closing: Any) -> None:
        body = f'{{"error": {{"message": "cannot read: {LAMP}"}}}}'
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())

    with RawServer(talk) as server:
        connection = make_connection(alice, preset="local", base_url=server.url)
        with pytest.raises(ProviderError) as caught:
            embed(chosen(alice, connection), [LAMP], kind="passage", tries=1)
    assert "lamp" not in caught.value.sentence and "cannot read" in caught.value.sentence


def test_nobody_does_it_until_somebody_is_chosen(alice: User, bob: User, local: Connection) -> None:
    assert embedder_for(alice) is None
    by = chosen(alice, local, "bge-m3")
    assert by.connection == local and by.name.startswith("bge-m3 ")
    assert embedder_for(bob) is None
    assert queries.connection_for(alice, EXTRACTION) == local, "the other purposes are not touched"
    other = make_connection(alice, name="Other", preset="local", base_url="http://127.0.0.1:9/v1", is_default=False)
    assert chosen(alice, other, "bge-m3").name != by.name, "another place may hold another model of that name"
    assert Duty.objects.for_user(alice).filter(purpose="embeddings").count() == 1
    other.delete()
    assert embedder_for(alice) is None
    assigning.choose_embedder(alice, None)
    with pytest.raises(ValueError, match="Choose one of your own"):
        assigning.choose_embedder(bob, local, "bge-m3")


def test_kinds_without_embeddings_say_so(alice: User, local: Connection) -> None:
    claude = make_connection(alice, name="Claude", preset="anthropic", is_default=False)
    with pytest.raises(ValueError, match="Claude offers no embeddings"):
        assigning.choose_embedder(alice, claude)
    through = make_connection(alice, name="My tavern", preset="sillytavern", base_url="x", is_default=False)
    assert not embedding.can_embed(through)
    with pytest.raises(ValueError, match="Type the name of an embedding model of Kitchen"):
        assigning.choose_embedder(alice, local)
    with pytest.raises(ValueError, match="odd characters"):
        assigning.choose_embedder(alice, local, "a\nb")
    with pytest.raises(ProviderError, match="offers no embeddings"):
        embed(Embedder(claude, "x"), [LAMP], kind="passage")
    openai = make_connection(alice, name="OpenAI", preset="openai", is_default=False)
    assert chosen(alice, openai, "").model == "text-embedding-3-small"


def test_the_page_chooses_tries_and_shows(
    alice: User, alice_client: Client, local: Connection, fake: FakeModel
) -> None:
    make_connection(alice, name="Claude", preset="anthropic", is_default=False)
    section = soup(alice_client.get(MODELS)).select_one("#embeddings")
    assert section.select_one("option[selected]") is None
    assert "Kitchen" in words(section) and "Claude" not in words(section)
    answer = alice_client.post(SAVE, {"embedder": local.pk, "embedding_model": "bge-m3"})
    assert answer.status_code == 302
    assert f"bge-m3 works: {DIMENSIONS} numbers for each memory" in words(toast(alice_client))
    page = soup(alice_client.get(MODELS))
    section = page.select_one("#embeddings")
    assert section.select_one("option[selected]")["value"] == str(local.pk)
    assert section.select_one("#embedding-model")["value"] == "bge-m3"
    assert "Embeddings" in words(page.select_one(".connections .table"))
    alice_client.post(SAVE, {"embedder": ""})
    assert "Words alone are compared" in words(toast(alice_client)) and embedder_for(alice) is None


def test_nobody_takes_it_over_from_a_connection_that_goes(alice: User, alice_client: Client, local: Connection) -> None:
    chosen(alice, local)
    assert "done by the default" not in words(soup(alice_client.get(f"{MODELS}{local.pk}/delete/")))


def test_a_choice_that_does_not_work_is_kept_and_said(
    alice: User, alice_client: Client, local: Connection, fake: FakeModel
) -> None:
    fake.embeds_with = 404
    alice_client.post(SAVE, {"embedder": local.pk, "embedding_model": "bge-m3"})
    assert "until it works, words alone are compared" in words(toast(alice_client))
    assert embedder_for(alice) is not None


def test_what_cannot_be_chosen_changes_nothing(alice: User, bob: User, alice_client: Client, local: Connection) -> None:
    theirs = make_connection(bob, name="Hers alone", preset="local")
    for given in ({"embedder": theirs.pk}, {"embedder": "nonsense"}, {"embedder": local.pk}):
        said = words(soup(alice_client.post(SAVE, given), 422).select_one("#embeddings .error"))
        assert said and "Hers alone" not in said
    assert not Duty.objects.for_user(alice).exists()
    assert Client().post(SAVE, {"embedder": ""}).status_code == 302


def test_without_the_package_the_page_says_how_to_get_it(
    alice: User, alice_client: Client, local: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_in_embedding, "PACKAGE", "no_such_package")
    section = soup(alice_client.get(MODELS)).select_one("#embeddings")
    assert "not installed" in words(section) and "/help/models" in str(section)
    assert "Built-in" not in words(section.select_one("select"))
    built_in = make_connection(alice, name="Built-in", preset="builtin", is_default=False)
    with pytest.raises(ValueError, match="not installed here"):
        assigning.choose_embedder(alice, built_in)
    built_in_embedding._model.cache_clear()
    with pytest.raises(ProviderError, match="not installed here"):
        embed(Embedder(built_in, built_in_embedding.NAME), [LAMP], kind="passage")


def test_the_built_in_model_tells_meanings_apart(alice: User, alice_client: Client, local: Connection) -> None:
    importlib.import_module(services.require("embedding"))
    alice_client.post(SAVE, {"embedder": "builtin"})
    assert "multilingual-e5-small works: 384 numbers" in words(toast(alice_client))
    alice_client.post(SAVE, {"embedder": "builtin"})
    by = embedder_for(alice)
    assert by is not None and by.connection.preset == "builtin"
    assert Connection.objects.for_user(alice).filter(preset="builtin").count() == 1
    texts = ["Tomas is afraid of deep water.", "Lena bakes bread on Sundays.", "Odd \ud800 text \0"]
    known = embed(by, texts, kind="passage")
    asked = embed(by, ["What frightens Tomas?"], kind="query")[0]
    scores = [sum(a * b for a, b in zip(asked, one, strict=True)) for one in known]
    assert scores.index(max(scores)) == 0
    assert Call.objects.for_user(alice).filter(error_type="").count() == 4


def test_it_stops_when_asked_to(alice: User, local: Connection) -> None:
    with pytest.raises(ProviderError) as caught:
        embed(chosen(alice, local), [LAMP], kind="passage", stop=lambda: True)
    assert caught.value.error_type == "stopped"
