"""What is read out of an answer, and what is never taken for a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.answer import arrange, read_answer

GOOD = "<memory>\n- [Flux, Alex — day]\n- Alex adopted Flux.\n</memory>"
READ = (("[Flux, Alex — day]", "Alex adopted Flux."),)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Sure! Here you go:\n{GOOD}\nHope that helps!",
        f"```xml\n{GOOD}\n```",
        GOOD.replace("<memory>", '<memory chat="x" date="2024-01-01">'),
        f"<think>- nothing new?\nmaybe</think>{GOOD}",
        f"- draft of a thought\n</think>\n{GOOD}",
        f"<think>Let me see: - a bullet\n\n{GOOD}",
        "<memory></memory>\n- [Flux, Alex — day]\n- Alex adopted Flux.",
        "<memory>\n* [Flux, Alex — day]\n• Alex adopted Flux.\n</memory>",
        "1. [Flux, Alex — day]\n2. Alex adopted Flux.",
        "- [Flux, Alex — day]\n- Alex\n  adopted Flux.",
        "- [Flux, Alex — day]\n- Alex adopted\nFlux.",
        "<memory>\n<memory>\n- [Flux, Alex — day]\n- Alex adopted Flux.\n</memory>\n</memory>",
        "<memory>\n- **[Flux, Alex — day]**\n- *Alex adopted Flux.*\n</memory>",
        "<memory>\n- Alex adopted Flux.\n- [Flux, Alex — day]\n</memory>",
        "&lt;memory&gt;\n- [Flux, Alex — day]\n- Alex adopted Flux.\n&lt;/memory&gt;",
        "<MEMORY>\n- [Flux, Alex — day]\n- Alex adopted Flux.\n</Memory>",
        "<memory>\n- [Flux, Alex — day]\n- Alex adopted Flux.\n- NO_NEW_MEMORIES\n</memory>",
        "<memory>\n- [Flux, Alex — day]\n- Alex adopted Flux.\n- I'm sorry, I can't continue.\n</memory>",
    ],
)
def test_every_dress_of_the_same_answer(text: str) -> None:
    answer = read_answer(text)
    assert (answer.kind, answer.entries) == ("memories", READ)


@pytest.mark.parametrize(
    "text",
    [
        "NO_NEW_MEMORIES",
        "NO_NEW_MEMORIES.",
        "**NO_NEW_MEMORIES**",
        "<memory>NO_NEW_MEMORIES</memory>",
        "<memory>\n- NO_NEW_MEMORIES\n</memory>",
        "No new memories.",
        "```\nNO_NEW_MEMORIES\n```",
        "<think>\n- a step\n</think>\n\nNO_NEW_MEMORIES",
        "There is nothing of lasting weight here: NO_NEW_MEMORIES",
    ],
)
def test_nothing_new_however_it_is_decorated(text: str) -> None:
    assert read_answer(text).kind == "nothing"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I can't do this. I could instead:\n- summarise it\n- skip it", "refusal"),
        ("As an AI language model I cannot continue.", "refusal"),
        ("<memory>\n- I cannot help with this request.\n</memory>", "unreadable"),
        ("Es tut mir leid, dabei kann ich nicht helfen.", "refusal"),
        ("Flux was adopted by Alex on a rainy day.", "unreadable"),
        ("<html><body>502</body></html>", "unreadable"),
        ("", "empty"),
        ("<think>- one\n- two</think>", "empty"),
        ("<think>\n- Alex adopted Flux.\n- more", "empty"),
        ("<memory>\n- [Flux — only a topic]\n</memory>", "unreadable"),
        ("<memory></memory>", "unreadable"),
    ],
)
def test_what_is_no_memory(text: str, kind: str) -> None:
    answer = read_answer(text)
    assert (answer.kind, answer.entries) == (kind, ())


def test_a_cut_answer_keeps_what_is_complete_and_says_so() -> None:
    cut = "<memory>\n- [Flux, Alex — day]\n- Alex adopted Flux.\n- Alex then promised to ne"
    answer = read_answer(cut, is_truncated=True)
    assert (answer.kind, answer.entries, answer.is_cut) == ("memories", READ, True)
    assert read_answer("<memory>\n- Alex promised to ne", is_truncated=True).kind == "unreadable"
    assert read_answer(f"<think>a draft:\n{GOOD}", is_truncated=True).kind == "empty"


def test_several_topics_in_one_entry_become_several_blocks() -> None:
    text = "<memory>\n- [A, B — one]\n- First.\n- [A, C — two]\n- Second.\n</memory>"
    assert read_answer(text).entries == (("[A, B — one]", "First."), ("[A, C — two]", "Second."))


def test_examples_of_the_prompt_are_not_memories() -> None:
    text = "<memory>\n- [topic]\n- fact\n</memory>"
    assert read_answer(text, ignore={"[topic]", "fact"}).kind == "unreadable"


def test_more_than_five_bullets_open_another_block_with_the_topic() -> None:
    bullets = [f"Fact {n}." for n in range(7)]
    assert arrange([*bullets[:2], "[A — b]", *bullets[2:]]) == [
        ["[A — b]", *bullets[:5]],
        ["[A — b]", *bullets[5:]],
    ]
    assert arrange(["One."]) == [["One."]]


@given(st.text() | st.text(alphabet="<>/memory-*1.\n[]— thinkNO_EW", max_size=200), st.booleans())
def test_no_answer_makes_reading_fail(text: str, cut: bool) -> None:
    answer = read_answer(text, is_truncated=cut)
    assert (answer.kind == "memories") == bool(answer.entries)
    for entry in answer.entries:
        assert all(bullet and "\n" not in bullet for bullet in entry)
