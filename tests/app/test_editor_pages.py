"""Editing memories: a draft on the server, one step at a time, with and without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from accounts.models import User
from memories import drafts, editing
from memories.draft_cards import whole
from memories.memory_file import change, file_for
from memories.models import Draft, Memory, MemoryBlock, MemoryFile
from sync.models import Character
from tests.support.builders import (
    make_block,
    make_character,
    make_chat,
    make_job,
    make_memory_file,
    make_proposal,
    make_tavern,
)
from tests.support.pages import soup, toast, words

HX = {"HX-Request": "true"}


@pytest.fixture
def seraphine(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


@pytest.fixture
def file(alice: User, seraphine: Character) -> MemoryFile:
    file = file_for(seraphine)
    editing.add_block(alice, file, "First descent", ["[Seraphine, Wren — The oath]", "Swore an oath.", "Lit a lamp."])
    file.refresh_from_db()
    editing.add_block(alice, file, "Second descent", ["[Seraphine — Habits]", "Drinks her tea cold.", "Counts steps."])
    file.refresh_from_db()
    return file


@pytest.fixture
def draft(alice: User, file: MemoryFile) -> Draft:
    return drafts.open_edit(alice, file)


def url(draft: Draft, rest: str = "") -> str:
    return f"/drafts/{draft.pk}/{rest}"


def hx(draft: Draft, query: str = "") -> dict[str, str]:
    """Headers of a request that the editing page makes."""
    return {**HX, "HX-Current-URL": f"http://testserver{url(draft)}{query}"}


def block_texts(draft: Draft) -> list[list[str]]:
    """The draft in file order, without topic tags."""
    draft.refresh_from_db()
    view = drafts.view(draft)
    return [[row.text for row in block.memories if not row.is_topic] for block in view.blocks(view.block_ids())]


def memory(draft: Draft, text: str) -> Any:
    view = drafts.view(draft)
    rows = [row for block in view.blocks(view.block_ids()) for row in block.memories]
    return next(row for row in rows if row.text == text)


def saved_texts(file: MemoryFile) -> list[list[str]]:
    return [[row.text for row in block.memories.all() if not row.is_topic] for block in file.blocks.order_by("order")]


def test_editing_begins_once_and_goes_on_from_another_device(
    alice_client: Client, alice: User, seraphine: Character, file: MemoryFile
) -> None:
    first = alice_client.get(f"/characters/{seraphine.pk}/edit/")
    assert first.status_code == 302
    elsewhere = Client()
    elsewhere.force_login(alice)
    assert elsewhere.get(f"/characters/{seraphine.pk}/edit/").url == first.url
    page = soup(alice_client.get(first.url))
    assert [words(card.h3) for card in page.select("article.card")] == ["Habits", "The oath"]
    assert "Nothing changed yet" in words(page.select_one("#edit-bar"))


def test_the_page_can_show_the_story_in_its_order(alice_client: Client, draft: Draft) -> None:
    page = soup(alice_client.get(url(draft, "?order=story")))
    assert [words(card.h3) for card in page.select("article.card")] == ["The oath", "Habits"]


def test_a_wording_is_changed_in_place_and_the_file_waits_for_save(
    alice_client: Client, draft: Draft, file: MemoryFile
) -> None:
    lamp = memory(draft, "Lit a lamp.")
    form = soup(alice_client.get(url(draft, f"memories/{lamp.id}/edit/"), headers=hx(draft)))
    assert form.textarea.text.strip() == "Lit a lamp."
    answer = alice_client.post(
        url(draft, f"memories/{lamp.id}/edit/"), {"text": "Lit the brass lamp."}, headers=hx(draft)
    )
    part = soup(answer)
    assert words(part.select_one(f"#m{lamp.id} .text")) == "Lit the brass lamp."
    assert "1 change not saved, on top of revision 2" in words(part.select_one("#edit-bar[hx-swap-oob]"))
    assert saved_texts(file)[0] == ["Swore an oath.", "Lit a lamp."]
    assert "Lit the brass lamp." in words(soup(alice_client.get(url(draft))))


def test_editing_one_bullet_among_ten_thousand_sends_and_receives_little(
    alice_client: Client, alice: User, seraphine: Character
) -> None:
    file = make_memory_file(
        seraphine, [(f"Chat {n}", [f"Fact {n}-{m} of the story." for m in range(40)]) for n in range(250)]
    )
    draft = drafts.open_edit(alice, file)
    page = alice_client.get(url(draft))
    assert 0 < len(soup(page).select("li[data-memory]")) <= 400
    row = memory(draft, "Fact 7-3 of the story.")
    answer = alice_client.post(url(draft, f"memories/{row.id}/edit/"), {"text": "Another fact."}, headers=hx(draft))
    assert len(answer.content) < 20_000


def test_a_block_longer_than_a_page_goes_on_over_several(
    alice_client: Client, alice: User, seraphine: Character
) -> None:
    file = make_memory_file(seraphine, [("Long", [f"Fact {n}." for n in range(500)])])
    draft = drafts.open_edit(alice, file)
    seen: list[str] = []
    for number in range(1, 10):
        page = soup(alice_client.get(url(draft, f"?page={number}")))
        rows = [words(row.select_one(".text")) for row in page.select("li[data-memory]")]
        assert len(rows) <= 400
        if rows[0] in seen:
            break
        seen += rows
    assert seen == [f"Fact {n}." for n in range(500)]


def test_without_javascript_every_step_is_a_form_that_leads_back(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    page = soup(alice_client.get(url(draft, f"memories/{lamp.id}/edit/")))
    form = page.select_one("main form[data-edit]")
    answer = alice_client.post(form["action"], {"text": "Lit two lamps."})
    assert answer.status_code == 302 and answer.url == f"{url(draft)}#m{lamp.id}"
    dialog = soup(alice_client.get(url(draft, f"memories/{lamp.id}/")))
    assert "Lit two lamps." in words(dialog.main)
    alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "up"})
    assert block_texts(draft)[0] == ["Lit two lamps.", "Swore an oath."]
    alice_client.post(url(draft, "undo/"))
    alice_client.post(url(draft, "undo/"))
    assert block_texts(draft)[0] == ["Swore an oath.", "Lit a lamp."]


def test_further_lines_become_memories_below(alice_client: Client, draft: Draft) -> None:
    oath = memory(draft, "Swore an oath.")
    alice_client.post(url(draft, f"memories/{oath.id}/edit/"), {"text": "Swore.\nOn brass.\n\n"}, headers=hx(draft))
    assert block_texts(draft)[0] == ["Swore.", "On brass.", "Lit a lamp."]
    assert draft.pointer == 1


def test_bullets_are_added_at_the_end_or_behind_another(alice_client: Client, draft: Draft) -> None:
    oath = memory(draft, "Swore an oath.")
    add = url(draft, f"blocks/{oath.block_id}/add/")
    alice_client.post(add, {"text": "Last."}, headers=hx(draft))
    alice_client.post(add, {"text": "Second.", "after": str(oath.id)}, headers=hx(draft))
    assert block_texts(draft)[0] == ["Swore an oath.", "Second.", "Lit a lamp.", "Last."]
    assert alice_client.post(add, {"text": "  "}, headers=hx(draft)).status_code == 422


def test_undo_and_redo_bring_the_touched_card_and_name_the_step(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "delete"}, headers=hx(draft))
    assert block_texts(draft)[0] == ["Swore an oath."]
    bar = soup(alice_client.get(url(draft))).select_one("#undo")
    assert bar["aria-label"] == "Undo: Deleted: Lit a lamp."
    part = soup(alice_client.post(url(draft, "undo/"), headers=hx(draft)))
    assert [words(row) for row in part.select(f"#b{lamp.block_id} .text")] == ["Swore an oath.", "Lit a lamp."]
    assert part.select_one("#redo")["aria-label"] == "Redo: Deleted: Lit a lamp."
    alice_client.post(url(draft, "redo/"), headers=hx(draft))
    assert block_texts(draft)[0] == ["Swore an oath."]


def test_a_block_that_loses_its_last_bullet_goes_and_the_list_is_renewed(alice_client: Client, draft: Draft) -> None:
    ids = [str(memory(draft, text).id) for text in ("Swore an oath.", "Lit a lamp.", "[Seraphine, Wren — The oath]")]
    answer = soup(alice_client.post(url(draft, "chosen/"), {"do": "delete", "memory": ids}, headers=hx(draft)))
    assert [words(card.h3) for card in answer.select("#cards article")] == ["Habits"]
    assert "3 memories deleted" in answer.select_one("#undo")["aria-label"]


def test_dragging_puts_a_bullet_before_or_behind_another_one_of_any_block(alice_client: Client, draft: Draft) -> None:
    lamp, tea = memory(draft, "Lit a lamp."), memory(draft, "Drinks her tea cold.")
    here = url(draft, f"memories/{lamp.id}/")
    answer = alice_client.post(
        here, {"do": "place", "block": str(tea.block_id), "after": str(tea.id)}, headers=hx(draft)
    )
    assert {card["id"] for card in soup(answer).select("article")} == {f"b{lamp.block_id}", f"b{tea.block_id}"}
    assert block_texts(draft) == [["Swore an oath."], ["Drinks her tea cold.", "Lit a lamp.", "Counts steps."]]
    alice_client.post(here, {"do": "place", "block": str(tea.block_id), "before": str(tea.id)}, headers=hx(draft))
    assert block_texts(draft)[1] == ["Lit a lamp.", "Drinks her tea cold.", "Counts steps."]


def test_blocks_move_as_the_page_shows_them(alice_client: Client, draft: Draft) -> None:
    view = drafts.view(draft)
    first, second = view.block_ids()
    alice_client.post(url(draft, f"blocks/{second}/"), {"do": "down"}, headers=hx(draft))
    assert drafts.view(Draft.objects.for_user(draft.owner).get(pk=draft.pk)).block_ids() == [second, first]
    alice_client.post(url(draft, f"blocks/{second}/"), {"do": "down"}, headers=hx(draft, "?order=story"))
    assert drafts.view(Draft.objects.for_user(draft.owner).get(pk=draft.pk)).block_ids() == [first, second]
    alice_client.post(url(draft, f"blocks/{first}/"), {"do": "place", "before": str(second)}, headers=hx(draft))
    assert drafts.view(Draft.objects.for_user(draft.owner).get(pk=draft.pk)).block_ids() == [second, first]


def test_topic_label_and_date_are_edited_together(alice_client: Client, draft: Draft) -> None:
    block = memory(draft, "Swore an oath.").block_id
    form = soup(alice_client.get(url(draft, f"blocks/{block}/edit/")))
    assert form.select_one("[name=topic]")["value"] == "The oath"
    assert form.select_one("[name=people]")["value"] == "Seraphine, Wren"
    wrong = {"topic": "Vow", "people": "Wren", "label": "Stairs", "date": "soon"}
    assert alice_client.post(url(draft, f"blocks/{block}/edit/"), wrong, headers=hx(draft)).status_code == 422
    answer = alice_client.post(
        url(draft, f"blocks/{block}/edit/"), {**wrong, "date": "2026-03-01 18:00"}, headers=hx(draft)
    )
    assert words(soup(answer).select_one(f"#b{block} h3")) == "Vow"
    seen = drafts.view(draft).block(block)
    assert (seen.label, seen.date) == ("Stairs", "2026-03-01 18:00")
    assert seen.memories[0].text == "[Wren — Vow]"


def test_a_block_is_split_and_merged_again(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "split"}, headers=hx(draft))
    assert block_texts(draft) == [["Swore an oath."], ["Lit a lamp."], ["Drinks her tea cold.", "Counts steps."]]
    upper = memory(draft, "Lit a lamp.").block_id
    alice_client.post(url(draft, f"blocks/{upper}/"), {"do": "merge"}, headers=hx(draft))
    assert block_texts(draft) == [["Swore an oath.", "Lit a lamp."], ["Drinks her tea cold.", "Counts steps."]]


def test_what_is_locked_says_so_and_stays(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    answer = alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "lock"}, headers=hx(draft))
    assert "locked" in words(soup(answer).select_one(f"#m{lamp.id} .flags"))
    answer = alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "delete"}, headers=hx(draft))
    assert "is locked" in words(soup(answer).select_one("[hx-swap-oob='beforeend:#toasts']"))
    assert "Lit a lamp." in block_texts(draft)[0]


def test_chosen_memories_are_merged_into_one_with_words_of_ones_own(alice_client: Client, draft: Draft) -> None:
    ids = [str(memory(draft, text).id) for text in ("Swore an oath.", "Lit a lamp.")]
    dialog = soup(alice_client.post(url(draft, "chosen/"), {"do": "merge", "memory": ids}))
    assert dialog.textarea.text.strip() == "Swore an oath. Lit a lamp."
    alice_client.post(url(draft, "chosen/"), {"do": "merge", "memory": ids, "text": "Swore by the lamp."})
    assert block_texts(draft)[0] == ["Swore by the lamp."]
    assert sorted(memory(draft, "Swore by the lamp.").parents) == sorted(ids)


def test_chosen_memories_give_their_blocks_another_label_in_one_step(alice_client: Client, draft: Draft) -> None:
    chosen = [str(memory(draft, text).id) for text in ("Lit a lamp.", "Swore an oath.", "Counts steps.")]
    asked = soup(alice_client.post(url(draft, "chosen/"), {"do": "label", "memory": chosen}, headers=hx(draft)))
    assert asked.select_one("[name=text]")["value"] == "First descent"
    sent = {"do": "label", "memory": chosen, "text": "The long way down"}
    alice_client.post(url(draft, "chosen/"), sent, headers=hx(draft))
    view = drafts.view(draft)
    assert [block.label for block in view.blocks(view.block_ids())] == ["The long way down"] * 2
    empty = alice_client.post(url(draft, "chosen/"), {**sent, "text": " "}, headers=hx(draft))
    assert "A label needs some text." in words(soup(empty))
    alice_client.post(url(draft, "undo/"), headers=hx(draft))
    draft.refresh_from_db()
    view = drafts.view(draft)
    assert [block.label for block in view.blocks(view.block_ids())] == ["First descent", "Second descent"]


def test_chosen_memories_move_to_a_new_block_and_copies_go_to_another_character(
    alice_client: Client, alice: User, draft: Draft, file: MemoryFile
) -> None:
    rook = make_character(file.character.tavern, "Rook")
    ids = [str(memory(draft, "Lit a lamp.").id), str(memory(draft, "Counts steps.").id)]
    asked = soup(alice_client.post(url(draft, "chosen/"), {"do": "move", "memory": ids}))
    assert {"new", f"character:{rook.pk}"} <= {box["value"] for box in asked.select("[name=target]")}
    alice_client.post(url(draft, "move/"), {"do": "move", "memory": ids, "target": "new"})
    assert ["Lit a lamp.", "Counts steps."] in block_texts(draft)
    found = soup(alice_client.post(url(draft, "move/"), {"do": "find", "memory": ids, "q": "roo"}))
    assert "character:" in found.select_one("[name=target]")["value"]
    alice_client.post(url(draft, "move/"), {"do": "copy", "memory": ids, "target": f"character:{rook.pk}"})
    assert "They arrive with Rook when you save." in words(toast(alice_client))
    alice_client.post(url(draft, "save/"))
    assert saved_texts(file_for(rook)) == [["Lit a lamp.", "Counts steps."]]
    alice_client.post(toast(alice_client).form["action"])
    assert saved_texts(file_for(rook)) == []
    assert saved_texts(file) == [["Swore an oath.", "Lit a lamp."], ["Drinks her tea cold.", "Counts steps."]]


def test_save_makes_one_revision_and_its_toast_takes_it_back(
    alice_client: Client, draft: Draft, file: MemoryFile
) -> None:
    for text, new in (("Lit a lamp.", "Lit two lamps."), ("Counts steps.", "Counts every step.")):
        alice_client.post(url(draft, f"memories/{memory(draft, text).id}/edit/"), {"text": new}, headers=hx(draft))
    before = file.revisions.count()
    answer = alice_client.post(url(draft, "save/"))
    assert answer.url == f"/characters/{file.character_id}/"
    assert file.revisions.count() == before + 1
    assert saved_texts(file) == [["Swore an oath.", "Lit two lamps."], ["Drinks her tea cold.", "Counts every step."]]
    said = toast(alice_client)
    assert "Saved as revision 3." in words(said)
    alice_client.post(said.form["action"])
    assert saved_texts(file)[0] == ["Swore an oath.", "Lit a lamp."]
    assert alice_client.get(url(draft)).status_code == 302


def test_leaving_keeps_the_steps_for_who_changes_their_mind(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    alice_client.post(url(draft, f"memories/{lamp.id}/edit/"), {"text": "Lit two lamps."}, headers=hx(draft))
    alice_client.post(url(draft, "leave/"))
    said = toast(alice_client)
    assert "Left without saving 1 change." in words(said)
    alice_client.post(said.form["action"])
    assert block_texts(draft)[0] == ["Swore an oath.", "Lit two lamps."]


def test_an_extraction_that_lands_meanwhile_stays_and_is_named(
    alice_client: Client, alice: User, draft: Draft, file: MemoryFile
) -> None:
    lamp = memory(draft, "Lit a lamp.")
    alice_client.post(url(draft, f"memories/{lamp.id}/edit/"), {"text": "Lit two lamps."}, headers=hx(draft))
    with change(file, reason="Extracted", job=make_job(alice)) as editor:
        editor.add_block("Third", ["[Seraphine — Sea]", "Sang."], origin="extracted")
    alice_client.post(url(draft, "save/"))
    assert saved_texts(file) == [
        ["Swore an oath.", "Lit two lamps."],
        ["Drinks her tea cold.", "Counts steps."],
        ["Sang."],
    ]
    assert "An extraction added 1 block meanwhile; it stays." in words(toast(alice_client))


@pytest.mark.parametrize(
    ("choice", "lines"),
    [
        ("mine", ["Swore an oath.", "Lit two lamps."]),
        ("theirs", ["Swore an oath.", "Lit a green lamp."]),
        ("both", ["Swore an oath.", "Lit a green lamp.", "Lit two lamps."]),
    ],
)
def test_a_block_changed_on_both_sides_is_put_to_the_person(
    alice_client: Client, alice: User, draft: Draft, file: MemoryFile, choice: str, lines: list[str]
) -> None:
    lamp = memory(draft, "Lit a lamp.")
    alice_client.post(url(draft, f"memories/{lamp.id}/edit/"), {"text": "Lit two lamps."}, headers=hx(draft))
    row = next(row for block in file.blocks.all() for row in block.memories.all() if row.pk == lamp.id)
    editing.edit_memory(alice, row, "Lit a green lamp.")
    answer = alice_client.post(url(draft, "save/"))
    assert answer.url == url(draft, "merge/")
    page = soup(alice_client.get(answer.url))
    assert words(page.h2) == "1 block changed while you were editing"
    sides = [words(side.select_one(".merge-text")) for side in page.select(".merge-side")]
    assert "two" in sides[0] and "green" in sides[1]
    alice_client.post(answer.url, {f"choice-{lamp.block_id}": choice})
    assert saved_texts(file)[0] == lines
    assert saved_texts(file)[1] == ["Drinks her tea cold.", "Counts steps."]


def test_filters_of_the_edit_find_by_word_participant_chat_origin_flag_and_day(
    alice_client: Client, alice: User, seraphine: Character
) -> None:
    file, well = make_memory_file(seraphine, []), make_chat(seraphine, 2, name="At the well")
    for day, who, text in (("01", "Seraphine, Wren", "Met at the well."), ("05", "Seraphine", "Swam alone.")):
        facts: dict[str, Any] = {"chat": well} if day == "01" else {"origin": "pinned"}
        block = make_block(file, f"Day {day}", [f"[{who} — Day]", text], date=f"2026-03-{day} 18:00", **facts)
        block.memories.filter(text__startswith="[").update(is_topic=True)
    draft = drafts.open_edit(alice, file)

    def shown(query: str) -> list[str]:
        return [words(row) for row in soup(alice_client.get(url(draft, query))).select("li[data-memory] .text")]

    assert shown("?q=well") == ["Met at the well."]
    assert shown("?participant=Wren") == ["Met at the well."]
    assert shown("?since=2026-03-02") == ["Swam alone."]
    assert shown("?until=2026-03-02") == ["Met at the well."]
    assert shown("?flag=locked") == []
    assert shown(f"?chat={well.pk}") == ["Met at the well."]
    assert shown("?origin=pinned") == ["Swam alone."]
    MemoryBlock.objects.for_user(alice).filter(origin="pinned").update(is_locked=True)
    rows = Memory.objects.for_user(alice).filter(text="Met at the well.")
    rows.update(is_unverified=True, is_source_changed=True)
    assert shown("?flag=locked") == ["Swam alone."]
    assert shown("?flag=unverified") == shown("?flag=changed") == ["Met at the well."]
    fields = {one["name"] for one in soup(alice_client.get(url(draft))).select(".draft-filter [name]")}
    assert {"q", "participant", "chat", "origin", "flag", "since", "until"} <= fields
    assert shown("") == ["Swam alone.", "Met at the well."]


def test_a_filter_keeps_to_itself_when_a_card_is_renewed(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    answer = alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "lock"}, headers=hx(draft, "?q=lamp"))
    assert [words(row) for row in soup(answer).select("li[data-memory] .text")] == ["Lit a lamp."]


def test_a_page_of_another_kind_gets_the_card_or_is_loaded_anew(alice_client: Client, draft: Draft) -> None:
    review = {**HX, "HX-Current-URL": "http://testserver/proposals/1/"}
    lamp = memory(draft, "Lit a lamp.")
    answer = alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "lock"}, headers=review)
    assert [card["id"] for card in soup(answer).select("article")] == [f"b{lamp.block_id}"]
    answer = alice_client.post(url(draft, f"blocks/{lamp.block_id}/"), {"do": "up"}, headers=review)
    assert answer.headers["HX-Refresh"] == "true"


def test_a_stale_page_hears_that_nothing_was_changed(alice_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "delete"}, headers=hx(draft))
    assert alice_client.post(url(draft, f"memories/{lamp.id}/"), {"do": "up"}, headers=hx(draft)).status_code == 404
    drafts.leave(draft)
    assert alice_client.post(url(draft, "undo/"), headers=hx(draft)).status_code == 404


def test_a_stranger_finds_no_draft(charlie_client: Client, draft: Draft) -> None:
    lamp = memory(draft, "Lit a lamp.")
    for rest in ("", "merge/", "add/", f"memories/{lamp.id}/", f"blocks/{lamp.block_id}/"):
        assert charlie_client.get(url(draft, rest)).status_code == 404
    assert charlie_client.post(url(draft, "chosen/"), {"do": "delete", "memory": str(lamp.id)}).status_code == 404


def test_texts_from_the_file_are_never_markup(alice_client: Client, alice: User, seraphine: Character) -> None:
    file = make_memory_file(seraphine, [("<b>label</b>", ["<script>alert(1)</script>"])])
    page = alice_client.get(url(drafts.open_edit(alice, file)))
    assert b"<script>alert(1)" not in page.content
    assert "<script>alert(1)</script>" in BeautifulSoup(page.content, "html.parser").get_text()


def test_cards_of_a_review_say_out_of_how_many_each_was_made(
    alice_client: Client, alice: User, file: MemoryFile
) -> None:
    result = drafts.start(alice, file, kind=Draft.Kind.CONSOLIDATION, title="Consolidated")
    with drafts.step(result, "Consolidated") as editor:
        made = editor.add_block("Merged", ["Swore by the lamp.", "Flew."], origin="consolidated")
    rows = {row.text: str(row.id) for row in drafts.view(result).block(made).memories}
    facts = {rows["Swore by the lamp."]: {"from": ["1", "2", "3"]}, rows["Flew."]: {"from": [], "is_invented": True}}
    make_proposal(file, result, report={"new": facts})
    card = whole(result, drafts.view(result), [made])[0]
    assert [one.note for one in card.bullets] == ["merged from 3", "not in any of the sources"]
    review = {**HX, "HX-Current-URL": "http://testserver/proposals/1/"}
    part = soup(
        alice_client.post(f"/drafts/{result.pk}/memories/{rows['Flew.']}/edit/", {"text": "Walked."}, headers=review)
    )
    assert "not in any of the sources" in words(part.select_one("li .flags"))
    assert part.select_one("input.check") is None


def test_nul_is_neither_kept_nor_asked_for(alice_client: Client, alice: User, draft: Draft) -> None:
    """PostgreSQL takes it nowhere, not even in a question."""
    memory = Memory.objects.for_user(alice).get(text="Lit a lamp.")
    alice_client.post(url(draft, f"memories/{memory.pk}/edit/"), {"text": "Lit a\x00 lantern."})
    step = draft.steps.get()
    assert (step.label, step.changes[0]["after"]["text"]) == ("Wording: Lit a lantern.", "Lit a lantern.")
    page = alice_client.post(url(draft, "move/"), {"memory": str(memory.pk), "q": "Sec\x00ond"}, headers=HX)
    assert [row.get_text() for row in soup(page).select("[name=q]")] == [""]
    assert soup(page).select_one("[name=q]")["value"] == "Second"  # type: ignore[index]
