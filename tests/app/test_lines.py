"""The Data Bank file of a character follows the chat that is open.

What a branch remembers reaches its prompts, and what the other line says later does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import lines, memory_file, outside_text, prompts_seen, scope_change, write_back
from memories.health import reach
from memories.memory_file import file_for
from memories.models import Memory, MemoryLine, MemoryScope
from memories.scopes import file_of_reading
from sync import outbox
from sync.events import DatabankText, PassFinished
from sync.models import Attachment, Character, Chat, FileConflict
from tests.support.branching import make_branch, remember, texts_in
from tests.support.builders import make_character, make_chat
from tests.support.databank import link_folder, path_of, text_of

EARLY, LATE, OWN = "Mara keeps the lantern.", "Mara sold the lantern.", "Mara drowned the lantern."


@pytest.fixture
def mara(alice: User, tmp_path: Path, transactional_db: Any) -> Character:
    """Her branches remember their own past."""
    made = make_character(link_folder(alice, tmp_path / "t"), "Mara")
    MemoryScope.objects.create(character=made, timeline=MemoryScope.Timeline.BRANCHES)
    return Character.objects.for_user(alice).select_related("tavern__owner").get(pk=made.pk)


@pytest.fixture
def main(alice: User, mara: Character) -> Chat:
    made = make_chat(mara, 20, name="The long night")
    remember(file_for(mara), made, EARLY, 3)
    remember(file_for(mara), made, LATE, 15)
    run_until_idle(alice)
    return made


@pytest.fixture
def branch(main: Chat) -> Chat:
    return make_branch(main, 9)


def open_chat(character: Character, chat: Chat) -> None:
    """SillyTavern writes into the card which chat is open, and the next pass of the mirror reads it."""
    user = character.tavern.owner
    Character.objects.for_user(user).filter(pk=character.pk).update(current_chat=chat.name)
    lines.hear(PassFinished(character.tavern_id, changed=True))
    run_until_idle(user)


def shown(character: Character) -> str:
    """The text that lies in the character's Data Bank."""
    user = character.tavern.owner
    return text_of(Attachment.objects.for_user(user).get(character=character, is_ours=True, chat=None))


def test_an_open_branch_sees_the_past_it_shares_and_its_own_and_nothing_else(
    alice: User, mara: Character, main: Chat, branch: Chat
) -> None:
    assert LATE in shown(mara)
    open_chat(mara, branch)
    assert EARLY in shown(mara) and LATE not in shown(mara)
    remember(file_of_reading(mara, branch), branch, OWN, 11)
    run_until_idle(alice)
    assert OWN in shown(mara) and LATE not in shown(mara)
    open_chat(mara, main)
    assert LATE in shown(mara) and OWN not in shown(mara)
    assert not MemoryLine.objects.for_user(alice).exists()
    open_chat(mara, branch)
    assert OWN in shown(mara) and LATE not in shown(mara)
    assert texts_in(file_for(mara)) == [EARLY, LATE], "what is kept is not moved about"


def test_a_pass_that_finds_nothing_new_writes_nothing(alice: User, mara: Character, branch: Chat) -> None:
    open_chat(mara, branch)
    before = path_of(Attachment.objects.for_user(alice).get(character=mara, chat=None)).stat().st_mtime_ns
    open_chat(mara, branch)
    assert path_of(Attachment.objects.for_user(alice).get(character=mara, chat=None)).stat().st_mtime_ns == before


def test_an_edit_in_sillytavern_goes_to_the_line_that_stands_there(
    alice: User, mara: Character, main: Chat, branch: Chat
) -> None:
    open_chat(mara, branch)
    attachment = Attachment.objects.for_user(alice).get(character=mara, chat=None)
    text = shown(mara).replace(EARLY, "Mara keeps two lanterns.")
    path_of(attachment).write_text(text, encoding="utf-8")
    attachment.file_hash = outbox.hash_of(text)
    attachment.save()
    outside_text.hear(DatabankText(attachment.pk, text, True, False, attachment.written_hash))
    assert texts_in(file_of_reading(mara, branch)) == ["Mara keeps two lanterns."]
    assert texts_in(file_for(mara)) == [EARLY, LATE]
    assert not FileConflict.objects.for_user(alice).exists()


def test_health_speaks_of_what_stands_there(alice: User, mara: Character, branch: Chat) -> None:
    open_chat(mara, branch)
    found = reach(mara)
    assert found.file == file_of_reading(mara, branch)
    assert "file" not in [step.key for step in found.missing]
    MemoryLine.objects.for_user(alice).filter(character=mara).update(written_version=-1)
    assert "file" in [step.key for step in reach(mara).missing], "the line is not written yet"


def test_a_memory_of_the_branch_is_recognised_in_a_prompt(alice: User, mara: Character, branch: Chat) -> None:
    open_chat(mara, branch)
    remember(file_of_reading(mara, branch), branch, OWN, 11)
    run_until_idle(alice)
    assert prompts_seen.note_seen(mara.tavern, mara.avatar, f"Related: {LATE}") == []
    assert prompts_seen.note_seen(mara.tavern, mara.avatar, f"Related: {OWN}")


def test_one_shared_timeline_and_memories_of_single_chats_are_not_moved(
    alice: User, mara: Character, branch: Chat
) -> None:
    open_chat(mara, branch)
    scope_change.choose(alice, mara, "all", "shared")
    run_until_idle(alice)
    assert LATE in shown(mara)
    scope_change.choose(alice, mara, "all", "branches")
    run_until_idle(alice)
    assert LATE not in shown(mara)
    scope_change.choose(alice, mara, "chat", "branches")
    run_until_idle(alice)
    assert not MemoryLine.objects.for_user(alice).exists()


def test_a_branch_that_is_forgotten_gives_the_place_back(alice: User, mara: Character, branch: Chat) -> None:
    open_chat(mara, branch)
    file_of_reading(mara, branch).delete()
    Job.objects.for_user(alice).delete()  # minutes later, when what was tried just now may be tried again
    write_back.sweep(PassFinished(mara.tavern_id, changed=True))
    run_until_idle(alice)
    assert LATE in shown(mara)


def test_the_page_says_which_line_stands_there(
    alice: User, alice_client: Client, mara: Character, branch: Chat
) -> None:
    open_chat(mara, branch)
    page = alice_client.get(f"/characters/{mara.pk}/memory/").content.decode()
    assert "This chat is open in SillyTavern" in page
    assert "It comes back into the Data Bank" in page


def test_a_character_without_branches_is_told_nothing_of_lines(
    alice: User, alice_client: Client, mara: Character, main: Chat
) -> None:
    open_chat(mara, main)
    page = alice_client.get(f"/characters/{mara.pk}/memory/").content.decode()
    assert "It stands in the character’s Data Bank" not in page
    assert Memory.objects.for_user(alice).filter(text=EARLY).count() == 1
    assert memory_file.render(file_for(mara)) == shown(mara)
