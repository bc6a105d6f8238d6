"""Texts of nothing but one sign: whoever reads them is through in the time of any other text of that length.

No clock here: a reading that tries each place again takes minutes with these, and the run would stand still.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memories import formats
from memories.blocks import clean_bullet, parse, sniff_format
from memories.formats_lines import without_quote
from memories.names import candidates
from memories.plain_text import plain_text

LENGTH = 300_000
PIECES = [" ", "\t", "< ", "<memory ", "[", "[a — ", "[a](", '[a](b "', "![", "> ", "- \n", ">", "<", "{", '"', "\\"]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("read", [clean_bullet, parse, sniff_format, formats.detect, plain_text])
def test_a_long_text_of_anything_is_read(read: Callable[[str], object], piece: str) -> None:
    assert read(piece * (LENGTH // len(piece))) is not None
    assert read("<" + " " * LENGTH + "x") is not None


def test_a_text_of_names_is_searched_once() -> None:
    assert candidates("Wren Isolde " * (LENGTH // 12)) == ["Wren", "Isolde"]


def test_blanks_that_lead_to_no_line_break_stay() -> None:
    blanks = " " * LENGTH
    assert clean_bullet(f"a{blanks}b") == f"a{blanks}b"
    assert clean_bullet(f"a{blanks}\n{blanks}b") == "a b"
    assert clean_bullet("a \n \t\n b\t \n") == "a  b"


@pytest.mark.parametrize("tag", ["<memory", "< memory", "</memory", "< / memory", "<\t/memory", "<  /  memory"])
def test_no_tag_of_ours_stands_inside_a_bullet(tag: str) -> None:
    assert clean_bullet(f"a {tag}>") == f"a ‹{tag[1:]}>"


@pytest.mark.parametrize(
    ("line", "words"), [("> a", "a"), ("> > a", "a"), (">", ""), ("> >", ""), (">a", ">a"), (">  > \ta > b", "a > b")]
)
def test_a_quotation_loses_its_marks(line: str, words: str) -> None:
    assert without_quote(line) == words
