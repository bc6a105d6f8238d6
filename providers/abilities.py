"""What a model understands of a request beside its text, and what its server's refusal tells about that. Pure.

Servers differ in four things: the name of the field that limits the answer, whether a temperature may be set, whether
there is a system role, and whether an answer can be held to a grammar (GBNF). What differs from the usual is stored as
a lesson, for example {"max_tokens": "max_completion_tokens", "temperature": false, "system": false, "grammar": true}.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from providers.base import Request

Lesson = dict[str, Any]
OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
# What is known without asking: (preset, start of the model's name, lesson).
KNOWN: tuple[tuple[str, re.Pattern[str], Lesson], ...] = (
    ("builtin", re.compile(""), {"grammar": True}),
    ("openai", re.compile(r"o\d|gpt-[5-9]"), {"max_tokens": "max_completion_tokens", "temperature": False}),
    (
        "sillytavern",
        re.compile(r"(?:azure_)?openai/(?:o\d|gpt-[5-9])"),
        {"max_tokens": "max_completion_tokens", "temperature": False},
    ),
)
_REFUSES = re.compile(
    r"un(?:supported|known|recogni[sz]ed|expected)|deprecated|extra (?:inputs|fields)|only the default"
    r"|n[o'’]t (?:\w+ )?(?:support|allow|permit|enabl|accept|recogni)|only (?:\w+ ){0,3}1\b",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"system[ _-](?:role|message|instruction|prompt)|developer[ _-](?:role|message|instruction)"
    r"|role\b.{0,40}\bsystem\b|['\"`]system['\"`]|messages\[0\]\.role",
    re.IGNORECASE,
)
# Chat templates complain like this about a system message before the first question.
_TEMPLATE = re.compile(r"roles must alternate|only user(?:,| and) (?:assistant|model) roles", re.IGNORECASE)
# Local servers that take a GBNF grammar beside the messages, as their lists of models call them.
GRAMMAR_SERVERS = frozenset({"llamacpp", "koboldcpp"})
# Its answers begin with marks of its own (harmony), which a grammar for the words would forbid.
_OWN_MARKS = re.compile(r"gpt-oss", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!;\n])\s+")


@dataclass(frozen=True)
class Abilities:
    """`max_tokens` is the name of the field; the others say whether there is such a thing."""

    max_tokens: str = "max_tokens"
    temperature: bool = True
    system: bool = True
    grammar: bool = False


def abilities_of(preset: str, model: str, learned: Any) -> Abilities:
    """What is known of a model beforehand, corrected by what was learned from its server."""
    known: Lesson = next((lesson for key, name, lesson in KNOWN if key == preset and name.match(model)), {})
    lesson = {**known, **(learned if isinstance(learned, dict) else {})}
    name = lesson.get("max_tokens")
    return Abilities(
        max_tokens=name if name in OTHER_NAME else "max_tokens",
        temperature=lesson.get("temperature") is not False,
        system=lesson.get("system") is not False,
        grammar=lesson.get("grammar") is True,
    )


def takes_grammar(server: str, model: str) -> bool:
    """Whether a model of this server can be held to a grammar; `server` is what its list says of the owner."""
    return server.lower() in GRAMMAR_SERVERS and not _OWN_MARKS.search(model)


def fitting(request: Request, can: Abilities) -> Request:
    """The same question in a form that the model understands: a system text goes in front of the user's."""
    temperature = request.temperature if can.temperature else None
    request = replace(request, temperature=temperature, grammar=request.grammar if can.grammar else None)
    if can.system or not request.system:
        return request
    return replace(request, system="", user=f"{request.system}\n\n{request.user}")


def lesson_of(said: str, can: Abilities) -> Lesson:
    """What a refusal in the server's words says about a request that was made for `can`; {} when nothing."""
    lesson: Lesson = {}
    if can.system and _TEMPLATE.search(said):
        lesson["system"] = False
    if can.grammar and "grammar" in said.lower():
        lesson["grammar"] = False
    for sentence in filter(_REFUSES.search, _SENTENCE.split(said)):
        if re.search(rf"\b{can.max_tokens}\b", sentence):
            lesson["max_tokens"] = OTHER_NAME[can.max_tokens]
        if can.temperature and "temperature" in sentence.lower():
            lesson["temperature"] = False
        if can.system and _SYSTEM.search(sentence):
            lesson["system"] = False
    return lesson


def named_in(error: Any) -> str:
    """Code and parameter of an error object, as another sentence; "" when it names none."""
    inner = error.get("error") if isinstance(error, dict) else None
    data = inner if isinstance(inner, dict) else error
    code, param = (data.get("code"), data.get("param")) if isinstance(data, dict) else (None, None)
    return f"{code}: {param}." if isinstance(code, str) and isinstance(param, str) else ""
