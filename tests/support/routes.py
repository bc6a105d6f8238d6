"""Every address of the product, as the walks in tests/app need them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
PARAM = re.compile(r"<(?:(?P<converter>\w+):)?(?P<name>\w+)>")


@dataclass(frozen=True)
class Param:
    """One variable part: the word of the path before it, its converter and its name."""

    word: str
    converter: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        return self.word, self.converter


@dataclass(frozen=True)
class Route:
    """One pattern of the URLconf, flattened: `name` is "app:page"."""

    name: str
    pattern: str

    @property
    def params(self) -> list[Param]:
        found = []
        for match in PARAM.finditer(self.pattern):
            words = re.split(r"/|<[^>]*>", self.pattern[: match.start()].strip("/"))
            found.append(Param(words[-1], match["converter"] or "str", match["name"]))
        return found

    def path(self, values: list[object]) -> str:
        """The address with `values` in its variable parts."""
        rest = iter(values)
        return "/" + PARAM.sub(lambda _: str(next(rest)), self.pattern)


def all_routes() -> list[Route]:
    """Every page of the product."""
    return list(_walk(get_resolver(), "", ""))


def _walk(resolver: URLResolver, prefix: str, namespace: str) -> Iterator[Route]:
    for entry in resolver.url_patterns:
        pattern = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from _walk(entry, pattern, inner)
        else:
            assert isinstance(entry, URLPattern)
            yield Route(f"{namespace}{entry.name}", pattern)
