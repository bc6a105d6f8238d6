"""Who took part in a stretch of a group's chat, so that nobody remembers what they cannot know (pure).

A member took part in a message when it spoke, or when it was spoken about: its name, or a part of it that only it has
among those present, stands there as a word. A silence of half a call's messages or more, without any of that, is a
stretch in which the member was absent; what is shown to it is cut there. Shorter silences belong to the scene: whoever
listens need not be named in every line, and in a large group two rounds may pass until it is somebody's turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")
# Chinese, Japanese and Korean, Thai and their like are written without spaces between words.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
SILENCE = 5  # messages that are no absence yet, however few go into a call
SHORTEST = 3  # letters of a part of a name that says enough
TITLES = frozenset(
    "the a an of and von van der den de da di du la le el al bin ibn st saint sir dame lord lady king queen prince "
    "princess captain doctor dr mr mrs ms miss master mistress professor prof father mother brother sister uncle aunt "
    "old young big little general major colonel sergeant count countess duke duchess baron".split()
)
# Names that are words of every day too: only as they are written in the name, with its capital letters.
EVERYDAY = frozenset(
    "will may mark rose hope faith grace joy art bill jack sky rain river summer autumn winter dawn angel ash sunny "
    "star moon sun king queen prince hunter fox wolf bear cat raven robin lily daisy violet ivy iris ruby pearl amber "
    "crystal penny chance chase drew grant rich rob sue pat dot miles pierce frank guy ray max storm".split()
)


@dataclass(frozen=True)
class Words:
    """By which words somebody is spoken about."""

    whole: str
    parts: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()  # only with these capital letters
    unspaced: tuple[str, ...] = ()

    def are_in(self, text: str) -> bool:
        """Whether a text speaks about them."""
        folded = text.casefold()
        if any(name in folded for name in self.unspaced):
            return True
        found = {_bare(word) for word in WORD.findall(text)}
        if self.exact & found or self.parts & {word.casefold() for word in found}:
            return True
        return bool(self.whole) and _has(folded, self.whole)


def words_of(name: str, others: Iterable[str] = ()) -> Words:
    """The words of a name; those that another name has too say nothing."""
    name = " ".join(name.split())
    folded = name.casefold()
    foreign = {word.casefold() for other in others for word in WORD.findall(other) if other.casefold() != folded}
    parts = [word for word in WORD.findall(name) if word.casefold() not in foreign]
    if UNSPACED.search(name):
        pieces = (folded, *(word.casefold() for word in parts if len(word) > 1))
        return Words("", unspaced=tuple(dict.fromkeys(one for one in pieces if one)))
    said = [word for word in parts if len(word) >= SHORTEST and word.casefold() not in TITLES]
    exact = frozenset(word for word in said if word.casefold() in EVERYDAY)
    is_one_word = len(WORD.findall(name)) < 2
    return Words(
        "" if is_one_word and (exact or said) else folded,
        frozenset(word.casefold() for word in said) - {word.casefold() for word in exact},
        exact,
    )


def _bare(word: str) -> str:
    """A word without the s of a possessive."""
    return re.sub(r"[’'][sS]?$", "", word)


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def absence(per_call: int, members: int) -> int:
    """How many messages of silence are an absence, where so many go into a call and so many members talk."""
    return max(SILENCE, per_call // 2, 2 * members)


def stretch(signs: Sequence[bool], least: int) -> tuple[int, bool]:
    """How many of the first messages belong together, and whether the member was there.

    `signs` says of each message that has something to say whether the member took part in it; a silence of `least`
    messages is an absence.
    """
    if not any(signs):
        return len(signs), False
    silence = 0
    for place, sign in enumerate([*signs, None]):
        if sign is False:
            silence += 1
            continue
        if silence >= max(1, least):
            begin = place - silence
            return (begin, True) if begin else (place, False)
        silence = 0
    return len(signs), True
