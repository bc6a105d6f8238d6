"""A curated file is locked as a whole: nothing that is in it is replaced, new memories still come."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from memories import editing, locking, memory_file
from memories.models import Memory, MemoryBlock
from tests.support.builders import make_character, make_tavern

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(alice: User) -> memory_file.MemoryFile:
    made = memory_file.file_for(make_character(make_tavern(alice), "Flux"))
    with memory_file.change(made, reason="Written") as editor:
        for topic in ("The tower", "The quay"):
            editor.add_block(topic, [f"{topic} is old.", f"{topic} is closed."], origin=MemoryBlock.Origin.WRITTEN)
    return made


def texts(user: User) -> list[str]:
    return list(Memory.objects.for_user(user).order_by("block__order", "order").values_list("text", flat=True))


def test_a_locked_file_keeps_its_words_and_takes_new_ones(alice: User, file: memory_file.MemoryFile) -> None:
    locking.lock_file(alice, file, is_locked=True)
    before = texts(alice)
    assert locking.count_locked(alice, file) == len(before) == 4
    for memory in Memory.objects.for_user(alice):
        with pytest.raises(ValueError, match="locked"):
            editing.edit_memory(alice, memory, "Something else.")
    with memory_file.change(file, reason="Extracted") as editor:
        editor.add_block("The pier", ["The pier burned."], origin=MemoryBlock.Origin.EXTRACTED)
    assert texts(alice) == [*before, "The pier burned."]
    assert locking.count_locked(alice, file) == 4, "what comes later is not locked"


def test_unlocking_frees_single_bullets_too_and_is_taken_back_as_one(alice: User, file: memory_file.MemoryFile) -> None:
    locking.lock_memory(alice, Memory.objects.for_user(alice).order_by("order")[0], is_locked=True)
    locking.lock_file(alice, file, is_locked=True)
    revision = locking.lock_file(alice, file, is_locked=False)
    assert revision is not None and locking.count_locked(alice, file) == 0
    assert locking.lock_file(alice, file, is_locked=False) is None, "it is so already"
    file.refresh_from_db()
    editing.undo(alice, file, revision.number)
    assert locking.count_locked(alice, file) == 4


def test_the_page_locks_one_file_and_strangers_find_nothing(
    alice: User, alice_client: Client, bob_client: Client, file: memory_file.MemoryFile
) -> None:
    url = f"/characters/{file.character_id}/lock/"
    assert bob_client.post(url, {"file": str(file.pk)}).status_code == 404
    assert locking.count_locked(alice, file) == 0
    page = alice_client.post(url, {"file": str(file.pk)}, follow=True)
    assert locking.count_locked(alice, file) == 4
    assert "4 memories are locked" in page.content.decode()
    alice_client.post(url, {"file": str(file.pk), "to": "unlock"})
    assert locking.count_locked(alice, file) == 0
