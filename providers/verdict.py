"""What a test of a connection found, row by row. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

ROWS = ("reached", "key", "answer", "memory")


@dataclass
class Step:
    """One row of the result; `state` is ok, warn, bad or off (not tried)."""

    name: str
    state: str = "off"
    text: str = ""


@dataclass
class Verdict:
    """`state` is the worst of the steps; `message` and `hint` are finished sentences; `quote` is the memory that came
    back, or what came instead; `names` are models that may have been meant. Tokens and `cost` (dollars as text, "" when
    nobody knows) are those of the whole test."""

    state: str = "ok"
    message: str = ""
    hint: str = ""
    steps: list[Step] = field(default_factory=lambda: [Step(name) for name in ROWS])
    quote: str = ""
    names: list[str] = field(default_factory=list)
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: str = ""

    @property
    def ok(self) -> bool:
        return self.state != "bad"

    def mark(self, name: str, state: str, text: str) -> None:
        """Fill one row."""
        row = next(step for step in self.steps if step.name == name)
        row.state, row.text = state, text

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}
