"""Reading pages as a person would: their words, their links, and what a pressed button started."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup


def soup(response: Any, status: int = 200) -> BeautifulSoup:
    """The page, after a look at its status."""
    assert response.status_code == status, f"{response.status_code}: {response.content[:300]!r}"
    return BeautifulSoup(response.content, "html.parser")


def words(element: Any) -> str:
    """What a person reads there."""
    assert element is not None, "there is no such element"
    return " ".join(element.get_text(" ").split())


def toast(client: Any, url: str = "/help/") -> BeautifulSoup:
    """The toasts that the next page shows."""
    return soup(client.get(url)).select_one("#toasts")


def catch_extractions(monkeypatch: pytest.MonkeyPatch, where: str) -> list[tuple[str, str]]:
    """Note (character, chat) of each extraction that a view of module `where` starts, instead of starting it."""
    started: list[tuple[str, str]] = []

    def start(user: Any, *, character: Any, chat: Any = None) -> None:
        assert character.tavern.owner_id == user.pk
        started.append((character.name, chat.name if chat else ""))

    monkeypatch.setattr(f"memories.views.{where}.start_extraction", start)
    return started
