"""Several characters with one memory: its text lies in the Data Bank of each, and an edit of one copy reaches all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import memory_file, mirrored, outside_text, pinning, scope_change, sharing, write_back
from memories.health import reach
from memories.memory_file import file_for
from memories.models import Activity, MemoryBlock, MemoryFile, MemoryShare
from memories.page_queries import tiles
from memories.scopes import file_of_reading, share_of
from sync import outbox
from sync.events import DatabankText, PassFinished
from sync.models import Attachment, Character, FileConflict
from tests.support.branching import texts_in
from tests.support.builders import make_character, make_chat
from tests.support.databank import link_folder, path_of, text_of

HERS, HIS = "Mara keeps the lighthouse.", "Bram keeps the lock."


@pytest.fixture
def mara(alice: User, tmp_path: Path, transactional_db: Any) -> Character:
    return make_character(link_folder(alice, tmp_path / "t"), "Mara")


@pytest.fixture
def bram(mara: Character) -> Character:
    return make_character(mara.tavern, "Bram")


@pytest.fixture
def written(alice: User, mara: Character, bram: Character) -> None:
    add(file_for(mara), HERS)
    add(file_for(bram), HIS)
    run_until_idle(alice)


def add(file: MemoryFile, text: str) -> None:
    with memory_file.change(file, reason="Extracted") as editor:
        editor.add_block("Pier", [text], date="2026-03-01 18:00", origin=MemoryBlock.Origin.EXTRACTED)


def at(character: Character) -> Attachment:
    """The Data Bank file of a character."""
    return Attachment.objects.for_user(character.tavern.owner).get(character=character)


def edit_outside(character: Character, old: str, new: str) -> None:
    """Somebody edits the copy in SillyTavern, and the mirror finds it."""
    path = path_of(at(character))
    text = path.read_text(encoding="utf-8").replace(old, new)
    path.write_text(text, encoding="utf-8")
    attachment = at(character)
    attachment.file_hash = outbox.hash_of(text)
    attachment.save()
    outside_text.hear(DatabankText(attachment.pk, text, True, False, attachment.written_hash))


def conflicts(user: User) -> list[FileConflict]:
    return list(FileConflict.objects.for_user(user).filter(decided_at__isnull=True))


@pytest.mark.usefixtures("written")
def test_both_remember_in_one_file_and_its_text_lies_in_both_data_banks(
    alice: User, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    assert file_of_reading(bram, make_chat(bram)) == file_of_reading(mara, make_chat(mara)) == file_for(mara)
    assert text_of(at(mara)) == text_of(at(bram)) == memory_file.render(file_for(mara))
    assert texts_in(file_for(bram)) == [HIS]
    add(file_for(mara), "Both saw the storm.")
    run_until_idle(alice)
    assert "Both saw the storm." in text_of(at(bram))
    assert HIS not in text_of(at(bram))


@pytest.mark.usefixtures("written")
def test_the_text_that_is_replaced_is_kept_beside(alice: User, mara: Character, bram: Character) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    assert any(HIS in one.read_text(encoding="utf-8") for one in outbox.copies_of(at(bram)))


@pytest.mark.usefixtures("written")
def test_an_edit_of_any_copy_reaches_all(alice: User, mara: Character, bram: Character) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    edit_outside(bram, HERS, "Mara left the lighthouse.")
    run_until_idle(alice)
    assert texts_in(file_for(mara)) == ["Mara left the lighthouse."]
    assert text_of(at(mara)) == text_of(at(bram)) == memory_file.render(file_for(mara))
    edit_outside(mara, "Mara left the lighthouse.", "Mara came back.")
    run_until_idle(alice)
    assert "Mara came back." in text_of(at(bram))
    assert not conflicts(alice)


@pytest.mark.usefixtures("written")
def test_edits_of_two_copies_at_once_are_a_question_and_nothing_is_lost(
    alice: User, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    edit_outside(mara, HERS, "Mara left.")
    edit_outside(bram, HERS, "Mara stayed.")
    run_until_idle(alice)
    (conflict,) = conflicts(alice)
    assert conflict.attachment == at(bram)
    assert ("Mara left." in conflict.ours, "Mara stayed." in conflict.theirs) == (True, True)
    assert "Mara stayed." in text_of(at(bram))
    file = file_for(mara)
    assert outside_text.open_conflict(file) == conflict
    outside_text.decide(alice, conflict, outside_text.THEIRS)
    run_until_idle(alice)
    assert texts_in(file_for(mara)) == ["Mara stayed."]
    assert text_of(at(mara)) == text_of(at(bram)) == memory_file.render(file_for(mara))


@pytest.mark.usefixtures("written")
def test_ours_kept_is_written_over_the_copy(
    alice: User, alice_client: Client, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    add(file_for(mara), "A newer one.")
    edit_outside(bram, HERS, "Mara stayed.")
    (conflict,) = conflicts(alice)
    assert "Mara stayed." in alice_client.get(f"/conflicts/{conflict.pk}/").content.decode()
    alice_client.post(f"/conflicts/{conflict.pk}/decide/", {"decision": "ours"})
    run_until_idle(alice)
    assert texts_in(file_for(mara)) == [HERS, "A newer one."]
    assert text_of(at(bram)) == text_of(at(mara))
    assert texts_in(file_for(bram)) == [HIS]


@pytest.mark.usefixtures("written")
def test_when_the_share_ends_its_own_memories_and_their_text_come_back(
    alice: User, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    found = share_of(bram)
    assert found is not None
    sharing.end(alice, found)
    run_until_idle(alice)
    assert file_of_reading(bram, make_chat(bram)) == file_for(bram)
    assert text_of(at(bram)) == memory_file.render(file_for(bram))
    assert HIS in text_of(at(bram))
    assert text_of(at(mara)) == memory_file.render(file_for(mara))
    edit_outside(bram, HIS, "Bram left the lock.")
    assert texts_in(file_for(bram)) == ["Bram left the lock."]
    assert texts_in(file_for(mara)) == [HERS]


def test_a_character_without_a_memory_gets_a_data_bank_file_and_keeps_it(
    alice: User, mara: Character, bram: Character
) -> None:
    add(file_for(mara), HERS)
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    assert at(bram).name == "Bram-memories.md"
    assert HERS in text_of(at(bram))
    found = share_of(bram)
    assert found is not None
    sharing.end(alice, found)
    run_until_idle(alice)
    assert text_of(at(bram)) == ""
    assert file_for(bram).attachment == at(bram)


@pytest.mark.usefixtures("written")
def test_its_memories_are_taken_along_once_and_given_back(alice: User, mara: Character, bram: Character) -> None:
    add(file_for(bram), HERS)
    found = sharing.preview(alice, bram, mara)
    assert (found.own, found.doubled, found.new) == (2, 1, 1)
    batch = sharing.share(alice, bram, mara, takes_along=True)
    assert sorted(texts_in(file_for(mara))) == sorted([HERS, HIS])
    sharing.undo(alice, bram, batch)
    assert texts_in(file_for(mara)) == [HERS]
    assert texts_in(file_for(bram)) == [HIS, HERS]
    assert share_of(bram) is None


@pytest.mark.usefixtures("written")
def test_a_pass_finds_a_copy_that_is_behind(alice: User, mara: Character, bram: Character) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    with memory_file.change(file_for(mara), reason="Extracted", writes_back=False) as editor:
        editor.add_block("Pier", ["Unseen."], origin="extracted")
    mirrored.note_written(file_for(mara), file_for(mara).version)
    Job.objects.for_user(alice).delete()  # nothing was tried just now
    write_back.sweep(PassFinished(mara.tavern_id, changed=True))
    run_until_idle(alice)
    assert "Unseen." in text_of(at(bram))


def test_what_cannot_be_shared_says_why(alice: User, mara: Character, bram: Character) -> None:
    ida = make_character(mara.tavern, "Ida")
    sharing.share(alice, bram, mara, takes_along=False)
    with pytest.raises(ValueError, match="shares a memory already"):
        sharing.share(alice, bram, ida, takes_along=False)
    with pytest.raises(ValueError, match="in another file itself"):
        sharing.share(alice, ida, bram, takes_along=False)
    with pytest.raises(ValueError, match="Others remember"):
        sharing.share(alice, mara, ida, takes_along=False)
    with pytest.raises(ValueError, match="End the sharing first"):
        scope_change.choose(alice, mara, "chat", "shared")
    scope_change.choose(alice, ida, "chat", "shared")
    other = make_character(mara.tavern, "Oda")
    with pytest.raises(ValueError, match="divided"):
        sharing.share(alice, other, ida, takes_along=False)
    assert MemoryShare.objects.for_user(alice).count() == 1


def test_the_pages_lead_through_it(alice: User, alice_client: Client, mara: Character, bram: Character) -> None:
    add(file_for(mara), HERS)
    add(file_for(bram), HIS)
    scope = f"/characters/{bram.pk}/memory/"
    assert "would remember in the file of Mara" in alice_client.get(f"{scope}share/?with={mara.pk}").content.decode()
    answer = alice_client.post(f"{scope}share/begin/", {"with": str(mara.pk), "takes": "on"})
    page = alice_client.get(f"/characters/{bram.pk}/").content.decode()
    assert HERS in page
    assert "shared with" in page
    assert HERS in alice_client.get(f"/characters/{bram.pk}/?q=lighthouse").content.decode()
    assert "Its own memory rests" in alice_client.get(scope).content.decode()
    assert "Let Bram remember for itself" in alice_client.get(f"/characters/{mara.pk}/memory/").content.decode()
    alice_client.post(next(iter(get_messages(answer.wsgi_request))).extra_tags)
    assert (share_of(bram), texts_in(file_for(mara))) == (None, [HERS])
    assert HIS in alice_client.get(f"/characters/{bram.pk}/").content.decode()


def test_what_a_person_writes_goes_into_the_shared_file(
    alice: User, alice_client: Client, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    alice_client.post(f"/characters/{bram.pk}/write/", {"topic": "The pier", "bullets": "Both know the pier."})
    pinning.pin(alice, [bram], ["Both hear the bell."])
    assert texts_in(file_for(mara)) == ["Both know the pier.", "Both hear the bell."]
    assert texts_in(file_for(bram)) == []
    edit = alice_client.get(f"/characters/{bram.pk}/edit/", follow=True)
    assert "Both know the pier." in edit.content.decode()


def test_ending_it_on_the_page_can_be_taken_back(
    alice: User, alice_client: Client, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    answer = alice_client.post(f"/characters/{bram.pk}/memory/share/end/")
    assert share_of(bram) is None
    alice_client.post(next(iter(get_messages(answer.wsgi_request))).extra_tags)
    assert share_of(bram) is not None


@pytest.mark.usefixtures("written")
def test_health_speaks_of_the_copy_in_its_own_data_bank(
    alice: User, alice_client: Client, mara: Character, bram: Character
) -> None:
    sharing.share(alice, bram, mara, takes_along=False)
    run_until_idle(alice)
    shown = {step.key: step.ok for step in reach(bram).steps}
    assert shown["file"]
    page = alice_client.get(f"/characters/{mara.pk}/memory/").content.decode()
    assert page.count("not in the Data Bank’s list yet") == 2
    assert "/db-add source=character name=&quot;Bram-memories.md&quot;" in page


@pytest.mark.usefixtures("written")
def test_the_grid_counts_the_shared_memories_for_both(alice: User, mara: Character, bram: Character) -> None:
    add(file_for(mara), "A second one.")
    assert {tile.character.name: tile.memories for tile in tiles(alice)} == {"Mara": 2, "Bram": 1}
    sharing.share(alice, bram, mara, takes_along=False)
    assert {tile.character.name: tile.memories for tile in tiles(alice)} == {"Mara": 2, "Bram": 2}


def test_the_log_says_what_was_chosen_without_a_word_of_a_memory(alice: User, mara: Character, bram: Character) -> None:
    add(file_for(bram), HIS)
    sharing.share(alice, bram, mara, takes_along=True)
    found = share_of(bram)
    assert found is not None
    sharing.end(alice, found)
    scope_change.choose(alice, bram, "chat", "shared")
    lines = list(
        Activity.objects.for_user(alice).filter(step="changed").order_by("pk").values_list("text", "character")
    )
    assert [text for text, _pk in lines] == [
        "It now remembers in the file of Mara.",
        "It remembers for itself again.",
        "Chosen: one memory for each chat. 0 files changed.",
    ]
    assert {pk for _text, pk in lines} == {bram.pk}
