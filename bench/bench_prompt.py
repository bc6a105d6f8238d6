"""What one extraction call sends when a character has 1,000 memories, and how many of those that matter are in it.

Bare is a prompt with the whole file. The stretches are generated (tests/support/repetitions.py): it is known which
memories each of them brings up, so a model that is not shown those would write them down again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench import Row
from memories.extraction_prompt import Budget, budget, build
from memories.known_choice import choose
from memories.transcript import plain_lines
from providers.tokens import estimate_tokens
from tests.support.repetitions import Case, make_case

BULLETS = 1000
SEEDS = range(25)
LANGUAGES = ("en", "de", "ja")
CARD = " ".join(f"Wenna keeps {n} lamps burning along the quay of Ostra." for n in range(40))
NAMES = {"en": "English", "de": "German", "ja": "Japanese"}


def run() -> list[Row]:
    """Tokens, then what is shown in each language, then the time of a choice."""
    cases = {language: [make_case(seed, language, bullets=BULLETS) for seed in SEEDS] for language in LANGUAGES}
    sizes = budget(context=None, answer=1000, measure=estimate_tokens)
    rows = [_tokens(cases["en"], sizes)]
    for language, some in cases.items():
        missed = 100 * (1 - _shown(some, sizes.memories))
        rows.append(Row(f"repeated memories that are not shown, {NAMES[language]}", missed, "%", limit=5))
    newest = 100 * (1 - _newest(cases["en"], sizes.memories))
    rows.append(Row("the same when the newest are sent instead, English", newest, "%"))
    rows.append(Row("choosing among 1,000 memories, processor time", _milliseconds(cases["en"], sizes), "ms", limit=3))
    return rows


def _tokens(cases: Sequence[Case], sizes: Budget) -> Row:
    """Bare is the same prompt with all memories in it."""
    chosen = sum(_prompt(case, sizes) for case in cases) / len(cases)
    whole = sum(_prompt(case, _roomy(sizes)) for case in cases) / len(cases)
    return Row("prompt of one call with 1,000 memories", chosen, "tokens", whole, chosen / whole, 0.25)


def _roomy(sizes: Budget) -> Budget:
    return Budget(sizes.card, 10**9, sizes.messages, sizes.text)


def _prompt(case: Case, sizes: Budget) -> int:
    prompt = build(
        character="Wenna",
        card=CARD,
        known=case.known,
        lines=case.lines,
        sizes=sizes,
        seed="bench",
        measure=estimate_tokens,
    )
    return estimate_tokens(prompt.system + prompt.user)


def _messages(case: Case) -> list[str]:
    return plain_lines(case.lines).split("\n\n")


def _shown(cases: Sequence[Case], limit: int) -> float:
    found = [(case, set(choose(case.known, _messages(case), limit, estimate_tokens))) for case in cases]
    return sum(len(case.repeated & places) for case, places in found) / sum(len(case.repeated) for case in cases)


def _newest(cases: Sequence[Case], limit: int) -> float:
    """What sending as many of the newest as fit would show."""
    hits = 0
    for case in cases:
        used, place = 0, len(case.known)
        while place and (used := used + estimate_tokens(case.known[place - 1]) + 2) <= limit:
            place -= 1
        hits += sum(one >= place for one in case.repeated)
    return hits / sum(len(case.repeated) for case in cases)


def _milliseconds(cases: Sequence[Case], sizes: Budget) -> float:
    """The middle of many: each file is known but for its newest five memories, as after another chunk."""
    times = []
    for case in cases:
        choose(case.known[:-5], _messages(case), sizes.memories, estimate_tokens)
        said = _messages(case)
        began = time.process_time()
        choose(case.known, said, sizes.memories, estimate_tokens)
        times.append(1000 * (time.process_time() - began))
    return sorted(times)[len(times) // 2]
