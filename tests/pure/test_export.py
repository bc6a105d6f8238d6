"""Names inside an archive, reading any bytes as an export, and merging states."""

from __future__ import annotations

import json
import uuid
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memories.export_names import distinct_names, safe_name
from memories.importing_export_merge import merge
from memories.importing_export_read import BadExport, read

NAMESPACE = uuid.UUID(int=7)
EMPTY: dict[str, Any] = {"layout": "block", "separator": "\n\n", "with_metadata": False, "loose_text": [], "blocks": []}


@given(st.text(max_size=120))
def test_a_name_is_one_part_of_a_path(name: str) -> None:
    safe = safe_name(name)
    assert safe
    assert safe not in (".", "..")
    assert not set(safe) & set('/\\:*?"<>|\x00')
    assert safe == safe.strip(". ")
    assert len(safe) <= 81
    safe.encode()


@given(st.lists(st.sampled_from(["a", "A", "a 2", "con", "CON.md", "", "."]), max_size=8))
def test_names_are_distinct_where_case_does_not_count(names: list[str]) -> None:
    found = [name.casefold() for name in distinct_names(names)]
    assert len(set(found)) == len(names)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["characters", "files", "blocks", "memories", "id", "text", "label", "name", "evidence", "form"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(JSON)
def test_any_json_is_an_export_or_gets_a_reason(value: Any) -> None:
    whole = {"format": "charmem-export", "version": 1, "characters": value}
    try:
        read(json.dumps(whole).encode())
    except BadExport as bad:
        assert bad.reason


@given(st.binary(max_size=80))
def test_any_bytes_get_a_reason(data: bytes) -> None:
    try:
        read(data)
    except BadExport as bad:
        assert bad.reason in {"not-json", "not-export", "other-version"}
    else:
        raise AssertionError("bytes without a format are no export")


def block(number: int, texts: list[str], of: int = 0) -> dict[str, Any]:
    memories = [
        {
            "id": str(uuid.UUID(int=of + 100 * number + n)),
            "text": text,
            "is_topic": False,
            "parents": [],
            "duplicate_of": None,
        }
        for n, text in enumerate(texts, 1)
    ]
    return {"id": str(uuid.UUID(int=of + 100 * number)), "label": f"b{number}", "date": "", "memories": memories}


BLOCKS = st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4), max_size=4).map(
    lambda groups: [block(n, texts) for n, texts in enumerate(groups, 1)]
)


@given(BLOCKS, BLOCKS, st.booleans())
def test_merging_twice_adds_nothing_and_loses_nothing(now: Any, new: Any, is_taken: bool) -> None:
    old = {**EMPTY, "blocks": now}
    taken = {one["id"] for one in new} | {m["id"] for one in new for m in one["memories"]} if is_taken else set()
    first = merge(old, {**EMPTY, "blocks": new}, namespace=NAMESPACE, taken=taken)
    second = merge(first.state, {**EMPTY, "blocks": new}, namespace=NAMESPACE, taken=taken)
    assert (second.blocks, second.memories) == (0, 0)
    assert second.state == first.state
    kept = [m["id"] for one in first.state["blocks"] for m in one["memories"]]
    assert len(set(kept)) == len(kept)
    assert {m["id"] for one in now for m in one["memories"]} <= set(kept)
    texts = {m["text"] for one in first.state["blocks"] for m in one["memories"]}
    assert {m["text"] for one in new for m in one["memories"]} <= texts or not is_taken
