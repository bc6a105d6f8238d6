"""The head of a GGUF file: what it says, and that no bytes break it."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.gguf import OVERHEAD, NotGguf, facts_of
from tests.support.https_files import small_gguf

WHOLE = small_gguf(context_length=2048, weights=800)


def read(data: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        path.write_bytes(data)
        return facts_of(path)


def test_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WHOLE)
    facts = facts_of(path)
    assert (facts.name, facts.architecture, facts.parameters, facts.trained_context) == ("Tiny", "llama", 800, 2048)
    assert facts.token_bytes == 2 * 2 * (16 + 16) * 2  # layers, heads, key and value, 16 bits
    assert facts.memory_for(1000) == len(WHOLE) + 256 * 1000 + OVERHEAD


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"ggml" + WHOLE[4:],
        WHOLE[:200],
        WHOLE[:8] + struct.pack("<Q", 1 << 40) + WHOLE[16:],
        WHOLE[:16] + struct.pack("<Q", 1 << 60) + WHOLE[24:],
        WHOLE[:24] + struct.pack("<Q", (1 << 64) - 1) + WHOLE[32:],
        WHOLE[:4] + struct.pack("<I", 99) + WHOLE[8:],
        WHOLE[: -256 * 40],
    ],
)
def test_what_is_none(data: bytes) -> None:
    with pytest.raises(NotGguf):
        read(data)


@settings(max_examples=60, deadline=None)
@given(st.integers(4, len(WHOLE) - 256 * 40), st.binary(min_size=1, max_size=12))
def test_no_bytes_break_it(place: int, noise: bytes) -> None:
    try:
        facts = read(WHOLE[:place] + noise + WHOLE[place + len(noise) :])
    except NotGguf:
        return
    assert facts
