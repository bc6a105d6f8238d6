"""Which memory a character's chats have in common: chosen, shown before it is done, and taken back."""

from __future__ import annotations

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from jobs.models import Job
from memories import ancestors, memory_file, scope_change
from memories.file_state import dump
from memories.memory_file import file_for
from memories.models import MemoryFile, MemoryScope
from memories.scopes import file_of_reading, scope_of
from memories.templatetags.memories import chat_title
from sync.models import Attachment, Character, Chat
from tests.support.branching import make_branch, remember, texts_in
from tests.support.builders import make_attachment, make_character, make_chat, make_job, make_tavern
from tests.support.pages import soup, words

EARLY, LATE, ELSEWHERE = "Seraphine keeps the well.", "Seraphine lost the key.", "Seraphine sang at the inn."
IN_BRANCH, TWICE = "In the branch she found the key.", "The well is deep."


@pytest.fixture
def sera(alice: User) -> Character:
    """Her branches share one timeline to begin with."""
    made = make_character(make_tavern(alice), "Seraphine")
    MemoryScope.objects.create(character=made, timeline=MemoryScope.Timeline.SHARED)
    return Character.objects.for_user(alice).get(pk=made.pk)


@pytest.fixture
def main(sera: Character) -> Chat:
    return make_chat(sera, 20, name="The long night")


@pytest.fixture
def branch(main: Chat) -> Chat:
    return make_branch(main, 9, 8)


@pytest.fixture
def inn(sera: Character) -> Chat:
    return make_chat(sera, 10, name="At the inn")


@pytest.fixture
def file(sera: Character, main: Chat, branch: Chat, inn: Chat) -> MemoryFile:
    """Everything in one file."""
    made = file_for(sera)
    remember(made, main, EARLY, 3)
    remember(made, branch, TWICE, 5)
    remember(made, main, LATE, 15)
    remember(made, branch, IN_BRANCH, 12)
    remember(made, inn, ELSEWHERE, 4)
    remember(made, None, "Written by hand.", date="2026-02-01 10:00")
    return made


def own(sera: Character, chat: Chat) -> MemoryFile:
    return MemoryFile.objects.for_user(sera.tavern.owner).get(character=sera, chat=chat)


def test_what_would_move_is_shown_by_branch_and_nothing_moves_yet(
    file: MemoryFile, alice: User, sera: Character, branch: Chat
) -> None:
    before = dump(file)
    plan = scope_change.plan(alice, sera, "all", "branches")
    shown = {row.chat: (row.gets, row.inherited, row.loses, row.holds) for row in plan.changed}
    assert shown == {None: (0, 0, 1, 5), branch: (1, 4, 0, 5)}
    assert dump(file) == before
    assert not MemoryFile.objects.for_user(alice).filter(chat=branch).exists()


def test_branches_come_apart_with_what_they_share(
    file: MemoryFile, alice: User, sera: Character, main: Chat, branch: Chat, inn: Chat
) -> None:
    scope_change.choose(alice, sera, "all", "branches")
    assert texts_in(file) == [EARLY, TWICE, LATE, ELSEWHERE, "Written by hand."]
    assert texts_in(own(sera, branch)) == [EARLY, TWICE, IN_BRANCH, ELSEWHERE, "Written by hand."]
    assert file_of_reading(sera, branch) == own(sera, branch)
    assert file_of_reading(sera, main) == file_of_reading(sera, inn) == file


def test_it_is_taken_back_in_one_go(file: MemoryFile, alice: User, sera: Character, branch: Chat) -> None:
    before = dump(file)
    done = scope_change.choose(alice, sera, "all", "branches")
    scope_change.undo(alice, sera, done)
    assert dump(file_for(sera)) == before
    assert texts_in(own(sera, branch)) == []
    assert file_of_reading(sera, branch) == file
    scope_change.choose(alice, sera, "all", "branches")
    assert IN_BRANCH in texts_in(own(sera, branch))


def test_each_chat_gets_what_it_told(
    file: MemoryFile, alice: User, sera: Character, main: Chat, branch: Chat, inn: Chat
) -> None:
    scope_change.choose(alice, sera, "chat", "shared")
    assert texts_in(file) == ["Written by hand."]
    assert texts_in(own(sera, main)) == [EARLY, TWICE, LATE]
    assert texts_in(own(sera, inn)) == [ELSEWHERE]
    assert texts_in(own(sera, branch)) == [EARLY, TWICE, IN_BRANCH]


