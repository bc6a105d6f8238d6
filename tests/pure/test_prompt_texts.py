"""Checks of a prompt's text, and the three-way comparison when a default changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.prompt_check import check, counts, variables
from memories.prompt_merge import merge
from memories.prompts import VERSIONS, prompt_text

DEFAULT = prompt_text("extraction").text


def problems(text: str, name: str = "extraction") -> list[tuple[str, str, int, str]]:
    return [(one.kind, one.word, one.line, one.near) for one in check(name, text, prompt_text(name).text)]


@pytest.mark.parametrize("name", VERSIONS)
def test_shipped_texts_pass_their_own_check(name: str) -> None:
    assert problems(prompt_text(name).text, name) == []


def test_unknown_variables_are_named_with_their_line_and_what_was_meant() -> None:
    text = DEFAULT.replace("Three sections", "{{char}} and {{ charName }} and {{charname}} and {{weather}}: three")
    assert problems(text) == [
        ("unknown", "{{char}}", 3, "charName"),
        ("unknown", "{{ charName }}", 3, "charName"),
        ("unknown", "{{charname}}", 3, "charName"),
        ("unknown", "{{weather}}", 3, ""),
    ]


def test_what_is_missing_is_named() -> None:
    assert problems("Write <memory> or NO_NEW_MEMORIES about {{charName}}.") == [
        ("missing", one, 0, "") for one in ("charCard", "existingMemories", "recentMessages", "mark")
    ]
    assert ("form", "<memory>", 0, "") in problems(DEFAULT.replace("<memory>", "<note>"))
    assert not any(one.is_error for one in check("extraction", DEFAULT.replace("<memory>", "<note>"), DEFAULT))


def test_material_must_stand_between_marker_lines() -> None:
    lines = DEFAULT.split("\n")
    opening = next(n for n, line in enumerate(lines, 1) if line.startswith("[{{mark}}] NEW MESSAGES"))
    without = "\n".join(line for n, line in enumerate(lines, 1) if n != opening)
    assert problems(without) == [("outside", "recentMessages", opening, ""), ("unclosed", "mark", opening + 1, "")]
    closing = next(n for n, line in enumerate(lines, 1) if line.startswith("[{{mark}}] END OF NEW MESSAGES"))
    open_end = "\n".join(line for n, line in enumerate(lines, 1) if n != closing)
    assert problems(open_end) == [("unclosed", "mark", opening, "")]


def test_uses_are_counted() -> None:
    assert counts("{{charName}} {{charName}} {{mark}}", variables("extraction", DEFAULT))["charName"] == 2


BASE = "Write at most eight bullets.\n\nLeave out weather.\n\nBe kind.\n"


def test_places_changed_by_one_side_are_settled_and_by_both_need_a_decision() -> None:
    mine = "Write at most five bullets. Name everybody.\n\nLeave out weather.\n\nBe kind.\n\nQuote exact words.\n"
    new = "Write at most five bullets, with a tag.\n\nLeave out weather.\n\nBe kind and brief.\n"
    found = merge(BASE, mine, new)
    assert [(place.number, place.kind) for place in found.places] == [(1, "decide"), (2, "decide")]
    found = merge(BASE, mine, new.replace(" and brief", ""))
    assert [(place.number, place.kind) for place in found.places] == [(1, "decide"), (2, "mine")]
    with pytest.raises(ValueError, match="1"):
        found.text({})
    assert found.text({1: "mine"}) == mine.strip()
    both = found.text({1: "both"})
    assert "Name everybody.\nWrite at most five bullets, with a tag.\n\nLeave out" in both
    assert found.text({}, {1: "Five.\r\n"}).startswith("Five.\n\nLeave out")


def test_only_the_default_changed() -> None:
    new = BASE.replace("weather", "weather and gestures")
    found = merge(BASE, BASE, new)
    assert [place.kind for place in found.places] == ["new"]
    assert found.text({}) == new.strip()
    assert found.text({1: "mine"}) == BASE.strip()
    assert [place.kind for place in merge(BASE, new, new).places] == ["same"]


words = st.lists(st.sampled_from(["a", "b", "c", "", "d e"]), max_size=8).map("\n".join)


@given(words, words, words)
def test_every_choice_of_mine_gives_mine_and_of_new_the_new_one(base: str, mine: str, new: str) -> None:
    found = merge(base, mine, new)
    everywhere = [place.number for place in found.places]
    assert found.text(dict.fromkeys(everywhere, "mine")).strip() == mine.strip("\n").strip()
    assert found.text(dict.fromkeys(everywhere, "new")).strip() == new.strip("\n").strip()
