"""Templates are filled literally and once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memories.templating import substitute


def test_values_are_never_expanded_again() -> None:
    values = {"charCard": "{{recentMessages}} $& $$ \\1", "recentMessages": "{{charName}} {{user}}", "charName": "Flux"}
    text = substitute("{{charName}}|{{charCard}}|{{recentMessages}}", values)
    assert text == "Flux|{{recentMessages}} $& $$ \\1|{{charName}} {{user}}"


def test_empty_sections_say_so_and_unknown_names_stay() -> None:
    assert substitute("{{charCard}} {{existingMemories}} {{other}}", {}) == "(not available) (none yet) {{other}}"
    assert substitute("[{{participants}}]", {"participants": ""}) == "[]"


@given(st.text(), st.text())
def test_any_value_stands_as_it_is(before: str, value: str) -> None:
    assert substitute("{{a}}" + before.replace("{{", ""), {"a": value}).startswith(value)
