"""Whether memories can reach a prompt: each thing that is off is named with what to tick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from memories.first_steps import steps
from memories.health import Reach, reach
from memories.models import MemoryFile
from sync import outbox, vectors
from sync.models import Character, FileConflict
from tests.support.builders import make_memory_file
from tests.support.databank import make_file, make_mara
from tests.support.fake_tavern import FakeTavern

TEXT = "- Met at the well."


@pytest.fixture
def mara(alice: User, tmp_path: Path) -> Character:
    """Everything in place, and an index that is current."""
    with FakeTavern(tmp_path / "t") as tavern:
        mara = make_mara(alice, tmp_path / "t", url=tavern.url)
        attachment = make_file(mara, TEXT)
        outbox.accept(attachment, outbox.hash_of(TEXT))
        make_memory_file(mara, attachment=attachment, written_version=1)
        assert vectors.rebuild_index(attachment)
    return mara


def missing(way: Reach) -> list[tuple[str, str, str]]:
    return [(step.key, step.text, step.setting) for step in way.missing]


def set_tavern(mara: Character, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(mara.tavern, name, value)
    mara.tavern.save()


def set_attachment(mara: Character, **fields: Any) -> None:
    mara.tavern.attachments.update(**fields)


def test_all_is_well(mara: Character) -> None:
    way = reach(mara)
    assert way.ok and missing(way) == [] and way.paste_line == ""
    assert [step.key for step in way.steps] == ["enabled", "file", "registered", "allowed", "index"]


def test_files_are_not_enabled(mara: Character) -> None:
    set_tavern(mara, vectors={**mara.tavern.vectors, "enabled_files": False})
    assert missing(reach(mara)) == [
        (
            "enabled",
            "Vector Storage does not look into files.",
            "Extensions, Vector Storage, File vectorization settings: tick “Enable for files”.",
        )
    ]


def test_the_extension_is_switched_off(mara: Character) -> None:
    set_tavern(mara, disabled_extensions=["vectors"])
    assert [step[2] for step in missing(reach(mara))] == ["Extensions, Manage extensions: tick Vector Storage."]


def test_not_registered_comes_with_the_line_to_paste(mara: Character) -> None:
    set_attachment(mara, is_registered=False)
    way = reach(mara)
    assert [step.key for step in way.missing] == ["registered"]
    assert way.paste_line.startswith('/db-add source=character name="Mara Veldt-memories.md" <memory')


def test_disabled_in_the_data_bank(mara: Character) -> None:
    set_attachment(mara, is_disabled=True)
    assert missing(reach(mara)) == [
        (
            "allowed",
            "It is disabled in the Data Bank.",
            "Data Bank, Character attachments: press Enable beside the file.",
        )
    ]


def test_the_file_is_missing(mara: Character) -> None:
    set_attachment(mara, file_present=False)
    assert missing(reach(mara))[0] == ("file", "It was deleted in SillyTavern.", "Press Rebuild.")
    assert [step.key for step in reach(mara).missing] == ["file", "index"]


def test_newer_memories_are_not_written_yet(mara: Character) -> None:
    MemoryFile.objects.for_user(mara.tavern.owner).update(version=2)
    assert missing(reach(mara)) == [("file", "The newest memories are not written yet.", "")]


@pytest.mark.parametrize("change", [{"file_hash": "0" * 64}, {"index_state": "stale"}, {"registered_size": 9000}])
def test_the_index_is_behind(mara: Character, change: dict[str, Any]) -> None:
    set_attachment(mara, **change)
    assert [(step.key, step.setting) for step in reach(mara).missing] == [("index", "Press Rebuild.")]


def test_another_model_in_vector_storage_makes_it_stale(mara: Character) -> None:
    set_tavern(mara, vectors={**mara.tavern.vectors, "vllm_model": "other"})
    assert [step.key for step in reach(mara).missing] == ["index"]


def test_an_open_question_is_named_first(mara: Character) -> None:
    FileConflict.objects.create(attachment=mara.tavern.attachments.get(), ours="a", theirs="b")
    way = reach(mara)
    assert way.conflict is not None
    assert missing(way)[0][1] == "It was changed in SillyTavern too. Both texts are kept until you decide."


def test_nothing_made_yet(alice: User, tmp_path: Path) -> None:
    way = reach(make_mara(alice, tmp_path / "t"))
    assert not way.ok and way.paste_line == ""
    assert [step.key for step in way.missing] == ["file", "registered", "index"]


def test_it_asks_the_database_at_most_five_times(mara: Character, django_assert_max_num_queries: Any) -> None:
    set_attachment(mara, is_registered=False)
    character = Character.objects.for_user(mara.tavern.owner).select_related("tavern__owner").get(pk=mara.pk)
    with django_assert_max_num_queries(5):
        reach(character)


def test_the_four_steps_follow_a_memory_to_the_prompt(mara: Character, alice: User) -> None:
    assert [(step.key, step.done) for step in steps(alice)] == [
        ("made", True),
        ("databank", True),
        ("index", True),
        ("seen", False),
    ]
    assert steps(alice)[-1].text.startswith("Write to Mara Veldt in SillyTavern.")
    set_attachment(mara, seen_in_prompt_at=timezone.now())
    assert all(step.done for step in steps(alice))
    set_attachment(mara, is_registered=False)
    assert (steps(alice)[1].text, steps(alice)[1].action) == (
        "It is not in the character's Data Bank yet.",
        "Register it",
    )


def test_before_the_first_memory_there_are_no_steps(mara: Character, bob: User) -> None:
    assert steps(bob) == []
