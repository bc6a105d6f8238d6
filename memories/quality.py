"""Whether a bullet that a model wrote is worth keeping: doubts about it, told from words alone (pure; no model call).

A scene is what the model was given: the card, the memories that exist, those that stood in the prompt as injected
context, and the messages. Prepare a `Gate` once for a scene and ask it about each bullet.

What is measured stands in quality_features.py and quality_said.py, what it means in quality_model.py; names and numbers
are looked at by quality_names.py and quality_numbers.py, and the form of a line by quality_form.py. `python -m bench
gate` shows how often which kind is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memories.quality_features import Ground, Measured
from memories.quality_form import form_hint
from memories.quality_model import USUAL, doubts

Messages = Sequence[tuple[str, str]]  # speaker and text, in order


@dataclass(frozen=True)
class Scene:
    """What a bullet may rest on. `others` are further people who may be named: a group's members, personas."""

    character: str
    card: str
    existing: Sequence[str] = ()
    injected: Sequence[str] = ()
    messages: Messages = ()
    others: Sequence[str] = ()


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt a bullet.

    `check` is a key of choices.CHECKS; `score` 0.5 (barely) to 1; `detail` the name, number, words, memory, sentence
    of the card or kind of form that it is about; `match` the place in `existing` (repeat_existing) or in `injected`
    (recall_echo). "form" is a hint and no reason to flag: its score is below 0.5, its detail "person", "tense" or
    "long".
    """

    check: str
    score: float
    detail: str = ""
    match: int | None = None


HINT = 0.3  # the score of a mere hint
MOST_WORDS = 3  # that are told of a bullet without support
LONGEST = 4_000  # characters of a bullet that are looked at; some of the patterns take time that grows with its square


class Gate:
    """A scene, ready for questions; its texts are prepared once."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._ground = Ground(scene.character, scene.card, scene.existing, scene.injected, scene.messages, scene.others)

    def measure(self, bullet: str) -> Measured:
        """What the doubts are drawn from."""
        return self._ground.measure(bullet[:LONGEST])

    def check(self, bullet: str) -> list[Doubt]:
        """The doubts about one bullet, strongest first; none means accept it."""
        measured = self.measure(bullet)
        found = [self._doubt(check, score, measured) for check, score in doubts(measured.values).items()]
        hint = form_hint(bullet, measured.language)
        return [*found, Doubt("form", HINT, hint)] if hint else found

    def _doubt(self, check: str, score: float, measured: Measured) -> Doubt:
        score = round(score, 3)
        if check == "invented_name":
            return Doubt(check, score, ", ".join(one.word for one in measured.strange if one.sureness >= USUAL))
        if check == "unsupported":
            return Doubt(check, score, ", ".join(measured.missing[:MOST_WORDS]))
        if check == "card_leak":
            return Doubt(check, score, measured.card)
        if check == "repeat_existing" and measured.existing.place >= 0:
            return Doubt(check, score, self.scene.existing[measured.existing.place], measured.existing.place)
        if check == "recall_echo" and measured.injected.place >= 0:
            return Doubt(check, score, self.scene.injected[measured.injected.place], measured.injected.place)
        return Doubt(check, score)
