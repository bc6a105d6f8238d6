"""The quality gate on labelled scenes: how much of each kind it flags, how many good bullets, and how long it takes.

Every figure of a scene comes from weights that were fitted without that scene. Word lists cannot be held out so; the
scenes of our own, in other languages, are told apart for that reason, and also with weights that never saw any of them.
`CHARMEM_CONFORMANCE` may name further files with scenes, separated by colons; to those nothing is fitted.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import Row
from bench.fit_gate import FRESH, LABELLED, OWN, STORY, Example, examples, fit_all, scenes, story
from memories.names import SourceWords
from memories.quality import Gate, Scene
from memories.quality_model import doubts
from memories.quality_weights import WEIGHTS
from memories.similarity import find_duplicate_normalised, normalise

# Shares in per cent that must at least be flagged, and of the good ones that may at most be.
FLOORS = {"non_memory": 95, "invented_name": 90, "repeat_existing": 85, "recall_echo": 75, "play_by_play": 75}
FLOORS |= {"card_leak": 70, "meta_narration": 70, "temporary": 60, "unsupported": 40}
CEILING = 8.0
LABELS = (*FLOORS, "reversed_actor", "good")
EXISTING, MESSAGES, BULLETS, CHUNKS = 1_000, 20, 5, 20
SYLLABLES = [a + b for a in "bcdfgklmnprstv" for b in "aeiou"]


@dataclass(frozen=True)
class Verdict:
    """What became of a labelled candidate: the checks that doubt it, strongest first."""

    label: str
    checks: Sequence[str]


def run() -> list[Row]:
    """Labelled scenes, our own, the sample story, others that were named, and the time."""
    labelled, own, fresh = scenes(LABELLED), scenes(OWN), scenes(FRESH)
    seen, ours, later, told = examples(labelled), examples(own), examples(fresh), story()
    every = [*seen, *ours, *later, *told]
    rows = _rows("labelled, each scene left out", _held_out(seen, every), _naive(labelled), is_judged=True)
    rows += _rows("own, each scene left out", _held_out(ours, every), _naive(own))
    rows += _rows("written without a look at the lists, each scene left out", _held_out(later, every), _naive(fresh))
    rows += _rows("facts of the sample story, each chat left out", _held_out(told, every), None)
    rows += _rows("own, fitted to the labelled ones only", _judged(ours, fit_all(seen)), None)
    for path in _further():
        found = scenes(path)
        rows += _rows(path.name, _judged(examples(found), WEIGHTS), _naive(found), is_judged=True)
    return [*rows, *_times()]


def _further() -> list[Path]:
    named = [Path(name) for name in os.environ.get("CHARMEM_CONFORMANCE", "").split(":") if name]
    return [path for path in named if path.resolve() != LABELLED.resolve() and scenes(path)]


def _held_out(measured: Sequence[Example], known: Sequence[Example]) -> list[Verdict]:
    """Each scene's candidates with weights that were fitted to all other scenes."""
    found: list[Verdict] = []
    for scene in dict.fromkeys(one.scene for one in measured):
        fitted = fit_all([one for one in known if one.scene != scene])
        found += _judged([one for one in measured if one.scene == scene], fitted)
    return found


def _judged(measured: Iterable[Example], fitted: Mapping[str, Mapping[str, float]]) -> list[Verdict]:
    return [Verdict(one.label, list(doubts(one.values, fitted))) for one in measured]


def _naive(labelled: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """What a plain look at names and repetitions finds."""
    found = []
    for data in labelled:
        said = [f"{one['name']}: {one['text']}" for one in data["messages"]]
        words = SourceWords([data["character"], data["card"], *data["existing"], *data["injected"], *said])
        known = [normalise(text) for text in (*data["existing"], *data["injected"], data["card"])]
        for one in data["candidates"]:
            is_repeated = find_duplicate_normalised(normalise(one["text"]), known) is not None
            checks = ["invented_name"] * bool(words.unknown(one["text"])) + ["repeat_existing"] * is_repeated
            found.append(Verdict(one["label"], checks))
    return found


def _share(verdicts: Iterable[Verdict], label: str, is_hit: Callable[[Verdict], bool]) -> float | None:
    """Per cent of a label's candidates; None when there is none."""
    those = [is_hit(one) for one in verdicts if one.label == label]
    return 100 * sum(those) / len(those) if those else None


def _rows(title: str, found: list[Verdict], naive: list[Verdict] | None, *, is_judged: bool = False) -> list[Row]:
    rows = [Row(f"{title}: candidates", len(found), "bullets")]
    for label in LABELS:
        flagged = _share(found, label, lambda one: bool(one.checks))
        if flagged is None:
            continue
        named = _share(found, label, lambda one: label in one.checks) or 0.0  # noqa: B023  asked at once
        plain = _share(naive or [], label, lambda one: bool(one.checks))
        told = "good flagged" if label == "good" else f"{label} flagged, so named {named:.0f} %"
        rows.append(Row(f"  {told}", flagged, "%", bare=plain))
        if is_judged and label != "reversed_actor":
            rows.append(_promise(label, flagged))
    return rows


def _promise(label: str, flagged: float) -> Row:
    """The limit of a kind, as what is left over: a table's limits are upper ones."""
    if label == "good":
        return Row("    good flagged, at most", flagged, "%", limit=CEILING)
    return Row(f"    {label} missed, at most", 100 - flagged, "%", limit=100 - FLOORS[label])


def _times() -> list[Row]:
    """Processor time with 1,000 memories and 20 new messages each time, as chunk after chunk brings them."""
    rng = random.Random(11)
    facts = [fact["text"].split() for fact in json.loads((STORY / "facts.json").read_text("utf-8"))["facts"]]
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(4000)]
    existing = [_other(rng, facts, words) for _ in range(EXISTING)]
    card = " ".join(f"{_other(rng, facts, words)}." for _ in range(8))

    def chunk() -> tuple[float, float]:
        said = [_other(rng, facts, words) for _ in range(3 * MESSAGES)]
        texts = [f"{one}. *{two}.* {three}" for one, two, three in zip(*[iter(said)] * 3, strict=True)]
        scene = Scene("Seraphine", card, existing, existing[:5], [("Seraphine", text) for text in texts])
        bullets = [_other(rng, facts, words) for _ in range(BULLETS)]
        start = time.process_time()
        gate = Gate(scene)
        ready = time.process_time()
        for bullet in bullets:
            gate.check(bullet)
        return ready - start, time.process_time() - ready

    first = sum(chunk())
    times = [chunk() for _ in range(CHUNKS)]
    asked = sorted(1000 * check / BULLETS for _ready, check in times)
    whole = sorted(1000 * (ready + check) / BULLETS for ready, check in times)
    return [
        Row(f"one bullet, {EXISTING:,} memories, {MESSAGES} messages, median", asked[CHUNKS // 2], "ms", limit=5.0),
        Row(f"  with its share of the preparation, {BULLETS} bullets a chunk", whole[CHUNKS // 2], "ms"),
        Row("  the first chunk of a process, as a whole", 1000 * first, "ms"),
    ]


def _other(rng: random.Random, facts: list[list[str]], words: list[str]) -> str:
    """A sentence of the sample story with other words in it."""
    return " ".join(
        rng.choice(words) if len(word) > 5 and word.islower() and rng.random() < 0.6 else word
        for word in rng.choice(facts)
    )
