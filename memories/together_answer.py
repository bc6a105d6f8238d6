"""An answer that was given for several characters at once: which block belongs to whom (pure).

A block says whose it is: `<memory character="Name">`. Names are compared exactly, then without regard to case, accents'
form and space; nothing is guessed. A block of nobody, or of somebody who was not asked about, makes the whole answer
unreadable, because it might be anybody's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from html import unescape

from memories.answer import Answer, read_answer, without_reasoning

LONGEST = 1_000  # characters of one opening tag
OPENING = re.compile(rf"<memory\b([^>]{{0,{LONGEST}}})>", re.IGNORECASE)
ESCAPED = re.compile(rf"&lt;(/?memory\b(?:(?!&gt;)[^<>\n]){{0,{LONGEST}}})&gt;", re.IGNORECASE)
OWNER = re.compile(
    r"\b(?:character|name|for|char)\s*=\s*(?:\"([^\"]*)\"|“([^”]*)”|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE
)


def read_together(
    text: str, names: Sequence[str], *, is_truncated: bool = False, ignore: Collection[str] = ()
) -> tuple[Answer, list[Answer]]:
    """The answer as a whole, and for each of `names`, in their order, what is for it.

    The whole is "unreadable" when a block belongs to none of them. When two of the names are alike, a block of that
    name belongs to neither. A cut answer loses only what follows its last whole bullet.
    """
    text = ESCAPED.sub(r"<\1>", without_reasoning(text, is_truncated=is_truncated))
    whole = read_answer(text, is_truncated=is_truncated, ignore=ignore)
    if whole.kind != "memories":
        return whole, [whole] * len(names)
    parts: dict[int, list[str]] = {}
    openings = list(OPENING.finditer(text))
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


def owner(attributes: str, names: Sequence[str]) -> int | None:
    """Which of the names an opening tag names; None when it names none of them, or two that are alike."""
    match = OWNER.search(attributes)
    if match is None:
        return None
    said = unescape(next(one for one in match.groups() if one is not None))
    for form in (str, plain):
        found = [place for place, name in enumerate(names) if form(name) == form(said)]
        if len(found) == 1:
            return found[0]
        if found:
            return None
    return None


def plain(name: str) -> str:
    """A name as it is compared."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def distinct(names: Sequence[str]) -> list[str]:
    """The names as the prompt gives them: those that are alike get a number, so that an answer can tell them apart."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        name = " ".join(name.split()) or "?"
        count = seen[plain(name)] = seen.get(plain(name), 0) + 1
        found.append(name if count == 1 else f"{name} ({count})")
    return found
