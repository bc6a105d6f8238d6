"""Bringing the state of an exported file into one that may hold some of it already (pure)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

State = dict[str, Any]


@dataclass(frozen=True)
class Merged:
    """The state after the import, and what is new in it; `ids` maps ids of the export to those used here."""

    state: State
    blocks: int = 0
    memories: int = 0
    known: int = 0
    ids: Mapping[str, str] = field(default_factory=dict)


def merge(now: State, new: State, *, namespace: uuid.UUID, taken: Collection[str]) -> Merged:
    """`now` with everything of `new` that it does not have.

    A block that is there (by its id, or word for word with label and date) is not added again; memories that it lacks
    are. Ids in `taken` belong to other files: those rows get ids of their own, always the same for this `namespace`.
    Layout and loose text are taken over by an empty file only.
    """
    ids = {one: _id(one, namespace, taken) for one in all_ids(new)}
    blocks = _distinct([_renamed(block, ids) for block in new["blocks"]], namespace)
    present = {block["id"]: place for place, block in enumerate(now["blocks"])}
    held = {memory["id"] for block in now["blocks"] for memory in block["memories"]}
    same = {_words(block) for block in now["blocks"]}
    wanted = list(now["blocks"])
    count = known = added = 0
    for block in blocks:
        fresh = [memory for memory in block["memories"] if memory["id"] not in held]
        if block["id"] in present:
            at = present[block["id"]]
            texts = {memory["text"] for memory in wanted[at]["memories"]}
            fresh = [memory for memory in fresh if memory["text"] not in texts]
            wanted[at] = {**wanted[at], "memories": [*wanted[at]["memories"], *fresh]}
        elif _words(block) in same:
            fresh = []
        elif fresh:
            wanted.append({**block, "memories": fresh})
            added += 1
        count += _facts(fresh)
        known += _facts(block["memories"]) - _facts(fresh)
    form = {} if now["blocks"] or now["loose_text"] else _form(new, ids)
    return Merged({**now, **form, "blocks": wanted}, added, count, known, ids)


def _facts(memories: list[dict[str, Any]]) -> int:
    return sum(not memory["is_topic"] for memory in memories)


def all_ids(state: State) -> set[str]:
    """The ids of all blocks and memories."""
    memories = {memory["id"] for block in state["blocks"] for memory in block["memories"]}
    return memories | {block["id"] for block in state["blocks"]}


def _id(one: str, namespace: uuid.UUID, taken: Collection[str]) -> str:
    return str(uuid.uuid5(namespace, one)) if one in taken else one


def _words(block: dict[str, Any]) -> tuple[Any, ...]:
    return block["label"], block["date"], tuple(memory["text"] for memory in block["memories"])


def _renamed(block: dict[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    memories = [
        {
            **memory,
            "id": ids[memory["id"]],
            "parents": [ids.get(one, one) for one in memory["parents"]],
            "duplicate_of": ids.get(str(memory["duplicate_of"]), memory["duplicate_of"]),
        }
        for memory in block["memories"]
    ]
    return {**block, "id": ids[block["id"]], "memories": memories}


def _distinct(blocks: list[dict[str, Any]], namespace: uuid.UUID) -> list[dict[str, Any]]:
    """An id that a damaged export has twice belongs to the first; the others get ids of their own."""
    seen: set[str] = set()

    def own(one: str) -> str:
        number = 1
        while one in seen:
            number += 1
            one = str(uuid.uuid5(namespace, f"{one} {number}"))
        seen.add(one)
        return one

    return [
        {**block, "id": own(block["id"]), "memories": [{**one, "id": own(one["id"])} for one in block["memories"]]}
        for block in blocks
    ]


def _form(new: State, ids: Mapping[str, str]) -> State:
    loose = [{"before": ids.get(str(one["before"])), "text": one["text"]} for one in new["loose_text"]]
    return {**{name: new[name] for name in ("layout", "separator", "with_metadata")}, "loose_text": loose}
