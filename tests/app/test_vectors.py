"""The vector index: built aside, swapped in whole, not paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import User
from providers.network import policy_for
from sync import outbox, vectors
from sync.models import Attachment, Tavern
from sync.tavern.chunks import collection_of
from sync.tavern.server import Login, ServerError, check_login
from tests.support.databank import make_file, make_mara, path_of
from tests.support.fake_tavern import FakeTavern

TEXT = '<memory chat="a" date="">\n- Mara keeps a lantern.\n</memory>'


@pytest.fixture
def tavern(tmp_path: Path) -> Iterator[FakeTavern]:
    with FakeTavern(tmp_path / "t") as running:
        yield running


@pytest.fixture
def attachment(alice: User, tmp_path: Path, tavern: FakeTavern) -> Attachment:
    made = make_file(make_mara(alice, tmp_path / "t", url=tavern.url), TEXT)
    outbox.accept(made, outbox.hash_of(TEXT))
    return made


def live_texts(tavern: FakeTavern, attachment: Attachment, model: str = "m1") -> list[str]:
    return tavern.texts("vllm", collection_of(attachment.url), model)


def test_the_index_holds_the_file_and_the_staging_is_gone(tavern: FakeTavern, attachment: Attachment) -> None:
    assert vectors.rebuild_index(attachment)
    attachment.refresh_from_db()
    assert live_texts(tavern, attachment) == [TEXT]
    assert attachment.index_state == Attachment.Index.CURRENT and attachment.index_chunks == 1
    assert [path.name for path in (tavern.user_folder / "vectors/vllm").iterdir()] == [collection_of(attachment.url)]


def test_the_live_collection_is_never_purged_nor_inserted_into(tavern: FakeTavern, attachment: Attachment) -> None:
    vectors.rebuild_index(attachment)
    vectors.rebuild_index(attachment, force=True)
    live = collection_of(attachment.url)
    touched = {path for path, body in tavern.calls if isinstance(body, dict) and body.get("collectionId") == live}
    assert touched == {"/api/vector/list"}


def test_an_unchanged_file_is_not_embedded_again(tavern: FakeTavern, attachment: Attachment) -> None:
    vectors.rebuild_index(attachment)
    assert vectors.rebuild_index(attachment)
    assert tavern.count("/api/vector/insert") == 1


def test_an_index_that_sillytavern_built_of_this_text_is_taken_as_it_is(
    tavern: FakeTavern, attachment: Attachment
) -> None:
    vectors.rebuild_index(attachment)
    attachment.index_hash = ""
    Tavern.objects.for_user(attachment.tavern.owner).update(url="")
    attachment.tavern.refresh_from_db()
    assert vectors.rebuild_index(attachment) and vectors.is_current(attachment)
    assert tavern.count("/api/vector/insert") == 1
    path = next((tavern.user_folder / "vectors/vllm").glob("*/m1/index.json"))
    path.write_text(path.read_text("utf-8").replace("lantern", "candle"), "utf-8")
    attachment.index_hash = ""
    assert not vectors.rebuild_index(attachment)
    assert "address is not known" in attachment.index_note


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf- a lantern", b"- a l\xffntern"])
def test_odd_bytes_are_embedded_once_too(tavern: FakeTavern, attachment: Attachment, data: bytes) -> None:
    path_of(attachment).write_bytes(data)
    outbox.accept(attachment, outbox.hash_of(data))
    assert vectors.rebuild_index(attachment) and vectors.is_current(attachment)
    assert vectors.rebuild_index(attachment)
    assert tavern.count("/api/vector/insert") == 1


@pytest.mark.parametrize("change", [{"vllm_model": "m2"}, {"source": "ollama", "ollama_model": "m3"}])
def test_another_source_or_model_makes_the_index_stale_and_new(
    tavern: FakeTavern, attachment: Attachment, change: dict[str, str]
) -> None:
    vectors.rebuild_index(attachment)
    attachment.tavern.vectors.update(change)
    assert not vectors.is_current(attachment)
    assert vectors.rebuild_index(attachment) and vectors.is_current(attachment)
    assert tavern.count("/api/vector/insert") == 2


def test_chunk_settings_count_only_for_a_file_that_is_cut(tavern: FakeTavern, attachment: Attachment) -> None:
    vectors.rebuild_index(attachment)
    attachment.tavern.vectors["chunk_size_db"] = 900
    assert vectors.is_current(attachment)
    attachment.registered_size = 6000
    assert not vectors.is_current(attachment)


def test_a_long_file_is_cut_by_its_registered_size(tavern: FakeTavern, attachment: Attachment) -> None:
    long = "\n\n".join(f"Memory number {n}. " + "word " * 100 for n in range(40))
    outbox.write_file(attachment, long)
    attachment.registered_size = len(long)
    assert vectors.rebuild_index(attachment)
    assert attachment.index_chunks == len(live_texts(tavern, attachment)) > 5
    assert tavern.count("/api/vector/insert") > 1


def test_an_empty_file_leaves_no_old_text_in_the_index(tavern: FakeTavern, attachment: Attachment) -> None:
    vectors.rebuild_index(attachment)
    outbox.write_file(attachment, "")
    assert vectors.rebuild_index(attachment)
    assert live_texts(tavern, attachment) == [""]


def test_a_failing_embedder_keeps_the_old_index_whole(tavern: FakeTavern, attachment: Attachment) -> None:
    vectors.rebuild_index(attachment)
    outbox.write_file(attachment, TEXT + "\nmore")
    tavern.embed_status = 500
    assert not vectors.rebuild_index(attachment)
    assert live_texts(tavern, attachment) == [TEXT]
    attachment.refresh_from_db()
    assert attachment.index_state == Attachment.Index.FAILED
    assert attachment.index_note == (
        "SillyTavern could not embed the text (500). Check that the vectorization source that is set under Vector "
        "Storage answers and has its key."
    )


def test_a_staging_that_stopped_half_way_never_becomes_live(
    tavern: FakeTavern, attachment: Attachment, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "\n\n".join("word " * 100 + str(n) for n in range(40))
    outbox.write_file(attachment, long)
    attachment.registered_size = len(long)
    whole = tavern._insert

    def second_fails(body: object) -> tuple[int, object]:
        return (500, "gone") if tavern.count("/api/vector/insert") == 2 else whole(body)

    monkeypatch.setattr(tavern, "_insert", second_fails)
    assert not vectors.rebuild_index(attachment)
    assert list((tavern.user_folder / "vectors/vllm").iterdir()) == []


def test_without_an_address_the_page_says_that_the_index_is_stale(alice: User, tmp_path: Path) -> None:
    attachment = make_file(make_mara(alice, tmp_path / "t"), TEXT)
    assert not vectors.rebuild_index(attachment)
    assert attachment.index_state == Attachment.Index.STALE
    assert attachment.index_note == (
        "SillyTavern's address is not known, so its vector index was not renewed. Add the address in Settings, "
        "SillyTavern. Without it, press Purge Vectors under File vectorization settings; the browser reads the new "
        "text then if the companion is installed or its cache is emptied."
    )


@pytest.mark.parametrize("source", ["webllm", "koboldcpp"])
def test_a_source_inside_the_browser_is_named(attachment: Attachment, source: str) -> None:
    attachment.tavern.vectors["source"] = source
    assert not vectors.rebuild_index(attachment)
    assert attachment.index_note.startswith(f"The vectorization source “{source}” works only inside the browser.")


def test_nothing_is_embedded_while_files_are_off(tavern: FakeTavern, attachment: Attachment) -> None:
    attachment.tavern.vectors["enabled_files"] = False
    assert not vectors.rebuild_index(attachment)
    assert tavern.calls == []


def test_a_source_without_models_has_no_model_folder(tavern: FakeTavern, attachment: Attachment) -> None:
    attachment.tavern.vectors["source"] = "llamacpp"
    assert vectors.rebuild_index(attachment)
    assert tavern.texts("llamacpp", collection_of(attachment.url)) == [TEXT]


def test_an_account_is_logged_in_with_the_sealed_password(alice: User, tmp_path: Path) -> None:
    from providers.vault import seal

    with FakeTavern(tmp_path / "t", accounts={"mara": "pa:ss"}) as tavern:
        attachment = make_file(make_mara(alice, tmp_path / "t", url=tavern.url, login="mara"), TEXT)
        assert not vectors.rebuild_index(attachment)
        assert "did not accept this name and password" in attachment.index_note
        row = attachment.tavern
        row.password_sealed = seal("pa:ss", owner_id=alice.pk, row_id=row.pk)
        assert vectors.rebuild_index(attachment)


def test_a_login_proves_an_account_only_where_there_are_accounts(alice: User, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    with FakeTavern(tmp_path / "t", accounts={"mara": "pw"}) as tavern:
        assert check_login(tavern.url, policy_for(alice), Login("mara", "pw")) == "mara"
        with pytest.raises(ServerError, match="did not accept"):
            check_login(tavern.url, policy_for(alice), Login("mara", "wrong"))
    with FakeTavern(tmp_path / "t") as tavern, pytest.raises(ServerError, match="has no accounts"):
        check_login(tavern.url, policy_for(alice), Login("default-user", ""))


def test_something_else_at_the_address_is_said_plainly(alice: User, tmp_path: Path) -> None:
    from tests.support.fake_model import FakeModel

    with FakeModel() as other:
        attachment = make_file(make_mara(alice, tmp_path / "t", url=other.root_url), TEXT)
        assert not vectors.rebuild_index(attachment)
    assert attachment.index_note == "What answers at this address is not SillyTavern. Check the address and the port."


def test_the_index_on_disk_is_json_again_after_the_swap(tavern: FakeTavern, attachment: Attachment) -> None:
    outbox.write_file(attachment, "")
    vectors.rebuild_index(attachment)
    index = json.loads(tavern.collection("vllm", collection_of(attachment.url), "m1").read_bytes())
    assert index["items"][0]["vector"] == [1.0]
    assert path_of(attachment).read_text(encoding="utf-8") == ""
