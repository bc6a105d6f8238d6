"""A message as plain lines, and lines as bullets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.plain_text import bullets_of, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('*She nods.* "I **promise** you."', 'She nods. "I promise you."'),
        ("One.\nTwo.\n\nThree.", "One.\nTwo.\nThree."),
        ("<div style='color: red'>Red &amp; green</div>", "Red & green"),
        ("```json\n{}\n```\nAfter.", "After."),
        ("# The vow\n![a picture](x.png)\nShe [swore](https://example.org) it.", "The vow\nShe swore it."),
        ("- one\n- two", "one\ntwo"),
        ("> quoted\n\nsaid", "quoted\nsaid"),
        ("I <3 you & a < b > c", "I <3 you & a < b > c"),
        ("<Sera> spoke of `keys` and ~~lies~~", "<Sera> spoke of keys and lies"),
        ("snake_case stays", "snake_case stays"),
        ("", ""),
    ],
)
def test_markup_goes_and_words_stay(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_lines_become_bullets_without_their_marks() -> None:
    text = "- Flux swore an oath.\r\n\r\n* Alex heard it.\n• 3 came.\n3. Mai was rainy.\n-\n  Pim - the boy - slept.  "
    expected = ["Flux swore an oath.", "Alex heard it.", "3 came.", "3. Mai was rainy.", "Pim - the boy - slept."]
    assert bullets_of(text) == expected


@given(st.text(max_size=300))
def test_nothing_crashes_and_lines_are_whole(text: str) -> None:
    assert all(line.strip() for line in plain_text(text).split("\n") if plain_text(text))
    assert all(line == line.strip() for line in bullets_of(text))
