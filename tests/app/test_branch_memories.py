"""What a branch remembers: what its parent knew up to the fork, and what happened in it since. Nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from accounts.models import User
from memories import memory_file, scope_change, scope_files
from memories.memory_file import file_for
from memories.models import Memory, MemoryFile, MemoryScope
from memories.scopes import end_of_line, file_of_reading, known_facts
from sync.models import Character, Chat, Message
from tests.support.branching import make_branch, remember, texts_in
from tests.support.builders import STORY_START, make_character, make_chat, make_group, make_tavern

EARLY, LATE = "Seraphine keeps the well.", "Seraphine lost the key."


@pytest.fixture
def sera(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


@pytest.fixture
def main(sera: Character) -> Chat:
    return make_chat(sera, 20, name="The long night")


def choose(character: Character, scope: str = "all", timeline: str = "branches") -> None:
    rows = MemoryScope.objects.for_user(character.tavern.owner)
    rows.update_or_create(character=character, defaults={"scope": scope, "timeline": timeline})


def told(sera: Character, main: Chat) -> MemoryFile:
    """The character's file knows something of message 3 and something of message 15."""
    file = file_for(sera)
    remember(file, main, EARLY, 3)
    remember(file, main, LATE, 15)
    return file


def test_by_itself_every_chat_and_branch_is_read_into_the_characters_file(sera: Character, main: Chat) -> None:
    branch = make_branch(main, 9)
    assert file_of_reading(sera, main) == file_of_reading(sera, branch) == file_for(sera)


