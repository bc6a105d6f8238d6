"""What a reader could not use: line, what is wrong, what was kept. The sentences never hold chat text."""

from __future__ import annotations

from dataclasses import dataclass

MOST_PER_FILE = 50


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing in one file. `line` is 1-based, or None when it is about the whole file."""

    code: str
    text: str
    kept: str = ""
    line: int | None = None


class Problems(list[Problem]):
    """The problems of one file, at most `MOST_PER_FILE` with a last word on how many more there are."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out = 0

    def add(self, problem: Problem) -> None:
        """Keep a problem, or only count it when there are too many already."""
        if len(self) < MOST_PER_FILE:
            self.append(problem)
        else:
            self.left_out += 1

    def all(self) -> list[Problem]:
        """Every kept problem, and the number of those left out."""
        if not self.left_out:
            return list(self)
        more = f"{self.left_out} more lines of this file have problems of their own."
        return [*self, Problem("more", more, "The first fifty are listed.")]
