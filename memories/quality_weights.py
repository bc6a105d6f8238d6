"""Weights of the gate's checks by feature; "" is the constant. `python -m bench.fit_gate` makes them."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "play_by_play": {
        "": -5.575,
        "steps": 1.352,
        "many_steps": 3.171,
        "body": 1.651,
        "clauses": 1.911,
        "steps_no_outcome": 1.661,
        "no_outcome": 0.612,
        "acted": 1.532,
    },
    "card_leak": {
        "": -2.77,
        "card": 1.805,
        "in_card": 2.713,
        "only_card": 1.894,
        "new_to_card": -2.337,
        "told_card": 0.144,
        "trait": 2.402,
        "no_outcome": 0.684,
        "outcome": -0.893,
        "window": -1.434,
        "lead": -0.931,
    },
    "meta_narration": {
        "": -4.638,
        "speech": 3.35,
        "mere_speech": 3.772,
        "speech_share": 2.341,
        "no_outcome": 1.329,
        "long": -0.353,
    },
    "recall_echo": {
        "": -2.905,
        "injected": 3.376,
        "injected_held": 3.039,
        "new_to_injected": -2.533,
        "told_injected": 1.314,
    },
    "repeat_existing": {
        "": -3.398,
        "existing": 3.379,
        "existing_held": 2.707,
        "new_to_existing": -2.743,
        "told_existing": 1.988,
        "frame": -0.266,
    },
    "temporary": {
        "": -3.998,
        "state": 3.186,
        "bare_state": 3.096,
        "short": 2.091,
        "no_outcome": 0.503,
        "outcome": -0.692,
    },
    "unsupported": {
        "": -1.502,
        "own_unreal": 3.144,
        "frame_unreal": 1.032,
        "missing": 1.359,
        "core_missing": 1.674,
        "reversed": 1.495,
        "long": -2.273,
    },
    "reversed_actor": {
        "": -1.312,
        "reversed": 4.13,
        "lead": 0.778,
    },
}