def test_a_branch_begins_with_what_was_known_at_the_fork(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    file = file_of_reading(sera, branch)
    assert texts_in(file) == [EARLY]
    assert file.chat == branch
    assert texts_in(file_for(sera)) == [EARLY, LATE]
    assert [text for _id, text in known_facts(file, sera, branch)] == [EARLY]


def test_the_branch_is_renamed_first_and_keeps_its_memory(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    Chat.objects.for_user(sera.tavern.owner).filter(pk=branch.pk).update(name="Another title", path="chats/x.jsonl")
    Chat.objects.for_user(sera.tavern.owner).filter(pk=main.pk).update(name="Old main", path="chats/y.jsonl")
    branch.refresh_from_db()
    file = file_of_reading(sera, branch)
    assert texts_in(file) == [EARLY]
    Chat.objects.for_user(sera.tavern.owner).filter(pk=branch.pk).update(name="Third title")
    branch.refresh_from_db()
    assert file_of_reading(sera, branch) == file


def test_later_memories_of_either_side_stay_on_their_side(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    own = file_of_reading(sera, branch)
    remember(own, branch, "In the branch she found the key.", 11)
    remember(file_for(sera), main, "In the night she slept.", 17)
    assert texts_in(file_of_reading(sera, branch)) == [EARLY, "In the branch she found the key."]
    assert texts_in(file_of_reading(sera, main)) == [EARLY, LATE, "In the night she slept."]


def test_what_is_inherited_keeps_evidence_and_dates_and_counts_for_nothing_new(sera: Character, main: Chat) -> None:
    old = told(sera, main)
    user = sera.tavern.owner
    was = STORY_START - timedelta(days=30)
    Memory.objects.for_user(user).filter(block__file=old).update(created_at=was, is_locked=True)
    choose(sera)
    file = file_of_reading(sera, make_branch(main, 9))
    copy = Memory.objects.for_user(user).get(block__file=file, is_topic=False)
    original = Memory.objects.for_user(user).get(block__file=old, text=EARLY)
    assert (copy.evidence, copy.created_at, copy.is_locked) == (original.evidence, was, True)
    assert (copy.block.chat, copy.block.last_index, copy.block.date) == (main, 3, "2026-03-01 18:00")
    assert copy.pk != original.pk
    assert file.reviewed_version == -1  # the object in hand is not read again
    file.refresh_from_db()
    assert file.reviewed_version == file.version == 1
    assert "The long night" in file.revisions.get(number=1).reason


def test_it_is_inherited_once(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    file = file_of_reading(sera, branch)
    memory_file.clear(file, author=sera.tavern.owner)
    assert texts_in(file_of_reading(sera, branch)) == []


def test_two_workers_make_one_inheritance(sera: Character, main: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    known_in = scope_files.known_in

    def other_worker_is_faster(*args: object) -> set[str]:
        monkeypatch.setattr(scope_files, "known_in", known_in)
        assert texts_in(file_of_reading(sera, branch)) == [EARLY]
        return known_in(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(scope_files, "known_in", other_worker_is_faster)
    with transaction.atomic():
        file = file_of_reading(sera, branch)
        assert texts_in(file) == [EARLY]
    assert file.version == file.revisions.count() - 1 == 1


def test_a_branch_of_a_branch_inherits_from_its_own_line(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    first = make_branch(main, 9, 8)
    remember(file_of_reading(sera, first), first, "Eleven.", 11)
    remember(file_of_reading(sera, first), first, "Sixteen.", 16)
    second = make_branch(first, 12)
    assert texts_in(file_of_reading(sera, second)) == [EARLY, "Eleven."]
    third = make_branch(second, 5)
    assert texts_in(file_of_reading(sera, third)) == [EARLY]


def test_a_branch_of_a_branch_that_was_never_read_still_inherits(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    second = make_branch(make_branch(main, 9), 11)
    assert texts_in(file_of_reading(sera, second)) == [EARLY]


def test_a_message_deleted_above_the_fork_changes_nothing(sera: Character, main: Chat) -> None:
    """SillyTavern then shares fewer messages in a row; the messages themselves are the same."""
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    branch.messages.filter(index=1).delete()
    branch.fork_index = 0
    branch.save()
    assert texts_in(file_of_reading(sera, branch)) == [EARLY]


def test_a_stretch_that_passes_the_fork_is_not_inherited_without_evidence(sera: Character, main: Chat) -> None:
    file = file_for(sera)
    remember(file, main, "Nobody knows where.", first_index=5, last_index=12)
    remember(file, main, "Surely before.", first_index=0, last_index=4)
    choose(sera)
    assert texts_in(file_of_reading(sera, make_branch(main, 9))) == ["Surely before."]


def test_memories_without_a_chat_and_of_other_chats_come_along_when_they_are_older(sera: Character, main: Chat) -> None:
    file = file_for(sera)
    other = make_chat(sera, 90, name="Another evening")
    remember(file, None, "A note from before.", date="2026-03-01 18:30")
    remember(file, None, "A note from after.", date="2026-03-01 20:30")
    remember(file, other, "Elsewhere, before.", 30, date="2026-03-05 10:00")
    remember(file, other, "Elsewhere, after.", 80, date="2026-03-05 10:00")
    choose(sera)
    branch = make_branch(main, 9, after=60)
    assert texts_in(file_of_reading(sera, branch)) == ["A note from before.", "Elsewhere, before."]


def test_undated_messages_are_the_same_only_up_to_the_fork(sera: Character, main: Chat) -> None:
    """Very old chats have no dates: the fourteenth message is called alike in both lines, and is not the same."""
    told(sera, main)
    Message.objects.for_user(sera.tavern.owner).filter(chat=main).update(raw_date="")
    branch = make_branch(main, 9, 8)
    namesake = main.messages.get(index=15).identity
    branch.messages.filter(index=15).update(identity=namesake, raw_date="")
    choose(sera)
    assert texts_in(file_of_reading(sera, branch)) == [EARLY]


def test_one_memory_for_each_chat_is_isolated(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera, "chat", "shared")
    other = make_chat(sera, 5, name="Another evening")
    assert texts_in(file_of_reading(sera, other)) == []
    assert file_of_reading(sera, main).chat == main
    remember(file_of_reading(sera, main), main, "In the night.", 4)
    branch = make_branch(main, 9)
    assert texts_in(file_of_reading(sera, branch)) == ["In the night."]
    assert known_facts(file_of_reading(sera, other), sera, other) == []


def test_a_group_member_has_a_branch_of_its_own(sera: Character) -> None:
    group = make_group(sera.tavern, sera, make_character(sera.tavern, "Mike"))
    main = make_chat(group, 12, name="By the fire")
    remember(file_for(sera), main, EARLY, 3)
    remember(file_for(sera), main, LATE, 9)
    choose(sera)
    branch = make_branch(main, 6)
    assert texts_in(file_of_reading(sera, branch)) == [EARLY]
    mike = group.members.get(avatar="Mike.png").character
    assert mike is not None
    assert file_of_reading(mike, branch) == file_for(mike)


def test_a_parent_that_shrank_to_its_header_does_not_take_the_branchs_memory(sera: Character, main: Chat) -> None:
    told(sera, main)
    choose(sera)
    branch = make_branch(main, 9)
    file = file_of_reading(sera, branch)
    branch.fork_index = None
    branch.save()
    assert file_of_reading(sera, Chat.objects.for_user(sera.tavern.owner).get(pk=branch.pk)) == file


def test_what_lines_share_goes_into_the_line_it_lies_in(sera: Character, main: Chat) -> None:
    branch = make_branch(main, 9, 8)
    second = make_branch(branch, 13)
    choose(sera, timeline="shared")
    assert end_of_line(sera, second, 0, 16) == 16
    choose(sera)
    own = {one: file_of_reading(sera, one) for one in (main, branch, second)}
    assert {last: file_of_reading(sera, second, last) for last in (4, 9, 10, 13, 14)} == {
        **dict.fromkeys((4, 9), own[main]),
        **dict.fromkeys((10, 13), own[branch]),
        14: own[second],
    }
    assert [end_of_line(sera, second, first, 16) for first in (0, 9, 10, 13, 14)] == [9, 9, 13, 13, 16]
    assert end_of_line(sera, second, 0, 6) == 6 and end_of_line(sera, main, 0, 19) == 19
    choose(sera, timeline="shared")
    assert end_of_line(sera, second, 0, 16) == 16
    assert file_of_reading(sera, second, 14) == file_for(sera)


def test_a_circle_of_parents_ends(sera: Character, main: Chat) -> None:
    told(sera, main)
    branch = make_branch(main, 9)
    main.parent, main.fork_index = branch, 9
    main.save()
    choose(sera)
    assert file_of_reading(sera, Chat.objects.for_user(sera.tavern.owner).get(pk=branch.pk)).chat == branch
    assert end_of_line(sera, branch, 0, 12) == 9


def test_a_very_long_name_of_a_chat_still_makes_a_file_name(sera: Character) -> None:
    chat = make_chat(sera, 2, name="A night " * 50)
    choose(sera, "chat", "shared")
    name = file_of_reading(sera, chat).name
    assert len(name) <= 300
    assert name.endswith("-memories.md")


def test_whoever_only_spoke_in_a_group_chat_has_a_memory_of_it_too(alice: User, sera: Character) -> None:
    group = make_group(sera.tavern, make_character(sera.tavern, "Mike"))
    main = make_chat(group, 12, name="By the fire")
    remember(file_for(sera), main, LATE, 9)
    scope_change.choose(alice, sera, "chat", "shared")
    assert texts_in(file_of_reading(sera, main)) == [LATE]
    assert texts_in(file_for(sera)) == []
