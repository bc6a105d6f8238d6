"""From what was measured of a bullet to how sure each check is: one small logistic model for each (pure).

Each check sees only the features that its meaning is about, and each feature may speak only for or only against it; so
the weights stay readable, and a few hundred examples are enough. `python -m bench.fit_gate` fits them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from memories.quality_weights import WEIGHTS

Weights = Mapping[str, float]  # by feature; "" is the constant
RULES = {"non_memory": "no_memory", "invented_name": "strange"}  # a check whose sureness is a feature itself
# How sure a check must be before it is told, so that good bullets are mostly left alone.
USUAL = 0.5
THRESHOLDS = {"card_leak": 0.5, "meta_narration": 0.62, "recall_echo": 0.4}
THRESHOLDS |= {"repeat_existing": 0.45, "unsupported": 0.65, "reversed_actor": 0.52}

NEEDED = {"reversed_actor": "reversed"}  # the feature without which nothing speaks for a check


def sureness(features: Mapping[str, float], weights: Weights) -> float:
    """How sure a check is (0 to 1)."""
    total = weights[""] + sum(weight * features[name] for name, weight in weights.items() if name)
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def doubts(features: Mapping[str, float], fitted: Mapping[str, Weights] = WEIGHTS) -> dict[str, float]:
    """The checks that doubt a bullet, with scores from 0.5 (barely) to 1, strongest first.

    A line that is no memory at all is asked nothing else, a topic tag only for its names.
    """
    found = {check: features[name] for check, name in RULES.items()}
    if features["no_memory"] < USUAL and not features["topic"]:
        asked = {check: weights for check, weights in fitted.items() if features.get(NEEDED.get(check, ""), 1.0) > 0}
        found |= {check: sureness(features, weights) for check, weights in asked.items()}
    scores = {check: _scaled(value, THRESHOLDS.get(check, USUAL)) for check, value in found.items()}
    kept = {check: score for check, score in scores.items() if score >= USUAL}
    return dict(sorted(kept.items(), key=lambda one: (-one[1], one[0])))


def _scaled(value: float, threshold: float) -> float:
    """Scores whose thresholds differ on one scale, where 0.5 is the threshold."""
    if value < threshold:
        return 0.5 * value / threshold
    return 0.5 + 0.5 * (value - threshold) / (1 - threshold)
