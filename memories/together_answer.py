"""An answer that was given for several characters at once: which block belongs to whom (pure).

A block says whose it is: `<memory character="Name">`. Names are compared exactly, then without regard to case, accents'
form, space and quotation marks; nothing is guessed. A block of nobody, or of somebody who was not asked about, makes
the whole answer unreadable, because it might be anybody's. A tag within a sentence is quoted and opens no block, so
that what somebody said in the chat does not reach the memories of another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from html import unescape

from memories.answer import ESCAPED_TAG, Answer, read_answer, without_reasoning

LONGEST = 1_000  # characters of one opening tag
OPENING = re.compile(rf"<memory\b([^>]{{0,{LONGEST}}})>", re.IGNORECASE)
OWNER = re.compile(
    r"\b(?:character|name|for|char)\s*=\s*(?=(.*))"
    r"(?:(?:\"([^\"]*)\"|“([^”]*)”|'([^']*)')(?=[\s/]|$)|([^\s\"'>]+))?",
    re.IGNORECASE | re.DOTALL,
)
QUOTES = "\"'“”"
BEFORE = 20  # characters in front of a tag that tell whether it stands within a sentence
IN_A_NAME = str.maketrans({"<": "(", ">": ")", '"': "'", "“": "'", "”": "'"})


def read_together(
    text: str, names: Sequence[str], *, is_truncated: bool = False, ignore: Collection[str] = ()
) -> tuple[Answer, list[Answer]]:
    """The answer as a whole, and for each of `names`, in their order, what is for it.

    The whole is "unreadable" when a block belongs to none of them. When two of the names are alike, a block of that
    name belongs to neither. A cut answer loses only what follows its last whole bullet.
    """
    text = without_reasoning(text, is_truncated=is_truncated)
    text = text if OPENING.search(text) else ESCAPED_TAG.sub(r"<\1>", text)
    whole = read_answer(text, is_truncated=is_truncated, ignore=ignore)
    if whole.kind != "memories":
        return whole, [whole] * len(names)
    parts: dict[int, list[str]] = {}
    openings = [one for one in OPENING.finditer(text) if _opens(text, one.start())]
    if not openings or read_answer(text[: openings[0].start()], ignore=ignore).kind == "memories":
        return Answer("unreadable", is_cut=is_truncated), []
    for place, opening in enumerate(openings):
        is_last = place + 1 == len(openings)
        block = text[opening.end() : len(text) if is_last else openings[place + 1].start()]
        if read_answer(f"<memory>{block}", ignore=ignore).kind != "memories":
            continue
        whose = owner(opening[1], names)
        if whose is None:
            return Answer("unreadable", is_cut=is_truncated), []
        parts.setdefault(whose, []).append(f"<memory>{block}" + ("" if is_last and is_truncated else "\n</memory>"))
    return whole, [_answer(parts.get(place, []), is_truncated, ignore) for place in range(len(names))]


def _answer(blocks: list[str], is_truncated: bool, ignore: Collection[str]) -> Answer:
    if not blocks:
        return Answer("nothing")
    is_cut = is_truncated and not blocks[-1].endswith("</memory>")
    found = read_answer("\n".join(blocks), is_truncated=is_cut, ignore=ignore)
    return found if found.kind == "memories" else Answer("nothing", is_cut=is_cut)


def _opens(text: str, start: int) -> bool:
    """Whether a tag stands at the beginning of its line or behind another tag."""
    return text[max(0, start - BEFORE) : start].rstrip(" \t*#`-•")[-1:] in ("", "\n", ">")


def owner(attributes: str, names: Sequence[str]) -> int | None:
    """Which of the names an opening tag names; None when it names none of them, or two that are alike."""
    match = OWNER.search(attributes)
    if match is None:
        return None
    whole, *quoted = match.groups()
    rest = whole.strip().removesuffix("/").strip()
    bare = rest[1:-1] if len(rest) > 1 and rest[0] in QUOTES and rest[-1] in QUOTES else rest
    for said in (bare, *(one for one in quoted if one is not None)):
        for form in (str, plain):
            found = [place for place, name in enumerate(names) if form(name) == form(unescape(said))]
            if found:
                return found[0] if len(found) == 1 else None
    return None


def plain(name: str) -> str:
    """A name as it is compared."""
    return " ".join(unicodedata.normalize("NFKC", name).translate(IN_A_NAME).casefold().split())


def distinct(names: Sequence[str]) -> list[str]:
    """The names as the prompt gives them: those that are alike get a number, so that an answer can tell them apart.

    Brackets and quotation marks that would end a tag are others.
    """
    found: dict[str, str] = {}
    for name in names:
        bare = " ".join(name.translate(IN_A_NAME).split()) or "?"
        numbered = (f"{bare} ({count})" for count in range(2, len(names) + 2))
        free = next(one for one in (bare, *numbered) if plain(one) not in found)
        found[plain(free)] = free
    return list(found.values())
