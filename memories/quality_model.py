"""From what was measured of a bullet to how sure each check is: one small logistic model for each (pure).

Each check sees only the features that its meaning is about, and each feature may only speak for or only against it; so
the weights stay readable, and a few hundred examples are enough. bench/fit_gate.py fits them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Weights = Mapping[str, float]  # by feature; "" is the constant
# What a check looks at, and whether more of it speaks for the doubt (+) or against it (-).
FEATURES: dict[str, tuple[str, ...]] = {
    "play_by_play": ("+steps", "+many_steps", "+body", "+clauses", "+steps_no_outcome", "+no_outcome", "+acted"),
    "card_leak": ("+card", "+in_card", "+only_card", "-new_to_card", "+trait", "+no_outcome", "-window"),
    "meta_narration": ("+speech", "+mere_speech", "+speech_share", "+no_outcome", "-long"),
    "recall_echo": ("+injected", "+injected_held", "-new_to_injected"),
    "repeat_existing": ("+existing", "+existing_held", "-new_to_existing"),
    "temporary": ("+state", "+bare_state", "+short", "+no_outcome", "-outcome"),
    "unsupported": ("+bare", "-said", "-window", "-lead", "+contrary"),
    "reversed_actor": ("+reversed", "+lead"),
}
RULES = {"non_memory": "no_memory", "invented_name": "strange"}  # a check whose score is a feature itself
DOUBTFUL = 0.5


def score(features: Mapping[str, float], weights: Weights) -> float:
    """How sure a check is (0 to 1)."""
    total = weights[""] + sum(weight * features[name] for name, weight in weights.items() if name)
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def scores(features: Mapping[str, float], fitted: Mapping[str, Weights]) -> dict[str, float]:
    """How sure every check is; `fitted` has the weights by check."""
    found = {check: features[name] for check, name in RULES.items()}
    if features["no_memory"] >= DOUBTFUL:
        return found | dict.fromkeys(fitted, 0.0)
    return found | {check: score(features, weights) for check, weights in fitted.items()}


def fit(
    rows: Sequence[tuple[Mapping[str, float], float, bool]], features: Sequence[str], *, ridge: float
) -> dict[str, float]:
    """Weights of one check from examples (features, weight of the example, whether the doubt is right).

    Newton's method with a quadratic penalty; a feature that would speak against its meaning is left out.
    """
    names = list(features)
    while True:
        found = _newton(rows, [name[1:] for name in names], ridge)
        wrong = [name for name in names if found[name[1:]] * (1 if name[0] == "+" else -1) < 0]
        if not wrong:
            return {name: round(value, 3) for name, value in found.items()}
        names.remove(min(wrong, key=lambda name: -abs(found[name[1:]])))


def _newton(
    rows: Sequence[tuple[Mapping[str, float], float, bool]], names: Sequence[str], ridge: float
) -> dict[str, float]:
    size = len(names) + 1
    table = [([1.0, *(one[name] for name in names)], weight, float(right)) for one, weight, right in rows]
    found = [0.0] * size
    for _round in range(12):
        slope = [0.0] + [-ridge * value for value in found[1:]]
        curve = [[ridge * (row == column > 0) + 1e-6 * (row == column) for column in range(size)] for row in range(size)]
        for values, weight, right in table:
            total = sum(a * b for a, b in zip(found, values, strict=True))
            sure = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
            gain, bend = weight * (right - sure), weight * sure * (1 - sure)
            for row, value in enumerate(values):
                slope[row] += gain * value
                for column in range(row + 1):
                    curve[row][column] += bend * value * values[column]
        for row in range(size):
            for column in range(row):
                curve[column][row] = curve[row][column]
        step = _solve(curve, slope)
        found = [a + b for a, b in zip(found, step, strict=True)]
        if max(map(abs, step)) < 1e-4:
            break
    return dict(zip(("", *names), found, strict=True))


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination; the matrix is symmetric and positive."""
    size = len(right)
    rows = [[*row, right[number]] for number, row in enumerate(matrix)]
    for number in range(size):
        pivot = max(range(number, size), key=lambda row: abs(rows[row][number]))
        rows[number], rows[pivot] = rows[pivot], rows[number]
        for other in range(size):
            if other != number:
                part = rows[other][number] / rows[number][number]
                rows[other] = [a - part * b for a, b in zip(rows[other], rows[number], strict=True)]
    return [rows[number][size] / rows[number][number] for number in range(size)]
