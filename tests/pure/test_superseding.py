"""Older memories that newer ones end: the sample story's planted pairs, other people's stories, and harmless pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memories.pairs import DUPLICATE, SUPERSEDED, Bullet, Index
from memories.superseding import read

ROOT = Path(__file__).parents[2]
FACTS: list[dict[str, Any]] = json.loads((ROOT / "sync/sample_story/facts.json").read_text())["facts"]
OTHERS: dict[str, Any] = json.loads((ROOT / "tests/data/superseding/pairs.json").read_text())
PEOPLE = ["Robin Ashdown", "Wenna Cray", "Sorrel Ninepence", "Þórunn Skýjadóttir", "Verdigris"]
PLANTED = {(fact["id"], fact["superseded_by"]) for fact in FACTS if fact["superseded_by"]}


def told_at(fact: dict[str, Any]) -> tuple[str, float, float]:
    found = re.search(r"\d{4}-\d\d-\d\d@\S+", fact["chat"])
    return (found[0] if found else "", float(fact["messages"][0]), 0.0)


def suggested(facts: list[dict[str, Any]]) -> set[tuple[str, str]]:
    index = Index([Bullet(fact["id"], fact["text"], told_at(fact)) for fact in facts], PEOPLE)
    return {(pair.older, pair.newer) for pair in index.pairs() if pair.kind == SUPERSEDED}


def file_of(character: str) -> list[dict[str, Any]]:
    return [fact for fact in FACTS if character in fact["known_by"]]


def finds(older: str, newer: str) -> list[str]:
    index = Index([Bullet("a", older, ("", 0, 0)), Bullet("b", newer, ("", 1, 0))])
    return [pair.reason for pair in index.pairs() if pair.kind == SUPERSEDED]


def test_every_planted_pair_of_the_story_is_found_in_the_file_that_holds_it() -> None:
    characters = sorted({one for fact in FACTS for one in fact["known_by"]})
    missed = set(PLANTED)
    for character in characters:
        missed -= suggested(file_of(character))
    across = {pair for pair in missed if not any({*pair} <= {f["id"] for f in file_of(one)} for one in characters)}
    assert len(across) <= 2, "pairs whose halves no character knows both"
    assert missed == across
    assert suggested(FACTS) >= PLANTED


def test_few_other_pairs_of_the_story_are_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    wrong, looked_at = 0, 0
    for character in sorted({one for fact in FACTS for one in fact["known_by"]}):
        facts = file_of(character)
        looked_at += len(facts) * (len(facts) - 1) // 2
        wrong += len(suggested(facts) - PLANTED)
    with capsys.disabled():
        print(f"\n  superseded: {len(PLANTED)} planted, {wrong} others suggested of {looked_at} pairs")
    assert wrong <= 30


def test_pairs_of_other_stories_are_found_and_harmless_ones_are_not() -> None:
    missed = [pair for pair in OTHERS["ended"] if not finds(*pair)]
    false = [pair for pair in OTHERS["harmless"] if finds(*pair)]
    assert len(OTHERS["harmless"]) >= 50
    assert false == []
    assert len(missed) <= 4, missed


def test_a_moved_home_is_found_and_the_reason_told() -> None:
    assert finds("Mira lives in the city.", "Mira moved to the coast.") == ["home"]
    assert finds("Mira lives in the city.", "Tomas moved to the coast.") == []
    assert finds("Mira moved to the coast.", "The coast is foggy in May.") == []


def test_only_the_newer_one_can_end_the_older() -> None:
    works, left = "Tomas works as a baker at the mill.", "Tomas quit his job at the mill."
    assert finds(works, left) == ["work"]
    assert finds(left, works) == []


def test_a_duplicate_is_no_contradiction_and_another_number_is_no_duplicate() -> None:
    index = Index(
        [
            Bullet("a", "Dara has 3 silver rings from her mother.", ("", 0, 0)),
            Bullet("b", "Dara has 3 silver rings from her mother!", ("", 1, 0)),
            Bullet("c", "Dara has 5 silver rings from her mother.", ("", 2, 0)),
        ]
    )
    found = {(pair.kind, pair.older, pair.newer) for pair in index.pairs()}
    assert (DUPLICATE, "a", "b") in found
    assert (SUPERSEDED, "b", "c") in found
    assert not {(DUPLICATE, "a", "c"), (SUPERSEDED, "a", "b")} & found


def test_a_new_bullet_finds_the_same_pairs_as_a_whole_look() -> None:
    facts = file_of("Wenna Cray")
    bullets = [Bullet(fact["id"], fact["text"], told_at(fact)) for fact in facts]
    index = Index(bullets[:-1], PEOPLE)
    index.add(bullets[-1])
    whole = {(p.kind, p.older, p.newer) for p in Index(bullets, PEOPLE).pairs() if bullets[-1].id in (p.older, p.newer)}
    assert whole <= {(p.kind, p.older, p.newer) for p in index.pairs_of([bullets[-1].id])}


def test_a_bullet_taken_out_is_in_no_pair() -> None:
    index = Index(
        [Bullet("a", "Mira lives in the city.", ("", 0, 0)), Bullet("b", "Mira moved to the coast.", ("", 1, 0))]
    )
    index.discard("a")
    index.discard("never there")
    assert index.pairs() == []
    assert index.similar("b") == []


@pytest.mark.parametrize("text", ["", "a" * 100_000, "is " * 20_000, "'s " * 9_000, "他" * 50_000, "\ud800 x"])
def test_odd_texts_are_read_calmly(text: str) -> None:
    assert read(text).topics is not None


def test_a_near_duplicate_that_only_adds_a_word_ends_nothing() -> None:
    older = "Keeps a burned bookplate in her left glove and has not told Wren whose name is on it."
    newer = older.replace("left glove", "left leather glove")
    bullets = [Bullet(f"o{n}", older, ("1", n, 0.0)) for n in range(9)]
    bullets += [Bullet(f"n{n}", newer, ("2", n, 0.0)) for n in range(9)]
    assert {pair.kind for pair in Index(bullets, ["Seraphine"]).pairs()} == {DUPLICATE}
