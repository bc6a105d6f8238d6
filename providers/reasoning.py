"""Takes a model's thinking out of its answer. Thinking is never kept as a memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|reason|analysis|reflection|scratchpad|seed:think)"
_PAIR = re.compile(rf"<({_NAMES})\b[^<>]*>(.*?)</\1\s*>", re.IGNORECASE | re.DOTALL)
_CLOSE_ONLY = re.compile(rf"\A(.*)</{_NAMES}\s*>", re.IGNORECASE | re.DOTALL)
_OPEN_ONLY = re.compile(rf"<{_NAMES}\b[^<>]*>(.*)\Z", re.IGNORECASE | re.DOTALL)
_BRACKETS = re.compile(r"\[THINK\](.*?)\[/THINK\]", re.DOTALL)
_CHANNEL = re.compile(r"\A(.*)<\|channel\|>final<\|message\|>", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """(answer, reasoning) of a raw text.

    Pairs of think tags anywhere; everything before a lone closing tag (the template opened it for the model);
    everything after a lone opening tag, except from the first `<memory` on, because some models forget to close.
    """
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        thoughts.append(match.group(match.lastindex or 0))
        return ""

    text = _CHANNEL.sub(_take_whole(thoughts), text)
    text = _BRACKETS.sub(take, _PAIR.sub(take, text))
    text = _CLOSE_ONLY.sub(take, text)
    text = _OPEN_ONLY.sub(lambda match: _unclosed(match.group(1), thoughts), text)
    return text.strip(), "\n".join(part.strip() for part in thoughts if part.strip())


def _take_whole(thoughts: list[str]) -> Callable[[re.Match[str]], str]:
    def take(match: re.Match[str]) -> str:
        thoughts.append(re.sub(r"<\|[^|]*\|>", " ", match.group(1)))
        return ""

    return take


def _unclosed(rest: str, thoughts: list[str]) -> str:
    start = re.search(r"^\s*<memory\b", rest, re.IGNORECASE | re.MULTILINE)
    end = start.start() if start else len(rest)
    thoughts.append(rest[:end])
    return rest[end:]
