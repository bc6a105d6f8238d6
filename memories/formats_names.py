"""What programs call the text, the name, the date and the keywords of a memory (pure).

Taken from the exports of the memory extensions for SillyTavern and of common note programs (spec/peers).
"""

from __future__ import annotations

from collections.abc import Sequence

TEXTS = ("content", "memory", "text", "fact", "summary", "bullet", "note", "entry", "description", "event", "value")
LABELS = ("title", "comment", "label", "chat", "name", "displayname", "topic", "scene", "chapter", "type", "category")
DATES = ("date", "datetime", "story_date", "time", "timestamp", "created", "created_at", "createdat", "updated_at")
KEYS = (
    "key",
    "keys",
    "keywords",
    "keysecondary",
    "secondary_keys",
    "entities",
    "characters",
    "characters_involved",
    "witnesses",
    "tags",
)
# Fields of such exports that are settings of a program and no part of a story.
SETTINGS = frozenset(
    (
        "uid id uuid hash embedding vector vectors order insertion_order position displayindex constant selective "
        "selectivelogic disable disabled enabled addmemo group groupoverride groupweight sticky cooldown delay "
        "probability depth useprobability role vectorized excluderecursion preventrecursion delayuntilrecursion "
        "scandepth casesensitive case_sensitive matchwholewords usegroupscoring automationid priority use_regex "
        "extensions outletname triggers charactersfilter characterfilter ignorebudget "
        "matchpersonadescription matchcharacterdescription matchcharacterpersonality matchcharacterdepthprompt "
        "matchscenario matchcreatornotes stmemorybooks stmb_start stmb_end stmb_tier token_count tokens swipe_id "
        "version schema_version schemaversion summarizedupto"
    ).split()
)


def best_name(names: Sequence[str], known: Sequence[str]) -> int | None:
    """The place of the name that stands earliest among the known ones; None when none is known."""
    found = [(known.index(name), place) for place, name in enumerate(names) if name in known]
    return min(found)[1] if found else None
