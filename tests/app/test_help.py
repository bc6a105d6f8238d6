"""The guide: rendered, searched, linked; and About."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.test import Client

from charmem_site.guide import read_guide, render, search
from charmem_site.help import GUIDE
from tests.support.pages import soup, words

ROOT = Path(settings.BASE_DIR)


def test_every_chapter_opens_and_leads_to_its_neighbours(alice_client: Client) -> None:
    contents = soup(alice_client.get("/help/"))
    links = [a["href"] for a in contents.select("a.strong") if a["href"].startswith("/help/")]
    assert len(links) == len(list(GUIDE.glob("*.md"))) >= 12
    for link in links:
        page = soup(alice_client.get(link))
        assert page.select_one("article h1") and page.select("article h2, article p")
    assert alice_client.get("/help/no-such-chapter/").status_code == 404


def test_links_between_chapters_lead_somewhere(alice_client: Client) -> None:
    for chapter in read_guide(GUIDE):
        for target in re.findall(r'href="([^"]+)', chapter.html):
            url, _hash, anchor = urljoin(f"/help/{chapter.slug}/", target).partition("#")
            page = soup(alice_client.get(url))
            assert not anchor or page.select_one(f"#{anchor}"), (chapter.slug, target)


def test_every_help_link_in_a_template_names_a_chapter() -> None:
    known = {chapter.slug for chapter in read_guide(GUIDE)}
    for path in (ROOT / "templates").rglob("*.html"):
        for topic in re.findall(r"{% help_url ['\"]([\w-]+)['\"] %}", path.read_text(encoding="utf-8")):
            assert topic in known, (path.name, topic)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("enable for files", "Enable for files"),
        ("db-add", "The file is registered"),
        ("refused", "The model refused"),
        ("undo", "Undo"),
        ("GLOSS", "Glossary"),
    ],
)
def test_a_search_puts_the_right_section_first(question: str, answer: str) -> None:
    assert search(read_guide(GUIDE), question)[0].section.title == answer


def test_a_search_shows_its_words_and_says_when_there_are_none(alice_client: Client) -> None:
    page = soup(alice_client.get("/help/?q=lorebook"))
    assert "place" in words(page.h1)
    assert "orebook" in words(page.select_one("li.check-row"))
    nothing = soup(alice_client.get("/help/?q=<script>"))
    assert "Nothing found" in words(nothing.select_one("main"))
    assert not nothing.select("main script")


def test_markdown_of_the_guide_cannot_run_anything() -> None:
    html = render("<script>x</script> [a](javascript:x)\n\n## A & B\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    assert "<script" not in html and 'href="javascript' not in html
    assert '<h2 id="a-b">' in html and "<table>" in html


def test_only_admins_see_where_the_data_lies(alice_client: Client, bob_client: Client) -> None:
    folder = str(settings.DATA_DIR)
    assert folder in words(soup(alice_client.get("/about/")).main)
    assert folder not in words(soup(bob_client.get("/about/")).main)
    assert "Lucide" in words(soup(bob_client.get("/about/")).main)
