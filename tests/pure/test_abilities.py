"""Words of refusal, as servers really write them, and what they teach."""

from __future__ import annotations

from typing import Any

import pytest

from providers.abilities import Abilities, abilities_of, fitting, lesson_of, named_in
from providers.base import Request

LENGTH = {"max_tokens": "max_completion_tokens"}
COOL = {"temperature": False}
ROLE = {"system": False}


@pytest.mark.parametrize(
    ("said", "lesson"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            LENGTH,
        ),
        (
            "Unsupported value: 'temperature' does not support 0.3 with this model. "
            "Only the default (1) value is supported.",
            COOL,
        ),
        ("`temperature` is deprecated for this model.", COOL),
        ("invalid temperature: only 1 is allowed for this model", COOL),
        ("`temperature` may only be set to 1 when thinking is enabled.", COOL),
        ("openai does not support parameters: ['temperature'], for model=gpt-5.", COOL),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", ROLE),
        ("System role not supported", ROLE),
        ("system messages aren’t supported", ROLE),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", ROLE),
        ("Conversation roles must alternate user/assistant/user/assistant/...", ROLE),
        ("Only user and assistant roles are supported!", ROLE),
        ("max_tokens and temperature are not supported", LENGTH | COOL),
        ("unsupported_parameter: max_tokens.", LENGTH),
        ("max_tokens is too large: 9000. This model supports at most 4096 completion tokens.", {}),
        ("max_tokens must be at least 16", {}),
        ("temperature must be between 0 and 1", {}),
        ("Unsupported parameter: 'top_k'. Supported are: model, messages, max_tokens, temperature.", {}),
        ("This operating system is not supported", {}),
        ("", {}),
    ],
)
def test_what_a_refusal_teaches(said: str, lesson: dict[str, Any]) -> None:
    assert lesson_of(said, Abilities()) == lesson


def test_the_name_that_was_sent_is_the_one_that_is_refused() -> None:
    said = "Unrecognized request argument supplied: max_completion_tokens"
    assert lesson_of(said, Abilities()) == {}
    assert lesson_of(said, Abilities(max_tokens="max_completion_tokens")) == {"max_tokens": "max_tokens"}


def test_nothing_is_learned_twice() -> None:
    said = "temperature is not supported. system role not supported. Roles must alternate."
    assert lesson_of(said, Abilities(temperature=False, system=False)) == {}


@pytest.mark.parametrize(
    ("preset", "model", "learned", "can"),
    [
        ("openai", "gpt-4.1-nano", None, Abilities()),
        ("openai", "gpt-5-mini", None, Abilities("max_completion_tokens", temperature=False)),
        ("openai", "o3", None, Abilities("max_completion_tokens", temperature=False)),
        ("openai", "o3", {"system": False}, Abilities("max_completion_tokens", temperature=False, system=False)),
        ("custom", "gpt-5", None, Abilities()),
        ("openrouter", "openai/gpt-5", None, Abilities()),
        ("custom", "x", {"max_tokens": "max_completion_tokens"}, Abilities("max_completion_tokens")),
        ("custom", "x", {"max_tokens": "messages", "temperature": 0, "system": None}, Abilities()),
        ("custom", "x", ["odd"], Abilities()),
    ],
)
def test_what_is_known_and_what_was_learned(preset: str, model: str, learned: Any, can: Abilities) -> None:
    assert abilities_of(preset, model, learned) == can


def test_without_a_system_role_its_text_stands_before_the_question() -> None:
    question = Request("Be brief.", "Who is Mira?", 10, temperature=0.3)
    assert fitting(question, Abilities()) == question
    asked = fitting(question, Abilities(system=False, temperature=False))
    assert (asked.system, asked.user, asked.temperature) == ("", "Be brief.\n\nWho is Mira?", None)
    assert fitting(Request("", "Who?", 10), Abilities(system=False)).user == "Who?"


def test_codes_are_read_in_any_shape() -> None:
    assert named_in({"error": {"code": "unsupported_value", "param": "temperature"}}) == (
        "unsupported_value: temperature."
    )
    for odd in (None, [], {"error": "text"}, {"error": {"code": 400, "param": "x"}}, {"code": "x", "param": None}):
        assert named_in(odd) == ""
