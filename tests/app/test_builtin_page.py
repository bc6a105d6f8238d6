"""Settings → Models → Built-in model: files of the folder, memory, and downloads; for admins alone."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.enqueue import request_cancel, retry
from jobs.models import Job
from providers import builtin, connecting, machine, model_download, model_files
from providers.base import ProviderError
from providers.builtin_page import quality
from providers.connecting import Wish
from providers.file_lock import try_lock
from providers.models import Connection
from tests.support.https_files import Give, HttpsFiles, small_gguf, trust

PAGE = "/settings/models/built-in/"
BODY = small_gguf()
SUM = hashlib.sha256(BODY).hexdigest()
USUAL = {"context_tokens": "1024", "threads": "", "idle_minutes": "5"}


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """An empty models folder, in a data folder of its own; no model is installed."""
    settings.DATA_DIR = tmp_path
    settings.MODEL_FILE = str(tmp_path / "none.gguf")
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpsFiles]:
    with HttpsFiles({"/m/tiny.gguf": Give(BODY)}) as server:
        trust(monkeypatch, server)
        yield server


def put(folder: Path, name: str = "tiny.gguf", body: bytes = BODY) -> Path:
    (folder / name).write_bytes(body)
    return folder / name


def text_of(client: Client) -> str:
    return client.get(PAGE).content.decode()


def test_members_find_no_such_page(bob: User, bob_client: Client, folder: Path) -> None:
    put(folder)
    for method, path in (("get", ""), ("post", ""), ("post", "download"), ("get", "progress"), ("post", "remove")):
        data = {"file_name": "tiny.gguf", "name": "tiny.gguf", "url": "https://x.example/a.gguf", "sha256": SUM}
        assert getattr(bob_client, method)(PAGE + path, {**USUAL, **data}).status_code == 404
    assert (folder / "tiny.gguf").exists()
    assert builtin.current().file_name == "" and not Job.objects.for_user(bob).exists()
    assert "Built-in model" not in bob_client.get("/settings/models/").content.decode()


def test_a_file_of_the_folder_is_chosen_and_said_to_members(
    alice: User, alice_client: Client, bob: User, bob_client: Client, folder: Path
) -> None:
    put(folder)
    hers = connecting.add_connection(alice, Wish("builtin"))
    his = connecting.add_connection(bob, Wish("builtin"))
    Connection.objects.for_user(bob).update(test_result={"state": "ok"})
    assert "tiny.gguf" in text_of(alice_client)
    answer = alice_client.post(PAGE, {**USUAL, "file_name": "tiny.gguf", "threads": "1", "idle_minutes": "2"})
    assert answer.status_code == 302
    found = builtin.serving()
    assert (found.model_file, found.context_tokens, found.threads) == (str(folder / "tiny.gguf"), 1024, 1)
    assert found.idle_seconds == 120
    for row in (hers, his):
        row.refresh_from_db()
        assert (row.context_tokens, row.test_result) == (1024, {})
    page = bob_client.get(f"/settings/models/{his.pk}/").content.decode()
    assert "tiny.gguf" in page and PAGE not in page
    assert PAGE in alice_client.get(f"/settings/models/{hers.pk}/").content.decode()
    assert connecting.add_connection(alice, Wish("builtin")).context_tokens == 1024


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("link.gguf", "This is a link or no file. Copy the model itself here."),
        ("folder.gguf", "This is a link or no file. Copy the model itself here."),
        ("pipe.gguf", "This is a link or no file. Copy the model itself here."),
        ("page.gguf", "This is no GGUF file, or it is incomplete."),
        ("cut.gguf", "This is no GGUF file, or it is incomplete."),
        ("../outside.gguf", "There is no such file in the models folder."),
        ("/etc/hostname", "There is no such file in the models folder."),
        ("..\\outside.gguf", "There is no such file in the models folder."),
        (".hidden.gguf", "There is no such file in the models folder."),
        ("none.gguf", "There is no such file in the models folder."),
    ],
)
def test_what_is_no_model_of_the_folder_is_refused(
    alice_client: Client, folder: Path, name: str, sentence: str
) -> None:
    outside = put(folder.parent, "outside.gguf")
    put(folder, ".hidden.gguf")
    (folder / "link.gguf").symlink_to(outside)
    (folder / "folder.gguf").mkdir()
    os.mkfifo(folder / "pipe.gguf")
    put(folder, "page.gguf", b"<!doctype html>")
    put(folder, "cut.gguf", BODY[:300])
    answer = alice_client.post(PAGE, {**USUAL, "file_name": name})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert builtin.current().file_name == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"context_tokens": "4096"}, "This model was made for at most 2,048 tokens."),
        ({"context_tokens": "100"}, "Between 512 and 131,072 tokens, please."),
        ({"threads": "9999"}, "This computer has"),
        ({"idle_minutes": "0"}, "greater than or equal to 1"),
    ],
)
def test_settings_that_cannot_be(alice_client: Client, folder: Path, change: dict[str, str], sentence: str) -> None:
    put(folder)
    answer = alice_client.post(PAGE, {**USUAL, "file_name": "tiny.gguf", **change})
    assert answer.status_code == 422 and sentence in answer.content.decode()


def test_memory_is_shown_before_it_is_loaded(
    alice_client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder)
    chosen = {**USUAL, "file_name": "tiny.gguf"}
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(2 * 10**9, 10**9))
    assert alice_client.post(PAGE, chosen).status_code == 302
    page = text_of(alice_client)
    assert "1 GB of 2 GB memory free for it" in page and "takes about 168 MB of memory" in page
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(2 * 10**9, 10**8))
    assert "It needs about 168 MB of memory, and 100 MB are free." in text_of(alice_client)
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(10**8, 10**8))
    answer = alice_client.post(PAGE, chosen)
    assert answer.status_code == 422
    wanted = "tiny.gguf with this window needs about 168 MB of memory, and this computer has 100 MB."
    assert wanted in answer.content.decode()


def test_a_chosen_file_that_is_gone_is_said(alice_client: Client, folder: Path) -> None:
    path = put(folder)
    alice_client.post(PAGE, {**USUAL, "file_name": "tiny.gguf"})
    path.unlink()
    assert "The chosen file is gone. Choose another one." in text_of(alice_client)
    with pytest.raises(ProviderError, match=r"tiny\.gguf is not in the models folder any more\."):
        builtin.serving()


def test_files_are_deleted_but_not_the_one_in_use(alice_client: Client, folder: Path) -> None:
    put(folder)
    put(folder, "other.gguf")
    outside = put(folder.parent, "outside.gguf")
    alice_client.post(PAGE, {**USUAL, "file_name": "tiny.gguf"})
    (folder / "folder.gguf").mkdir()
    for name in ("tiny.gguf", "../outside.gguf", "", "none.gguf", "folder.gguf"):
        assert alice_client.get(f"{PAGE}remove", {"name": name}).status_code == 302
        assert alice_client.post(f"{PAGE}remove", {"name": name}).status_code == 302
    (folder / "link.gguf").symlink_to(outside)
    for name in ("other.gguf", "link.gguf"):
        assert f"Delete {name}?" in alice_client.get(f"{PAGE}remove", {"name": name}).content.decode()
        assert alice_client.post(f"{PAGE}remove", {"name": name}).status_code == 302
    assert outside.exists()
    assert sorted(path.name for path in folder.iterdir()) == ["folder.gguf", "tiny.gguf"]


def test_the_note_on_quality_tells_small_from_large() -> None:
    said = [quality(count) for count in (135 * 10**6, 1_700_000_000, 7 * 10**9, 14 * 10**9)]
    assert len(set(said)) == 4 and "often wrong" in said[0]


def wish(server: HttpsFiles, **change: str) -> dict[str, str]:
    return {"url": f"{server.root}/m/tiny.gguf", "sha256": SUM.upper(), "name": "", **change}


def test_a_download_ends_in_the_folder(alice: User, alice_client: Client, folder: Path, server: HttpsFiles) -> None:
    assert alice_client.post(f"{PAGE}download", wish(server)).status_code == 302
    job = Job.objects.for_user(alice).get()
    assert job.label == "Download tiny.gguf"
    assert "Download tiny.gguf" in alice_client.get(f"{PAGE}progress").content.decode()
    assert f"/jobs/{job.pk}/stop" in text_of(alice_client)
    run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.result["text"]) == (Job.State.DONE, "tiny.gguf is in the models folder.")
    assert (folder / "tiny.gguf").read_bytes() == BODY
    assert not list((folder / model_files.UNFINISHED).iterdir())
    assert alice_client.get(f"{PAGE}progress").headers["HX-Refresh"] == "true"
    assert "takes about" in text_of(alice_client)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"url": "http://huggingface.co/x/tiny.gguf"}, "Models are downloaded from https addresses only."),
        ({"url": "https://me:pw@huggingface.co/x/tiny.gguf"}, "An address may not contain a name and password"),
        ({"sha256": "abc"}, "A SHA-256 has 64 digits and letters from a to f."),
        ({"sha256": "g" * 64}, "A SHA-256 has 64 digits and letters from a to f."),
        ({"name": "../tiny.gguf"}, "Give the file a plain name that ends in .gguf."),
        ({"name": "tiny.exe"}, "Give the file a plain name that ends in .gguf."),
        ({"name": "there.gguf"}, "There is a file of this name already"),
        ({"url": "https://huggingface.co/x"}, "Give the file a plain name that ends in .gguf."),
    ],
)
def test_wishes_that_cannot_be(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles, change: dict[str, str], sentence: str
) -> None:
    put(folder, "there.gguf")
    answer = alice_client.post(f"{PAGE}download", wish(server, **change))
    assert answer.status_code == 422 and sentence in answer.content.decode()
    assert not Job.objects.for_user(alice).exists()


def test_downloads_can_be_switched_off(alice_client: Client, folder: Path, server: HttpsFiles, settings: Any) -> None:
    settings.MODEL_DOWNLOAD_BYTES = 0
    answer = alice_client.post(f"{PAGE}download", wish(server))
    assert answer.status_code == 422 and "Downloads are switched off here" in answer.content.decode()


def test_a_wrong_checksum_puts_nothing_into_the_folder(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles
) -> None:
    alice_client.post(f"{PAGE}download", wish(server, sha256="0" * 64))
    run_until_idle(alice)
    job = Job.objects.for_user(alice).get()
    assert (job.state, job.error_type, job.can_retry) == (Job.State.FAILED, "sum", False)
    assert "its SHA-256 is another one than you gave" in text_of(alice_client)
    assert not list(folder.rglob("*.gguf")) and not list(folder.rglob("*.part"))


def test_a_cut_pauses_the_job_and_it_goes_on_behind_it(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_download, "PAUSE", timedelta(0))
    server.files["/m/tiny.gguf"] = Give(BODY, cut=4000)
    alice_client.post(f"{PAGE}download", wish(server))
    run_until_idle(alice)
    assert Job.objects.for_user(alice).get().state == Job.State.DONE
    assert [span for _path, span in server.asked] == ["", "bytes=4000-"]


def test_a_large_file_comes_in_chunks_so_that_others_have_their_turn(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_download, "CHUNK_SECONDS", 0.0)
    body = BODY + bytes(200_000)
    server.files["/m/tiny.gguf"] = Give(body)
    alice_client.post(f"{PAGE}download", wish(server, sha256=hashlib.sha256(body).hexdigest()))
    assert run_until_idle(alice) > 2
    assert (folder / "tiny.gguf").read_bytes() == body
    spans = [span for _path, span in server.asked]
    assert spans[0] == "" and len(set(spans)) == len(spans)


def test_the_second_one_who_wants_the_same_file_waits(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles
) -> None:
    alice_client.post(f"{PAGE}download", wish(server))
    (folder / model_files.UNFINISHED).mkdir()
    lock = try_lock(folder / model_files.UNFINISHED / f"{SUM}.lock")
    assert lock is not None
    with lock:
        run_until_idle(alice)
    job = Job.objects.for_user(alice).get()
    assert (job.state, job.doing) == (Job.State.PAUSED, "Somebody else downloads this file just now.")
    assert not server.asked


def test_a_server_that_stays_away_ends_it_after_some_tries(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_download, "PAUSE", timedelta(0))
    server.files["/m/tiny.gguf"] = Give(BODY, 503)
    alice_client.post(f"{PAGE}download", wish(server))
    run_until_idle(alice)
    job = Job.objects.for_user(alice).get()
    assert (job.state, job.error) == (Job.State.FAILED, "127.0.0.1 answered with error 503.")
    assert len(server.asked) == model_download.MOST_TRIES
    assert "Try again" in text_of(alice_client)
    server.files["/m/tiny.gguf"] = Give(BODY)
    assert retry(job)
    run_until_idle(alice)
    assert (folder / "tiny.gguf").read_bytes() == BODY


@pytest.mark.django_db(transaction=True)
def test_a_stop_keeps_what_arrived_for_later(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles
) -> None:
    server.files["/m/tiny.gguf"] = Give(BODY, wait=threading.Event())
    alice_client.post(f"{PAGE}download", wish(server))
    job = Job.objects.for_user(alice).get()
    stopper = threading.Timer(1.0, request_cancel, [job])
    stopper.start()
    run_until_idle(alice)
    stopper.join()
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED
    assert "What has arrived is kept for two weeks." in text_of(alice_client)
    kept = folder / model_files.UNFINISHED / f"{SUM}.part"
    assert 0 < kept.stat().st_size < len(BODY) and not (folder / "tiny.gguf").exists()
    server.files["/m/tiny.gguf"] = Give(BODY)
    retry(job)
    run_until_idle(alice)
    assert (folder / "tiny.gguf").read_bytes() == BODY
    assert server.asked[-1][1].startswith("bytes=")


def test_who_is_no_admin_any_more_downloads_nothing(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles
) -> None:
    alice_client.post(f"{PAGE}download", wish(server))
    User.objects.filter(pk=alice.pk).update(role="member")
    run_until_idle(alice)
    job = Job.objects.for_user(alice).get()
    assert (job.state, job.error) == (Job.State.FAILED, "Only an admin may download models.")
    assert not server.asked


def test_a_file_that_was_put_there_meanwhile_stays(
    alice: User, alice_client: Client, folder: Path, server: HttpsFiles
) -> None:
    alice_client.post(f"{PAGE}download", wish(server))
    put(folder, "tiny.gguf", b"mine")
    run_until_idle(alice)
    job = Job.objects.for_user(alice).get()
    assert (job.state, job.error_type) == (Job.State.FAILED, "exists")
    assert (folder / "tiny.gguf").read_bytes() == b"mine"


def test_old_leftovers_are_removed(alice: User, alice_client: Client, folder: Path, server: HttpsFiles) -> None:
    old = folder / model_files.UNFINISHED / f"{'1' * 64}.part"
    old.parent.mkdir()
    old.write_bytes(b"GGUF")
    os.utime(old, (1, 1))
    alice_client.post(f"{PAGE}download", wish(server))
    run_until_idle(alice)
    assert not old.exists()
