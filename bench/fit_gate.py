"""`python -m bench.fit_gate`: fit the quality gate's weights to the labelled scenes and the sample story's facts.

The same examples give the same weights. bench_gate.py fits them anew without the scene that it measures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memories.quality import Gate, Scene

ROOT = Path(__file__).resolve().parent.parent
LABELLED = ROOT / "tests" / "data" / "conformance" / "quality_gate.json"
OWN = ROOT / "tests" / "data" / "gate_own.json"
FRESH = ROOT / "tests" / "data" / "gate_fresh.json"
STORY = ROOT / "sync" / "sample_story"
AROUND = 8  # messages of the sample story before and behind those that a fact rests on
WEIGHTS = ROOT / "memories" / "quality_weights.py"
RIDGE = 0.7  # penalty on large weights
SIZE = 150  # what the good examples weigh together, so that the penalty means the same for any number of scenes
OTHERS = 0.2  # an example of another kind of bad bullet, against the check; a good one weighs 1
# What all examples of a check weigh together, as a share of the good ones.
POSITIVE = {"card_leak": 0.3, "repeat_existing": 0.3, "recall_echo": 0.3, "play_by_play": 0.3, "temporary": 0.4}
POSITIVE |= {"unsupported": 0.45, "reversed_actor": 0.5, "meta_narration": 0.6}
# What a check looks at, and whether more of it speaks for the doubt (+) or against it (-).
FEATURES: dict[str, tuple[str, ...]] = {
    "play_by_play": (
        "+steps",
        "+many_steps",
        "+body",
        "+clauses",
        "+steps_no_outcome",
        "+no_outcome",
        "+acted",
        "+acted_run",
        "+run",
        "-speech",
    ),
    "card_leak": (
        *("+card", "+in_card", "+only_card", "-new_to_card", "+told_card", "+trait", "+no_outcome"),
        *("-outcome", "-window", "-lead"),
    ),
    "meta_narration": (
        *("+speech", "+mere_speech", "+speech_share", "+only_speech", "+empty_speech", "-long"),
        *("+bare", "-window", "-matched"),
    ),
    "recall_echo": ("+injected", "+injected_held", "-new_to_injected", "+told_injected"),
    "repeat_existing": (
        *("+existing", "+existing_held", "-new_to_existing", "+told_existing", "-frame", "-new_outcome"),
        *("-outcome", "-lead", "-matched"),
    ),
    "temporary": (
        *("+state", "+bare_state", "+short", "+no_outcome", "-outcome", "-long", "-clauses", "+acted"),
        "-matched",
    ),
    "unsupported": (
        *("+own_unreal", "+frame_unreal", "+missing", "+core_missing", "+reversed", "-long", "-frame"),
        *("-window", "-lead", "+denied", "+thin"),
    ),
    "reversed_actor": ("+reversed",),
}
# Features from word lists, which never know all words: each example is learned a second time without them, so that the
# build of a sentence counts where its words are strange.
LISTED = {
    "play_by_play": ("steps", "many_steps", "body", "steps_no_outcome"),
    "card_leak": ("trait",),
    "meta_narration": ("mere_speech",),
}
AGAIN = 0.7  # what an example weighs the second time
Row = tuple[Mapping[str, float], float, bool]  # features, weight of the example, whether the doubt is right


@dataclass(frozen=True)
class Example:
    """A labelled candidate of a scene, measured."""

    scene: str
    label: str
    text: str
    values: Mapping[str, float]


def scenes(path: Path) -> list[dict[str, Any]]:
    """The labelled scenes of a file."""
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8")).get("scenes", [])
    return found


def to_scene(data: Mapping[str, Any]) -> Scene:
    """What a gate needs of a labelled scene; labels and other notes are none of its business."""
    messages = [(one["name"], one["text"]) for one in data["messages"]]
    return Scene(data["character"], data["card"], data["existing"], data["injected"], messages)


def examples(labelled: Iterable[Mapping[str, Any]]) -> list[Example]:
    """All candidates of some scenes, measured."""
    found = []
    for data in labelled:
        gate = Gate(to_scene(data))
        for one in data["candidates"]:
            found.append(Example(data["id"], one["label"], one["text"], gate.measure(one["text"]).values))
    return found


def story() -> list[Example]:
    """The facts of the sample story: good ones all, each with what was known before it."""
    told = json.loads((STORY / "facts.json").read_text("utf-8"))
    chats = {path.stem: _messages(path) for path in STORY.rglob("*.jsonl")}
    cards: dict[str, list[str]] = {}
    for one in told["card_facts"]:
        cards.setdefault(one["character"], []).append(one["text"])
    known: dict[str, list[str]] = {name: [] for name in cards}
    found = []
    for fact in told["facts"]:
        name, chat = fact["character"], fact["chat"]
        if not fact["recurs_of"]:
            first, last = min(fact["messages"]), max(fact["messages"])
            messages = chats[chat][max(0, first - AROUND) : last + AROUND + 1]
            scene = Scene(name, " ".join(cards[name]), known[name], known[name][-5:-1], messages, fact["participants"])
            found.append(Example(chat, "good", fact["text"], Gate(scene).measure(fact["text"]).values))
        known[name].append(fact["text"])
    return found


def _messages(path: Path) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [(row.get("name", ""), row["mes"]) for row in rows if "mes" in row]


def fit_all(known: Sequence[Example]) -> dict[str, dict[str, float]]:
    """The weights of every check."""
    return {check: _fit(_rows(known, check), names) for check, names in FEATURES.items()}


def _rows(known: Sequence[Example], check: str) -> list[Row]:
    good = sum(one.label == "good" for one in known) or 1
    right = sum(one.label == check for one in known) or 1
    # Repetitions, leaks and inventions are unsupported too, only named otherwise.
    other = 0.0 if check == "unsupported" else OTHERS
    weights = {check: POSITIVE[check] * good / right, "good": 1.0}
    rows = [
        (one.values, weights.get(one.label, other) * SIZE / good, one.label == check)
        for one in known
        if one.label != "non_memory"
    ]
    without = dict.fromkeys(LISTED.get(check, ()), 0.0)
    again = [({**values, **without}, AGAIN * weight, right) for values, weight, right in rows] if without else []
    return [*rows, *again]


def _fit(rows: Sequence[Row], features: Sequence[str]) -> dict[str, float]:
    """Newton's method with a quadratic penalty; a feature that would speak against its meaning is left out."""
    names = list(features)
    while True:
        found = _newton(rows, [name[1:] for name in names])
        wrong = [name for name in names if found[name[1:]] * (1 if name[0] == "+" else -1) < 0]
        if not wrong:
            return {name: round(value, 3) for name, value in found.items()}
        names.remove(max(wrong, key=lambda name: abs(found[name[1:]])))


