"""Extraction by the built-in model: memories in the right form, and other ones from another chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import memory_file
from memories.extraction import start_extraction
from memories.models import ExtractionSettings
from providers import connecting
from providers.connecting import Wish
from providers.models import Call
from sync.models import Character
from tests.pure.test_golden_prompts import entries_of
from tests.support.real_model import end_children
from tests.support.services import require
from tests.support.story import make_character, make_chat

pytestmark = [pytest.mark.model, pytest.mark.django_db]


@pytest.fixture
def model(tmp_path: Path, settings: Any) -> Iterator[None]:
    require("model")
    settings.DATA_DIR = tmp_path
    yield
    end_children()


def remember(owner: User, name: str, chat: str) -> list[str]:
    """The bullets that the model makes of the beginning of a sample chat."""
    character: Character = make_character(owner, name)
    lines = [
        {"text": one.text, "role": one.role, "name": one.name, "raw_date": one.raw_date}
        for one in entries_of(name, chat)[:6]
    ]
    make_chat(character, chat, lines)
    job = start_extraction(owner, character=character)
    run_until_idle(owner)
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.DONE, "")
    return [memory.text for memory in memory_file.memories_of(memory_file.file_for(character))]


def test_another_chat_gives_other_memories(alice: User, model: None) -> None:
    connecting.add_connection(alice, Wish(preset="builtin"))
    ExtractionSettings.objects.create(user=alice, messages_per_call=6, response_tokens=200)
    first = remember(alice, "Wenna Cray", "Wenna Cray - 2025-02-03@19h12m08s114ms")
    second = remember(alice, "Verdigris", "Verdigris - 2025-06-14@09h02m17s950ms")
    assert first
    assert second
    assert not set(first) & set(second)
    calls = Call.objects.for_user(alice)
    assert calls.count() >= 2
    assert all(call.prompt_tokens and call.completion_tokens and not call.is_estimate for call in calls)
