"""The user guide: chapters in docs/guide/*.md, rendered and searched. Pure but for reading the files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path

import nh3
from markdown_it import MarkdownIt

WORD = re.compile(r"\w+")
HEADING = re.compile(r"^(#{1,4})\s+(.+?)\s*$", re.MULTILINE)
HEADING_TAG = re.compile(r"<h([2-4])>(.*?)</h\1>")
CHAPTER_LINK = re.compile(r'href="\d\d-([\w-]+)\.md')  # files link to each other, so that they also work as files
EXCERPT_LETTERS = 220


@dataclass(frozen=True)
class Section:
    """A heading with the text below it, up to the next heading."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Chapter:
    """One file of the guide. `slug` is its name without number and ending."""

    slug: str
    title: str
    lead: str
    html: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Hit:
    """A section that a search found."""

    chapter: Chapter
    section: Section
    score: float
    excerpt: str


def anchor_of(title: str) -> str:
    """The anchor of a heading: its words with dashes."""
    return "-".join(WORD.findall(title.lower()))


@lru_cache(maxsize=4)
def read_guide(folder: Path) -> tuple[Chapter, ...]:
    """All chapters in the order of their file names ("01-getting-started.md" has the slug "getting-started")."""
    return tuple(_chapter(path) for path in sorted(folder.glob("*.md")))


def _chapter(path: Path) -> Chapter:
    source = path.read_text(encoding="utf-8")
    slug = path.stem.split("-", 1)[1]
    title = next(iter(HEADING.findall(source)), ("#", slug))[1]
    body = source.split("\n", 1)[1] if source.startswith("# ") else source
    lead = next((part.strip() for part in body.strip().split("\n\n") if part.strip() and part[0] not in "#*`"), "")
    return Chapter(slug, title, plain(lead), render(body), tuple(_sections(title, body)))


def render(source: str) -> str:
    """Markdown as clean HTML with anchors on its headings."""
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    clean = CHAPTER_LINK.sub(r'href="../\1/', nh3.clean(html, tags=nh3.ALLOWED_TAGS, link_rel=None))
    return HEADING_TAG.sub(_with_anchor, clean)


def _with_anchor(match: re.Match[str]) -> str:
    level, inner = match.groups()
    return f'<h{level} id="{anchor_of(unescape(re.sub("<.*?>", "", inner)))}">{inner}</h{level}>'


def plain(markdown: str) -> str:
    """The words of a piece of markdown without its marks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return " ".join(re.sub(r"[*`#|]+", "", text).split())


def _sections(title: str, body: str) -> list[Section]:
    parts = HEADING.split(body)
    found = [Section(title, "", plain(parts[0]))]
    for at in range(1, len(parts), 3):
        found.append(Section(plain(parts[at + 1]), anchor_of(plain(parts[at + 1])), plain(parts[at + 2])))
    return found


def search(chapters: tuple[Chapter, ...], query: str, limit: int = 20) -> list[Hit]:
    """Sections that hold all words of the query (or their beginnings), best first: headings weigh most."""
    words = [word.lower() for word in WORD.findall(query)][:12]
    hits = [hit for chapter in chapters for section in chapter.sections if (hit := _hit(chapter, section, words))]
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _hit(chapter: Chapter, section: Section, words: list[str]) -> Hit | None:
    title = f"{section.title} {chapter.title}".lower()
    text = section.text.lower()
    score = 0.0
    for word in words:
        in_title = len(re.findall(rf"\b{re.escape(word)}", title))
        in_text = len(re.findall(rf"\b{re.escape(word)}", text))
        if not in_title + in_text:
            return None
        score += 8 * in_title + in_text / (1 + len(text) / 800)
    return Hit(chapter, section, score, _excerpt(section.text, words)) if words else None


def _excerpt(text: str, words: list[str]) -> str:
    places = [at for word in words if (at := text.lower().find(word)) >= 0]
    start = max(0, min(places, default=0) - 60)
    start = text.rfind(" ", 0, start) + 1
    piece = text[start : start + EXCERPT_LETTERS]
    return ("… " if start else "") + piece + ("…" if start + EXCERPT_LETTERS < len(text) else "")
