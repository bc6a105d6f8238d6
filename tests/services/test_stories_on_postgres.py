"""The stories about what may be lost or repeated, once more on PostgreSQL, where transactions overlap differently."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.processes import ROOT, clean_environment

STORIES = {
    "the main job": (
        "test_databank_races.py",
        "test_extraction_in_step.py",
        "test_mirror_broken_off.py",
        "test_jobs_chunks.py",
    ),
    "editing": (
        "test_drafts.py",
        "test_drafts_together.py",
        "test_drafts_attacked.py",
        "test_manager_attacked.py",
        "test_trash.py",
        "test_revisions.py",
    ),
    "proposals": (
        "test_consolidation.py",
        "test_consolidation_pages.py",
        "test_conversion.py",
        "test_conversion_attacked.py",
    ),
    "review and search": (
        "test_review.py",
        "test_meaning.py",
        "test_evidence.py",
        "test_forget.py",
        "test_replace.py",
        "test_export.py",
        "test_search_page.py",
    ),
    "reading while things happen": ("test_wishes_meet.py", "test_reading_odd.py", "test_automatic_odd.py"),
    "connections": ("test_duties.py", "test_fallback.py", "test_fallback_jobs.py"),
    "divided and shared memories": (
        "test_branch_memories.py",
        "test_scopes.py",
        "test_sharing.py",
        "test_chat_databank.py",
    ),
}


@pytest.mark.postgres
@pytest.mark.parametrize("about", STORIES)
def test_nothing_is_lost_or_repeated_on_postgresql_either(postgres_url: str, about: str) -> None:
    files = [f"tests/app/{name}" for name in STORIES[about]]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=clean_environment({"CHARMEM_DATABASE_URL": postgres_url}),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
