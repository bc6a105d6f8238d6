"""One character: memories as cards, editing them with and without JavaScript, evidence."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories import editing
from memories.memory_file import change, file_for
from memories.models import Memory, MemoryBlock, MemoryFile
from memories.views.bullets import new_place
from memories.watermark import mark_read
from sync.models import Character, Message
from tests.support.builders import (
    make_attachment,
    make_block,
    make_call,
    make_character,
    make_chat,
    make_conflict,
    make_job,
    make_memory_file,
    make_tavern,
)
from tests.support.pages import catch_extractions, soup, toast, words

HX = {"HX-Request": "true"}


@pytest.fixture
def seraphine(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


@pytest.fixture
def file(alice: User, seraphine: Character) -> MemoryFile:
    """Two blocks with a topic each, made through the verbs so that undo has a history."""
    file = file_for(seraphine)
    editing.add_block(alice, file, "First descent", ["[Seraphine — The lantern oath]", "Swore an oath.", "Lit a lamp."])
    file.refresh_from_db()
    editing.add_block(alice, file, "Second descent", ["[Seraphine — Small habits]", "Drinks her tea cold."])
    file.refresh_from_db()
    return file


def texts(file: MemoryFile) -> list[str]:
    return [row.text for block in file.blocks.all() for row in block.memories.filter(is_topic=False)]


def find(file: MemoryFile, text: str) -> Memory:
    return next(row for block in file.blocks.all() for row in block.memories.all() if row.text == text)


def test_cards_stand_newest_first_with_their_topic_as_headline(
    alice_client: Client, seraphine: Character, file: MemoryFile
) -> None:
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/"))
    assert [words(card.h3) for card in page.select("article.card")] == ["Small habits", "The lantern oath"]
    assert [words(item) for item in page.select("li.bullet .text")] == [
        "Drinks her tea cold.",
        "Swore an oath.",
        "Lit a lamp.",
    ]
    assert "3 in 2 blocks" in words(page.select_one("dl.facts"))


def test_a_card_names_the_others_of_its_topic_but_no_words_that_are_no_names(
    alice: User, alice_client: Client, seraphine: Character, file: MemoryFile
) -> None:
    for tag in ("[Seraphine, Wren, 白川ゆき — The well]", "[Seraphine, topic, or … — The well]"):
        file.refresh_from_db()
        editing.add_block(alice, file, "By the well", [tag, "Drew water."])
    newest, older, *_rest = soup(alice_client.get(f"/characters/{seraphine.pk}/")).select(".card-meta")
    assert "with Wren, 白川ゆき" in words(older)
    assert "with" not in words(newest).split()


def test_each_memory_has_a_page_of_its_own_that_works_without_javascript(
    alice_client: Client, seraphine: Character, file: MemoryFile
) -> None:
    memory = find(file, "Swore an oath.")
    card = soup(alice_client.get(f"/characters/{seraphine.pk}/")).select_one(f"#m{memory.pk}")
    page = soup(alice_client.get(card.select_one("a.icon-btn")["href"]))
    assert words(page.select_one(".memory-text")) == "Swore an oath."
    forms = {form["action"] for form in page.select("main form[method=post]")}
    assert forms == {f"/memories/{memory.pk}/{what}/" for what in ("move", "lock", "delete")}
    assert page.select_one(f'main a[href="/memories/{memory.pk}/edit/"]')


def test_the_drawer_holds_the_same_part_as_the_page(alice_client: Client, file: MemoryFile) -> None:
    url = f"/memories/{find(file, 'Swore an oath.').pk}/"
    page, drawer = soup(alice_client.get(url)), soup(alice_client.get(url, headers=HX))
    assert drawer.html is None
    assert words(drawer.select_one(".evidence-top")) == words(page.select_one(".evidence-top"))


def test_editing_a_memory_changes_it_and_can_be_taken_back_after_a_reload(
    alice_client: Client, seraphine: Character, file: MemoryFile
) -> None:
    memory = find(file, "Swore an oath.")
    form = soup(alice_client.get(f"/memories/{memory.pk}/edit/")).select_one("form.edit-box")
    assert form.textarea.get_text().strip() == "Swore an oath."
    alice_client.post(form["action"], {"text": "Swore it\non the brass lantern."})
    assert texts(file)[0] == "Swore it on the brass lantern."
    undo = toast(alice_client).select_one("form")["action"]
    alice_client.get(f"/characters/{seraphine.pk}/")
    alice_client.post(undo)
    assert texts(file)[0] == "Swore an oath."


def test_of_two_who_edit_one_memory_the_second_sees_what_the_first_wrote(
    alice_client: Client, file: MemoryFile
) -> None:
    memory = find(file, "Swore an oath.")
    url = f"/memories/{memory.pk}/edit/"
    seen = soup(alice_client.get(url)).select_one("[name=seen]")["value"]
    alice_client.post(url, {"text": "Swore it on the lantern.", "seen": seen})
    answer = soup(alice_client.post(url, {"text": "Swore it at night.", "seen": seen}, headers=HX), 422)
    assert words(answer.select_one(".error")) == (
        "Meanwhile this memory was changed to “Swore it on the lantern.”. Save again to put your wording in its place."
    )
    assert answer.textarea.get_text().strip() == "Swore it at night."
    assert texts(file)[0] == "Swore it on the lantern."
    alice_client.post(url, {"text": "Swore it at night.", "seen": answer.select_one("[name=seen]")["value"]})
    assert texts(file)[0] == "Swore it at night."


def test_an_empty_wording_is_refused_in_words(alice_client: Client, file: MemoryFile) -> None:
    memory = find(file, "Swore an oath.")
    answer = alice_client.post(f"/memories/{memory.pk}/edit/", {"text": "  "}, headers=HX)
    assert "required" in words(soup(answer, 422).select_one(".error"))
    assert texts(file)[0] == "Swore an oath."


def test_deleting_says_so_and_offers_undo(alice_client: Client, file: MemoryFile) -> None:
    alice_client.post(f"/memories/{find(file, 'Lit a lamp.').pk}/delete/")
    assert texts(file) == ["Swore an oath.", "Drinks her tea cold."]
    said = toast(alice_client)
    assert "Memory deleted." in words(said)
    with change(file_for(file.character), reason="extracted") as editor:
        editor.add_block("A new chat", ["Sold the lamp."], origin="extracted")
    alice_client.post(said.select_one("form")["action"])
    assert texts(file) == ["Swore an oath.", "Lit a lamp.", "Drinks her tea cold.", "Sold the lamp."]


def test_a_block_gets_one_more_memory_and_can_be_deleted(alice_client: Client, file: MemoryFile) -> None:
    block = find(file, "Lit a lamp.").block
    alice_client.post(f"/blocks/{block.pk}/add/", {"text": "Counted the steps."})
    assert texts(file)[:3] == ["Swore an oath.", "Lit a lamp.", "Counted the steps."]
    alice_client.post(f"/blocks/{block.pk}/delete/")
    assert texts(file) == ["Drinks her tea cold."]


def test_memories_and_blocks_move_up_and_down(alice_client: Client, seraphine: Character, file: MemoryFile) -> None:
    memory = find(file, "Lit a lamp.")
    alice_client.post(f"/memories/{memory.pk}/move/", {"to": "up"})
    assert texts(file)[:2] == ["Lit a lamp.", "Swore an oath."]
    assert find(file, "[Seraphine — The lantern oath]").order == 0
    alice_client.post(f"/memories/{memory.pk}/move/", {"before": ""})
    assert texts(file)[:2] == ["Swore an oath.", "Lit a lamp."]
    alice_client.post(f"/blocks/{memory.block_id}/move/", {"to": "up"})
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/"))
    assert [words(card.h3) for card in page.select("article.card")] == ["The lantern oath", "Small habits"]


@pytest.mark.parametrize(
    ("wish", "place"),
    [({"to": "up"}, 1), ({"to": "down"}, 3), ({"before": "a"}, 0), ({"before": "gone"}, 3), ({"before": ""}, 3)],
)
def test_where_a_moved_memory_goes(wish: dict[str, str], place: int) -> None:
    assert new_place(["a", "b", "c", "d"], "c", wish) == place  # type: ignore[list-item, arg-type]


def test_a_block_written_by_hand_has_a_topic_and_a_line_for_each_memory(
    alice_client: Client, seraphine: Character
) -> None:
    answer = {"topic": "The [brass] lamp", "bullets": "- Burns blue.\n\n* Was her sister’s."}
    alice_client.post(f"/characters/{seraphine.pk}/write/", answer)
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/"))
    assert words(page.select_one("article.card h3")) == "The (brass) lamp"
    assert [words(item) for item in page.select("li.bullet .text")] == ["Burns blue.", "Was her sister’s."]
    assert "written" in words(page.select_one("article.card .badge"))


def test_filters_find_words_flags_chats_and_origins(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 4, name="Tea with the tide")
    file = make_memory_file(seraphine, [("A", ["Keeps a lantern.", "Fears the sea."])])
    other = make_block(file, "B", ["Sold the catalogue."], chat=chat, origin=MemoryBlock.Origin.IMPORTED, order=1)
    other.memories.update(is_unverified=True, unverified_names=["Maren"])

    def shown(query: str) -> list[str]:
        page = soup(alice_client.get(f"/characters/{seraphine.pk}/?{query}"))
        return [words(item) for item in page.select("li.bullet .text")]

    assert shown("q=LANTERN") == ["Keeps a lantern."]
    assert shown("flag=unverified") == ["Sold the catalogue."]
    assert shown(f"chat={chat.pk}") == ["Sold the catalogue."]
    assert shown("origin=extracted") == ["Keeps a lantern.", "Fears the sea."]
    assert shown("flag=nonsense&chat=nonsense&origin=nonsense") == [
        "Sold the catalogue.",
        "Keeps a lantern.",
        "Fears the sea.",
    ]
    assert shown("q=nowhere") == []


def test_filters_know_who_takes_part_and_which_day_it_was(alice_client: Client, seraphine: Character) -> None:
    file = make_memory_file(seraphine, [])
    for day, who, text in (
        ("2026-03-01 18:00", "Seraphine, Wren", "Met at the well."),
        ("2026-03-05 09:00", "Seraphine", "Swam alone."),
        ("2026-03-02 09:00 to 2026-03-08 09:00", "Seraphine, Maren", "Sailed for a week."),
    ):
        block = make_block(file, f"Day {day}", [f"[{who} — Day]", text], date=day, order=len(file.blocks.all()))
        block.memories.filter(text__startswith="[").update(is_topic=True)

    def shown(query: str) -> list[str]:
        page = soup(alice_client.get(f"/characters/{seraphine.pk}/?{query}"))
        return [words(item) for item in page.select("li.bullet .text")]

    assert shown("participant=Wren") == ["Met at the well."]
    assert shown("since=2026-03-06") == ["Sailed for a week."]
    assert shown("until=2026-03-01") == ["Met at the well."]
    assert shown("since=2026-03-05&until=2026-03-05") == ["Sailed for a week.", "Swam alone."]
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/"))
    assert [words(one) for one in page.select("select[name=participant] option")] == ["Anybody", "Maren", "Wren"]


def test_the_page_leads_to_the_edit_and_keeps_the_filters(alice_client: Client, file: MemoryFile) -> None:
    page = soup(alice_client.get(f"/characters/{file.character_id}/"))
    link = page.select_one(f"a[href='/characters/{file.character_id}/edit/']")
    assert words(link) == "Edit"
    assert alice_client.get(f"{link['href']}?q=lamp").url.endswith("/?q=lamp")
    assert page.select_one(f"#hero-menu a[href='/characters/{file.character_id}/clear/']")


def test_locks_are_set_and_taken_off_in_the_drawers(alice_client: Client, file: MemoryFile) -> None:
    lamp = find(file, "Lit a lamp.")
    alice_client.post(f"/memories/{lamp.pk}/lock/", {"to": "lock"})
    alice_client.post(f"/memories/{lamp.pk}/delete/")
    assert "locked" in words(toast(alice_client))
    assert "Lit a lamp." in texts(file)
    alice_client.post(f"/memories/{lamp.pk}/lock/", {"to": "unlock"})
    alice_client.post(f"/blocks/{lamp.block_id}/lock/", {"to": "lock"})
    alice_client.post(f"/memories/{lamp.pk}/delete/")
    assert "Lit a lamp." in texts(file)
    drawer = soup(alice_client.get(f"/blocks/{lamp.block_id}/"))
    assert words(drawer.select_one("[name=to][value=unlock]")) == "Unlock"


def test_a_block_longer_than_a_page_is_not_cut(alice_client: Client, seraphine: Character) -> None:
    make_memory_file(seraphine, [("Long", [f"Fact {n}." for n in range(500)])])
    seen: list[str] = []
    for number in range(1, 6):
        page = soup(alice_client.get(f"/characters/{seraphine.pk}/?page={number}"))
        seen += [words(item) for item in page.select("li.bullet .text")]
    assert seen == [f"Fact {n}." for n in range(500)]


def test_ten_thousand_memories_stay_a_page_of_at_most_400_rows(alice_client: Client, seraphine: Character) -> None:
    file = make_memory_file(seraphine, [])
    blocks = [MemoryBlock(file=file, label=f"Block {n}", order=n) for n in range(500)]
    MemoryBlock.objects.bulk_create(blocks)
    Memory.objects.bulk_create(
        (Memory(block=block, text=f"Memory {n} of {block.label}", order=n) for block in blocks for n in range(20)),
        batch_size=500,
    )
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/"))
    assert 0 < len(page.select("li.bullet")) <= 400
    assert "1 of 84" in words(page.select_one("nav.pager"))
    last = soup(alice_client.get(f"/characters/{seraphine.pk}/?page=84"))
    assert "Memory 0 of Block 0" in words(last.select_one("#cards"))


def test_evidence_quotes_the_messages_and_names_model_job_and_cost(alice: User, alice_client: Client) -> None:
    seraphine = make_character(make_tavern(alice), "Seraphine")
    chat = make_chat(seraphine, ["Hello.", "Two hands, she says, and gives you the lantern. Do not stop."])
    message = Message.objects.for_user(alice).get(chat=chat, index=1)
    file = make_memory_file(seraphine, [])
    job, call = make_job(alice, label="Extract Seraphine"), make_call(alice)
    block = make_block(
        file, "A", ["She let Wren carry the lantern."], chat=chat, first_index=0, last_index=1, job=job, call=call,
        prompt_version="7",
    )  # fmt: skip
    evidence = [
        {"identity": message.identity, "index": 1, "quote": "gives you the lantern"},
        {"identity": "gone", "index": 9, "quote": ""},
    ]
    block.memories.update(evidence=evidence)
    page = soup(alice_client.get(f"/memories/{block.memories.get().pk}/"))
    assert words(page.select_one(".quote mark")) == "gives you the lantern"
    assert page.select_one(".quote a")["href"].startswith(f"/chats/{chat.pk}/?at=1")
    assert "1 message is gone from the chat" in words(page.select_one(".evidence-verdict"))
    made = words(page.select_one("dl.pairs"))
    assert "small" in made and "Prompt 7" in made and "Extract Seraphine" in made and "900 + 80 tokens, 0.2 ¢" in made


def test_extract_starts_one_job_and_a_running_one_shows_its_bar(
    alice: User, alice_client: Client, seraphine: Character, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_chat(seraphine, 6)
    started = catch_extractions(monkeypatch, "characters")
    button = soup(alice_client.get(f"/characters/{seraphine.pk}/")).select_one("button.is-primary")
    assert words(button) == "Extract 6 messages"
    alice_client.post(button.find_parent("form")["action"])
    assert started == [("Seraphine", "")]
    make_job(alice, subject=f"character:{seraphine.pk}", state="running", step=2, doing="Third descent")
    live = soup(alice_client.get(f"/characters/{seraphine.pk}/live/?tab=memories&version={file.version}", headers=HX))
    assert live.progress["value"] == "2"
    assert live.select_one("#hero-live")["hx-trigger"] == "every 2s"
    assert live.select_one("#cards") is None
    newer = soup(alice_client.get(f"/characters/{seraphine.pk}/live/?tab=memories&version=0", headers=HX))
    assert newer.select_one("#cards")["hx-swap-oob"] == "true"


def test_without_memories_the_page_says_what_to_do_next(
    alice: User, alice_client: Client, seraphine: Character
) -> None:
    make_chat(seraphine, 6)
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/"))
    assert "There are 6 messages in 1 chat that nobody has read." in words(page.select_one(".empty"))
    assert words(page.select_one(".empty .is-primary")) == "Choose a model first"


def test_when_everything_is_read_and_nothing_remembered_it_offers_to_read_again(
    alice: User, alice_client: Client, seraphine: Character
) -> None:
    chat = make_chat(seraphine, 6)
    mark_read(alice, chat, seraphine, 5)
    empty = soup(alice_client.get(f"/characters/{seraphine.pk}/")).select_one(".empty")
    assert "Every message counts as read, and nothing of it is remembered" in words(empty)
    page = soup(alice_client.get(empty.select_one("a")["href"]))  # type: ignore[union-attr]
    assert "6 messages that were read are unread again" in words(page)
    alice_client.post(f"/characters/{seraphine.pk}/reset/", {"do": "again", "whose": str(seraphine.pk)})
    assert "There are 6 messages in 1 chat" in words(soup(alice_client.get(f"/characters/{seraphine.pk}/")))


def test_health_names_each_step_with_the_setting_to_change(
    alice: User, alice_client: Client, seraphine: Character, file: MemoryFile
) -> None:
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/health/"))
    assert "for files”" in words(page.select_one(".checks"))
    attachment = make_attachment(seraphine, is_registered=False)
    MemoryFile.objects.for_user(alice).filter(pk=file.pk).update(attachment=attachment)
    page = soup(alice_client.get(f"/characters/{seraphine.pk}/health/"))
    assert page.select_one("textarea#paste").get_text().strip().startswith("/db-add")
    assert page.select_one(f'form[action="/files/{file.pk}/rebuild/"]')


def test_a_file_name_of_ones_own_has_no_slashes(alice_client: Client, seraphine: Character, file: MemoryFile) -> None:
    url = f"/characters/{seraphine.pk}/settings/"
    refused = soup(alice_client.post(url, {"name": "../secrets.json"}))
    assert "no slashes" in words(refused.select_one(".error"))
    alice_client.post(url, {"name": "seraphine-remembers.md"})
    file.refresh_from_db()
    assert file.name == "seraphine-remembers.md"
    assert soup(alice_client.get(url)).select_one(f'a[href="/characters/{seraphine.pk}/layout/"]')


def test_a_file_that_was_changed_in_two_places_is_a_question_on_the_page(
    alice_client: Client, seraphine: Character, file: MemoryFile
) -> None:
    url = f"/characters/{seraphine.pk}/"
    assert soup(alice_client.get(url)).select_one("p.notice") is None
    file.attachment = make_attachment(seraphine)
    file.save(update_fields=["attachment"])
    conflict = make_conflict(file.attachment)
    link = soup(alice_client.get(url)).select_one("p.notice a")
    assert link["href"] == f"/conflicts/{conflict.pk}/"


def test_strangers_get_404_everywhere(charlie_client: Client, seraphine: Character, file: MemoryFile) -> None:
    memory = find(file, "Swore an oath.")
    for url in (
        f"/characters/{seraphine.pk}/",
        f"/characters/{seraphine.pk}/live/",
        f"/characters/{seraphine.pk}/write/",
        f"/characters/{seraphine.pk}/health/",
        f"/characters/{seraphine.pk}/settings/",
        f"/blocks/{memory.block_id}/",
        f"/blocks/{memory.block_id}/add/",
        f"/memories/{memory.pk}/",
        f"/memories/{memory.pk}/edit/",
    ):
        assert charlie_client.get(url).status_code == 404, url
    for url in (
        f"/characters/{seraphine.pk}/extract/",
        f"/characters/{seraphine.pk}/undo/",
        f"/blocks/{memory.block_id}/delete/",
        f"/blocks/{memory.block_id}/move/",
        f"/memories/{memory.pk}/delete/",
        f"/memories/{memory.pk}/move/",
    ):
        assert charlie_client.post(url, {"to": "up"}).status_code == 404, url
    assert len(texts(file)) == 3


def test_the_number_of_queries_does_not_grow_with_memories(
    alice_client: Client, seraphine: Character, django_assert_max_num_queries: Any
) -> None:
    make_memory_file(seraphine, [(f"Block {n}", ["One.", "Two."]) for n in range(40)])
    with django_assert_max_num_queries(36):
        alice_client.get(f"/characters/{seraphine.pk}/")
