"""The pages of an import: choose, check, save, and the warning while the original is injected too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import User
from jobs.drain import run_until_idle
from memories import copying
from memories.memory_file import file_for, render
from memories.models import MemoryFile, Proposal
from tests.app.test_conversion import NOTES
from tests.support.builders import make_attachment, make_block
from tests.support.pages import soup, words
from tests.support.story import make_character


@pytest.fixture
def file(alice: User) -> MemoryFile:
    return file_for(make_character(alice))


@pytest.fixture
def client(alice: User, client: Client) -> Client:
    client.force_login(alice)
    return client


def upload(client: Client, file: MemoryFile, data: bytes = NOTES.encode(), name: str = "notes.md") -> Any:
    url = reverse("memories:import_text", args=[file.character_id])
    return client.post(url, {"upload": SimpleUploadedFile(name, data)}, follow=True)


def proposal_of(file: MemoryFile) -> Proposal:
    return Proposal.objects.for_user(file.owner).latest("created_at")


def test_an_upload_is_shown_with_what_is_left_over_and_saved(client: Client, file: MemoryFile) -> None:
    page = upload(client, file).content.decode()
    assert "11 lines became 5 memories" in page
    assert "3 are left over" in page
    assert "a tag that never ends" in page
    assert "lines 12–13" in page
    found = proposal_of(file)
    answer = client.post(reverse("memories:import_save", args=[found.pk]), follow=True)
    assert "notes.md is imported" in answer.content.decode()
    assert "- only wardens carry it lit" in render(file)


def test_a_long_list_comes_in_pages_of_few_rows(client: Client, file: MemoryFile) -> None:
    lines = "\n".join(f"* Fact number {n} about the harbour." for n in range(1200))
    seen: list[str] = []
    page = soup(upload(client, file, lines.encode()))
    for _page in range(40):
        rows = page.select("li[data-memory]")
        seen += [words(row.select_one(".text")) for row in rows]
        assert 0 < len(rows) + len(page.select("ol.lines li")) <= 400
        following = page.select_one("nav.pager a[rel=next]")
        if following is None:
            break
        page = soup(client.get(reverse("memories:proposal", args=[proposal_of(file).pk]) + following["href"]))
    assert seen == [f"Fact number {n} about the harbour." for n in range(1200)]


def test_pasted_text_and_left_over_lines(client: Client, file: MemoryFile) -> None:
    url = reverse("memories:import_text", args=[file.character_id])
    client.post(url, {"text": NOTES})
    found = proposal_of(file)
    lines = reverse("memories:import_lines", args=[found.pk])
    page = client.post(lines, {"line": "0", "add": "yes"}, follow=True).content.decode()
    assert "1 line added as a memory." in page
    page = client.post(lines, {"all": "yes"}, follow=True).content.decode()
    assert "2 lines left out." in page
    assert "left over" not in page


def test_nothing_chosen_is_told(client: Client, file: MemoryFile) -> None:
    answer = client.post(reverse("memories:import_text", args=[file.character_id]), {"text": "  "})
    assert answer.status_code == 422
    assert "Choose a file or paste some text first. Nothing was imported." in answer.content.decode()


def test_a_picture_is_refused_with_a_sentence(client: Client, file: MemoryFile) -> None:
    page = upload(client, file, b"\x89PNG" + bytes(range(256)) * 8, "card.png").content.decode()
    assert "card.png is not a text file. Save it as text, Markdown, JSON or CSV; nothing was imported." in page


def test_the_original_is_warned_about_until_it_is_switched_off(client: Client, file: MemoryFile) -> None:
    attachment = make_attachment(file.character, "notes.md", is_registered=True, is_ours=False)
    upload(client, file)
    found = proposal_of(file)
    page = client.post(reverse("memories:import_save", args=[found.pk]), follow=True).content.decode()
    assert "notes.md still reaches the prompt too" in page
    assert "Press its Disable button." in page
    attachment.is_disabled = True
    attachment.save()
    page = client.get(reverse("memories:proposal", args=[found.pk])).content.decode()
    assert "still reaches the prompt" not in page


def test_another_format_and_step_back(client: Client, file: MemoryFile) -> None:
    upload(client, file)
    first = proposal_of(file)
    page = client.post(reverse("memories:import_again", args=[first.pk]), {"format": "freeform"}, follow=True)
    assert "Plain text" in page.content.decode()
    second = proposal_of(file)
    back = client.post(reverse("memories:import_back", args=[second.pk]))
    assert back.headers["Location"] == reverse("memories:proposal", args=[first.pk])


def test_the_result_goes_into_a_data_bank_file_of_its_own(client: Client, file: MemoryFile) -> None:
    upload(client, file)
    found = proposal_of(file)
    url = reverse("memories:import_save", args=[found.pk])
    page = client.post(url, {"target": "new", "name": "People"}, follow=True).content.decode()
    assert "People.md is being written to the Data Bank." in page
    assert render(file) == ""
    made = file.character.attachments.get(name="People.md")
    run_until_idle(file.owner)
    assert made.is_ours


def test_tidying_up_has_a_page(client: Client, file: MemoryFile) -> None:
    block = make_block(file, "The vet", ["Flux was brave."])
    url = reverse("memories:reformat", args=[file.character_id])
    assert "1 without a topic" in client.get(url).content.decode()
    page = client.post(url, {"block": str(block.pk), "by": "rules"}, follow=True).content.decode()
    assert "1 memory in 1 new block" in page
    client.post(reverse("memories:import_save", args=[proposal_of(file).pk]))
    assert f"- [{file.character.name} — The vet]" in render(file)


def test_copying_takes_a_block_that_repeats_once(file: MemoryFile, alice: User) -> None:
    other = file_for(make_character(alice, "Bram"))
    for order in (1, 2):
        make_block(other, "Twice", ["Wren waited."], date="2026-03-01 10:00", order=order)
    make_block(other, "Once", ["Wren left."], order=3)
    done = copying.copy(alice, other, file)
    assert (done.added, done.skipped) == (2, 1)
    assert copying.copy(alice, other, file).revision is None


def test_copying_merges_or_replaces_and_is_one_revision(client: Client, file: MemoryFile, alice: User) -> None:
    other = file_for(make_character(alice, "Bram"))
    make_block(other, "One", ["Bram baked."], date="2026-01-01 10:00")
    make_block(other, "Two", ["Bram sailed."], date="2026-01-02 10:00")
    make_block(file, "One", ["Bram baked."], date="2026-01-01 10:00")
    make_block(file, "Own", ["Flux slept."], date="2026-01-03 10:00")
    url = reverse("memories:copy_memories", args=[file.character_id])
    page = client.post(url, {"source": str(other.pk), "mode": "merge"}, follow=True).content.decode()
    assert "1 block copied. 1 was here already." in page
    assert [block.label for block in file.blocks.all()] == ["One", "Own", "Two"]
    done = copying.copy(alice, other, file, mode="replace")
    assert [block.label for block in file.blocks.all()] == ["One", "Two"]
    assert done.revision is not None
    page = client.post(url, {"source": str(other.pk), "mode": "merge"}, follow=True).content.decode()
    assert "Everything is here already; nothing was copied." in page


def test_a_large_upload_is_taken_from_people_who_are_signed_in_only(file: MemoryFile, alice: User) -> None:
    url = reverse("memories:import_text", args=[file.character_id])
    big = SimpleUploadedFile("big.md", b"- Flux slept well that night.\n" * 100_000)
    stranger = Client().post(url, {"upload": big})
    assert stranger.status_code == 413
    person = Client()
    person.force_login(alice)
    big.seek(0)
    assert person.post(url, {"upload": big}).status_code == 302
    big.seek(0)
    assert person.post(reverse("memories:pin_new"), {"upload": big}).status_code == 413


def test_two_sides_are_merged_and_the_import_counts_as_saved(client: Client, file: MemoryFile) -> None:
    block = make_block(file, "The vet", ["Flux was brave."])
    url = reverse("memories:reformat", args=[file.character_id])
    client.post(url, {"block": str(block.pk), "by": "rules"})
    found = proposal_of(file)
    memory = block.memories.get()
    client.post(reverse("memories:edit_memory", args=[memory.pk]), {"text": "Flux was very brave."})
    answer = client.post(reverse("memories:import_save", args=[found.pk]))
    assert answer.headers["Location"] == reverse("memories:draft_merge", args=[found.draft_id])
    assert "Flux was very brave." in render(file)


def test_the_data_bank_list_names_formats_and_files_of_everywhere(
    client: Client, file: MemoryFile, tmp_path: Path
) -> None:
    tavern = file.character.tavern
    tavern.folder = str(tmp_path)
    tavern.save()
    (tmp_path / "user" / "files").mkdir(parents=True)
    (tmp_path / "settings.json").write_text("{}", encoding="utf-8")
    for number, (name, text, fields) in enumerate(
        [
            ("old.md", "## Memory 1\n- Flux slept.", {}),
            ("world.md", "- one\n- two\n- three", {"scope": "global", "avatar": ""}),
        ]
    ):
        url = f"/user/files/{number}.txt"
        (tmp_path / "user" / "files" / f"{number}.txt").write_text(text, encoding="utf-8")
        make_attachment(file.character, name, url=url, is_registered=True, is_ours=False, file_present=True, **fields)
    page = client.get(reverse("memories:import_text", args=[file.character_id])).content.decode()
    assert "older form, can be converted" in page
    assert "Bullet list" in page
    wanted = file.character.tavern.attachments.get(name="world.md")
    client.post(reverse("memories:import_text", args=[file.character_id]), {"attachment": str(wanted.pk)})
    assert proposal_of(file).params["attachment"] == str(wanted.pk)
