"""Divided and shared memories for looking at: a story with branches, one memory for each chat, two who share one."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from memories import scope_change, sharing
from memories.memory_file import file_for
from memories.models import MemoryFile, MemoryScope
from memories.scopes import file_of_reading
from sync.models import Attachment, Tavern
from tests.support.branching import make_branch, remember
from tests.support.builders import make_attachment, make_character, make_chat

EARLY = ("Ilse keeps the ferry book.", "Ilse never crosses on a Friday.", "Wren paid with a brass button.")
LATE = ("The ferry sank off Pellhaven.", "Ilse moved into the toll house.")
ELSEWHERE = ("The ferry was sold to Corin.", "Ilse learned to read the tide.")


def add_scopes(alice: User, tavern: Tavern) -> dict[str, Any]:
    """One character whose branches lie in one file, one with a memory for each chat, two with one memory."""
    return {"branching": _branching(tavern), **_isolated(alice, tavern), **_together(alice, tavern)}


def _branching(tavern: Tavern) -> Any:
    ilse = make_character(tavern, "Ilse of the Ferry")
    MemoryScope.objects.create(character=ilse, timeline=MemoryScope.Timeline.SHARED)
    main = make_chat(ilse, 40, name="Ilse of the Ferry - 2026-03-01@18h00m00s")
    branch = make_branch(main, 19, 14, name="What if the ferry was sold")
    later = make_branch(branch, 26, 6, name="Checkpoint - before the toll house")
    file = file_for(ilse)
    for place, text in enumerate(EARLY):
        remember(file, main, text, 4 + 5 * place)
    for place, text in enumerate(LATE):
        remember(file, main, text, 24 + 5 * place)
    for place, text in enumerate(ELSEWHERE):
        remember(file, branch, text, 22 + 3 * place)
    remember(file, later, "Corin never paid the second half.", 29)
    remember(file, None, "Ilse limps on her left foot.", date="2026-02-01 10:00")
    return ilse


def _isolated(alice: User, tavern: Tavern) -> dict[str, Any]:
    corin = make_character(tavern, "Corin")
    chats = [make_chat(corin, 12, name=f"Corin - {place}") for place in ("at the lock", "in the rain", "on the barge")]
    scope_change.choose(alice, corin, "chat", "shared")
    for chat in chats:
        remember(file_of_reading(corin, chat), chat, f"Corin remembers {chat.name}.", 3)
    files = list(MemoryFile.objects.for_user(alice).filter(character=corin, chat__isnull=False).order_by("name"))
    for file in files[:2]:
        file.attachment = make_attachment(corin, file.name)
        file.save(update_fields=["attachment"])
    Attachment.objects.for_user(alice).filter(memory_file=files[0]).update(
        scope="chat", chat=files[0].chat, character=None, avatar=""
    )
    return {"isolated": corin, "own_chat": chats[2]}


def _together(alice: User, tavern: Tavern) -> dict[str, Any]:
    ada, bea = (make_character(tavern, name) for name in ("Ada Twin", "Bea Twin"))
    for twin, text in ((ada, "The twins share one bed."), (bea, "Bea lost a tooth.")):
        remember(file_for(twin), make_chat(twin, 6), text, 2)
    third = make_character(tavern, "Cousin Oda")
    sharing.share(alice, bea, ada, takes_along=True)
    return {"twin": ada, "sharer": bea, "cousin": third}


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of these choices, by the name of their picture."""
    branching, isolated, twin, sharer, cousin = (
        scene[name].pk for name in ("branching", "isolated", "twin", "sharer", "cousin")
    )
    return {
        "scope": f"/characters/{branching}/memory/",
        "scope-plan": f"/characters/{branching}/memory/?choice=branches",
        "scope-chat": f"/characters/{branching}/memory/?choice=chat",
        "scope-isolated": f"/characters/{isolated}/memory/",
        "scope-of-chat": f"/chats/{scene['own_chat'].pk}/",
        "scope-health": f"/characters/{isolated}/health/",
        "scope-shared": f"/characters/{twin}/memory/",
        "scope-sharer": f"/characters/{sharer}/memory/",
        "scope-share": f"/characters/{cousin}/memory/share/?with={twin}",
        "character-shared": f"/characters/{sharer}/",
    }
