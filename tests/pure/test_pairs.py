"""Stretches between two marks; long hostile texts are read as calmly as others."""

from __future__ import annotations

import re

import pytest

from memories.answer import read_answer
from memories.blocks import parse
from memories.transcript import strip
from providers.pairs import without_pairs
from providers.reasoning import split_reasoning

OPENING = re.compile(r"<(a|b)>")
PLENTY = 200_000
ODD = (
    "x",
    "<think>",
    "<think ",
    "<memory",
    '<memory chat="',
    "<memory>",
    "</memory>",
    "&lt;memory",
    "<details>",
    "<script>",
    "<!--",
    "```",
    "[THINK]",
    "- a",
)


def end_of(name: str) -> re.Pattern[str]:
    return re.compile(f"</{name}>")


@pytest.mark.parametrize(
    ("text", "kept", "gone"),
    [
        ("", "", []),
        ("x<a>1</a>y<b>2</b>z", "xyz", ["1", "2"]),
        ("<a>1<a>2</a>3</a>", "3</a>", ["1<a>2"]),
        ("<a>1<b>2</b>", "<a>1", ["2"]),
        ("<a>1</b>2</a>3", "3", ["1</b>2"]),
        ("</a><a>", "</a><a>", []),
    ],
)
def test_each_opening_goes_with_its_next_end(text: str, kept: str, gone: list[str]) -> None:
    heard: list[str] = []
    assert without_pairs(text, OPENING, end_of, lambda _whole, inner: heard.append(inner)) == kept
    assert heard == gone


@pytest.mark.parametrize("piece", ODD)
def test_a_long_text_of_anything_is_read(piece: str) -> None:
    text = piece * (PLENTY // len(piece))
    assert read_answer(text).kind in {"memories", "unreadable", "empty"}
    assert not parse(text).blocks
    assert len(strip(text).text) <= PLENTY
    answer, thoughts = split_reasoning(text)
    assert len(answer) + len(thoughts) <= PLENTY
