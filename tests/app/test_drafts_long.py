"""An edit with many changes costs as many queries as one with few."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from memories import drafts, memory_file
from memories.memory_filters import Filters
from memories.models import Draft, MemoryFile
from tests.support.builders import make_character, make_tavern

BLOCKS = 30


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = memory_file.file_for(make_character(make_tavern(alice), "Seraphine"))
    with memory_file.change(file, reason="written", writes_back=False) as editor:
        for number in range(BLOCKS):
            tag = f"[Seraphine, {'Wren' if number % 2 else 'Tom'} — Day {number}]"
            editor.add_block(f"chat {number}", [tag, f"Lantern {number}.", f"Harbour {number}."], origin="written")
    return file


def reword(draft: Draft, blocks: int) -> None:
    """Reword the first bullet of the first blocks."""
    view = drafts.view(draft)
    for block in view.blocks(view.block_ids()[:blocks]):
        with drafts.step(draft, "reworded") as editor:
            editor.set_text(block.memories[1].id, f"Candle of {block.label}.")


def queries(draft: Draft, filters: Filters) -> int:
    with CaptureQueriesContext(connection) as asked:
        drafts.view(draft).listing(filters)
    return len(asked)


@pytest.mark.parametrize("filters", [Filters(), Filters(text="candle"), Filters(participant="Wren")])
def test_a_list_of_a_long_edit_asks_no_more_often(alice: User, file: MemoryFile, filters: Filters) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, 2)
    few = queries(draft, filters)
    reword(draft, BLOCKS)
    assert queries(draft, filters) <= few


def test_changed_bullets_are_counted_where_the_edit_has_them(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    reword(draft, BLOCKS)
    view = drafts.view(draft)
    first, second, third = (one.id for one in view.blocks(view.block_ids()[:3]))
    candle, topic = view.block(first).memories[1].id, view.block(third).memories[0].id
    with drafts.step(draft, "moved") as editor:
        editor.move_memories([candle], second)
        editor.set_text(topic, "No topic any more.")
    now = drafts.view(draft)
    assert now.listing(newest=False)[:4] == [(first, 1), (second, 3), (third, 3), (now.block_ids()[3], 2)]
    assert dict(now.listing(Filters(text="candle")))[second] == 2
    assert first not in dict(now.listing(Filters(text="candle")))
    assert third not in dict(now.listing(Filters(participant="Tom")))