def test_the_way_back_copies_and_leaves_repetitions_out(
    file: MemoryFile, alice: User, sera: Character, branch: Chat
) -> None:
    scope_change.choose(alice, sera, "all", "branches")
    remember(own(sera, branch), branch, "Later in the branch.", 16)
    plan = scope_change.plan(alice, sera, "all", "shared")
    assert (plan.doubled, [(row.chat, row.gets) for row in plan.changed]) == (4, [(None, 2)])
    done = scope_change.choose(alice, sera, "all", "shared")
    assert sorted(texts_in(file)) == sorted(
        [EARLY, TWICE, LATE, ELSEWHERE, "Written by hand.", IN_BRANCH, "Later in the branch."]
    )
    assert "Later in the branch." in texts_in(own(sera, branch))
    scope_change.undo(alice, sera, done)
    assert (IN_BRANCH in texts_in(file_for(sera)), scope_of(sera).timeline) == (False, "branches")


def test_there_and_back_and_there_again_doubles_nothing(
    file: MemoryFile, alice: User, sera: Character, branch: Chat
) -> None:
    for timeline in ("branches", "shared", "branches"):
        scope_change.choose(alice, sera, "all", timeline)
    assert sorted(texts_in(own(sera, branch))) == sorted([EARLY, TWICE, IN_BRANCH, ELSEWHERE, "Written by hand."])
    assert sorted(texts_in(file_for(sera))) == sorted([EARLY, TWICE, LATE, ELSEWHERE, "Written by hand."])


def test_only_what_is_read_from_now_on_can_be_divided(
    file: MemoryFile, alice: User, sera: Character, branch: Chat
) -> None:
    before = dump(file)
    done = scope_change.choose(alice, sera, "all", "branches", divides=False)
    assert (done.batch, dump(file_for(sera))) == (None, before)
    assert texts_in(file_of_reading(sera, branch)) == [EARLY, TWICE, IN_BRANCH, ELSEWHERE, "Written by hand."]


def test_a_memory_made_of_two_lines_stays(file: MemoryFile, alice: User, sera: Character, branch: Chat) -> None:
    ids = {one.text: one for one in memory_file.memories_of(file)}
    ancestors.keep_by_id(file, [str(ids[LATE].pk), str(ids[IN_BRANCH].pk)])
    with memory_file.change(file, reason="Merged") as editor:
        parents = [str(ids[LATE].pk), str(ids[IN_BRANCH].pk)]
        editor.add_block("Both", [memory_file.NewMemory("Lost and found.", parents=parents)], origin="consolidated")
    plan = scope_change.plan(alice, sera, "all", "branches")
    assert plan.mixed == 1
    scope_change.choose(alice, sera, "all", "branches")
    assert "Lost and found." in texts_in(file_for(sera))
    assert "Lost and found." not in texts_in(own(sera, branch))


def test_nothing_changes_while_chats_are_read(file: MemoryFile, alice: User, sera: Character) -> None:
    make_job(alice, key=f"extract:{sera.pk}", state=Job.State.RUNNING)
    with pytest.raises(ValueError, match="being read"):
        scope_change.choose(alice, sera, "chat", "shared")
    assert scope_of(sera).scope == MemoryScope.Scope.ALL


def page_of(client: Client, sera: Character, query: str = "") -> str:
    return client.get(f"/characters/{sera.pk}/memory/{query}").content.decode()


def test_the_page_shows_what_would_move_does_it_and_takes_it_back(
    file: MemoryFile, alice: User, alice_client: Client, sera: Character, branch: Chat
) -> None:
    before = dump(file)
    assert "One memory for all chats" in page_of(alice_client, sera)
    shown = page_of(alice_client, sera, "?choice=branches")
    assert "What would move" in shown
    assert str(chat_title(branch.name)) in shown
    answer = alice_client.post(f"/characters/{sera.pk}/memory/choose/", {"choice": "branches", "moves": "on"})
    assert texts_in(own(sera, branch))[-1] == "Written by hand."
    toast = next(iter(get_messages(answer.wsgi_request)))
    assert toast.extra_tags
    assert "Each branch remembers its own past" in page_of(alice_client, sera)
    alice_client.post(toast.extra_tags)
    assert (dump(file_for(sera)), scope_of(sera).timeline) == (before, "shared")


