"""Which messages a memory came from, held against the sample story's own answers."""

from __future__ import annotations

import json
from functools import cache

import pytest

from memories.evidence import Evidence, terms
from memories.transcript import Entry, Line, lines_of
from tests.pure.test_golden_prompts import STORY, entries_of

FACTS = json.loads((STORY.parent / "facts.json").read_text(encoding="utf-8"))["facts"]
CHARACTERS = ("Wenna Cray", "Verdigris", "Sorrel Ninepence", "Þórunn Skýjadóttir")


@cache
def lines_at(character: str, chat: str) -> tuple[Line, ...]:
    return tuple(lines_of(entries_of(character, chat)))


def own_facts() -> list[dict[str, object]]:
    return [
        fact
        for fact in FACTS
        if fact["character"] in CHARACTERS
        and (STORY / "chats" / fact["character"] / f"{fact['chat']}.jsonl").exists()
        and not fact.get("implied")
    ]


def test_a_fact_is_linked_to_the_messages_it_stands_in() -> None:
    """Of the facts that are stated outright, most are linked to a message that the story names as their source."""
    found = total = 0
    for fact in own_facts():
        lines = lines_at(fact["character"], fact["chat"])
        first = max(0, min(fact["messages"]) - 8)
        chunk = [line for line in lines if first <= line.entry.index < first + 20]
        linked = {link["index"] for link in Evidence(chunk).links(str(fact["text"])) if link["quote"]}
        total += 1
        found += bool(linked & set(fact["messages"]))
    assert total > 80
    assert found / total > 0.85


def test_a_memory_that_nothing_bears_out_points_at_the_whole_stretch() -> None:
    lines = lines_of([Entry(n, "user", "Robin", f"Line number {n} about rain.", f"id{n}") for n in range(5, 9)])
    links = Evidence(lines).links("Zarek conquered Mars.")
    assert [(link["index"], link["quote"]) for link in links] == [(5, ""), (8, "")]
    assert Evidence([]).links("Anything.") == []


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("弗勒斯被亚历克斯收养了", "亚历克斯今天收养了弗勒斯。"),
        ("Зинаида переехала в Тверь", "Мы узнали, что Зинаида уже переехала в Тверь."),
        ("アレックスは猫を飼った", "昨日アレックスは黒い猫を飼った。"),
    ],
)
def test_other_scripts_are_compared_too(memory: str, said: str) -> None:
    lines = lines_of([Entry(0, "user", "A", "foo bar baz qux."), Entry(1, "user", "B", said)])
    supports = Evidence(lines).supports(memory)
    assert supports[0].line.entry.index == 1
    assert supports[0].quote == said


def test_a_message_that_says_it_all_stands_alone_among_others_that_sound_like_it() -> None:
    keys = ("amber", "copper", "silver")
    said = [Entry(n, "character", "Brin", f"Brin hid the {key} key in the loft.", key) for n, key in enumerate(keys)]
    for number, key in enumerate(keys):
        links = Evidence(lines_of(said)).links(f"Brin hid the {key} key in the loft.")
        assert [link["index"] for link in links] == [number]
    links = Evidence(lines_of(said)).links("Brin hid the amber key, the copper key and the silver key.")
    assert [link["index"] for link in links] == [0, 1, 2]


def test_common_words_carry_no_meaning() -> None:
    assert terms("The and for that with") == {}
