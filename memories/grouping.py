"""Which blocks belong together, found offline by the rare words that they share (pure).

Words weigh by how few blocks hold them; two blocks are alike by the cosine of their weights. Pairs are joined from the
most alike down, as long as the whole group stays alike and small enough to be looked at.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from memories.evidence import terms

ALIKE = 0.22  # cosine from which two blocks are a pair
TOGETHER = 0.15  # least mean cosine between two groups that are joined
MOST = 12  # blocks in a group
MANY = 12
COMMON_SHARE, COMMON = 0.5, 60  # of many blocks, a word in more than this share or number says nothing
WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
SHOWN = 3


@dataclass(frozen=True)
class Group:
    """Blocks that belong together, in the order given; `words` say what they share, `score` is 0 to 1."""

    ids: tuple[str, ...]
    words: tuple[str, ...]
    score: float


def suggest(blocks: Mapping[str, str]) -> list[Group]:
    """Groups of two or more of the blocks (id → all its text), the most alike first; each block in one at most."""
    vectors = _vectors(blocks)
    pairs = _pairs(vectors)
    near: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (one, other), score in pairs.items():
        near[one][other] = near[other][one] = score
    place = {one: number for number, one in enumerate(blocks)}
    groups: dict[str, list[str]] = {one: [one] for one in blocks}
    for (one, other), score in sorted(pairs.items(), key=lambda pair: (-pair[1], place[pair[0][0]], place[pair[0][1]])):
        left, right = groups[one], groups[other]
        if score < ALIKE or left is right or len(left) + len(right) > MOST or _mean(left, right, near) < TOGETHER:
            continue
        left += right
        for moved in right:
            groups[moved] = left
    found = {id(group): group for group in groups.values() if len(group) > 1}.values()
    made = [_group(sorted(group, key=place.__getitem__), vectors, near, blocks) for group in found]
    return sorted(made, key=lambda group: -group.score)


def alike_in_order(blocks: Mapping[str, str]) -> list[str]:
    """All ids, with those that belong together beside each other, groups in the order of their first block."""
    member = {one: group.ids for group in suggest(blocks) for one in group.ids}
    return list(dict.fromkeys(other for one in blocks for other in member.get(one, (one,))))


def _vectors(blocks: Mapping[str, str]) -> dict[str, dict[str, float]]:
    counts = {one: terms(text) for one, text in blocks.items()}
    spread = Counter(word for found in counts.values() for word in found)
    total = len(blocks)
    most = min(COMMON, total * COMMON_SHARE) if total >= MANY else total
    vectors = {}
    for one, found in counts.items():
        weights = {
            word: (1 + math.log(count)) * math.log(1 + total / spread[word])
            for word, count in found.items()
            if spread[word] <= most
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        vectors[one] = {word: weight / length for word, weight in weights.items()}
    return vectors


def _pairs(vectors: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], float]:
    """The cosine of each pair that shares a word: by word, so that blocks with nothing in common cost nothing."""
    holders: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    scores: defaultdict[tuple[str, str], float] = defaultdict(float)
    for one, vector in vectors.items():
        for word, weight in vector.items():
            for other, there in holders[word]:
                scores[other, one] += weight * there
            holders[word].append((one, weight))
    return scores


def _mean(left: Sequence[str], right: Sequence[str], near: Mapping[str, Mapping[str, float]]) -> float:
    total = sum(near.get(one, {}).get(other, 0.0) for one in left for other in right)
    return total / (len(left) * len(right))


def _group(
    ids: Sequence[str],
    vectors: Mapping[str, Mapping[str, float]],
    near: Mapping[str, Mapping[str, float]],
    blocks: Mapping[str, str],
) -> Group:
    held = Counter(word for one in ids for word in vectors[one])
    weight = {word: sum(vectors[one].get(word, 0.0) for one in ids) for word, count in held.items() if count > 1}
    text = " ".join(blocks[one] for one in ids)
    words = tuple(_whole(word, text) for word in sorted(weight, key=lambda word: -weight[word])[:SHOWN])
    pairs = len(ids) * (len(ids) - 1) / 2
    score = sum(near[one].get(other, 0.0) for n, one in enumerate(ids) for other in ids[n + 1 :]) / pairs
    return Group(tuple(ids), words, round(min(1.0, score), 3))


def _whole(stem: str, text: str) -> str:
    """The first word of the text that begins like the stem, as it is written there."""
    return next((match[0] for match in WORD.finditer(text) if match[0].casefold().startswith(stem)), stem)
