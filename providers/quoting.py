"""What a server said about its trouble, without the question that it repeats: errors are stored and shown in lists."""

from __future__ import annotations

import json

LONGEST_ECHO = 16  # letters and digits in a row that a sentence of a server may share with the question by chance


def without_echo(said: str, *questions: str) -> str:
    """`said` with "…" in place of what stands in a question too, however it is spaced, quoted or escaped."""
    forms = [form for text in questions for form in (text, json.dumps(text))]
    asked = "\n".join("".join(c for c in form.lower() if c.isalnum()) for form in forms)
    marks = [(c, at) for at, whole in enumerate(said) for c in whole.lower() if c.isalnum()]
    letters = "".join(c for c, _at in marks)
    kept: list[str] = []
    end = 0
    for first, last in _runs(letters, asked):
        start = marks[first][1]
        kept += [said[end:start], "…"]
        end = marks[last - 1][1] + 1
    return "".join(kept) + said[end:]


def _runs(letters: str, asked: str) -> list[tuple[int, int]]:
    """The stretches of `letters` that are covered by pieces of `asked`, as (start, end)."""
    runs: list[tuple[int, int]] = []
    for at in range(len(letters) - LONGEST_ECHO + 1):
        if letters[at : at + LONGEST_ECHO] not in asked:
            continue
        if runs and at <= runs[-1][1]:
            runs[-1] = (runs[-1][0], at + LONGEST_ECHO)
        else:
            runs.append((at, at + LONGEST_ECHO))
    return runs
