"""A models folder with a few files of different sizes, and a download under way."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from accounts.models import User
from jobs.models import Job
from providers import model_download
from tests.support.builders import make_job
from tests.support.https_files import small_gguf

PAGE = "/settings/models/built-in/"


def add_models(alice: User) -> dict[str, Job]:
    """Files that look like models in all but their bytes: holes, so that they take no room on the disk."""
    folder = Path(settings.DATA_DIR) / "models"
    folder.mkdir(exist_ok=True)
    for name, billions in (("Lantern-3.2-3B-Instruct-Q4_K_M.gguf", 3.2), ("quill-14b-instruct-q5.gguf", 14.0)):
        weights = int(billions * 10**9) // 8 * 8
        (folder / name).write_bytes(small_gguf(context_length=32_768, weights=weights))
        with (folder / name).open("r+b") as file:
            file.truncate(int(billions * 0.6 * 10**9))
    (folder / "page-about-a-model.gguf").write_bytes(b"<!doctype html>")
    download = make_job(
        alice, kind=model_download.KIND, label="Download tide-8b-q4.gguf", state="running", step=1840, total=4920,
        doing="1.8 GB have arrived.",
    )  # fmt: skip
    return {"download": download}


def paths() -> dict[str, str]:
    """The page, the form of a connection, and what asks before a file is deleted."""
    return {
        "builtin": PAGE,
        "builtin-new": "/settings/models/new/builtin/",
        "builtin-remove": f"{PAGE}remove?name=quill-14b-instruct-q5.gguf",
    }
