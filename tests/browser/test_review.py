"""The review queues in a real browser: a phone with axe, and the keyboard alone; a quote that opens the reader."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from accounts.ownership import unscoped
from memories import memory_file, review
from memories.memory_file import NewMemory
from memories.models import Memory, MemoryFile
from tests.support.browsing import signed_in
from tests.support.builders import make_character, make_chat, make_tavern

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAIRS = [
    ("Only wardens may carry the brass lamp at night.", "Only wardens may carry the brass lamp by night."),
    ("Mira counted two hundred steps to the lamp room.", "Mira counted two hundred steps to the lamp-room."),
    ("The ferryman keeps a grey goose called Anselm.", "The ferryman keeps a grey goose called Anselm!"),
]


@pytest.fixture
def file(alice: User) -> MemoryFile:
    mira = make_character(make_tavern(alice), "Mira")
    chat = make_chat(mira, 240)
    source = chat.messages.get(index=230)
    item = {"identity": source.identity, "index": 230, "quote": source.text, "content": source.content}
    file = memory_file.file_for(mira)
    with memory_file.change(file, reason="test", author=alice) as editor:
        for side, date in ((0, "2026-01-01 10:00"), (1, "2026-02-01 10:00")):
            new = [NewMemory(pair[side], evidence=[item]) for pair in PAIRS]
            editor.add_block("Scene", new, date=date, origin="extracted", chat=chat)
    review.compare(file)
    return file


def texts(file: MemoryFile) -> set[str]:
    return set(Memory.objects.for_user(file.owner).values_list("text", flat=True))


def test_duplicates_are_reviewed_on_a_phone(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice, "phone") as seen:
        page = seen.open(f"/characters/{file.character_id}/review/duplicates/")
        expect(page.locator(".review-card")).to_have_count(3)
        assert (seen.violations(), seen.is_too_wide(), seen.troubles) == ([], 0, [])
        card = page.locator(".review-card").filter(has_text="goose")
        card.get_by_text("Make one of the two").click()
        card.get_by_label("The one memory").fill("The ferryman keeps a goose.")
        assert (seen.violations(), seen.is_too_wide(), seen.troubles) == ([], 0, [])
        card.get_by_role("button", name="Merge").click()
        expect(page.locator(".review-card")).to_have_count(2)
        assert "The ferryman keeps a goose." in texts(file)
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator(".review-card")).to_have_count(3)
        assert texts(file) == {text for pair in PAIRS for text in pair}


def test_a_queue_is_emptied_with_the_keyboard_alone(live_server: Any, alice: User, file: MemoryFile) -> None:
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/review/duplicates/")
        for left, answer in ((2, "1"), (1, "2"), (0, "3")):
            page.keyboard.press("j")
            page.keyboard.press(answer)
            expect(page.locator(".review-card")).to_have_count(left)
        expect(page.get_by_text("Nothing to review here")).to_be_visible()
    assert len(texts(file)) == 4


def test_a_wording_is_left_again_without_a_trace(live_server: Any, alice: User, file: MemoryFile) -> None:
    with unscoped("a doubt"):
        Memory.objects.for_user(alice).filter(block__file=file).update(is_unverified=True)
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/characters/{file.character_id}/review/unverified/")
        edit = page.locator(".review-card").first.get_by_role("link", name="Edit")
        edit.click()
        expect(page.locator(".review-edit textarea")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator(".review-edit textarea")).to_have_count(0)
        expect(edit).to_be_focused()


def test_a_quote_leads_to_its_message_which_is_in_view_and_marked(
    live_server: Any, alice: User, file: MemoryFile
) -> None:
    memory = Memory.objects.for_user(alice).get(text=PAIRS[0][0])
    with signed_in(live_server.url, alice) as seen:
        page = seen.open(f"/memories/{memory.pk}/")
        page.get_by_role("link", name="#230", exact=True).click()
        message = page.locator("#m230")
        expect(message).to_be_in_viewport()
        expect(message.locator("mark")).to_have_text("Line 230 of the story")
