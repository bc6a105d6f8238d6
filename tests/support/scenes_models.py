"""Connections after and during a test of their model."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from accounts.models import User
from providers import test_jobs, verdict
from tests.support.builders import make_connection, make_job


def found(state: str, message: str, quote: str = "", **rows: str) -> dict[str, Any]:
    """What a test found; the last of the rows that were tried is as the whole."""
    tried = [{"name": name, "state": "ok", "text": text} for name, text in rows.items()]
    tried[-1]["state"] = state
    steps = tried + [{"name": name, "state": "off", "text": ""} for name in verdict.ROWS[len(tried) :]]
    told = {"seconds": 1.7, "tokens_in": 1204, "tokens_out": 88, "cost": "0.00016"} if "answer" in rows else {}
    whole = {"state": state, "ok": state != "bad", "message": message, "hint": "", "steps": steps, "quote": quote}
    return whole | told


def add_tests(alice: User) -> dict[str, Any]:
    """Connections in the middle of a test, and after one that was not passed."""
    now = timezone.now()
    telling = found(
        "warn", "Story box answers, but not as asked.", reached="0.2 s", key="accepted", answer="6.1 s",
        memory="not in the form of a memory",
        quote="The rain had stopped by the time Mira padded across the flour-dusted floor, her silver key glinting…",
    )  # fmt: skip
    telling["hint"] = "Small models often do this; it may still find memories."
    other = {"is_default": False, "preset": "local"}
    warned = make_connection(
        alice, name="Story box", model="mistral-nemo-rp", tested_at=now, test_result=telling, **other
    )  # fmt: skip
    message = "OpenRouter does not know this model or address."
    lost = found("bad", message, reached="yes", key="accepted", answer="error 404")
    lost |= {"hint": "The list does not have glm-47.", "names": ["z-ai/glm-4.7", "z-ai/glm-4.7-flash", "z-ai/glm-4.6"]}
    unknown = make_connection(
        alice, name="OpenRouter, second key", model="glm-47", tested_at=now, test_result=lost, is_default=False,
        preset="openrouter",
    )  # fmt: skip
    tested = make_connection(alice, name="Attic box", model="qwen3:30b", **other)
    params = {"connection": str(tested.pk)}
    make_job(
        alice, test_jobs.KIND, key=f"{test_jobs.KIND}:{tested.pk}", params=params, label="Test Attic box", total=1,
        state="running", started_at=now,
    )  # fmt: skip
    return {"warned": warned, "unknown": unknown, "tested": tested}


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """Their pages."""
    names = {"model-warn": "warned", "model-unknown": "unknown", "model-testing": "tested"}
    return {name: f"/settings/models/{scene[row].pk}/" for name, row in names.items()}
