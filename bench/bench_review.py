"""The review queues of 5,000 bullets: all of them once, then one new bullet; processor time of one core."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from bench import Row, prepare_django

BULLETS = int(os.environ.get("CHARMEM_BENCH_BULLETS", "5000"))
NEW = 15
STORY = Path(__file__).resolve().parent.parent / "sync" / "sample_story" / "facts.json"
SYLLABLES = [a + b for a in "bcdfgklmnprstv" for b in "aeiou"]


def run() -> list[Row]:
    """A file in a database of its own."""
    prepare_django()
    from accounts.models import User
    from memories import memory_file, review, superseding
    from memories.models import MemoryFile, ReviewPair
    from tests.support.builders import make_character, make_tavern

    owner = User.objects.create_person("bench-review", "a-long-password-for-benches")
    file = memory_file.file_for(make_character(make_tavern(owner), "Seraphine"))
    texts = _texts(BULLETS + 2 * NEW)
    with memory_file.change(file, reason="bench", author=owner) as editor:
        for start in range(0, BULLETS, 10):
            editor.add_block(f"Scene {start}", texts[start : start + 10], origin="extracted")
    whole = _seconds(lambda: review.compare(file))
    pairs = ReviewPair.objects.for_user(owner).count()

    def add(text: str) -> float:
        with memory_file.change(file, reason="bench", author=owner) as editor:
            editor.add_block("New", [text], origin="extracted")
        fresh = MemoryFile.objects.for_user(owner).select_related("owner", "character__tavern").get(pk=file.pk)
        return _seconds(lambda: review.compare(fresh))

    warm = sorted(add(text) for text in texts[BULLETS : BULLETS + NEW])
    review._known.clear()
    superseding.read.cache_clear()
    cold = add(texts[-1])
    return [
        Row(f"queues of {BULLETS:,} bullets, {pairs:,} pairs", whole, "s", limit=60.0),
        Row("  one new bullet, median", 1000 * warm[NEW // 2], "ms", limit=50.0),
        Row("  one new bullet, worst", 1000 * warm[-1], "ms"),
        Row("  one new bullet, first of a process that holds no index", 1000 * cold, "ms"),
    ]


def _texts(count: int) -> list[str]:
    """Sentences built like those of the sample story, with other words in them."""
    rng = random.Random(7)
    facts = [fact["text"].split() for fact in json.loads(STORY.read_text("utf-8"))["facts"]]
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))) for _ in range(4000)]
    names = [word.title() for word in words[:200]]
    return [" ".join(_other(word, rng, words, names) for word in rng.choice(facts)) for _ in range(count)]


def _other(word: str, rng: random.Random, words: list[str], names: list[str]) -> str:
    if word[0].isupper():
        return rng.choice(names) if rng.random() < 0.7 else word
    return rng.choice(words) if len(word) > 5 and rng.random() < 0.6 else word


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
