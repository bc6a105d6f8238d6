"""The stories about what may be lost or repeated, once more on PostgreSQL, where transactions overlap differently."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.processes import ROOT, clean_environment

STORIES = (
    "tests/app/test_databank_races.py",
    "tests/app/test_extraction_in_step.py",
    "tests/app/test_mirror_broken_off.py",
    "tests/app/test_jobs_chunks.py",
    "tests/app/test_review.py",
    "tests/app/test_evidence.py",
    "tests/app/test_forget.py",
    "tests/app/test_drafts.py",
    "tests/app/test_drafts_together.py",
    "tests/app/test_drafts_attacked.py",
    "tests/app/test_manager_attacked.py",
    "tests/app/test_conversion_attacked.py",
    "tests/app/test_consolidation.py",
    "tests/app/test_consolidation_pages.py",
    "tests/app/test_conversion.py",
    "tests/app/test_replace.py",
    "tests/app/test_trash.py",
    "tests/app/test_revisions.py",
    "tests/app/test_export.py",
    "tests/app/test_search_page.py",
)


@pytest.mark.postgres
def test_nothing_is_lost_or_repeated_on_postgresql_either(postgres_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *STORIES],
        cwd=ROOT,
        env=clean_environment({"CHARMEM_DATABASE_URL": postgres_url}),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
