"""Takes a model's thinking out of its answer. Thinking is never kept as a memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from providers.pairs import LONGEST_TAG, without_pairs

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|reason|analysis|reflection|scratchpad|seed:think)"
_OPENING = re.compile(rf"<({_NAMES})\b[^<>]{{0,{LONGEST_TAG}}}>", re.IGNORECASE)
_CLOSE_ONLY = re.compile(rf"\A(.*)</{_NAMES}\s{{0,99}}>", re.IGNORECASE | re.DOTALL)
_OPEN_ONLY = re.compile(rf"<{_NAMES}\b[^<>]{{0,{LONGEST_TAG}}}>(.*)\Z", re.IGNORECASE | re.DOTALL)
_BRACKET, _BRACKET_END = re.compile(r"\[THINK\]"), re.compile(r"\[/THINK\]")
_CHANNEL = re.compile(r"\A(.*)<\|channel\|>final<\|message\|>", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """(answer, reasoning) of a raw text.

    Pairs of think tags anywhere; everything before a lone closing tag (the template opened it for the model);
    everything after a lone opening tag, except from the first `<memory` on, because some models forget to close.
    """
    thoughts: list[str] = []

    def take(_whole: str, inner: str) -> None:
        thoughts.append(inner)

    text = _CHANNEL.sub(_take_whole(thoughts), text)
    text = without_pairs(text, _OPENING, _end_of, take)
    text = without_pairs(text, _BRACKET, lambda _name: _BRACKET_END, take)
    if lone := _CLOSE_ONLY.match(text):
        thoughts.append(lone[1])
        text = text[lone.end() :]
    text = _OPEN_ONLY.sub(lambda match: _unclosed(match.group(1), thoughts), text)
    return text.strip(), "\n".join(part.strip() for part in thoughts if part.strip())


def _end_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s{{0,99}}>", re.IGNORECASE)


def _take_whole(thoughts: list[str]) -> Callable[[re.Match[str]], str]:
    def take(match: re.Match[str]) -> str:
        thoughts.append(re.sub(r"<\|[^|]*\|>", " ", match.group(1)))
        return ""

    return take


def _unclosed(rest: str, thoughts: list[str]) -> str:
    start = re.search(r"^[^\S\n]*<memory\b", rest, re.IGNORECASE | re.MULTILINE)
    end = start.start() if start else len(rest)
    thoughts.append(rest[:end])
    return rest[end:]
