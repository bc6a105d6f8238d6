"""Thinking is taken out of answers."""

from __future__ import annotations

import pytest

from providers.reasoning import split_reasoning

MEMORY = "<memory>\n- [Mira, Tom — move]\n- Mira lives in Oslo.\n</memory>"


@pytest.mark.parametrize(
    ("raw", "answer", "reasoning"),
    [
        (MEMORY, MEMORY, ""),
        (f"<think>Mira moved.</think>\n{MEMORY}", MEMORY, "Mira moved."),
        (f"<THINKING why=1>\nMira moved.\n</THINKING>{MEMORY}", MEMORY, "Mira moved."),
        (f"Mira moved.</think>{MEMORY}", MEMORY, "Mira moved."),
        (f"<analysis>one</analysis><reasoning>two</reasoning>{MEMORY}", MEMORY, "one\ntwo"),
        (f"[THINK]Mira moved.[/THINK]{MEMORY}", MEMORY, "Mira moved."),
        (f"<think>never closed\n{MEMORY}", MEMORY, "never closed"),
        ("<think>only thoughts, cut off", "", "only thoughts, cut off"),
        ("<think></think>NO_NEW_MEMORIES", "NO_NEW_MEMORIES", ""),
        (f"<think>a <memory> tag in thought</think>{MEMORY}", MEMORY, "a <memory> tag in thought"),
        ("- She thinks <3 of him", "- She thinks <3 of him", ""),
        ("<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>- x", "- x", "analysis hm"),
    ],
)
def test_answer_and_thinking_are_told_apart(raw: str, answer: str, reasoning: str) -> None:
    said, thought = split_reasoning(raw)
    assert said == answer
    assert " ".join(thought.split()) == " ".join(reasoning.split())
