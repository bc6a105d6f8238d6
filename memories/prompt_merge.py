"""Three texts of a prompt: where a person began, what they made of it, and the new default, by paragraph (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

PARAGRAPH = re.compile(r"[^\n]*\n(?:[ \t]*\n)*|[^\n]+\Z")
CHOICES = ("mine", "new", "both")


@dataclass(frozen=True)
class Place:
    """A stretch where the three differ. `kind`: "decide" (both changed it), "mine" (only the person did), "new" (only
    the default did), "same" (both to the same words)."""

    number: int
    kind: str
    base: str
    mine: str
    new: str

    @property
    def needs_decision(self) -> bool:
        return self.kind == "decide"

    @property
    def settled(self) -> str:
        """The choice that needs no decision; "" where both changed it."""
        return {"same": "mine", "decide": ""}.get(self.kind, self.kind)

    def text(self, choice: str = "") -> str:
        """The words for a choice: "mine", "new", "both" (one below the other); as settled when there is none."""
        choice = choice or self.settled
        if choice == "both":
            both = (one.rstrip("\n") for one in (self.mine, self.new) if one.strip())
            return "\n".join(both) + _gap(self.mine or self.new)
        return self.mine if choice == "mine" else self.new


@dataclass(frozen=True)
class Merge:
    """The whole: text that is the same in all three, and the places between."""

    parts: tuple[str | Place, ...]

    @property
    def places(self) -> list[Place]:
        return [part for part in self.parts if isinstance(part, Place)]

    @property
    def to_decide(self) -> list[Place]:
        return [place for place in self.places if place.needs_decision]

    def text(self, choices: Mapping[int, str], own: Mapping[int, str] | None = None) -> str:
        """The merged text. `choices` by number of place; `own` holds words written instead. ValueError with the number
        of the first place that still needs a decision."""
        own = own or {}
        whole: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                whole.append(part)
            elif part.number in own:
                whole.append(own[part.number].replace("\r\n", "\n").rstrip("\n") + _gap(part.mine or part.new))
            elif part.needs_decision and part.number not in choices:
                raise ValueError(part.number)
            else:
                whole.append(part.text(choices.get(part.number, "")))
        return "".join(whole).strip()


def _gap(text: str) -> str:
    """The line breaks at the end of a stretch."""
    return text[len(text.rstrip("\n")) :] or "\n"


def merge(base: str, mine: str, new: str) -> Merge:
    """Compare three texts. Paragraphs that all three share hold the rest in place."""
    a, b, c = (_paragraphs(text) for text in (base, mine, new))
    parts: list[str | Place] = []
    number = 0
    for is_same, x, y, z in _stretches(a, b, c):
        if is_same:
            parts.append("".join(x))
            continue
        number += 1
        parts.append(_place(number, "".join(x), "".join(y), "".join(z)))
    return Merge(tuple(parts))


def _paragraphs(text: str) -> list[str]:
    """Lines with the blank lines below them; every text ends alike."""
    text = text.replace("\r\n", "\n").strip("\n")
    return PARAGRAPH.findall(f"{text}\n\n") if text else []


def _place(number: int, base: str, mine: str, new: str) -> Place:
    if mine == new:
        kind = "same"
    elif mine == base:
        kind = "new"
    else:
        kind = "mine" if new == base else "decide"
    return Place(number, kind, base, mine, new)


def _stretches(a: list[str], b: list[str], c: list[str]) -> Iterator[tuple[bool, list[str], list[str], list[str]]]:
    """The three lists cut at paragraphs that stand in all of them, in order."""
    in_b, in_c = _matches(a, b), _matches(a, c)
    i = j = k = 0
    while i < len(a) or j < len(b) or k < len(c):
        end = i
        while end < len(a) and in_b.get(end) == j + end - i and in_c.get(end) == k + end - i:
            end += 1
        if end > i:
            count = end - i
            yield True, a[i:end], b[j : j + count], c[k : k + count]
            i, j, k = end, j + count, k + count
            continue
        stop = next((place for place in range(i, len(a)) if place in in_b and place in in_c), len(a))
        far_b, far_c = in_b.get(stop, len(b)), in_c.get(stop, len(c))
        yield False, a[i:stop], b[j:far_b], c[k:far_c]
        i, j, k = stop, far_b, far_c


def _matches(old: list[str], other: list[str]) -> dict[int, int]:
    """Place in `old` → place of the same paragraph in `other`; both rise."""
    blocks = SequenceMatcher(None, old, other, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}
