"""A memory file that belongs to one chat: every page of a character reaches it beside the character's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from memories import drafts, editing
from memories.memory_file import file_for, render
from memories.models import MemoryFile, Proposal
from tests.support.builders import make_block, make_character, make_chat, make_connection, make_tavern
from tests.support.consolidating import Merger
from tests.support.pages import soup, toast, words


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture
def own(alice: User) -> MemoryFile:
    file = file_for(make_character(make_tavern(alice), "Seraphine"))
    editing.add_block(alice, file, "Descent", ["[Seraphine — The oath]", "Swore an oath."])
    return file


@pytest.fixture
def other(alice: User, own: MemoryFile) -> MemoryFile:
    file = file_for(own.character, make_chat(own.character, 2, name="By the fire"))
    for night in ("First fire", "Second fire"):
        file.refresh_from_db()
        editing.add_block(alice, file, night, [f"[Seraphine — {night}]", f"Burned a letter, {night.lower()}."])
    file.refresh_from_db()
    return file


def test_the_page_shows_all_files_or_one(alice_client: Client, own: MemoryFile, other: MemoryFile) -> None:
    url = f"/characters/{own.character_id}/"
    page = soup(alice_client.get(url))
    assert len(page.select("article.card")) == 3
    links = page.select("nav.segments a")
    assert [words(link) for link in links] == ["All files", own.name, "By the fire"]
    one = soup(alice_client.get(url + links[2]["href"]))
    assert [words(card.h3) for card in one.select("article.card")] == ["Second fire", "First fire"]
    assert one.select_one("form.facets [name=file]")["value"] == str(other.pk)


def test_it_is_edited_and_undone_from_there(alice_client: Client, own: MemoryFile, other: MemoryFile) -> None:
    before = render(own)
    page = soup(alice_client.get(f"/characters/{own.character_id}/?file={other.pk}"))
    answer = alice_client.get(page.select_one("[data-key=e]")["href"], follow=True)
    assert "By the fire" in words(soup(answer).select_one("#edit-bar"))
    alice_client.post(page.select_one("form[action*=undo]")["action"])
    assert [block.label for block in other.blocks.all()] == ["First fire"]
    assert render(own) == before


def test_only_its_blocks_are_consolidated(
    alice: User, alice_client: Client, own: MemoryFile, other: MemoryFile, fake: Merger
) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    page = soup(alice_client.get(f"/characters/{own.character_id}/consolidate/?file={other.pk}"))
    form = page.select_one("form#choice")
    fields = {one["name"]: one["value"] for one in form.select("input[type=hidden]") if one["name"] != "only"}
    ticks = [one["value"] for one in form.select("[name=block]")]
    assert len(ticks) == 2 and fields["file"] == str(other.pk)
    price = soup(alice_client.post(f"/characters/{own.character_id}/consolidate/price/", {**fields, "block": ticks}))
    assert "2 memories in 2 blocks" in words(price)
    alice_client.post(f"/characters/{own.character_id}/consolidate/", {**fields, "block": ticks})
    run_until_idle(alice)
    proposal = Proposal.objects.for_user(alice).get()
    before = render(own)
    alice_client.post(f"/proposals/{proposal.pk}/apply/")
    assert (proposal.file, render(own)) == (other, before)
    assert {block.origin for block in other.blocks.all()} == {"consolidated"}


def test_it_has_a_layout_of_its_own(alice_client: Client, own: MemoryFile, other: MemoryFile) -> None:
    before = render(own)
    url = f"/characters/{own.character_id}/layout/"
    settings = soup(alice_client.get(f"/characters/{own.character_id}/settings/"))
    assert settings.select_one(f"a[href='{url}?file={other.pk}']") is not None
    page = soup(alice_client.get(f"{url}?file={other.pk}"))
    assert "By the fire" in words(page.select_one("main"))
    assert page.select_one("form [name=file]")["value"] == str(other.pk)
    answer = alice_client.post(url, {"file": other.pk, "layout": "bullet", "scope": "all"})
    assert answer.url == f"{url}?file={other.pk}"
    other.refresh_from_db()
    assert (other.layout, render(own)) == ("bullet", before)


def test_several_files_are_cleared_and_brought_back_together(
    alice_client: Client, own: MemoryFile, other: MemoryFile
) -> None:
    before = render(own), render(other)
    alice_client.post(f"/characters/{own.character_id}/clear/", {"file": [str(own.pk), str(other.pk)]})
    assert not own.blocks.exists() and not other.blocks.exists()
    undo = toast(alice_client).select_one("form")["action"]
    alice_client.post(undo)
    assert (render(own), render(other)) == before


def test_memories_are_sent_to_a_chat_that_has_no_file_yet(alice: User, alice_client: Client, own: MemoryFile) -> None:
    chat = make_chat(own.character, 2, name="By the fire")
    make_chat(make_character(own.character.tavern, "Rook"), 2, name="By the river")
    draft = drafts.open_edit(alice, own)
    memory = own.blocks.get().memories.get(text="Swore an oath.")
    url = f"/drafts/{draft.pk}/move/"
    page = soup(alice_client.get(url, {"memory": str(memory.pk), "q": "fire"}))
    assert page.select_one(f"[name=target][value='chat:{chat.pk}']") is not None
    river = soup(alice_client.get(url, {"memory": str(memory.pk), "q": "river"}))
    assert [words(one) for one in river.select(".place")] == ["Rook By the river"]
    alice_client.post(url, {"memory": str(memory.pk), "target": f"chat:{chat.pk}", "do": "copy"})
    alice_client.post(f"/drafts/{draft.pk}/save/")
    made = MemoryFile.objects.for_user(alice).get(chat=chat)
    assert (made.character, "- Swore an oath." in render(made)) == (own.character, True)


def test_a_strangers_file_is_not_found(alice_client: Client, bob: User, own: MemoryFile) -> None:
    his = file_for(make_character(make_tavern(bob), "Seraphine"))
    make_block(his, "Secret", ["Hid a key."])
    for page in ("", "consolidate/", "layout/", "edit/"):
        assert alice_client.get(f"/characters/{own.character_id}/{page}?file={his.pk}").status_code == 404, page
    draft = drafts.open_edit(own.owner, own)
    chat = make_chat(his.character, 2)
    sent = {"memory": str(own.blocks.get().memories.first().pk), "target": f"chat:{chat.pk}", "do": "copy"}
    assert alice_client.post(f"/drafts/{draft.pk}/move/", sent).status_code == 404
    assert not MemoryFile.objects.for_user(bob).filter(chat=chat).exists()


def test_it_is_sorted_copied_into_and_imported_into(
    alice: User, alice_client: Client, own: MemoryFile, other: MemoryFile
) -> None:
    before = render(own)
    page = soup(alice_client.get(f"/characters/{own.character_id}/?file={other.pk}"))
    links = [one["href"] for one in page.select("#hero-menu a") if str(other.pk) in one["href"]]
    assert {one.strip("/").split("/")[-2] for one in links} >= {"import", "copy", "reformat"}
    assert f"/replace/?file={other.pk}" in links
    url = f"/characters/{own.character_id}"
    sorting = soup(alice_client.get(f"{url}/reformat/?file={other.pk}"))
    assert len(sorting.select("[name=block]")) == 2
    alice_client.post(f"{url}/copy/", {"file": str(other.pk), "source": str(own.pk), "mode": "merge"})
    assert "Swore an oath." in render(other)
    answer = alice_client.post(f"{url}/import/", {"file": str(other.pk), "text": "Wren lit a second fire."})
    alice_client.post(f"{answer.url}import/save/")
    assert "Wren lit a second fire." in render(other)
    assert render(own) == before
