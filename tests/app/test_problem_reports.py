"""What users of this kind of software report, row by row: each has a story here or elsewhere that would fail with it.

The numbers are those of spec/problem-reports, D1, D2 and D6; the second table holds the quirks that spec/charmemory §3
marks. Stories that no other file tells stand below.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import choosing, extraction, memory_file, queries, watermark
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from memories.memory_file import change, file_for
from memories.models import ExtractedChunk, ExtractionSettings, HeldMemory, MemoryFile, Snapshot
from sync.models import Character
from tests.app.test_extraction_disturbed import House, during_a_call, line, shown, story, words
from tests.support import group_story
from tests.support.builders import make_connection, make_tavern
from tests.support.databank import make_folder
from tests.support.fake_model import FakeModel
from tests.support.generated_root import card_png, card_v2, header, write_lines

ROOT = Path(__file__).parents[2]
HERE = "app/test_problem_reports"

REPORTS: dict[str, tuple[str, ...]] = {
    "D1.1 a branch begins again": (
        "app/test_branch_reading::test_a_branch_made_after_the_reading_pays_for_its_own_messages_only",
        "app/test_branch_memories::test_the_branch_is_renamed_first_and_keeps_its_memory",
        "app/test_branch_memories::test_one_memory_for_each_chat_is_isolated",
        "app/test_points::test_a_file_that_is_gone_resets_nothing",
    ),
    "D1.2 the point resets for no visible reason": (
        f"{HERE}::test_new_cards_and_long_chats_move_no_point",
        "app/test_points_pages::test_a_reset_says_its_numbers_keeps_memories_and_is_undone",
        "app/test_extraction::test_a_chunk_that_was_written_is_not_written_again",
        "pure/test_reading::test_any_history_reads_each_message_once",
    ),
    "D1.3 after a consolidation every start begins at 0": (
        f"{HERE}::test_topics_in_place_of_chat_names_move_no_point",
    ),
    "D1.4 everything read and nothing remembered": (
        "app/test_character_page::test_when_everything_is_read_and_nothing_remembered_it_offers_to_read_again",
        "app/test_migration::test_a_point_without_any_memory_is_doubtful",
    ),
    "D1.5 the point moves by hand, a stretch is read again": (
        "app/test_points_pages::test_the_point_moves_both_ways_and_back",
        "app/test_again::test_replacing_is_one_revision_and_the_stretch_counts_as_read",
    ),
    "D1.6 swipes count as new messages": (
        "app/test_automatic::test_swipes_and_words_of_the_person_do_not_count",
        "app/test_mirror::test_a_swipe_and_a_continuation_keep_their_row",
    ),
    "D1.7 the newest messages are protected": (
        "app/test_automatic::test_the_newest_messages_are_left_alone_and_not_counted_again",
        "app/test_ranges::test_automatic_reading_leaves_the_newest_alone_and_reading_by_hand_does_not",
        "app/test_review::test_an_edited_message_marks_its_memory_and_clears_it_when_it_comes_back",
    ),
    "D1.9 a gap at the beginning stays": (f"{HERE}::test_a_stretch_read_first_leaves_no_gap_before_it",),
    "D1.11 number 0 is a choice": ("pure/test_chats::test_the_chosen_swipe_counts_and_number_0_is_a_choice",),
    "D1.12 hidden messages are there": (
        "app/test_extraction::test_hidden_messages_are_read",
        "app/test_migration::test_marked_and_hidden_messages_are_counted_and_stay",
        "app/test_chat_page::test_hidden_and_unreadable_messages_are_marked",
    ),
    "D2.13 all members are disabled": (
        "app/test_group_members::test_append_with_disabled_keeps_everybody",
        "app/test_group_reading_odd::test_a_muted_member_and_one_who_only_spoke_remember_too",
    ),
    "D2.14 some of ten members are found": (
        f"{HERE}::test_a_group_of_ten_fills_ten_files",
        "app/test_group_members::test_who_only_spoke_is_a_member_and_a_name_without_a_card_is_listed",
    ),
    "D2.15 pin and consolidate go to the first member": (
        "app/test_groups::test_pin_and_consolidate_ask_for_the_member",
    ),
    "D2.16 another member speaks during the call": (
        f"{HERE}::test_another_member_speaks_during_the_call",
        "app/test_extraction_disturbed::test_messages_deleted_and_inserted_while_it_reads",
    ),
    "D2.17 two of one name share progress": (
        f"{HERE}::test_two_cards_of_one_name_share_nothing",
        "app/test_group_reading_odd::test_two_members_of_one_name_keep_apart",
    ),
    "D2.18 same-named characters mix": (f"{HERE}::test_two_cards_of_one_name_share_nothing",),
    "D2.19 a backslash in a name": ("app/test_extraction_disturbed::test_odd_names_reach_their_own_file",),
    "D2.21 a rename detaches what belongs to it": (
        "app/test_mirror::test_a_renamed_character_keeps_its_row_its_chats_and_its_memory_file",
        "app/test_mirror::test_bound_lorebooks_are_known_from_card_and_settings",
        "app/test_extraction_disturbed::test_the_character_is_renamed_in_sillytavern_during_a_call",
    ),
    "D2.22 they know what they did not witness": (
        "app/test_group_reading::test_an_absent_members_prompt_lacks_the_stretch",
        "app/test_group_reading::test_each_member_is_asked_once_and_remembers_for_itself",
        "app/test_sharing::test_both_remember_in_one_file_and_its_text_lies_in_both_data_banks",
    ),
    "D6.81 junk, invented people, the feedback loop": (
        f"{HERE}::test_what_was_recalled_is_not_remembered_a_second_time",
        "app/test_gate_judge::test_the_gate_knows_what_stood_in_the_prompt",
        "pure/test_quality::test_each_kind_is_found_and_named_first",
    ),
    "D6.82 an invented fact becomes confirmed": (
        "app/test_extraction::test_facts_that_no_message_says_are_unverified",
        "app/test_extraction::test_evidence_names_the_message_and_its_sentence",
    ),
    "D6.83 a fact of the wrong person": (
        "app/test_character_page::test_evidence_quotes_the_messages_and_names_model_job_and_cost",
        "app/test_drafts::test_bullets_sent_to_another_file_arrive_with_the_save",
        "app/test_again::test_the_page_of_a_stretch_says_what_is_there_and_what_reading_costs",
    ),
    "D6.84 who did what, play-by-play, card traits": (
        "pure/test_quality::test_the_labelled_scenes",
        "app/test_gate_page::test_models_are_compared",
    ),
    "D6.85 curated text is overwritten": (
        "app/test_again::test_what_is_locked_or_also_from_elsewhere_is_never_replaced",
        "app/test_trash::test_locked_words_are_not_deleted_by_a_person",
        "app/test_backup::test_one_backup_a_day_and_seven_are_kept",
    ),
    "D6.86 something destructive runs unseen": (
        "app/test_again::test_nothing_is_written_before_it_is_applied",
        "app/test_consolidation::test_what_is_missing_goes_only_when_the_person_says_so",
    ),
    "D6.88 limits in tokens": ("pure/test_transcript::test_a_chunk_ends_at_the_limit_of_messages_or_tokens",),
    "D6.89 memories without hiding": (f"{HERE}::test_reading_changes_no_byte_of_a_chat",),
    "D6.90 old memories in place of new ones": (
        "app/test_extraction::test_the_same_messages_are_never_paid_for_twice",
        "app/test_extraction::test_known_memories_are_shown_and_repetitions_left_out",
    ),
}
QUIRKS: dict[str, tuple[str, ...]] = {
    "§3.1 a held back run starts without another look": (
        "pure/test_automatic_rules::test_it_never_fires_against_a_promise",
    ),
    "§3.1 the counter holds words of the person": (
        "app/test_automatic::test_swipes_and_words_of_the_person_do_not_count",
    ),
    "§3.2 notices about nothing": ("app/test_automatic::test_a_sweep_of_nothing_is_one_query",),
    "§3.4 pipes and angle brackets eat text": ("pure/test_transcript::test_ordinary_signs_are_not_markup",),
    "§3.5 a stretch without words is never passed": (
        "app/test_extraction::test_a_stretch_without_words_is_read_without_a_call",
    ),
    "§3.6 what was answered is sent twice": ("pure/test_golden_prompts::test_the_prompt_is_exactly_this",),
    "§3.6 the card is not counted": ("pure/test_golden_prompts::test_a_small_window_bounds_card_and_memories",),
    "§3.6 text of a chat is expanded": ("pure/test_templating::test_any_value_stands_as_it_is",),
    "§3.8 nothing found and written all the same": (f"{HERE}::test_nothing_found_writes_nothing",),
    "§3.8 duplicates are left to the prompt": (
        "app/test_extraction::test_known_memories_are_shown_and_repetitions_left_out",
    ),
    "§3.9 merging undoes topics": (
        "app/test_ranges::test_blocks_of_one_job_are_merged_by_topic_where_a_person_wants_that",
    ),
    "§3.10 no stop": (
        "app/test_extraction_disturbed::test_cancelled_in_mid_call_keeps_what_was_answered_and_goes_on_later",
    ),
    "§3.10 a failed member costs the others": (
        "app/test_group_reading::test_a_member_that_fails_twice_stops_nobody_and_goes_on_alone",
    ),
    "§3.10 a failure forgets the count": ("app/test_automatic::test_a_failure_rests_and_says_when_it_is_tried_again",),
    "§3.11 an empty file resets the point": (f"{HERE}::test_nothing_found_writes_nothing",),
    "§3.12 a group of one loses its result": (f"{HERE}::test_a_group_of_one_is_read_like_any_other",),
    "§3.13 a deletion shifts the point": (
        "app/test_extraction::test_delete_message_3_and_insert_two_nothing_lost_or_repeated",
    ),
    "§3.13 a renamed chat loses its file": (
        "app/test_branch_memories::test_the_branch_is_renamed_first_and_keeps_its_memory",
    ),
    "§3.14 hidden messages have no menu": ("app/test_reader::test_the_menu_of_a_message_works_without_scripts",),
}


@cache
def stories_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("what", [*REPORTS, *QUIRKS])
def test_every_report_has_a_story(what: str) -> None:
    for story_of_it in (REPORTS | QUIRKS)[what]:
        path, _colons, name = story_of_it.partition("::")
        assert name in stories_in(ROOT / "tests" / f"{path}.py"), story_of_it


def test_no_report_is_left_out() -> None:
    told = {name.split()[0] for name in REPORTS}
    assert told == {
        *(f"D1.{n}" for n in (1, 2, 3, 4, 5, 6, 7, 9, 11, 12)),
        *(f"D2.{n}" for n in (13, 14, 15, 16, 17, 18, 19, 21, 22)),
        *(f"D6.{n}" for n in (81, 82, 83, 84, 85, 86, 88, 89, 90)),
    }


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def reader(alice: User, fake: FakeModel, transactional_db: Any) -> User:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    ExtractionSettings.objects.create(user=alice, messages_per_call=4)
    return alice


def extract(character: Character, **wish: Any) -> Job:
    job = start_extraction(character.tavern.owner, character=character, **wish)
    run_until_idle(character.tavern.owner)
    job.refresh_from_db()
    return job


def test_new_cards_and_long_chats_move_no_point(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """D1.2: whatever else appears in the folder, what was read stays read."""
    house = House(reader, tmp_path / "st")
    house.write(story(8))
    house.look()
    extract(house.character())
    paid = len(fake.chats)
    (house.folder / "characters" / "Orla.png").write_bytes(card_png(card_v2("Orla")))
    house.write(story(300, start=1000), chat="a long one", name="Orla")
    house.write(story(300, start=2000), chat="another long one")
    house.look()
    mara = house.character()
    assert [one.chat.name for one in queries.waiting(reader, mara)] == ["another long one"]
    assert mara.watermarks.get(chat__name="first").index == 7
    extract(mara, chats=[house.tavern.chats.get(name="first")])
    assert len(fake.chats) == paid


def test_topics_in_place_of_chat_names_move_no_point(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """D1.3: where a memory came from is not kept in the label that people see."""
    house = House(reader, tmp_path / "st")
    house.write(story(8))
    house.look()
    mara = house.character()
    extract(mara)
    with change(file_for(mara), reason="themes") as editor:
        for block in editor.blocks:
            editor.set_block(block.pk, label="Life by the tide")
    house.write(story(8) + story(2, start=8))
    house.look()
    extract(mara)
    assert shown(fake) == words(10)
    assert extraction.waiting(mara) == []


def test_a_stretch_read_first_leaves_no_gap_before_it(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """D1.9: an old chat of which a later part was read first."""
    fake.answer_with("NO_NEW_MEMORIES")
    house = House(reader, tmp_path / "st")
    house.write(story(24))
    house.look()
    mara, chat = house.character(), house.tavern.chats.get()
    extract(mara, chats=[chat], ranges={str(chat.pk): [12, 19]})
    assert shown(fake) == words(20)[12:]
    house.write(story(30))
    house.look()
    extract(mara)
    assert sorted(shown(fake)) == sorted(words(30))
    assert len(shown(fake)) == 30
    assert mara.watermarks.get().index == 29


def test_two_cards_of_one_name_share_nothing(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """D2.17, D2.18: the file of the card says who somebody is, and not the name."""
    folder = make_folder(tmp_path / "st")
    for stem, start in (("Lilith", 0), ("Lilith1", 20)):
        (folder / "characters" / f"{stem}.png").write_bytes(card_png(card_v2("Lilith")))
        lines = [header(0, f"chat of {stem}"), *story(4, start=start)]
        write_lines(folder / "chats" / stem / "Lilith - night.jsonl", lines)
    house = House.__new__(House)
    house.folder, house.tavern = folder, make_tavern(reader, folder=str(folder))
    house.look()
    first, second = house.tavern.characters.select_related("tavern__owner").order_by("avatar")
    assert (first.name, second.name) == ("Lilith", "Lilith")
    extract(first)
    assert shown(fake) == words(4)
    assert [one.messages for one in queries.waiting(reader, second)] == [4]
    extract(second)
    texts = {
        row.character.avatar: " ".join(one.text for one in memory_file.memories_of(row))
        for row in MemoryFile.objects.for_user(reader).select_related("character")
    }
    assert "Word3" in texts["Lilith.png"] and "Word23" not in texts["Lilith.png"]
    assert "Word23" in texts["Lilith1.png"] and "Word3 " not in texts["Lilith1.png"]
    urls = {row.attachment.url for row in MemoryFile.objects.for_user(reader) if row.attachment}
    assert len(urls) == 2


def test_a_group_of_ten_fills_ten_files(reader: User, fake: FakeModel) -> None:
    """D2.14: every seat counts, whoever spoke."""
    ExtractionSettings.objects.filter(user=reader).update(asks_present_only=False, messages_per_call=10)
    names = ["Una", "Vera", "Wim", "Xenia", "Ylva", "Zora", "Arne", "Bela", "Cato", "Dora"]
    group = group_story.make_group(reader, *names)
    group_story.make_chat(group, [f"{name}: The bell of {name} rings." for name in names[:3]])
    fake.rule = lambda prompt: next(
        f"<memory>\n- [{one} — bell]\n- {one} heard the bell of Una.\n</memory>"
        for one in names
        if f"Write down what {one}, and only {one}," in prompt
    )
    start_group(reader, group)
    run_until_idle(reader)
    rows = MemoryFile.objects.for_user(reader).select_related("character")
    assert {row.name: [one.text for one in memory_file.memories_of(row) if not one.is_topic] for row in rows} == {
        f"{name}-memories.md": [f"{name} heard the bell of Una."] for name in names
    }


def test_another_member_speaks_during_the_call(reader: User, fake: FakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """D2.16: what was asked is kept, and only what was said meanwhile is read next."""
    group = group_story.make_group(reader, "Orla", "Pim")
    talk = ["Orla: Pim, the lamp is out.", "Pim: So it is, Orla."]
    chat = group_story.make_chat(group, talk)
    fake.answer_with("<memory>\n- [Orla, Pim — lamp]\n- Orla told Pim that the lamp is out.\n</memory>")
    during_a_call(monkeypatch, lambda: group_story.put(chat, [*talk, "Orla: I light it, Pim."]))
    start_group(reader, group)
    run_until_idle(reader)
    assert len(fake.chats) == 2 + 1, (
        "the second was asked when three lines stood there, the first asks for the last one"
    )
    assert {one.index for one in watermark.marks_of_readers(reader, chat).values()} == {2}
    start_group(reader, group)
    run_until_idle(reader)
    assert len(fake.chats) == 3
    for one in group_story.members(group):
        facts = [row.text for row in memory_file.memories_of(file_for(one)) if not row.is_topic]
        assert facts == ["Orla told Pim that the lamp is out."]


def test_a_group_of_one_is_read_like_any_other(reader: User, fake: FakeModel) -> None:
    """§3.12: a single member left, with the prompt of a group and nothing thrown away."""
    group = group_story.make_group(reader, "Orla", "Pim")
    group.members.filter(avatar="Pim.png").delete()
    chat = group_story.make_chat(group, ["Ren: Who is there?", "Orla: Only Orla, with the lamp."])
    fake.answer_with("<memory>\n- [Orla, Ren — lamp]\n- Orla was there with the lamp.\n</memory>")
    start_group(reader, group)
    run_until_idle(reader)
    (orla,) = [one for one in group_story.members(group) if one.name == "Orla"]
    assert [one.text for one in memory_file.memories_of(file_for(orla)) if not one.is_topic] == [
        "Orla was there with the lamp."
    ]
    assert set(watermark.marks_of_readers(reader, chat)) == {orla.pk}


def test_what_was_recalled_is_not_remembered_a_second_time(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """D6.81: a memory stood in the prompt, the character brings it up, the model writes it down again."""
    house = House(reader, tmp_path / "st")
    house.write([line(0, "Do you remember the harbour?"), line(1, "Yes. Ren hid the silver lantern under the quay.")])
    house.look()
    mara, chat = house.character(), house.tavern.chats.get()
    recalled = "Ren hid a silver lantern under the quay at the harbour."
    Snapshot.objects.create(
        owner=reader,
        chat=chat,
        identity=chat.messages.get(index=1).identity,
        index=1,
        source="charmemory",
        data={"memories": [{"text": recalled}]},
    )
    fake.answers("<memory>\n- [Ren, Mara — harbour]\n- Ren had hidden the silver lantern under the quay.\n</memory>")
    extract(mara)
    (row,) = [one for one in memory_file.memories_of(file_for(mara)) if not one.is_topic]
    assert row.is_unverified and row.doubts[0]["check"] == "recall_echo"
    choosing.change_settings(reader, {"gate": {"recall_echo": "queue"}})
    watermark.reset_character(reader, mara)
    with change(file_for(mara), reason="cleared") as editor:
        for block in editor.blocks:
            editor.delete_block(block.pk)
    fake.answers("<memory>\n- [Ren, Mara — harbour]\n- Ren had hidden the silver lantern under the quay.\n</memory>")
    extract(mara)
    assert memory_file.memories_of(file_for(mara)) == []
    assert HeldMemory.objects.for_user(reader).count() == 1


def test_nothing_found_writes_nothing(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """§3.8, §3.11: a chat in which nothing mattered is read once, and its file is left alone."""
    fake.answer_with("NO_NEW_MEMORIES")
    house = House(reader, tmp_path / "st")
    house.write(story(8))
    house.look()
    mara = house.character()
    extract(mara)
    for _again in range(2):
        house.look()
        extract(mara)
    assert len(fake.chats) == 2
    assert file_for(mara).version == 0
    assert not list((house.folder / "user" / "files").iterdir())
    assert set(ExtractedChunk.objects.for_user(reader).values_list("outcome", flat=True)) == {"nothing"}


def test_reading_changes_no_byte_of_a_chat(reader: User, fake: FakeModel, tmp_path: Path) -> None:
    """D6.89: memories come with and without hidden messages, and nothing is hidden or marked for them."""
    house = House(reader, tmp_path / "st")
    lines = story(8)
    lines[2] |= {"is_system": True}
    house.write(lines)
    path = house.folder / "chats" / "Mara" / "first.jsonl"
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    house.look()
    extract(house.character())
    assert shown(fake) == words(8)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    chat = house.tavern.chats.get()
    assert [row.index for row in chat.messages.filter(is_hidden=True)] == [2]
