"""A gate that doubts what a test tells it to: bullets that hold certain words."""

from __future__ import annotations

import pytest

from memories import extraction_verdict
from memories.quality import Doubt, Scene


class WordGate:
    """`told` maps a word to the doubt about every bullet that holds it. `scenes` are those it was asked about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, told: dict[str, Doubt] | None = None) -> None:
        self.told = dict(told or {})
        self.scenes: list[Scene] = []
        monkeypatch.setattr(extraction_verdict, "Gate", self._of)

    def _of(self, scene: Scene) -> WordGate:
        self.scenes.append(scene)
        return self

    def check(self, bullet: str) -> list[Doubt]:
        return [doubt for word, doubt in self.told.items() if word in bullet]
