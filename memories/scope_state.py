"""Taking memories out of one state of a file and into another (pure; the form of states: memories/file_state.py).

A copy keeps words, evidence, dates and where it came from, and gets ids of its own: the two lead separate lives.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from typing import Any

State = dict[str, Any]
Block = dict[str, Any]
Key = tuple[str, tuple[str, ...]]


def facts(state: State) -> Iterator[Block]:
    """All bullets but topic tags."""
    return (one for block in state["blocks"] for one in block["memories"] if not one["is_topic"])


def key_of(memory: Block) -> Key:
    """What is equal for a memory and its copy: the words and the messages they came from."""
    return memory["text"], tuple(sorted({str(one.get("identity", "")) for one in memory["evidence"]}))


def keys(state: State) -> set[Key]:
    return {key_of(one) for one in facts(state)}


def copied(state: State, wanted: Collection[str], known: Collection[Key] = ()) -> list[Block]:
    """Copies of the bullets with the ids `wanted`, without those that are `known`, in blocks with their topic tags."""
    seen, found = set(known), []
    for block in state["blocks"]:
        chosen = []
        for one in block["memories"]:
            if one["is_topic"]:
                chosen.append(one)
            elif one["id"] in wanted and key_of(one) not in seen:
                seen.add(key_of(one))
                chosen.append(one)
        if not all(one["is_topic"] for one in chosen):
            found.append({**block, "memories": chosen})
    return _with_own_ids(found)


def _with_own_ids(blocks: list[Block]) -> list[Block]:
    ids = {one["id"]: str(uuid.uuid4()) for block in blocks for one in block["memories"]}
    return [
        {
            **block,
            "id": str(uuid.uuid4()),
            "memories": [
                {**one, "id": ids[one["id"]], "duplicate_of": ids.get(one["duplicate_of"])} for one in block["memories"]
            ],
        }
        for block in blocks
    ]


def without(state: State, gone: Collection[str]) -> State:
    """The state without the bullets with these ids; a block that keeps only its topic tag goes too, and text that
    stood in front of it stands in front of the next one."""
    kept, heirs = [], {}
    heir: str | None = None
    for block in reversed(state["blocks"]):
        left = [one for one in block["memories"] if one["id"] not in gone]
        is_gone = len(left) < len(block["memories"]) and all(one["is_topic"] for one in left)
        if not is_gone:
            kept.append({**block, "memories": left})
            heir = block["id"]
        heirs[block["id"]] = heir
    loose = [{**one, "before": heirs.get(str(one["before"]))} for one in state["loose_text"]]
    return {**state, "blocks": kept[::-1], "loose_text": loose}


def with_blocks(state: State, blocks: Iterable[Block]) -> State:
    """The state with these blocks, each in front of the first that began after it."""
    found = list(state["blocks"])
    for block in blocks:
        later = (n for n, one in enumerate(found) if one["created_at"] > block["created_at"])
        found.insert(next(later, len(found)), block)
    return {**state, "blocks": found}
