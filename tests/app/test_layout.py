"""Layouts of a memory file: preview and chunks, the whole file or only new blocks, reading what was written."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories import layouts
from memories.blocks import Format, parse, parse_memories
from memories.file_state import format_of
from memories.layouts import change_layout, cut, preview
from memories.memory_file import change, file_for, import_text, render
from memories.models import MemoryFile
from sync.models import Character
from sync.tavern.chunks import ChunkSettings
from tests.support.story import make_character

BULLETS = ["[Flux, Alex — the tower]", "Flux promised Alex not to climb.", "Alex keeps [x] - y."]
PREFIXED = Format("bullet", "\n\n", True)


@pytest.fixture
def flux(alice: User) -> Character:
    return make_character(alice)


@pytest.fixture
def file(flux: Character) -> MemoryFile:
    made = file_for(flux)
    add(made, "first chat", "2026-03-01 18:00")
    add(made, "second ] chat", "2026-03-02 19:00")
    return made


def add(file: MemoryFile, label: str, date: str) -> None:
    with change(file, reason="written") as editor:
        editor.add_block(label, BULLETS, date=date, origin="written")


def read(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.chat, one.date, one.bullets) for one in parse(text).blocks]


@pytest.mark.parametrize(
    "form", [Format(), Format("bullet"), PREFIXED, Format("custom", "\n\n%%%\n\n"), Format("custom", "\n%%%\n", True)]
)
def test_every_layout_is_one_revision_and_reads_back_the_same(alice: User, file: MemoryFile, form: Format) -> None:
    before, version = read(render(file)), file.version
    change_layout(alice, file, form)
    text = render(file)
    assert read(text) == before
    assert [one.bullets for one in parse_memories(text)] == [tuple(BULLETS)] * 2
    assert parse(text, form).loose == ()
    assert file.version == version + (form != Format())
    assert change_layout(alice, file, form) is None


def test_the_prefix_names_date_and_chat(alice: User, file: MemoryFile) -> None:
    change_layout(alice, file, PREFIXED)
    assert "\n\n[2026-03-01 18:00 | first chat] - Flux promised Alex not to climb.\n\n" in render(file)


def test_only_new_memories_get_the_new_layout(alice: User, file: MemoryFile) -> None:
    before = render(file)
    change_layout(alice, file, PREFIXED, only_new=True)
    assert render(file) == before
    add(file, "third chat", "2026-03-03 20:00")
    text = render(file)
    assert text.startswith(before.rstrip())
    assert "[2026-03-03 20:00 | third chat] - Flux promised" in text
    assert "[2026-03-01 18:00 | first chat] - " not in text
    assert len(read(text)) == 3
    change_layout(alice, file, PREFIXED)
    assert render(file).count("] - Flux promised") == 3


def test_what_is_read_back_from_a_mixed_file_changes_nothing(alice: User, file: MemoryFile) -> None:
    change_layout(alice, file, Format("custom", "\n\n%%%\n\n"), only_new=True)
    add(file, "third chat", "2026-03-03 20:00")
    add(file, "fourth chat", "2026-03-04 20:00")
    text = render(file)
    assert "\n\n%%%\n\n" in text
    assert import_text(file, text, reason="read") is None


def test_an_edit_outside_of_a_mixed_file_takes_no_separator_for_text(alice: User, file: MemoryFile) -> None:
    change_layout(alice, file, Format("custom", "\n\n%%%\n\n"))
    change_layout(alice, file, Format("bullet"), only_new=True)
    add(file, "third chat", "2026-03-03 20:00")
    import_text(
        file, render(file).replace("- Flux promised Alex not to climb.", "- Flux will not climb.", 1), reason="x"
    )
    assert file.loose_text == []
    assert "Flux will not climb." in render(file)
    assert "\n\n%%%\n\n" in render(file)


def test_a_layout_is_undone_with_its_forms(alice: User, file: MemoryFile, alice_client: Client) -> None:
    before = render(file)
    change_layout(alice, file, Format("bullet"))
    alice_client.post(f"/characters/{file.character_id}/undo/?revision={file.version}")
    file.refresh_from_db()
    assert (render(file), format_of(file)) == (before, Format())


def test_the_page_shows_another_layout_without_changing_anything(alice_client: Client, file: MemoryFile) -> None:
    url, before = f"/characters/{file.character_id}/layout/", render(file)
    page = alice_client.get(url, {"layout": "bullet", "metadata": "on"}).content.decode()
    assert "nothing is changed until you save" in page
    assert "[2026-03-01 18:00 | first chat] - Flux promised" in page
    assert "71.3 %, 4,082 letters" in page
    file.refresh_from_db()
    assert render(file) == before


def test_saving_on_the_page(alice_client: Client, file: MemoryFile) -> None:
    url = f"/characters/{file.character_id}/layout/"
    said = {"layout": "custom", "separator": " ", "scope": "all"}
    refused = alice_client.post(url, said)
    assert refused.status_code == 422
    assert b"Type the separator" in refused.content
    assert b"cannot hold" in alice_client.post(url, {**said, "separator": "<memory"}).content
    page = alice_client.post(url, {**said, "separator": "%%%"}, follow=True).content.decode()
    assert f"/characters/{file.character_id}/undo/?revision=" in page
    file.refresh_from_db()
    assert "</memory>\n\n%%%\n\n<memory" in render(file)
    MemoryFile.objects.for_user(file.owner).filter(pk=file.pk).update(separator="\n***\n")
    alice_client.post(url, {**said, "separator": "***"})
    file.refresh_from_db()
    assert file.separator == "\n***\n"
    page = alice_client.post(url, {**said, "separator": "***"}, follow=True).content.decode()
    assert "written like that already" in page


def test_without_memories_a_sample_is_shown_and_no_file_is_made(
    alice: User, flux: Character, alice_client: Client
) -> None:
    page = alice_client.get(f"/characters/{flux.pk}/layout/").content.decode()
    assert "two invented scenes" in page
    assert not MemoryFile.objects.for_user(alice).exists()


def test_chunks_say_what_they_cut_apart(file: MemoryFile) -> None:
    text = render(file)
    one = cut(text, ChunkSettings())
    assert (one.chunks, one.is_whole, one.blocks, one.split_blocks, one.cut_bullets) == (1, True, 2, 0, 0)
    small = cut(text, ChunkSettings(threshold_kb=0, chunk_size=60))
    assert small.split_blocks == 2
    assert small.shown[0].goes_on
    assert small.cut_bullets == 0
    tiny = cut(text, ChunkSettings(threshold_kb=0, chunk_size=20))
    assert tiny.cut_bullets == 6
    assert any(piece.cuts_bullet for piece in tiny.shown)
    overlapping = cut(text, ChunkSettings(threshold_kb=0, chunk_size=80, overlap_percent=25))
    assert overlapping.chunks > 1


def test_the_advised_settings_give_one_memory_a_chunk(alice: User, file: MemoryFile) -> None:
    vectors = {"force_chunk_delimiter": "\n\n", "only_custom_boundary": True, "chunk_count_db": 40}
    found = preview(file, Format("bullet"), vectors).cutting
    assert found.chunks == 6
    assert {piece.bullets for piece in found.shown} == {1}
    assert all(wish.is_ok for wish in layouts.wishes(vectors))
    assert not any(wish.is_ok for wish in layouts.wishes({}))
