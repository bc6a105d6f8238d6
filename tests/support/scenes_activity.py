"""The activity log and limits for looking at: a reading with every step, a wait, a failure, kept texts, money spent."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import User
from memories import activity, activity_texts
from memories.models import Activity, ActivityText, ExtractionSettings
from providers import budgets
from providers.models import Call
from sync.models import Character, Chat
from tests.support.builders import make_call

STEPS = (
    ("collected", "info", "Collected 15 messages, #830–844."),
    ("sent", "info", "Extraction: sent about 2,310 tokens to deepseek-v3.1 at OpenRouter."),
    ("answered", "info", "Answered in 3.2 s with 215 tokens."),
    ("judged", "warn", "The answer holds 4 memories: 1 known already, or said twice, and left out."),
    ("saved", "good", "Saved 3 memories of Seraphine Vael."),
)
PROMPT = "<conversation>\nWren: I swore it on the lantern.\nSeraphine: Then it is sworn.\n</conversation>"
ANSWER = "<memory>\n- [Seraphine, Wren — the oath]\n- Seraphine swore on the brass lantern.\n</memory>"


def add_activity(alice: User, character: Character, chat: Chat) -> dict[str, Any]:
    """Lines of two days; texts are kept for one of them."""
    now = timezone.now()
    ExtractionSettings.objects.update_or_create(user=alice, defaults={"is_verbose": True, "keep_days": 7})
    for age in (timedelta(days=1), timedelta(minutes=4)):
        for number, (step, level, text) in enumerate(STEPS):
            at = now - age + timedelta(seconds=number)
            activity.note(alice, step, text, level=level, character=character, chat=chat, at=at)
    activity.note(alice, "waits", "14 of 20 messages: 6 more until it reads.", character=character, chat=chat)
    failed = (
        "The model declined to read these messages. Everything read before is kept, and these messages stay unread."
    )
    activity.note(alice, "failed", failed, level="bad", character=character, chat=chat)
    line = Activity.objects.for_user(alice).filter(step="answered").order_by("-pk")[0]
    full = activity_texts.Full("You keep what is worth remembering.", PROMPT, ANSWER, "They made a promise.")
    until = now + timedelta(days=6)
    ActivityText.objects.create(activity=line, data=activity_texts.pack(full), expires_at=until)
    _spend(alice, character, chat)
    return {"text": line}


def _spend(alice: User, character: Character, chat: Chat) -> None:
    now = timezone.now()
    for day in range(20):
        for purpose, cents in (("extraction", 4 + day % 5), ("consolidation", day % 3), ("checking", day % 2)):
            subject = f"character:{character.pk}/chat:{chat.pk}"
            call = make_call(
                alice, purpose=purpose, subject=subject, cost=Decimal(cents) / 100, connection_name="OpenRouter",
                model="deepseek-v3.1", is_automatic=day % 2 == 0,
            )  # fmt: skip
            Call.objects.for_user(alice).filter(pk=call.pk).update(started_at=now - timedelta(days=day))
    budgets.set_budget(alice, day_money=Decimal("0.5"), month_money=5)
    budgets.set_budget(None, month_money=20)


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of the log and of limits, by the name of their picture."""
    return {
        "activity": "/activity/",
        "activity-none": "/activity/?q=unicorn",
        "activity-text": f"/activity/{scene['text'].pk}/",
        "spending": "/settings/spending/",
        "spending-all": "/settings/spending/?span=all",
        "calls": "/settings/spending/calls/?purpose=extraction",
        "budgets": "/settings/budgets/",
        "budgets-all": "/settings/budgets/everybody/",
    }
