"""The review queues: what is suggested, what a person decides, and that decisions last."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import editing, memory_file, review, review_queries, source_changes
from memories.memory_file import NewMemory
from memories.models import Ancestor, Memory, MemoryFile, ReviewPair
from sync.events import ChatsChanged
from sync.models import Character, Chat, Message
from tests.support.builders import make_character, make_chat, make_job, make_memory_file, make_tavern
from tests.support.pages import soup, toast, words

CITY, COAST = "Mira lives in the city with her aunt.", "Mira moved to the coast after the flood."
LAMP, LAMP_TOO = "Only wardens may carry the brass lamp at night.", "Only wardens may carry the brass lamp by night."


@pytest.fixture
def mira(alice: User) -> Character:
    return make_character(make_tavern(alice), "Mira")


def write(character: Character, *texts: str | NewMemory, date: str = "2026-01-01 10:00", **fields: Any) -> MemoryFile:
    file = memory_file.file_for(character)
    with memory_file.change(file, reason="test", author=file.owner) as editor:
        editor.add_block("Scene", list(texts), date=date, origin="extracted", **fields)
    return file


def look(file: MemoryFile) -> int:
    file.refresh_from_db()
    return review.compare(file)


def memory(user: User, text: str) -> Memory:
    return Memory.objects.for_user(user).select_related("block__file__character").get(text=text)


def the_pair(user: User, kind: str) -> ReviewPair:
    return ReviewPair.objects.for_user(user).get(kind=kind, decision="")


def texts(user: User) -> list[str]:
    return sorted(Memory.objects.for_user(user).values_list("text", flat=True))


def decide(client: Client, pair: ReviewPair, decision: str, text: str = "") -> None:
    answer = client.post(f"/pairs/{pair.pk}/decide/", {"decision": decision, "text": text})
    assert answer.status_code == 302


def test_a_newer_home_waits_in_the_queue_with_the_older_one(alice: User, alice_client: Client, mira: Character) -> None:
    write(mira, CITY)
    look(write(mira, COAST, date="2026-02-01 10:00"))
    page = soup(alice_client.get(f"/characters/{mira.pk}/review/superseded/"))
    sides = [words(one) for one in page.select(".review-side .memory-text")]
    assert sides == [CITY, COAST]
    assert "another home" in words(page.select_one(".review-why"))
    assert review_queries.counts(alice, mira).superseded == 1


def test_taking_the_older_one_out_makes_it_an_ancestor_and_undo_brings_all_back(
    alice: User, alice_client: Client, mira: Character
) -> None:
    look(write(mira, CITY, COAST))
    older = memory(alice, CITY)
    decide(alice_client, the_pair(alice, "superseded"), "newer")
    assert texts(alice) == [COAST]
    assert memory(alice, COAST).parents == [str(older.pk)]
    assert Ancestor.objects.for_user(alice).get().text == CITY
    kept = memory_file.revision_state(older.block.file.revisions.first())["blocks"]
    assert [one["parents"] for block in kept for one in block["memories"]] == [[str(older.pk)]]
    undo = toast(alice_client).select_one("form")["action"]
    alice_client.post(undo)
    assert texts(alice) == [CITY, COAST]
    assert memory(alice, COAST).parents == []
    assert review_queries.counts(alice, mira).superseded == 1


def test_a_decision_outlives_edits_of_others_and_restores(alice: User, alice_client: Client, mira: Character) -> None:
    file = write(mira, CITY, COAST, "Mira owns a red boat.")
    look(file)
    decide(alice_client, the_pair(alice, "superseded"), "unrelated")
    editing.edit_memory(alice, memory(alice, "Mira owns a red boat."), "Mira owns a blue boat.")
    look(file)
    first = file.revisions.get(number=1)
    editing.restore_revision(alice, first)
    look(file)
    assert review_queries.counts(alice, mira).total == 0
    editing.edit_memory(alice, memory(alice, COAST), "Mira moved to the coast in spring.")
    look(file)
    assert review_queries.counts(alice, mira).superseded == 1, "a reworded bullet is looked at afresh"


def test_a_decision_that_was_undone_in_the_history_is_open_again(
    alice: User, alice_client: Client, mira: Character
) -> None:
    file = write(mira, CITY, COAST)
    look(file)
    decide(alice_client, the_pair(alice, "superseded"), "newer")
    look(file)
    editing.restore_revision(alice, file.revisions.get(number=1))
    look(file)
    assert review_queries.counts(alice, mira).superseded == 1


@pytest.mark.parametrize(("decision", "left"), [("older", [LAMP]), ("newer", [LAMP_TOO]), ("both", [LAMP, LAMP_TOO])])
def test_of_two_that_say_the_same_one_is_kept_or_both(
    decision: str, left: list[str], alice: User, alice_client: Client, mira: Character
) -> None:
    look(write(mira, LAMP, LAMP_TOO))
    decide(alice_client, the_pair(alice, "duplicate"), decision)
    assert texts(alice) == left
    assert review_queries.counts(alice, mira).total == 0


def test_a_merge_keeps_the_evidence_and_the_words_of_both(alice: User, alice_client: Client, mira: Character) -> None:
    items = [{"identity": str(number), "index": number, "quote": "q"} for number in range(2)]
    look(write(mira, NewMemory(LAMP, evidence=items[:1]), NewMemory(LAMP_TOO, evidence=items[1:])))
    both = {str(pk) for pk in Memory.objects.for_user(alice).values_list("pk", flat=True)}
    decide(alice_client, the_pair(alice, "duplicate"), "merged", "Wardens alone carry the lamp.")
    made = memory(alice, "Wardens alone carry the lamp.")
    assert {item["identity"] for item in made.evidence} == {"0", "1"}
    assert set(made.parents) == both
    assert sorted(row.text for row in Ancestor.objects.for_user(alice)) == [LAMP, LAMP_TOO]


def test_an_empty_merge_changes_nothing(alice: User, alice_client: Client, mira: Character) -> None:
    look(write(mira, LAMP, LAMP_TOO))
    decide(alice_client, the_pair(alice, "duplicate"), "merged", "  ")
    assert "needs some text" in words(toast(alice_client))
    assert texts(alice) == [LAMP, LAMP_TOO]
    assert review_queries.counts(alice, mira).duplicates == 1


def test_a_locked_memory_is_not_taken_out(alice: User, alice_client: Client, mira: Character) -> None:
    look(write(mira, CITY, COAST))
    Memory.objects.for_user(alice).filter(text=CITY).update(is_locked=True)
    decide(alice_client, the_pair(alice, "superseded"), "newer")
    assert "locked" in words(toast(alice_client))
    assert texts(alice) == [CITY, COAST]


def test_a_pair_decided_in_another_tab_is_not_decided_twice(alice: User, alice_client: Client, mira: Character) -> None:
    look(write(mira, LAMP, LAMP_TOO))
    pair = the_pair(alice, "duplicate")
    decide(alice_client, pair, "older")
    decide(alice_client, pair, "newer")
    assert texts(alice) == [LAMP]


def test_only_new_bullets_are_compared(alice: User, mira: Character) -> None:
    file = write(mira, *(f"Mira counts {number} stones of kind {chr(97 + number)}." for number in range(9)))
    assert look(file) == 9
    assert look(file) == 0
    write(mira, LAMP)
    assert look(file) == 1
    file.refresh_from_db()
    assert file.reviewed_version == file.version


def test_the_clock_queues_files_that_changed_and_only_those(alice: User, mira: Character) -> None:
    file = write(mira, LAMP)
    review.sweep()
    review.sweep()
    assert Job.objects.for_user(alice).filter(kind="review").count() == 1
    Job.objects.for_user(alice).filter(kind="review").delete()
    look(file)
    review.sweep()
    assert not Job.objects.for_user(alice).filter(kind="review").exists()


def test_a_change_is_compared_by_a_job_and_the_page_says_so_until_then(
    alice: User, alice_client: Client, mira: Character
) -> None:
    file = write(mira, CITY, COAST)
    path = f"/characters/{mira.pk}/review/superseded/"
    assert "still being compared" in words(soup(alice_client.get(path)))
    review.sweep()
    run_until_idle(alice)
    page = soup(alice_client.get(path))
    assert len(page.select(".review-card")) == 1
    assert "still being compared" not in words(page)
    file.refresh_from_db()
    assert file.reviewed_version == file.version


def test_what_an_extraction_found_alike_is_a_pair(alice: User, mira: Character) -> None:
    file = write(mira, LAMP)
    write(mira, NewMemory("The brass lamp belongs to the wardens.", duplicate_of=memory(alice, LAMP).pk))
    look(file)
    assert the_pair(alice, "duplicate").older == memory(alice, LAMP).pk


def test_unverified_memories_are_right_edited_or_deleted(alice: User, alice_client: Client, mira: Character) -> None:
    write(mira, *(NewMemory(f"Orsolya fact {n}.", unverified_names=["Orsolya"], is_unverified=True) for n in range(2)))
    page = soup(alice_client.get(f"/characters/{mira.pk}/review/unverified/"))
    assert len(page.select(".review-card")) == 2
    assert "not in the chat: Orsolya" in words(page.select_one(".review-why"))
    alice_client.post(page.select_one(".review-acts form")["action"])
    assert review_queries.counts(alice, mira).unverified == 1
    alice_client.post(toast(alice_client).select_one("form")["action"])
    assert review_queries.counts(alice, mira).unverified == 2


class TestSourceChanged:
    @pytest.fixture
    def chat(self, mira: Character) -> Chat:
        return make_chat(mira, 4)

    @pytest.fixture
    def known(self, alice: User, mira: Character, chat: Chat) -> Memory:
        source = chat.messages.get(index=1)
        item = {"identity": source.identity, "index": 1, "quote": source.text, "content": source.content}
        write(mira, NewMemory(LAMP, evidence=[item]), chat=chat, first_index=1, last_index=1)
        return memory(alice, LAMP)

    def tell(self, chat: Chat) -> None:
        source_changes.hear(ChatsChanged(chat.tavern_id, [chat.pk]))

    def flagged(self, alice: User) -> bool:
        return Memory.objects.for_user(alice).get(text=LAMP).is_source_changed

    def test_an_edited_message_marks_its_memory_and_clears_it_when_it_comes_back(
        self, alice: User, chat: Chat, known: Memory
    ) -> None:
        rows = Message.objects.for_user(alice).filter(chat=chat, index=1)
        before = rows.get().content
        rows.update(content="other")
        self.tell(chat)
        assert self.flagged(alice)
        rows.update(content=before)
        self.tell(chat)
        assert not self.flagged(alice)

    def test_a_deleted_message_marks_its_memory_others_do_not(self, alice: User, chat: Chat, known: Memory) -> None:
        chat.messages.filter(index=3).delete()
        self.tell(chat)
        assert not self.flagged(alice)
        chat.messages.filter(index=1).delete()
        self.tell(chat)
        assert self.flagged(alice)

    def test_a_mark_set_meanwhile_does_not_stand_in_the_way_of_undo(
        self, alice: User, chat: Chat, known: Memory
    ) -> None:
        file = known.block.file
        write(file.character, "Mira owns a boat.")
        edited = editing.edit_memory(alice, memory(alice, "Mira owns a boat."), "Mira owns a ship.")
        chat.messages.filter(index=1).update(content="other")
        self.tell(chat)
        write(file.character, "It rained.")
        assert edited is not None
        file.refresh_from_db()
        editing.undo(alice, file, edited.number)
        assert texts(alice) == ["It rained.", "Mira owns a boat.", LAMP]

    @pytest.mark.parametrize("is_deleted", [True, False])
    def test_still_right_holds_until_the_message_changes_again(
        self, is_deleted: bool, alice: User, alice_client: Client, mira: Character, chat: Chat, known: Memory
    ) -> None:
        rows = chat.messages.filter(index=1)
        rows.delete() if is_deleted else rows.update(content="other")
        self.tell(chat)
        page = soup(alice_client.get(f"/characters/{mira.pk}/review/changed/"))
        alice_client.post(page.select_one(".review-acts form")["action"])
        self.tell(chat)
        assert not self.flagged(alice)
        if not is_deleted:
            chat.messages.filter(index=1).update(content="third")
            self.tell(chat)
            assert self.flagged(alice)


def test_fifty_pairs_a_page_and_a_fixed_number_of_queries(
    alice: User, alice_client: Client, mira: Character, django_assert_max_num_queries: Any
) -> None:
    file = write(mira, *(f"Item {chr(97 + n % 26) * 3}{n}." for n in range(120)))
    ids = list(Memory.objects.for_user(alice).values_list("pk", flat=True))
    pairs = [
        ReviewPair(file=file, kind="duplicate", older=a, newer=b, digest="x")
        for a, b in zip(ids[:60], ids[60:], strict=True)
    ]
    ReviewPair.objects.bulk_create(pairs)
    with django_assert_max_num_queries(32):
        page = soup(alice_client.get(f"/characters/{mira.pk}/review/duplicates/"))
    assert len(page.select(".review-card")) == 50
    assert page.select_one("a[rel=next]") is not None
    assert len(soup(alice_client.get(f"/characters/{mira.pk}/review/duplicates/?page=2")).select(".review-card")) == 10


def test_an_unknown_queue_is_not_found(alice_client: Client, mira: Character) -> None:
    assert alice_client.get(f"/characters/{mira.pk}/review/everything/").status_code == 404


def test_bob_decides_nothing_of_alice(alice: User, bob_client: Client, mira: Character) -> None:
    look(write(mira, LAMP, LAMP_TOO))
    pair = the_pair(alice, "duplicate")
    assert bob_client.post(f"/pairs/{pair.pk}/decide/", {"decision": "older"}).status_code == 404
    assert texts(alice) == [LAMP, LAMP_TOO]


def test_a_file_that_is_being_filled_is_compared_when_the_reading_is_over(alice: User) -> None:
    file = make_memory_file(make_character(make_tavern(alice), "Seraphine"))
    with memory_file.change(file, reason="two") as editor:
        editor.add_block("One", ["Seraphine keeps the lamp.", "Seraphine keeps the lamp."], origin="extracted")
    reading = make_job(alice, kind="extract", state=Job.State.RUNNING, subject=f"character:{file.character_id}")
    review.sweep()
    assert not Job.objects.for_user(alice).filter(kind="review").exists()
    Job.objects.for_user(alice).filter(pk=reading.pk).update(state=Job.State.DONE)
    review.sweep()
    assert Job.objects.for_user(alice).filter(kind="review").count() == 1
