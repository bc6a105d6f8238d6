"""The quality gate: what it doubts, what it leaves alone, and how much of the labelled scenes it finds."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.choices import CHECKS
from memories.quality import Doubt, Gate, Scene

DATA = Path(__file__).parents[1] / "data"
CARD = "Mira Solveig is a harbour pilot, gruff and superstitious. She wears a grey oilskin and cannot stand parrots."
EXISTING = ["Mira taught Oskar to read the tide tables", "Oskar owes Mira twelve crowns"]
INJECTED = ["Mira once sank her father's boat in the ice"]
MESSAGES = [
    ("Oskar", "The harbour office sent a letter. They want to close the pilot station in spring."),
    (
        "Mira Solveig",
        "*She puts down the lamp, wipes her hands and opens the envelope.* After thirty-one years? Never.",
    ),
    ("Oskar", "I won't sign their petition. And I'll help you write an answer tonight."),
    ("Mira Solveig", "Then you should know it. I sold my half of the cutter to pay for the new engine. I'm so tired."),
    ("Oskar", "You sold it? To whom?"),
    ("Mira Solveig", "To my cousin Henrike in Lübeck. From today you steer the small boat alone."),
]
SCENE = Scene("Mira Solveig", CARD, EXISTING, INJECTED, MESSAGES)


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate(SCENE)


def flags(found: list[Doubt]) -> list[str]:
    """The checks that doubt a bullet; a mere hint about its form is none."""
    return [one.check for one in found if one.check != "form"]


@pytest.mark.parametrize(
    "bullet",
    [
        "Mira sold her half of the cutter to her cousin Henrike in Lübeck to pay for a new engine",
        "The harbour office planned to close the pilot station in spring, after 31 years",
        "Oskar promised to help Mira write an answer to the harbour office",
        "Oskar was allowed to steer the small boat alone",
        "Mira verkaufte ihre Hälfte des Kutters an ihre Cousine Henrike in Lübeck",
        "[Mira, Oskar — letter of the harbour office]",
    ],
)
def test_what_the_messages_say_is_accepted(gate: Gate, bullet: str) -> None:
    assert flags(gate.check(bullet)) == []


@pytest.mark.parametrize(
    ("bullet", "check"),
    [
        ("Here are the new memories from this chat:", "non_memory"),
        ("Mira sold her half of the cutter to a shipowner called Brockmann", "invented_name"),
        ("The pilot station was to be closed after 47 years", "invented_name"),
        ("Oskar learned from Mira how to read the tide tables", "repeat_existing"),
        ("Mira had once let her father's boat sink in the ice", "recall_echo"),
        ("Mira was a gruff, superstitious harbour pilot who wore a grey oilskin", "card_leak"),
        ("Mira put down the lamp, wiped her hands and opened the envelope", "play_by_play"),
        ("Mira and Oskar talked about the letter of the harbour office", "meta_narration"),
        ("Mira was very tired", "temporary"),
    ],
)
def test_each_kind_is_found_and_named_first(gate: Gate, bullet: str, check: str) -> None:
    assert flags(gate.check(bullet))[:1] == [check]


def test_what_was_denied_is_not_supported(gate: Gate) -> None:
    assert "unsupported" in flags(gate.check("Oskar signed their petition"))


def test_a_doubt_says_what_it_is_about(gate: Gate) -> None:
    invented = gate.check("Mira sold her half of the cutter to a shipowner called Brockmann")[0]
    repeated = gate.check("Oskar learned from Mira how to read the tide tables")[0]
    recalled = gate.check("Mira had once let her father's boat sink in the ice")[0]
    assert (invented.detail, invented.match) == ("Brockmann", None)
    assert (repeated.detail, repeated.match) == (EXISTING[0], 0)
    assert (recalled.detail, recalled.match) == (INJECTED[0], 0)
    assert all(0.5 <= one.score <= 1 for one in (invented, repeated, recalled))


def test_a_hint_about_the_form_is_no_flag(gate: Gate) -> None:
    hints = {
        "I sold my half of the cutter to Henrike": "person",
        "Mira is selling her half of the cutter to Henrike": "tense",
    }
    for bullet, detail in hints.items():
        form = [one for one in gate.check(bullet) if one.check == "form"]
        assert [one.detail for one in form] == [detail]
        assert form[0].score < 0.5


@pytest.mark.parametrize(
    "line",
    [
        "I'm sorry, but there is nothing to remember here.",
        "NO_NEW_MEMORIES",
        "None.",
        "---",
        "## New memories",
        "**Memories about Mira:**",
        "<think>Let me look at the chat",
        "</memory>",
        "```json",
        "{{char}} did something",
        "As a language model I have no memories.",
        "Sure! Here is the list:",
        "Es wurden keine neuen Erinnerungen gefunden.",
        "Hier sind die wichtigsten Ereignisse:",
        "Aucun nouveau souvenir à extraire.",
        "Voici les souvenirs :",
        "No hay recuerdos nuevos.",
        "Lo siento, no puedo hacerlo.",
        "Non ci sono nuovi ricordi.",
        "Não há novas memórias.",
        "Hieronder staan de herinneringen:",
        "Oto lista wspomnień:",
        "К сожалению, новых воспоминаний нет.",
        "Yeni anı bulunamadı.",
        "Inga nya minnen hittades.",
        "以下は新しい記憶です：",
        "没有新的记忆。",
        "새로운 기억이 없습니다.",
    ],
)
def test_what_is_no_memory_is_known_in_many_languages(gate: Gate, line: str) -> None:
    assert [one.check for one in gate.check(line)][:1] == ["non_memory"]


OTHER_LANGUAGES = {
    "fr": (
        Scene(
            "Élodie",
            "Élodie est une boulangère têtue qui déteste la pluie.",
            ["Élodie a embauché Marc comme apprenti"],
            [],
            [
                ("Marc", "Le propriétaire double le loyer. Il veut deux mille euros."),
                ("Élodie", "*Elle pose le couteau, essuie la table et soupire.* Alors je vends le camion. J'ai froid."),
            ],
        ),
        {
            "Élodie a décidé de vendre le camion pour payer le loyer de 2000 euros": None,
            "Marc a été embauché par Élodie comme apprenti": "repeat_existing",
            "Élodie a posé le couteau, a essuyé la table et a soupiré": "play_by_play",
            "Élodie avait froid": "temporary",
            "Marc et Élodie ont discuté du loyer": "meta_narration",
            "Élodie a demandé de l'argent à Gaspard": "invented_name",
        },
    ),
    "ru": (
        Scene(
            "Нина",
            "Нина — упрямая мельничиха, боится грозы.",
            ["Нина наняла Павла на мельницу"],
            [],
            [
                ("Павел", "Староста требует зерно. Сорок мешков."),
                (
                    "Нина",
                    "*Она встаёт, берёт фонарь и открывает дверь.* Не отдам. Я спрятала зерно под полом. Как я устала.",
                ),
            ],
        ),
        {
            "Нина спрятала зерно под полом и отказалась отдать старосте 40 мешков": None,
            "Павел был нанят Ниной на мельницу": "repeat_existing",
            "Нина встала, взяла фонарь и открыла дверь": "play_by_play",
            "Нина была очень уставшей": "temporary",
            "Павел попросил помощи у кузнеца Захара": "invented_name",
        },
    ),
    "ja": (
        Scene(
            "千代",
            "千代は頑固な染物師で、雷が怖い。",
            ["千代は源太を弟子にした"],
            [],
            [
                ("源太", "大家さんが家賃を上げると言っています。三十円です。"),
                ("千代", "*筆を置き、手を拭いて、戸を開ける* それなら着物を売るわ。寒いわね。"),
            ],
        ),
        {
            "千代は家賃を払うために着物を売ることにした": None,
            "源太は千代の弟子になった": "repeat_existing",
            "千代は筆を置き、手を拭いて、戸を開けた": "play_by_play",
            "千代は寒がっていた": "temporary",
            "着物はサトウさんが買った": "invented_name",
        },
    ),
}


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_other_languages(language: str) -> None:
    scene, cases = OTHER_LANGUAGES[language]
    gate = Gate(scene)
    found = {bullet: flags(gate.check(bullet)) for bullet in cases}
    assert {bullet: checks[0] if checks else None for bullet, checks in found.items()} == cases


def test_names_in_other_forms_are_no_inventions() -> None:
    scene = Scene("Wanda", "", messages=[("Wanda", "Jadę z Bronisławą do Krakowa."), ("Глеб", "Я жду.")])
    gate = Gate(scene)
    for bullet in ("Wanda pojechała do Krakowa z Bronisławą", "Gleb waited for Wanda and Bronisława"):
        assert "invented_name" not in flags(gate.check(bullet))


def test_the_file_may_be_empty_and_the_chat_silent() -> None:
    gate = Gate(Scene("Mira", ""))
    assert gate.check("") and flags(gate.check("")) == ["non_memory"]
    assert [one.check for one in gate.check("Mira met Oskar") if one.check not in CHECKS] == []


def test_known_memories_are_found_among_many() -> None:
    many = [f"Mira mended boat number {number} for the harbour office" for number in range(430)]
    many[317] = "Oskar buried the brass compass under the old lime tree"
    gate = Gate(Scene("Mira Solveig", CARD, many, [], MESSAGES))
    found = gate.check("The brass compass was buried by Oskar under the old lime tree")
    assert (found[0].check, found[0].match) == ("repeat_existing", 317)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    gate = Gate(SCENE)
    found = gate.check(text)
    assert found == gate.check(text)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(one.check in CHECKS and 0 <= one.score <= 1 for one in found)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4), st.text(max_size=80))
def test_no_scene_breaks_it(name: str, texts: list[str], bullet: str) -> None:
    gate = Gate(Scene(name, " ".join(texts), texts, texts, [(name, text) for text in texts], texts))
    assert gate.check(bullet) == gate.check(bullet)


@settings(max_examples=20, deadline=None)
@given(st.permutations([*EXISTING, "Mira was very tired", "Mira sold the cutter", "Oskar waved"]))
def test_the_order_of_questions_changes_nothing(bullets: list[str]) -> None:
    gate = Gate(SCENE)
    assert {bullet: gate.check(bullet) for bullet in bullets} == {one: Gate(SCENE).check(one) for one in bullets}


# What the weights that are written down find of the labelled scenes that they were fitted to: a guard against changes
# for the worse. The honest figures, of scenes left out, are those of `python -m bench gate`.
FLOORS = {"non_memory": 95, "invented_name": 90, "repeat_existing": 85, "recall_echo": 75, "play_by_play": 75}
FLOORS |= {"card_leak": 70, "meta_narration": 70, "temporary": 60, "unsupported": 40}


def scenes(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))["scenes"]
    return found


# What is not in the messages is the hardest to tell by words, and hardest in languages with fewer known meanings.
@pytest.mark.parametrize(
    ("name", "floors"),
    [
        ("conformance/quality_gate.json", FLOORS),
        ("gate_own.json", FLOORS | {"unsupported": 30}),
        ("gate_fresh.json", FLOORS | {"repeat_existing": 75}),
    ],
)
def test_the_labelled_scenes(name: str, floors: dict[str, int]) -> None:
    seen: dict[str, list[bool]] = defaultdict(list)
    for data in scenes(name):
        messages = [(one["name"], one["text"]) for one in data["messages"]]
        gate = Gate(Scene(data["character"], data["card"], data["existing"], data["injected"], messages))
        for one in data["candidates"]:
            seen[one["label"]].append(bool(flags(gate.check(one["text"]))))
    shares = {label: 100 * sum(hits) / len(hits) for label, hits in seen.items()}
    assert shares["good"] <= 8
    assert {label: share for label, share in shares.items() if share < floors.get(label, 0)} == {}
