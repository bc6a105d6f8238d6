"""The search stories once more on PostgreSQL: another index, the same answers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.processes import ROOT, clean_environment

STORIES = ("tests/app/test_search.py", "tests/app/test_search_page.py")


@pytest.mark.postgres
def test_postgresql_answers_as_sqlite_does(postgres_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *STORIES],
        cwd=ROOT,
        env=clean_environment({"CHARMEM_DATABASE_URL": postgres_url}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
