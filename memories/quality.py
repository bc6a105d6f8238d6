"""Whether a bullet that a model wrote is worth keeping: doubts about it, told from words alone (pure; no model call).

A scene is what the model was given: the card, the memories that exist, those that stood in the prompt as injected
context, and the messages. Prepare a `Gate` once for a scene and ask it about each bullet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memories.names import SourceWords
from memories.similarity import find_duplicate_normalised, normalise

Messages = Sequence[tuple[str, str]]  # speaker and text, in order


@dataclass(frozen=True)
class Scene:
    """What a bullet may rest on. `others` are further people who may be named: a group's members, personas."""

    character: str
    card: str
    existing: Sequence[str] = ()
    injected: Sequence[str] = ()
    messages: Messages = ()
    others: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt a bullet.

    `check` is a key of choices.CHECKS; `score` 0 to 1; `detail` the word, name, number or memory it is about;
    `match` its position in `existing` (repeat_existing) or in `injected` (recall_echo). "form" is a hint only.
    """

    check: str
    score: float
    detail: str = ""
    match: int | None = None


class Gate:
    """A scene, ready for questions; texts are prepared once."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        said = [f"{name}: {text}" for name, text in scene.messages]
        self._words = SourceWords([scene.character, scene.card, *scene.existing, *scene.injected, *said, *scene.others])
        self._existing = [normalise(text) for text in scene.existing]
        self._injected = [normalise(text) for text in scene.injected]

    def check(self, bullet: str) -> list[Doubt]:
        """The doubts about one bullet, strongest first; none means accept it."""
        found = [Doubt("invented_name", 0.9, name) for name in self._words.unknown(bullet)[:1]]
        for check, known, texts in (
            ("repeat_existing", self._existing, self.scene.existing),
            ("recall_echo", self._injected, self.scene.injected),
        ):
            match = find_duplicate_normalised(normalise(bullet), known)
            if match is not None:
                found.append(Doubt(check, match.score / 100, texts[match.position], match.position))
        return sorted(found, key=lambda one: -one.score)
