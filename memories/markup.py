"""Chat text as HTML that cannot harm: markdown without raw HTML, then an allow-list (pure)."""

from __future__ import annotations

from functools import cache

import nh3
from markdown_it import MarkdownIt

TAGS = {"p", "em", "strong", "s", "del", "code", "pre", "blockquote", "ul", "ol", "li", "br", "hr"}
MAX_CHARACTERS = 200_000


@cache
def _reader() -> MarkdownIt:
    # Headings, pictures and links of a stranger's text would shape or leave the page: they stay plain words.
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("strikethrough")
    return reader.disable(
        ["heading", "lheading", "image", "link", "autolink", "reference", "html_block", "html_inline"]
    )


def chat_html(text: str) -> str:
    """One message as safe HTML; what is longer than `MAX_CHARACTERS` is cut."""
    return nh3.clean(_reader().render(text[:MAX_CHARACTERS]), tags=TAGS, attributes={}, link_rel=None)