def test_the_settings_lead_to_it(alice_client: Client, sera: Character) -> None:
    settings = alice_client.get(f"/characters/{sera.pk}/settings/").content.decode()
    assert f'href="/characters/{sera.pk}/memory/"' in settings


def test_an_undo_that_came_too_late_says_so_and_keeps_everything(
    file: MemoryFile, alice: User, alice_client: Client, sera: Character, branch: Chat
) -> None:
    done = scope_change.choose(alice, sera, "all", "branches")
    memory_file.clear(own(sera, branch), author=alice)
    answer = alice_client.post(f"/characters/{sera.pk}/memory/undo/?choice=all&batch={done.batch}", follow=True)
    assert "was changed since" in answer.content.decode()
    assert scope_of(sera).timeline == "branches"


def test_the_page_says_what_is_kept_apart_and_what_is_not(
    file: MemoryFile, alice: User, alice_client: Client, sera: Character, main: Chat, inn: Chat, branch: Chat
) -> None:
    scope_change.choose(alice, sera, "chat", "shared")
    shown = page_of(alice_client, sera)
    assert "Its text is kept here and not yet in any prompt." in shown
    assert "/db-add source=chat name=&quot;Seraphine-chatThe long night-memories.md&quot;" in shown
    held = own(sera, main)
    held.attachment = make_attachment(sera, held.name)
    held.save()
    assert "in force in all chats of the character: not isolated" in page_of(alice_client, sera)
    at_inn = own(sera, inn)
    at_inn.attachment = make_attachment(sera, at_inn.name)
    Attachment.objects.for_user(alice).filter(pk=at_inn.attachment.pk).update(scope="chat", chat=inn, character=None)
    at_inn.save()
    health = alice_client.get(f"/characters/{sera.pk}/health/").content.decode()
    assert "In force in this chat only." in health
    assert "not isolated" in health


def test_a_character_with_one_memory_has_nothing_to_keep_apart(
    file: MemoryFile, alice_client: Client, sera: Character
) -> None:
    assert "kept apart" not in alice_client.get(f"/characters/{sera.pk}/health/").content.decode()


def test_the_same_query_count_for_many_branches(
    file: MemoryFile, alice: User, alice_client: Client, sera: Character, main: Chat
) -> None:
    with CaptureQueriesContext(connection) as few:
        page_of(alice_client, sera, "?choice=branches")
    for number in range(6):
        other = make_branch(main, 5, 6, name=f"Branch {number}")
        remember(file, other, f"In branch {number}.", 8)
    with CaptureQueriesContext(connection) as many:
        page_of(alice_client, sera, "?choice=branches")
    assert len(many) <= len(few) + 8  # one more for each chat whose messages are dated


def test_a_strangers_character_is_not_there(charlie: User, client: Client, sera: Character) -> None:
    client.force_login(charlie)
    his = make_character(make_tavern(charlie), "Kaspar")
    assert client.get(f"/characters/{sera.pk}/memory/").status_code == 404
    assert client.get(f"/characters/{his.pk}/memory/share/?with={sera.pk}").status_code == 404
    answer = client.post(f"/characters/{his.pk}/memory/share/begin/", {"with": str(sera.pk)})
    assert answer.status_code == 404


def test_the_list_of_chats_says_which_remember_for_themselves_and_counts_no_copies(
    file: MemoryFile, alice: User, alice_client: Client, sera: Character, main: Chat, branch: Chat
) -> None:
    def counts() -> dict[str, str]:
        rows = soup(alice_client.get(f"/characters/{sera.pk}/chats/")).select("tr[data-item]")
        return {words(row.select_one("a.strong")): words(row.select("td.r")[1]) for row in rows}

    before = counts()
    scope_change.choose(alice, sera, "all", "branches")
    assert {name: n for name, n in counts().items() if "Branch" not in name} == {
        name: n for name, n in before.items() if "Branch" not in name
    }
    page = soup(alice_client.get(f"/characters/{sera.pk}/chats/"))
    (row,) = [one for one in page.select("tr[data-item]") if "has a memory of its own" in words(one)]
    assert "Branch" in words(row)
