"""Names that a model invented."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memories.names import SourceWords, candidates

DATA = Path(__file__).parent.parent / "data" / "conformance" / "quality_gate.json"
SOURCE = SourceWords(
    [
        "Flux: Alex took me to Petrel Light, past Żółta's bakery. O'Brien waved.",
        "アレックスは港に行った。",
        "Зинаида пришла.",
    ]
)


def test_invented_people_and_places_are_named() -> None:
    assert SOURCE.unknown("Alex and Zarek took Flux to Petrel Light.") == ["Zarek"]
    assert SOURCE.unknown("[Flux, Morwenna — a walk]") == ["Morwenna"]
    assert SOURCE.unknown("Zarek betrayed Alex near Hollow Keep.") == ["Zarek", "Hollow", "Keep"]
    assert SOURCE.unknown("マリアは港に行った") == ["マリア"]


def test_forms_of_known_names_are_known() -> None:
    for text in (
        "Flux's trip with Alex.",
        "Alex met O'Brien and Zolta.",
        "Alex kupił chleb u Żółtej.",
        "Зинаиду видели.",
        "アレックスは港に行った",
        "They promised Alex to return in March.",
        "Finally, the bakery closed.",
        "Adopted by Alex, Flux slept.",
    ):
        assert SOURCE.unknown(text) == []


def test_labelled_bullets() -> None:
    """Of the labelled candidates nearly no good one is flagged, and most with an invented name are."""
    good = wrong = caught = invented = 0
    for scene in json.loads(DATA.read_text())["scenes"]:
        said = (f"{one['name']}: {one['text']}" for one in scene["messages"])
        words = SourceWords([scene["character"], scene["card"], *scene["existing"], *scene["injected"], *said])
        for one in scene["candidates"]:
            flagged = bool(words.unknown(one["text"]))
            good += one["label"] == "good"
            wrong += one["label"] == "good" and flagged
            invented += one["label"] == "invented_name"
            caught += one["label"] == "invented_name" and flagged
    assert wrong <= good * 0.05
    assert caught >= invented * 0.7


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    assert all(name in text for name in candidates(text))
    assert SourceWords([text]).unknown(text) == []
