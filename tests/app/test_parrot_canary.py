"""A model that repeats key and chat in every kind of failure: neither is in a job, a log, a page or an export."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

import pytest
from django.test import Client

from accounts.models import User
from accounts.ownership import unscoped
from jobs.drain import run_until_idle
from jobs.models import Job, JobEvent
from memories import memory_file
from memories.extraction import start_extraction
from memories.memory_file import file_for
from memories.models import Activity, Memory, Watermark
from providers import adapters
from providers.models import Call, Connection
from tests.support.parrot import ENDINGS, Parrot
from tests.support.story import make_character, make_chat
from tests.support.wire import connect, no_pauses

pytestmark = pytest.mark.django_db
KEY = "kq7-canary-0123456789abcdef"
WORDS = ("kq7-canary", "zephyrmarigold")
ROWS = (Activity, Call, Connection, Job, JobEvent, Memory, Watermark)
EXPORTS = ("/export/?as=archive&history=1", "/export/?as=json&history=1")
PAGES = ("/", "/jobs/", "/activity/", "/activity/download/", "/settings/models/", "/settings/spending/calls/")
TABLES = ("/settings/spending/", "/settings/spending/calls.csv")


def sung(name: str, text: str) -> list[tuple[str, str]]:
    return [(name, text[max(0, at - 200) : at + 60]) for word in WORDS if (at := text.lower().find(word)) >= 0]


def shown(client: Client, path: str) -> str:
    """All that a page, or a file that it gives, says; of an archive all its files."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    body = b"".join(answer)
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    return body.decode("utf-8", "replace")


@pytest.mark.parametrize("how", ENDINGS)
def test_a_parrot_s_words_stay_nowhere(
    alice: User,
    alice_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    caplog.set_level(1)
    no_pauses(monkeypatch)
    monkeypatch.setattr(adapters, "LOCAL_IDLE_SECONDS", 0.2)
    flux = make_character(alice)
    make_chat(flux, "first night", [f"Flux hid a zephyrmarigold behind door {n}." for n in range(4)])
    with memory_file.change(file_for(flux), reason="written", author=alice) as editor:
        editor.add_block("A nap", ["Flux slept on the warm stove."], origin="written")
    with Parrot("openai", how) as parrot:
        row = connect(alice, parrot, key=KEY, is_default=True)
        job = start_extraction(alice, character=flux)
        run_until_idle(alice)
        assert len(sung("", parrot.echo)) == len(WORDS), "the server was told both"
    job.refresh_from_db()
    assert job.state == ("paused" if how.startswith("429") else "failed")
    with unscoped("the canary is looked for"):
        rows = {model.__name__: str(list(model.objects.values())) for model in ROWS}
    places = [f"/jobs/{job.pk}/", f"/settings/models/{row.pk}/", f"/characters/{flux.pk}/", *PAGES, *TABLES, *EXPORTS]
    assert "warm stove" in shown(alice_client, EXPORTS[0])
    said = {**rows, "log": caplog.text, **{path: shown(alice_client, path) for path in places}}
    assert [one for name, text in said.items() for one in sung(name, text)] == []
