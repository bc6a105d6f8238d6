"""Prompts of one's own for looking at: a default that changed, a strategy, a try with its answer."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from jobs.models import Job
from memories import own_prompts, try_it
from memories.models import PromptOverride
from memories.prompts import prompt_text
from memories.try_parts import NotesTrial, Trial
from providers.queries import default_connection
from sync.models import Character, Chat
from tests.support.builders import make_chat, make_group

FIVE, THREE = "After the topic at most five bullets.", "After the topic at most three bullets. Name everybody."
NOTES = "# Lantern\n* Seraphine swore on it.\n* She left at dawn.\n* It lit itself.\n"
ANSWER = {
    "answer": "<memory>\n- [Seraphine, Wren — The lantern]\n- Swore on the brass lantern.\n</memory>",
    "kind": "memories",
    "is_cut": False,
    "blocks": [
        {
            "title": "The lantern",
            "bullets": [
                {"text": "Told Wren to ask her at the boathouse.", "unknown": [], "is_similar": False},
                {"text": "Called Maren “slow” on the stairs.", "unknown": ["Maren"], "is_similar": True},
            ],
        }
    ],
    "left_out": ["Carries a brass lantern."],
    "unverified": 1,
    "memories": 2,
    "messages": 14,
    "first": 832,
    "last": 845,
    "seconds": 3.8,
    "tokens_in": 4906,
    "tokens_out": 188,
    "cost": "0.0031",
    "model": "deepseek-v3.1",
}


def add_prompts(alice: User, character: Character, chat: Chat) -> dict[str, Any]:
    """{"prompt_version": a version of alice's, "strategy": its name, "try", "notes": answered jobs}."""
    shipped = prompt_text("extraction").text
    base = shipped.replace(FIVE, "After the topic at most eight bullets.").replace("weather and scenery; ", "")
    first = own_prompts.save_text(alice, "extraction", f"{shipped}\n\nQuote a phrase when its exact words will matter.")
    own_prompts.save_text(alice, "extraction", base.replace("at most eight bullets.", THREE.partition("most ")[2]))
    rows = PromptOverride.objects.for_user(alice).filter(name="extraction")
    rows.update(base_text=base, base_version="0.9")
    own_prompts.save_text(alice, "extraction", f"{shipped}\n\nShe never forgets a debt.", character)
    strategy = own_prompts.create_strategy(alice, "Only feelings", "Keep what {{charName}} felt.")
    _add_group(character)
    tried = {"try": _tried(alice, character, chat), "notes": _tried_notes(alice, character)}
    return {"prompt_version": first, "strategy": strategy.name, **tried}


def _add_group(character: Character) -> None:
    """A group's chat, in which her prompt for groups can be tried."""
    other = character.tavern.characters.exclude(pk=character.pk).first()
    group = make_group(character.tavern, *([character, other] if other else [character]), name="The boathouse")
    make_chat(group, ["Who lit the lantern?", "Not I, says she.", "Then it lit itself."], name="lantern night")


def _tried(alice: User, character: Character, chat: Chat) -> Job:
    connection = default_connection(alice)
    assert connection is not None
    trial = Trial("extraction", character, chat, 832, 845, connection)
    return Job.objects.create(
        owner=alice, kind=try_it.KIND, label="Try a prompt", params=try_it.params_of(trial), state=Job.State.DONE,
        total=1, step=1, result={"text": "2 memories, nothing was saved.", "trial": ANSWER},
    )  # fmt: skip


def _tried_notes(alice: User, character: Character) -> Job:
    connection = default_connection(alice)
    assert connection is not None
    trial = NotesTrial("conversion", character, connection, NOTES)
    found = {**ANSWER, "notes": 3, "left_out": [], "left": [[4, "Old, ask Maren?", "a note to yourself?"]]}
    bullets = [{"text": "Swore on the brass lantern.", "is_invented": False}, {"text": "Left.", "is_invented": True}]
    found["blocks"] = [{"title": "The lantern", "bullets": bullets}]
    return Job.objects.create(
        owner=alice, kind=try_it.KIND, label="Try a prompt", params=try_it.params_of(trial), state=Job.State.DONE,
        total=1, step=1, result={"text": "2 memories, nothing was saved.", "trial": found},
    )  # fmt: skip


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages about prompts, layouts and pins, by the name of their picture."""
    pk, chat = scene["character"].pk, scene["chat"].pk
    prompt = "/settings/prompts/extraction/"
    return {
        "prompts": "/settings/prompts/",
        "prompt": prompt,
        "prompt-default": "/settings/prompts/extraction_small/",
        "prompt-strategy": f"/settings/prompts/{scene['strategy']}/",
        "prompt-changed": f"{prompt}changed/",
        "prompt-same": "/settings/prompts/extraction_group/changed/",
        "prompt-versions": f"{prompt}versions/",
        "prompt-none": "/settings/prompts/extraction_small/versions/",
        "prompt-try": f"{prompt}try/?character={pk}",
        "prompt-try-merge": f"/settings/prompts/consolidation_balanced/try/?character={pk}",
        "prompt-try-group": f"/settings/prompts/extraction_group/try/?character={pk}",
        "prompt-try-notes": f"/settings/prompts/conversion/try/?character={pk}",
        "prompt-notes-answer": f"/settings/prompts/conversion/try/?job={scene['notes'].pk}",
        "prompt-answer": f"{prompt}try/?job={scene['try'].pk}",
        "layout": f"/characters/{pk}/layout/",
        "layout-look": f"/characters/{pk}/layout/?layout=bullet&metadata=on",
        "layout-empty": f"/characters/{scene['empty'].pk}/layout/",
        "pin": f"/chats/{chat}/messages/841/pin/",
        "pin-new": f"/pin/?character={pk}",
    }
