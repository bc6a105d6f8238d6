"""Marking a quoted passage inside the safe HTML of a message."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.markup import chat_html
from memories.quote_mark import mark_quote


def plain(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)


def test_a_plain_passage_is_marked() -> None:
    html = mark_quote(chat_html("She left. She swore on the lamp. He stayed."), "She swore on the lamp.")
    assert "<mark>She swore on the lamp</mark>." in html


def test_the_mark_ends_before_a_tag_and_goes_on_behind_it() -> None:
    html = mark_quote(chat_html("She *swore* on the lamp."), "She *swore* on the lamp.")
    assert html == "<p><mark>She </mark><em><mark>swore</mark></em><mark> on the lamp</mark>.</p>\n"


@pytest.mark.parametrize("quote", ["", "…", "never said"])
def test_without_the_passage_nothing_is_marked(quote: str) -> None:
    html = chat_html("She swore on the lamp.")
    assert mark_quote(html, quote) == html


def test_entities_count_as_the_letters_they_stand_for() -> None:
    assert "<mark>Tom &amp; Ann</mark>" in mark_quote(chat_html("Then Tom & Ann left"), "Tom & Ann")


@given(st.text(max_size=200), st.text(max_size=40))
def test_a_mark_never_changes_what_is_read(text: str, quote: str) -> None:
    html = chat_html(text)
    marked = mark_quote(html, quote)
    assert plain(marked) == plain(html)
    assert marked.count("<mark>") == marked.count("</mark>")