def _newton(rows: Sequence[Row], names: Sequence[str]) -> dict[str, float]:
    size = len(names) + 1
    table = [([1.0, *(one[name] for name in names)], weight, float(right)) for one, weight, right in rows if weight]
    found = [0.0] * size
    for _round in range(12):
        slope = [0.0] + [-RIDGE * value for value in found[1:]]
        curve = [[0.0] * size for _row in range(size)]
        for place in range(size):
            curve[place][place] = RIDGE if place else 1e-6
        for values, weight, right in table:
            _add(slope, curve, found, values, weight, right)
        step = _solve(curve, slope)
        found = [a + b for a, b in zip(found, step, strict=True)]
        if max(map(abs, step)) < 1e-4:
            break
    return dict(zip(("", *names), found, strict=True))


def _add(
    slope: list[float], curve: list[list[float]], found: list[float], values: list[float], weight: float, right: float
) -> None:
    total = sum(a * b for a, b in zip(found, values, strict=True))
    sure = 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
    gain, bend = weight * (right - sure), weight * sure * (1 - sure)
    for row, value in enumerate(values):
        if value:
            slope[row] += gain * value
            for column, other in enumerate(values):
                curve[row][column] += bend * value * other


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


def write(fitted: Mapping[str, Mapping[str, float]]) -> None:
    """The weights as a module."""
    lines = [
        '"""Weights of the gate\'s checks by feature; "" is the constant. `python -m bench.fit_gate` makes them."""'
    ]
    lines += ["", "from __future__ import annotations", "", "WEIGHTS: dict[str, dict[str, float]] = {"]
    for check, weights in fitted.items():
        inside = [f'        "{name}": {value},' for name, value in weights.items()]
        lines += [f'    "{check}": {{', *inside, "    },"]
    WEIGHTS.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")


if __name__ == "__main__":
    write(fit_all([*examples([*scenes(LABELLED), *scenes(OWN), *scenes(FRESH)]), *story()]))
    print(f"Written to {WEIGHTS.relative_to(ROOT)}.")
