"""Vector Storage's hashing and cutting, against what SillyTavern's own functions gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sync.tavern.chunks import ChunkSettings, collection_of, file_chunks, split_text, string_hash

CASES = json.loads(
    (Path(__file__).parents[1] / "data/conformance/vector_storage_chunks.json").read_text(encoding="utf-8")
)["cases"]


def settings_of(case: dict[str, Any]) -> ChunkSettings:
    return ChunkSettings(
        overlap_percent=case["overlap_percent"],
        force_delimiter=case["force_delimiter"],
        only_custom_boundary=case["only_custom_boundary"],
    )


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What this port makes of one conformance case, in the case's own words."""
    chunks = split_text(case["text"], case["chunk_size"], settings_of(case))
    return {"hash": string_hash(case["text"]), "chunks": chunks, "chunk_hashes": [string_hash(c) for c in chunks]}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_same_chunks_and_hashes_as_sillytavern(number: int) -> None:
    case = CASES[number]
    assert answer(case) == {key: case[key] for key in ("hash", "chunks", "chunk_hashes")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 3338908027751811),
        ("a", 7929297801672961),
        ("Hello, world!", 2981818331365660),
        ("żółta 蛾子 🙂", 4008675028972525),
    ],
)
def test_known_hashes(text: str, expected: int) -> None:
    assert string_hash(text) == expected


def test_a_collection_is_named_after_the_registered_address() -> None:
    assert collection_of("/user/files/1750000001000_4242424242.txt") == "file_7495758523410288"


def test_the_registered_size_decides_whether_a_file_is_cut() -> None:
    text = "One line of the ledger.\n" * 400
    small, large = (file_chunks(text, size, ChunkSettings()) for size in (5 * 1024, 5 * 1024 + 1))
    assert [len(small), len(large)] == [1, 4]
    assert [chunk.index for chunk in large] == [0, 1, 2, 3]


def test_size_one_ends() -> None:
    assert split_text("ab c", 1, ChunkSettings()) == ["a", "b", "c"]
