"""What the quality gate doubted in an invented life: held memories, marked ones, and a month of two models."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from memories import memory_file
from memories.memory_file import NewMemory
from memories.models import GateCount, HeldMemory
from sync.models import Character, Chat

HELD = [
    ("Seraphine was cold and her sleeves were wet.", [{"check": "temporary", "detail": ""}]),
    ("I'm sorry, but nothing in this conversation stands out.", [{"check": "non_memory", "detail": ""}]),
    (
        "Seraphine keeps the drowned library and guards its index.",
        [{"check": "card_leak", "detail": "Seraphine keeps the drowned library."}],
    ),
    (
        "Wren swore to burn the sealed index.",
        [{"check": "unsupported", "detail": "Wren only said that burning it had crossed his mind."}],
    ),
    ("Seraphine was hungry on the ferry.", [{"check": "temporary", "detail": ""}]),
]
MARKED = [
    NewMemory(
        "Seraphine spoke about her sister and Wren listened.",
        is_unverified=True,
        doubts=[{"check": "meta_narration", "detail": ""}],
    ),
    NewMemory(
        "Seraphine lit the lantern, lifted it, and walked down three steps.",
        is_unverified=True,
        doubts=[{"check": "play_by_play", "detail": ""}],
    ),
]
DAYS = 30


def add_quality(alice: User, character: Character, chat: Chat) -> dict[str, Any]:
    """Five held memories, two marked ones, counts of two models."""
    file = memory_file.file_for(character)
    source = chat.messages.get(index=12)
    link = {"identity": source.identity, "index": 12, "quote": source.text[:40], "content": source.content}
    place: dict[str, Any] = {"chat": chat, "first_index": 10, "last_index": 20}
    for text, doubts in HELD:
        HeldMemory.objects.create(
            owner=alice,
            file=file,
            text=text,
            topic="[Seraphine, Wren — the third descent]",
            label="Third descent",
            date="2026-01-04 20:00",
            doubts=doubts,
            evidence=[link],
            **place,
        )
    with memory_file.change(file, reason="Extracted", author=alice) as editor:
        editor.add_block("Third descent", MARKED, date="2026-01-04 20:30", origin="extracted", **place)
    today = timezone.localdate()
    for ago in range(0, DAYS, 2):
        _count(alice, "llama-3.3-70b", today - timedelta(days=ago), 18 + ago % 5, ago % 4, ago % 3, 1)
        if ago < 16:
            _count(alice, "tiny-7b-instruct", today - timedelta(days=ago), 9 + ago % 3, 4 + ago % 3, 5, 3)
    return {}


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of these rows, by the names of their pictures."""
    queue = f"/characters/{scene['character'].pk}/review/held/"
    return {"quality": "/settings/quality/", "review-held": queue, "review-held-kind": f"{queue}?check=temporary"}


def _count(alice: User, model: str, day: Any, kept: int, flagged: int, held: int, refused: int) -> None:
    checks = {"temporary": held, "meta_narration": flagged, "repeat_existing": refused}
    numbers = {"calls": 6, "kept": kept, "flagged": flagged, "held": held, "refused": refused, "mended": flagged // 2}
    GateCount.objects.create(owner=alice, day=day, model=model, checks=checks, **numbers)
