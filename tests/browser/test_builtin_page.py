"""The built-in model's pages in every width, and a download that is watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from jobs.models import Job
from tests.support.browsing import WIDTHS, signed_in
from tests.support.scenes_builtin import PAGE, add_models, paths

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "models"


@pytest.mark.parametrize("size", WIDTHS)
def test_its_pages_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge([PAGE]) == []
        add_models(alice)
        assert seen.judge(list(paths().values())) == []


def test_a_download_is_watched_to_its_end(live_server: Any, alice: User) -> None:
    job = add_models(alice)["download"]
    rows = Job.objects.for_user(alice).filter(pk=job.pk)
    with signed_in(live_server.url, alice, "desktop") as seen:
        page = seen.open(PAGE)
        expect(page.get_by_text("1,840 of 4,920 MB")).to_be_visible()
        rows.update(step=3000)
        expect(page.get_by_text("3,000 of 4,920 MB")).to_be_visible(timeout=20_000)
        rows.update(state=Job.State.DONE)
        expect(page.get_by_label("Address of the file")).to_be_visible(timeout=20_000)


def test_a_file_is_deleted_only_after_a_question(live_server: Any, alice: User, folder: Path) -> None:
    add_models(alice)
    with signed_in(live_server.url, alice, "phone") as seen:
        page = seen.open(PAGE)
        page.get_by_label("Delete quill-14b").click()
        page.get_by_role("link", name="Keep it").click()
        page.get_by_label("Delete quill-14b").click()
        assert (folder / "quill-14b-instruct-q5.gguf").exists()
        page.get_by_role("button", name="Delete the file").click()
        expect(page.get_by_text("quill-14b-instruct-q5.gguf is deleted.")).to_be_visible()
        assert not (folder / "quill-14b-instruct-q5.gguf").exists()
