"""Who took part: by which words somebody is spoken about, and where an absence begins."""

from __future__ import annotations

import pytest

from memories.presence import absence, stretch, words_of


@pytest.mark.parametrize(
    ("name", "others", "text", "is_meant"),
    [
        ("Orla", (), "I saw Orla at the mill.", True),
        ("Orla", (), "i saw orla's lamp", True),
        ("Orla", (), "Orla’s lamp", True),
        ("Orla", (), "The Orlando road.", False),
        ("Captain Mara Voss", (), "Where is Voss?", True),
        ("Captain Mara Voss", (), "Mara knows.", True),
        ("Captain Mara Voss", (), "The captain of the ferry was asleep.", False),
        ("Mara Voss", ("Ilse Voss",), "The Voss family is rich.", False),
        ("Mara Voss", ("Ilse Voss",), "mara voss came in", True),
        ("Will", (), "It will rain.", False),
        ("Will", (), "Ask Will about it.", True),
        ("Rose Tiller", (), "the rose garden", False),
        ("Rose Tiller", (), "rose tiller said so", True),
        ("Jo", (), "Jo left.", True),
        ("Jo", (), "The job is done, jotted down.", False),
        ("小雪", (), "昨天小雪来过。", True),
        ("小雪", (), "昨天下雨。", False),
        ("ミナ", (), "それはミナの傘だ。", True),
        ("נועה", (), "ראיתי את נועה אתמול", True),
        ("نور", (), "رأيت نور أمس", True),
        ("نور", (), "المنورة", False),
        ("Zoë", (), "ZOË WAS HERE", True),
        ("O'Brien", (), "Mr O'Brien called.", True),
        ("R2-D2", (), "Where is R2-D2?", True),
        ("🦊", (), "The 🦊 is here", True),
        ("🦊", (), "The fox is here", False),
        ("The", (), "the end", True),
    ],
)
def test_spoken_about(name: str, others: tuple[str, ...], text: str, is_meant: bool) -> None:
    assert words_of(name, others).are_in(text) is is_meant


def test_two_of_one_name_are_both_meant() -> None:
    assert words_of("Orla", ("Orla",)).are_in("Where is Orla?")


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ("", (0, False)),
        ("....", (4, False)),
        ("x", (1, True)),
        ("..x..", (5, True)),
        (".....x", (5, False)),
        ("x.....", (1, True)),
        ("x..x.....x", (4, True)),
        ("x....x....", (10, True)),
        ("......x......", (6, False)),
    ],
)
def test_a_long_silence_is_an_absence(signs: str, expected: tuple[int, bool]) -> None:
    assert stretch([one == "x" for one in signs], 5) == expected


@pytest.mark.parametrize(("per_call", "members", "least"), [(4, 2, 5), (20, 3, 10), (20, 10, 20), (60, 10, 30)])
def test_waiting_for_ones_turn_is_no_absence(per_call: int, members: int, least: int) -> None:
    assert absence(per_call, members) == least
    for seat in range(members):
        round_about = [place % members == seat for place in range(3 * members)]
        assert stretch(round_about, least) == (3 * members, True)
