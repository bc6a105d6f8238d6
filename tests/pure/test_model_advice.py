"""Advice on models stands beside those it was given for, and beside no others."""

from __future__ import annotations

from typing import Any

import pytest

from providers.listed_prices import FLAGS, Listed, from_stored, read_row
from providers.model_advice import TINY, advice_for


@pytest.mark.parametrize(
    "name",
    [
        *("z-ai/glm-4.7", "zai-org/GLM-4.7:thinking", "glm4.7", "deepseek/deepseek-v3.2-exp", "DeepSeek V3.1"),
        *("mistral-large-3", "openai/gpt-4.1-nano", "gpt-4.1-mini-2025-04-14", "nousresearch/hermes-4-405b"),
        *("meta/llama-3.1-8b-instruct", "meta-llama/llama-3.1-8b-instruct:free", "llama3.1:8b"),
    ],
)
def test_good_ones(name: str) -> None:
    found = advice_for(name)
    assert found and found.is_good


@pytest.mark.parametrize(
    "name", ["qwen/qwen3-235b-a22b", "Qwen3 235B A22B", "llama-3.2-1b", "qwen2.5:0.5b", "gemma3:270m"]
)
def test_those_to_be_careful_with(name: str) -> None:
    found = advice_for(name)
    assert found and not found.is_good


@pytest.mark.parametrize(
    "name",
    [
        *("", "glm-4.7-flash", "glm-4.75", "deepseek-v3-0324", "deepseek-v3.15", "gpt-4.1", "hermes-4-70b"),
        *("qwen3-30b-a3b", "mixtral-8x7b", "qwen3:8b", "llama-3.1-8b-lexi", "claude-1m", "web4b", "b" * 5000),
    ],
)
def test_nobody_said_anything_of_the_others(name: str) -> None:
    assert advice_for(name) is None


def test_the_name_counts_like_the_id() -> None:
    assert advice_for("vendor/ml-2512", "Mistral Large 3") == advice_for("mistral-large-3")
    assert advice_for("some-1b") is TINY


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"name": " GLM\n4.7 ", "provider": "Zhipu"}, ("GLM 4.7", "Zhipu", ())),
        ({"name": "m", "owned_by": "openai"}, ("", "", ())),
        ({"owned_by": "openai", "pricing": {"unit": "per_million_tokens"}}, ("", "openai", ())),
        ({"displayName": "Flash", "name": "models/m"}, ("Flash", "", ())),
        ({"isOpenSource": True, "category": "Roleplay/storytelling models", "capabilities": ["reasoning"],
          "subscription": {"included": True}}, ("", "", FLAGS)),
        ({"capabilities": {"reasoning": True, "vision": False}, "subscription": True},
         ("", "", ("subscription", "reasoning"))),
        ({"supported_parameters": ["temperature", "reasoning"]}, ("", "", ("reasoning",))),
        # odd types and odd letters: nothing is told
        ({"isOpenSource": "yes", "category": 5, "capabilities": "reasoning", "subscription": {"included": "no"},
          "name": ["x"], "provider": {}}, ("", "", ())),
        ({"name": "a\u202eb\x00\ud800c" + "x" * 5000}, ("abc" + "x" * 117, "", ())),
        ("m", ("", "", ())),
    ],
)  # fmt: skip
def test_what_a_list_tells(row: Any, expected: tuple[Any, ...]) -> None:
    found = read_row("m", row)
    assert (found.name, found.upstream, found.flags) == expected
    assert from_stored(found.stored()) == found


@pytest.mark.parametrize("row", ["m", {"id": "m", "in": "1", "out": "2"}, {"id": "m", "flags": "open", "name": None}])
def test_rows_kept_before_still_load(row: Any) -> None:
    found = from_stored(row)
    assert (found.id, found.name, found.upstream, found.flags) == ("m", "", "", ())


def test_free_is_what_the_list_prices_with_nothing() -> None:
    assert read_row("m", {"pricing": {"prompt": "0", "completion": "0"}}).is_free
    assert not Listed("m").is_free
