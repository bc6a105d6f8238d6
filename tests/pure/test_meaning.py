"""Vectors in little room: which are near, what is no neighbour, and what a prompt makes of them."""

from __future__ import annotations

import math
import random

import pytest

from memories.known_choice import choose
from memories.meaning import pieces
from memories.meaning_pairs import pairs
from memories.meaning_space import ALL, FEWEST, Space, packed
from memories.pairs import Bullet
from providers.tokens import estimate_tokens

SIZE = 48


def leaning(rng: random.Random, near: list[float] | None = None) -> list[float]:
    """A direction as models give them: all lean to one side; `near`: a little beside another one."""
    if near is not None:
        return [number + rng.gauss(0, 0.1) for number in near]
    return [3.0 + rng.gauss(0, 1) for _n in range(SIZE)]


def cosine(one: list[float], other: list[float]) -> float:
    both = sum(a * b for a, b in zip(one, other, strict=True))
    return both / (math.hypot(*one) * math.hypot(*other))


def test_any_two_look_alike_until_what_all_share_is_taken_away() -> None:
    rng = random.Random(5)
    rows = [leaning(rng) for _n in range(60)]
    rows.append(leaning(rng, rows[7]))
    assert min(cosine(rows[0], row) for row in rows) > 0.8
    space = Space((str(n), packed(row)) for n, row in enumerate(rows))
    (first, score), (_other, second) = space.nearest(packed(rows[0]), 2)
    assert first == "0" and score == pytest.approx(1.0, abs=0.01) and second < 0.6
    assert [key for key, _score in space.neighbours("60", 3)] == ["7"]
    assert space.neighbours("3", 3) == [] == space.neighbours("unknown", 3)


def test_the_most_alike_come_first_and_only_so_many() -> None:
    rng = random.Random(6)
    rows = [leaning(rng) for _n in range(40)]
    rows += [leaning(rng, rows[0]) for _n in range(5)]
    space = Space((str(n), packed(row)) for n, row in enumerate(rows))
    found = space.neighbours("0", 3)
    scores = [score for _key, score in found]
    assert len(found) == 3 and scores == sorted(scores, reverse=True)
    assert {key for key, _score in found} <= {"40", "41", "42", "43", "44"}


def test_few_odd_and_empty_vectors_do_no_harm() -> None:
    rng = random.Random(7)
    rows = [(str(n), packed(leaning(rng))) for n in range(FEWEST - 1)]
    few = Space([*rows, ("copy of 0", b"")])
    assert len(few) == FEWEST - 1 and few.neighbours("0", 3) == []
    odd = Space([*rows, ("short", packed([1.0, 2.0])), ("none", packed([0.0] * SIZE))])
    assert odd.ids == [key for key, _data in rows]
    assert odd.nearest(packed([1.0]), 3) == [] == odd.nearest(packed([0.0] * SIZE), 3)
    assert Space([]).nearest(packed([1.0]), 3) == [] and not Space([])
    same = Space((str(n), packed([1.0, 2.0, 3.0])) for n in range(FEWEST))
    scores = {score for _key, score in same.nearest(packed([1.0, 2.0, 3.0]), FEWEST)}
    assert scores == {0.0}, "nothing is left when all are the same"


def test_among_many_the_same_are_found_although_few_are_measured() -> None:
    rng = random.Random(9)
    rows = [[1.0 + rng.gauss(0, 1) for _n in range(256)] for _m in range(2 * ALL)]
    space = Space((str(n), packed(row)) for n, row in enumerate(rows))
    for wanted in (3, 700, 1111):
        asked = packed([number + rng.gauss(0, 0.5) for number in rows[wanted]])
        found = space.nearest(asked, 5)
        assert found[0][0] == str(wanted) and len(found) == 5
    assert len(space.nearest(packed(rows[0]), ALL)) == ALL


def test_pairs_are_of_two_wordings_with_the_same_facts() -> None:
    rng = random.Random(8)
    texts = {str(n): f"Something of its own happened, number {n}." for n in range(30)}
    rows = {key: leaning(rng) for key in texts}
    told = {
        "a": ("Tomas fears deep water.", "0"),
        "b": ("The sea is what frightens Tomas most.", "0"),
        "c": ("Lena owes Joel 40 coins.", "1"),
        "d": ("Joel has lent Lena 50 coins.", "1"),
        "e": ("Ash never sings.", "2"),
        "f": ("One hears Ash singing at all times.", "2"),
        "g": ("Petra keeps the old key.", "3"),
        "h": ("Petra keeps the old key!", "3"),
    }
    for key, (text, like) in told.items():
        texts[key], rows[key] = text, leaning(rng, rows[like])
    for like in "0123":
        del texts[like], rows[like]
    bullets = {key: Bullet(key, text, ("", 0.0, float(n))) for n, (key, text) in enumerate(texts.items())}
    space = Space((key, packed(row)) for key, row in rows.items())
    found = pairs(space, bullets, list(texts))
    assert [(one.older, one.newer, one.reason) for one in found] == [("a", "b", "meaning")]
    assert pairs(space, bullets, ["b"]) == found and pairs(space, bullets, ["c"]) == []
    assert pairs(space, {"b": bullets["b"]}, ["b"]) == [], "a bullet that is gone makes no pair"


def memories() -> list[str]:
    known = [f"Nothing particular happened on day {n}." for n in range(400)]
    known[5] = "Robin hid the brass whistle under the stairs."
    known[9] = "The sea is what Tomas dreads."
    return known


def test_meaning_adds_what_words_miss_and_takes_a_third_of_the_room_at_most() -> None:
    known, said = memories(), ["Where is the brass whistle?", "Deep water, Tomas? Never."]
    plain = choose(known, said, 300, estimate_tokens)
    near = [-1.0] * 400
    near[100] = near[101] = near[9] = 0.5
    found = choose(known, said, 300, estimate_tokens, meaning=lambda messages: near)
    assert {5, 9, 100, 101} <= set(found) and not {100, 101} & set(plain)
    assert len(set(plain) - set(found)) <= 0.34 * len(plain)


def test_meaning_is_not_asked_where_everything_fits_and_not_heard_when_it_says_nothing() -> None:
    def asked(messages: object) -> None:
        raise AssertionError("asked")

    assert choose(["One."], ["nothing"], 1000, estimate_tokens, meaning=asked) == [0]
    known, said = memories(), ["Where is the brass whistle?"]
    plain = choose(known, said, 300, estimate_tokens)
    assert choose(known, said, 300, estimate_tokens, meaning=lambda messages: None) == plain
    assert choose(known, said, 300, estimate_tokens, meaning=lambda messages: [1.0]) == plain
    every = choose(known, said, 2600, estimate_tokens, meaning=lambda messages: [0.0] * 400)
    assert len(set(every)) == len(every)


def test_messages_are_put_together_into_a_few_texts() -> None:
    said = [f"Message {n} says this." for n in range(200)]
    found = pieces([*said, " "])
    assert len(found) < 10 and "\n".join(found).split("\n")[:200] == said
    assert max(map(len, found)) < 1000
    assert pieces(["one"]) == ["one"] and pieces([]) == [] == pieces(["", " "])
    assert len(pieces(["x" * 2000] * 99)) == 32
