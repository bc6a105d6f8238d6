"""Find and replace over files: the preview is the effect, one Undo takes everything back, nobody else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from memories import drafts, editing, memory_file, replacing
from memories.find_replace import Options, Refused
from memories.memory_filters import Filters
from memories.models import MemoryFile, Revision
from memories.replacing import MovedOn, Scope
from tests.support.builders import make_block, make_character, make_memory_file, make_tavern
from tests.support.pages import soup, toast, words

pytestmark = pytest.mark.django_db

BLOCKS = [
    ("The user arrives", ["[the user — Arrival]", "The user lit the lamp.", "Seraphine saw it."]),
    ("A lamp", ["Nobody but the user may carry it.", "Kept for the user."]),
]


@pytest.fixture
def file(alice: User) -> MemoryFile:
    return make_memory_file(make_character(make_tavern(alice), "Seraphine"), BLOCKS)


def texts(file: MemoryFile) -> dict[str, str]:
    """Every label and memory by id."""
    found = {str(block.pk): block.label for block in file.blocks.all()}
    return found | {str(memory.pk): memory.text for memory in memory_file.memories_of(file)}


def test_the_rows_of_the_preview_are_the_rows_changed(alice: User, file: MemoryFile) -> None:
    other = make_memory_file(make_character(file.character.tavern, "Flux"), [("Owl", ["Owes the user a feather."])])
    before = texts(file) | texts(other)
    found = replacing.preview(alice, Scope(), Options("the user", "Wren"))
    done = replacing.replace(alice, Scope(), Options("the user", "Wren"), found.digest)
    now = texts(file) | texts(other)
    assert {row.source.id: row.after for row in found.rows} == {pk: now[pk] for pk in now if now[pk] != before[pk]}
    assert (done.places, done.files) == (found.places, 2) == (6, 2)
    batches = set(Revision.objects.for_user(alice).filter(number=2).values_list("batch", flat=True))
    assert batches == {done.batch}


def test_a_scope_is_kept(alice: User, file: MemoryFile) -> None:
    other = make_memory_file(make_character(file.character.tavern, "Flux"), [("Owl", ["Owes the user a feather."])])
    scope = Scope(files=(other,))
    digest = replacing.preview(alice, scope, Options("the user", "Wren")).digest
    replacing.replace(alice, scope, Options("the user", "Wren"), digest)
    assert "The user lit the lamp." in texts(file).values()
    assert "Owes Wren a feather." in texts(other).values()


def test_locked_memories_and_blocks_are_shown_and_stay(alice: User, file: MemoryFile) -> None:
    first, second = file.blocks.all()
    second.is_locked = True
    second.save()
    first.memories.filter(text__startswith="The user").update(is_locked=True)
    options = Options("the user", "Wren")
    found = replacing.preview(alice, Scope(), options)
    assert (len(found.rows), len(found.changed), found.locked) == (5, 2, 3)
    replacing.replace(alice, Scope(), options, found.digest)
    assert "The user lit the lamp." in texts(file).values()
    assert "Kept for the user." in texts(file).values()
    assert "Wren arrives" in texts(file).values()


def test_what_becomes_empty_is_deleted_and_said_before(alice: User, alice_client: Client, file: MemoryFile) -> None:
    make_block(file, "Only one", ["Kept for the user."], order=5)
    query = {"find": "Kept for the user.", "replace": ""}
    page = soup(alice_client.get("/replace/", query))
    assert "2 become empty and are deleted." in words(page.select_one("#found"))
    alice_client.post("/replace/", {**query, "digest": page.select_one("[name=digest]")["value"]})
    assert [block.label for block in file.blocks.all()] == ["The user arrives", "A lamp"]
    assert "2 empty memories are deleted." in words(toast(alice_client))


def test_a_preview_that_is_out_of_date_changes_nothing(alice: User, alice_client: Client, file: MemoryFile) -> None:
    options = Options("the user", "Wren")
    digest = replacing.preview(alice, Scope(), options).digest
    memory = next(memory for memory in memory_file.memories_of(file) if memory.text.startswith("Kept"))
    editing.edit_memory(alice, memory, "Kept for the user and her mother.")
    before = texts(file)
    with pytest.raises(MovedOn) as moved:
        replacing.replace(alice, Scope(), options, digest)
    assert "Kept for Wren and her mother." in [row.after for row in moved.value.preview.rows]
    answer = alice_client.post("/replace/", {"find": "the user", "replace": "Wren", "digest": digest})
    assert "Nothing was replaced" in words(soup(answer, 409).select_one("#found"))
    assert texts(file) == before


def test_a_file_saved_in_the_middle_takes_the_others_back(
    alice: User, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_memory_file(make_character(file.character.tavern, "Zoe"), [("Owl", ["Owes the user a feather."])])
    options = Options("the user", "Wren")
    before = texts(file) | texts(other)
    digest = replacing.preview(alice, Scope(), options).digest
    write = replacing._write

    def meanwhile(editor: Any, rows: Any) -> None:
        MemoryFile.objects.for_user(alice).filter(pk=other.pk).update(version=7)
        write(editor, rows)

    monkeypatch.setattr(replacing, "_write", meanwhile)
    with pytest.raises(MovedOn):
        replacing.replace(alice, Scope(), options, digest)
    assert texts(file) | texts(other) == before


@pytest.mark.parametrize(
    ("find", "sentence"), [("(", "not a valid pattern"), ("x*", "where there is nothing"), ("(?R)", "call themselves")]
)
def test_bad_patterns_get_a_sentence(alice_client: Client, file: MemoryFile, find: str, sentence: str) -> None:
    before = texts(file)
    answer = alice_client.post("/replace/", {"find": find, "replace": "", "pattern": "on", "digest": ""})
    said = words(soup(answer, 422).select_one("[role=alert]"))
    assert sentence in said
    assert "Nothing was changed." in said
    assert texts(file) == before
    typed = alice_client.get(
        "/replace/", {"find": find, "pattern": "on"}, headers={"HX-Request": "true", "HX-Target": "found"}
    )
    assert sentence in words(soup(typed))


def test_a_long_result_comes_in_pages_and_changes_as_a_whole(
    alice: User, alice_client: Client, file: MemoryFile
) -> None:
    make_block(file, "Many", [f"The user counts {n}." for n in range(450)], order=9)
    query = {"where": f"character:{file.character_id}", "find": "the user", "replace": "Wren"}
    page = soup(alice_client.get("/replace/", query))
    assert len(page.select(".far-row")) == 200
    assert "Replace changes all of them" in words(page.select_one("#found"))
    second = soup(alice_client.get("/replace/", {**query, "page": "2"}))
    assert page.select_one("[name=digest]")["value"] == second.select_one("[name=digest]")["value"]
    alice_client.post("/replace/", {**query, "digest": page.select_one("[name=digest]")["value"]})
    assert not any("the user" in text.lower() for text in texts(file).values())


def test_one_undo_takes_everything_back(alice: User, alice_client: Client, file: MemoryFile) -> None:
    other = make_memory_file(make_character(file.character.tavern, "Flux"), [("Owl", ["Owes the user a feather."])])
    before = memory_file.render(file), memory_file.render(other)
    query = {"find": "the user", "replace": "Wren"}
    page = soup(alice_client.get("/replace/", query))
    alice_client.post("/replace/", {**query, "digest": page.select_one("[name=digest]")["value"]})
    assert memory_file.render(other) != before[1]
    form = toast(alice_client).select_one("form")
    alice_client.post(form["action"])
    assert (memory_file.render(file), memory_file.render(other)) == before


def test_in_an_open_edit_it_is_one_step_of_it(alice: User, alice_client: Client, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    locked = file.blocks.get(label="A lamp").memories.first()
    with drafts.step(draft, "Lock") as editor:
        editor.set_memories([locked.pk], is_locked=True)
        editor.add_block("The user leaves", ["Said goodbye to the user.", "the user"], origin="written")
    text = memory_file.render(file)
    query = {"draft": str(draft.pk), "find": "the user", "replace": ""}
    page = soup(alice_client.get("/replace/", query))
    assert "1 is locked" in words(page.select_one("#found"))
    digest = page.select_one("[name=digest]")["value"]
    answer = alice_client.post("/replace/", {"where": f"draft:{draft.pk}", "find": "the user", "digest": digest})
    assert answer.headers["Location"] == f"/drafts/{draft.pk}/"
    draft.refresh_from_db()
    now = drafts.view(draft)
    held = {m.text for block in now.blocks([pk for pk, _n in now.listing(Filters())]) for m in block.memories}
    assert {"Said goodbye to .", "lit the lamp.", "Nobody but the user may carry it."} <= held
    assert "the user" not in held
    assert memory_file.render(file) == text
    assert "replaced by" in str(drafts.undo(draft))
    assert alice_client.get("/replace/", {**query, "where": f"draft:{draft.pk}"}).status_code == 200


def test_found_words_are_text(alice_client: Client, alice: User, file: MemoryFile) -> None:
    make_block(file, "Bad", ["<script>alert(1)</script> the user"])
    answer = alice_client.get("/replace/", {"find": "the user", "replace": "<img src=x onerror=alert(1)>"})
    assert b"<script>alert" not in answer.content
    assert b"<img src=x" not in answer.content


def test_nobody_finds_memories_of_others(alice: User, charlie_client: Client, file: MemoryFile) -> None:
    hers = drafts.open_edit(alice, file)
    page = soup(charlie_client.get("/replace/", {"find": "the user"}))
    assert "Not found" in words(page.select_one("#found"))
    for where in (
        f"character:{file.character_id}",
        f"file:{file.pk}",
        f"draft:{hers.pk}",
        "draft:x",
        "file:",
        "nonsense",
    ):
        assert charlie_client.get("/replace/", {"find": "the user", "where": where}).status_code == 404


def test_a_stranger_takes_nothing_back(alice: User, charlie_client: Client, file: MemoryFile) -> None:
    digest = replacing.preview(alice, Scope(), Options("the user", "Wren")).digest
    done = replacing.replace(alice, Scope(), Options("the user", "Wren"), digest)
    charlie_client.post(f"/replace/undo/?batch={done.batch}")
    assert "Wren lit the lamp." in texts(file).values()
    assert "nothing to take back" in words(toast(charlie_client))
    assert charlie_client.post("/replace/undo/?batch=x").status_code == 404


PLAIN = st.text(alphabet="abc <m", min_size=1, max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.text(alphabet="abc <memory", min_size=1, max_size=12), min_size=1, max_size=4), max_size=3),
    st.builds(Options, PLAIN, st.text(alphabet="ab\n<", max_size=4), st.booleans(), st.booleans(), st.booleans()),
)
def test_any_preview_is_the_effect(alice: User, groups: list[list[str]], options: Options) -> None:
    blocks = [(f"block {n}", [text for text in group if text.strip()] or ["a"]) for n, group in enumerate(groups)]
    MemoryFile.objects.for_user(alice).all().delete()
    file = make_memory_file(make_character(make_tavern(alice), "Seraphine"), blocks)
    before = texts(file)
    try:
        found = replacing.preview(alice, Scope(), options)
    except Refused:
        return
    replacing.replace(alice, Scope(), options, found.digest)
    wanted = before | {row.source.id: row.after for row in found.changed}
    now = texts(file)
    gone = {row.source.id for row in found.changed if row.is_deleted}
    emptied = set(before) - set(now) - gone
    assert now == {pk: text for pk, text in wanted.items() if pk not in gone | emptied}
    assert all(before[pk].startswith("block") for pk in emptied)
