"""A real user folder comes in, and stays in step with what happens to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.ownership import unscoped
from sync import events
from sync.mirror import mirror
from sync.models import Tavern
from tests.support.st_folder import MARA, StFolder

CHECKPOINT = "chats/Mara Veldt/Checkpoint - before the promise.jsonl"
BRANCH = "chats/Mara Veldt/Mara Veldt - 2025-06-15@15h06m40s000ms - Branch #1.jsonl"


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> StFolder:
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    return folder


def line(text: str, date: str, *, user: bool = False) -> dict[str, Any]:
    return {
        "name": "Ren" if user else "Mara Veldt",
        "is_user": user,
        "is_system": False,
        "send_date": date,
        "mes": text,
    }


def test_the_fixture_comes_in(folder: StFolder) -> None:
    tavern = Tavern.objects.for_user(folder.tavern.owner).get()
    assert (tavern.state, tavern.version, tavern.persona_name) == ("ok", "1.19.0", "Ren")
    assert tavern.vectors["enabled_files"] is True
    names = {row.avatar: row.name for row in tavern.characters.all()}
    assert names == {
        "Mara Veldt.png": "Mara Veldt",
        "Żółta Ćma 蛾子.png": "Żółta Ćma 蛾子",
        "Dr. Q O'NeilSmith.png": 'Dr. "Q" O\'Neil/Smith',
    }
    assert tavern.chats.count() == 11
    assert tavern.groups.get().members.filter(character=None).count() == 0
    assert tavern.groups.get().chats.count() == 2
    assert folder.issues() == []
    books = {(book.name, book.character and book.character.name) for book in tavern.lorebooks.all()}
    assert ("Saltmere Harbour", None) in books
    assert {name for _book, name in books} == {None, "Mara Veldt", "Żółta Ćma 蛾子"}


def test_bound_lorebooks_are_known_from_card_and_settings(folder: StFolder) -> None:
    mara = folder.tavern.characters.get(avatar="Mara Veldt.png")
    assert (mara.bound_lorebook, folder.tavern.character_lorebooks) == ("Saltmere Harbour", {})

    def bind(settings: dict[str, Any]) -> None:
        settings["world_info_settings"]["world_info"]["charLore"] = [{"name": "Mara Veldt", "extraBooks": ["Tides"]}]

    folder.settings(bind)
    folder.look()
    folder.tavern.refresh_from_db()
    assert folder.tavern.character_lorebooks == {"Mara Veldt": ["Tides"]}


def test_messages_have_sillytaverns_numbers_the_chosen_swipe_and_hidden_marks(folder: StFolder) -> None:
    rows = list(folder.chat().messages.order_by("index"))
    written = folder.lines()[1:]
    assert [row.index for row in rows] == list(range(len(written)))
    assert [row.text for row in rows] == [one["mes"] for one in written]
    assert [row.is_hidden for row in rows] == [bool(one.get("is_system")) for one in written]
    swiped = rows[2]
    assert (swiped.swipe, swiped.swipe_count, swiped.text) == (1, 3, "Quiet? Listen lower, under the boards.")


def test_branches_and_checkpoints_find_their_parent(folder: StFolder) -> None:
    parent = folder.chat()
    branch, checkpoint = folder.chat(BRANCH), folder.chat(CHECKPOINT)
    assert (branch.parent, branch.fork_index) == (parent, 4)
    assert (checkpoint.parent, checkpoint.fork_index) == (parent, 6)


def test_a_branch_finds_a_parent_that_was_renamed_before_anybody_looked(alice: User, tmp_path: Path) -> None:
    folder = StFolder(alice, tmp_path / "wren")
    path = folder.root / MARA
    path.rename(path.with_name("The tide.jsonl"))
    folder.look()
    parent = folder.chat(MARA.rpartition("/")[0] + "/The tide.jsonl")
    assert (folder.chat(BRANCH).parent, folder.chat(BRANCH).fork_index) == (parent, 4)
    assert parent.parent is None


def test_data_bank_entries_of_all_three_scopes(folder: StFolder) -> None:
    rows = {(row.scope, row.name): row for row in folder.tavern.attachments.all()}
    assert set(rows) == {
        ("global", "house-rules.txt"),
        ("character", "Mara_Veldt-memories.md"),
        ("character", "Żółta_Ćma-memories.md"),
        ("chat", "ferry.txt"),
    }
    mara = rows["character", "Mara_Veldt-memories.md"]
    assert (mara.url, mara.registered_size) == ("/user/files/1750000001000_4242424242.txt", 344)
    assert mara.character and mara.character.name == "Mara Veldt"
    assert all(row.file_present and row.is_registered and not row.is_disabled for row in rows.values())
    assert rows["chat", "ferry.txt"].chat == folder.chat("group chats/2025-06-18@20h00m00s000ms.jsonl")


def test_an_unchanged_pass_reads_no_file_and_asks_one_question(folder: StFolder) -> None:
    folder.tavern.refresh_from_db()
    with CaptureQueriesContext(connection) as queries:
        report = mirror(folder.tavern)
    assert (report.changed, report.files_read) == (False, 0)
    assert len([one for one in queries if one["sql"].startswith("SELECT")]) == 1


def test_one_changed_chat_is_the_only_file_read(folder: StFolder) -> None:
    folder.change(lambda lines: lines.append(line("And then?", "2025-06-15T16:00:00.000Z", user=True)))
    report = folder.look()
    assert (report.files_read, report.messages_written, len(report.chats)) == (1, 1, 1)
    assert folder.texts()[-1] == "And then?"


def test_delete_message_3_and_insert_two(folder: StFolder) -> None:
    before = {row.text: (row.pk, row.identity) for row in folder.chat().messages.all()}
    version = folder.chat().version

    def change(lines: list[dict[str, Any]]) -> None:
        lines[4:5] = [line("One.", "2025-06-15T15:11:00.100Z", user=True), line("Two.", "2025-06-15T15:11:00.200Z")]

    gone = folder.texts()[3]
    folder.change(change)
    folder.look()
    rows = list(folder.chat().messages.order_by("index"))
    assert [row.text for row in rows] == [one["mes"] for one in folder.lines()[1:]]
    assert [row.index for row in rows] == list(range(10))
    assert [row.line for row in rows] == list(range(2, 12))
    kept = {row.text: (row.pk, row.identity) for row in rows if row.text not in {"One.", "Two."}}
    assert kept == {text: ids for text, ids in before.items() if text != gone}
    assert folder.chat().version > version


def test_names_rewritten_in_the_whole_chat_keep_every_row(folder: StFolder) -> None:
    before = list(folder.chat().messages.values_list("pk", "identity", "content"))

    def rename(lines: list[dict[str, Any]]) -> None:
        for one in lines[1:]:
            one["name"] = "Renamed" if one["is_user"] else "Mara of the Lamp"

    folder.change(rename)
    folder.look()
    assert list(folder.chat().messages.values_list("pk", "identity", "content")) == before
    assert set(folder.chat().messages.values_list("name", flat=True)) == {"Renamed", "Mara of the Lamp"}


def test_an_edit_keeps_the_identity_and_changes_the_content(folder: StFolder) -> None:
    before = folder.chat().messages.get(index=1)
    folder.change(lambda lines: lines[2].update(mes="Edited."))
    folder.look()
    after = folder.chat().messages.get(index=1)
    assert (after.pk, after.identity, after.text) == (before.pk, before.identity, "Edited.")
    assert after.content != before.content


def test_a_swipe_and_a_continuation_keep_their_row(folder: StFolder) -> None:
    before = folder.chat().messages.get(index=8)

    def swipe(lines: list[dict[str, Any]]) -> None:
        old = lines[9]
        lines[9] = old | {
            "mes": "Quite another answer.",
            "send_date": "2026-01-01T00:00:00.000Z",
            "swipes": [old["mes"], "Quite another answer."],
            "swipe_id": 1,
        }

    folder.change(swipe)
    folder.look()
    swiped = folder.chat().messages.get(index=8)
    assert (swiped.pk, swiped.identity, swiped.text) == (before.pk, before.identity, "Quite another answer.")

    def go_on(lines: list[dict[str, Any]]) -> None:
        lines[9] = line("Quite another answer. And more of it.", "2026-01-02T00:00:00.000Z")

    folder.change(go_on)
    folder.look()
    longer = folder.chat().messages.get(index=8)
    assert (longer.pk, longer.identity) == (before.pk, before.identity)
    assert longer.text.endswith("And more of it.")


def test_a_renamed_chat_is_the_same_chat(folder: StFolder) -> None:
    before = folder.chat()
    (folder.root / MARA).rename(folder.root / "chats/Mara Veldt/The lamp.jsonl")
    folder.look()
    after = folder.chat("chats/Mara Veldt/The lamp.jsonl")
    assert (after.pk, after.name, after.gone_at, after.version) == (before.pk, "The lamp", None, before.version)
    assert folder.chat(BRANCH).parent == after


def test_two_chats_that_swap_names_swap_rows(folder: StFolder) -> None:
    first, second = folder.chat(MARA), folder.chat(CHECKPOINT)
    one, other, aside = folder.root / MARA, folder.root / CHECKPOINT, folder.root / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    folder.look()
    assert folder.chat(CHECKPOINT).pk == first.pk
    assert folder.chat(MARA).pk == second.pk


def test_an_old_chat_without_a_slug_is_known_by_its_beginning(folder: StFolder) -> None:
    path = "chats/Żółta Ćma 蛾子/Zolta - 2023-6-19 @14h 20m 50s 12ms.jsonl"
    before = folder.chat(path)
    (folder.root / path).rename(folder.root / "chats/Żółta Ćma 蛾子/Dach.jsonl")
    folder.look()
    assert folder.chat("chats/Żółta Ćma 蛾子/Dach.jsonl").pk == before.pk


def test_a_copied_file_is_a_chat_of_its_own_with_a_parent(folder: StFolder) -> None:
    shutil.copy(folder.root / MARA, folder.root / "chats/Mara Veldt/Copy.jsonl")
    folder.look()
    copy = folder.chat("chats/Mara Veldt/Copy.jsonl")
    assert (copy.parent, copy.fork_index) == (folder.chat(), 8)


def test_a_renamed_character_keeps_its_row_its_chats_and_its_memory_file(folder: StFolder) -> None:
    mara = folder.tavern.characters.get(avatar="Mara Veldt.png")
    chats = set(mara.chats.values_list("pk", flat=True))
    (folder.root / "characters/Mara Veldt.png").rename(folder.root / "characters/Mara of the Lamp.png")
    (folder.root / "chats/Mara Veldt").rename(folder.root / "chats/Mara of the Lamp")

    def move(settings: dict[str, Any]) -> None:
        attachments = settings["extension_settings"]["character_attachments"]
        attachments["Mara of the Lamp.png"] = attachments.pop("Mara Veldt.png")

    folder.settings(move)
    report = folder.look()
    mara.refresh_from_db()
    assert (mara.avatar, mara.former_avatars, mara.gone_at) == ("Mara of the Lamp.png", ["Mara Veldt.png"], None)
    assert report.renamed == ["Mara Veldt.png → Mara of the Lamp.png"]
    assert set(mara.chats.filter(gone_at=None).values_list("pk", flat=True)) == chats
    assert mara.attachments.get().avatar == "Mara of the Lamp.png"
    assert folder.tavern.characters.count() == 3


def test_what_is_deleted_is_gone_but_kept_and_may_come_back(folder: StFolder) -> None:
    card = folder.root / "characters/Mara Veldt.png"
    kept = card.read_bytes()
    card.unlink()
    (folder.root / MARA).unlink()
    folder.look()
    assert folder.tavern.characters.get(avatar="Mara Veldt.png").gone_at
    assert folder.chat().gone_at
    assert folder.chat().messages.count() == 9
    card.write_bytes(kept)
    folder.look()
    assert folder.tavern.characters.get(avatar="Mara Veldt.png").gone_at is None


def test_chats_without_an_owner_wait_for_their_card(folder: StFolder) -> None:
    path = "chats/Stranger/Stranger - 1.jsonl"
    folder.write(path, folder.lines())
    folder.look()
    assert (path, None, "No character and no group has this chat.", "It was left out until its owner appears.") in (
        folder.issues()
    )
    shutil.copy(folder.root / "characters/Mara Veldt.png", folder.root / "characters/Stranger.png")
    folder.look()
    assert folder.chat(path).messages.count() == 9
    assert folder.issues() == []


def test_switched_off_and_missing_data_bank_files_are_seen(folder: StFolder) -> None:
    url = "/user/files/1750000001000_4242424242.txt"
    folder.settings(lambda settings: settings["extension_settings"].update(disabled_attachments=[url]))
    (folder.root / "user/files/1750000001000_4242424242.txt").unlink()
    folder.look()
    row = folder.tavern.attachments.get(url=url)
    assert (row.is_disabled, row.file_present) == (True, False)
    assert folder.issues() == [
        (
            "user/files/1750000001000_4242424242.txt",
            None,
            "The Data Bank lists this file, but it is not there.",
            "Nothing was lost here; SillyTavern leaves out the whole Data Bank until the entry is removed.",
        )
    ]
    folder.settings(
        lambda settings: settings["extension_settings"]["character_attachments"].update({"Mara Veldt.png": []})
    )
    folder.look()
    assert folder.tavern.attachments.get(url=url).is_registered is False
    assert folder.issues() == []
    folder.settings(lambda settings: settings["extension_settings"].update(attachments=[]))
    folder.look()
    assert folder.tavern.attachments.get(name="house-rules.txt").gone_at


def test_a_file_of_ours_edited_in_the_data_bank_window_is_followed_to_its_new_url(folder: StFolder) -> None:
    row = folder.tavern.attachments.get(name="Mara_Veldt-memories.md")
    row.is_ours, row.written_hash = True, row.file_hash
    row.save()
    heard: list[events.DatabankText] = []
    events.databank_text_found.connect(heard.append)

    def edit(settings: dict[str, Any]) -> None:
        (entry,) = settings["extension_settings"]["character_attachments"]["Mara Veldt.png"]
        entry["url"] = "/user/files/1799_5.txt"

    try:
        (folder.root / "user/files/1799_5.txt").write_text("Edited by hand.", "utf-8")
        (folder.root / "user/files/1750000001000_4242424242.txt").unlink()
        folder.settings(edit)
        folder.look()
    finally:
        events.databank_text_found._listeners.remove(heard.append)
    row.refresh_from_db()
    assert (row.url, row.is_ours, row.is_registered) == ("/user/files/1799_5.txt", True, True)
    assert [(news.attachment_id, news.text, news.was_known) for news in heard] == [(row.pk, "Edited by hand.", True)]


def test_what_writing_keeps_is_never_touched(folder: StFolder) -> None:
    row = folder.tavern.attachments.get(name="Mara_Veldt-memories.md")
    mine = {
        "is_ours": True,
        "written_hash": row.file_hash,
        "index_state": "current",
        "index_hash": "h",
        "index_chunks": 3,
    }
    folder.tavern.attachments.filter(pk=row.pk).update(**mine)
    folder.settings(lambda settings: settings["extension_settings"].update(disabled_attachments=[row.url]))
    folder.look()
    row.refresh_from_db()
    assert {name: getattr(row, name) for name in mine} == mine


def test_the_first_pass_after_a_restore_only_compares(folder: StFolder) -> None:
    heard: list[Any] = []
    texts: list[events.DatabankText] = []
    events.chats_changed.connect(heard.append)
    events.databank_text_found.connect(texts.append)
    try:
        Tavern.objects.for_user(folder.tavern.owner).update(compare_only=True)
        folder.change(lambda lines: lines.append(line("New.", "2026-02-02T00:00:00.000Z")))
        (folder.root / "user/files/1750000001000_4242424242.txt").write_text("other", "utf-8")
        folder.look()
        assert heard == []
        assert [one.compare_only for one in texts] == [True]
        folder.tavern.refresh_from_db()
        assert folder.tavern.compare_only is False
        folder.change(lambda lines: lines.append(line("Newer.", "2026-02-03T00:00:00.000Z")))
        folder.look()
        assert [news.chat_ids for news in heard] == [[folder.chat().pk]]
    finally:
        events.chats_changed._listeners.remove(heard.append)
        events.databank_text_found._listeners.remove(texts.append)


def test_an_interrupted_import_goes_on_where_it_stopped(alice: User, tmp_path: Path) -> None:
    folder = StFolder(alice, tmp_path / "wren")
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 9

    report = mirror(folder.tavern, should_stop=stop)
    assert (report.finished, report.state) == (False, "new")
    already = report.files_read
    report = folder.look()
    assert report.finished
    assert report.files_read < 25 - already + 5
    assert folder.tavern.chats.count() == 11
    assert sum(chat.messages.count() for chat in folder.tavern.chats.all()) == 57


def test_no_secret_reaches_the_database_or_the_log(
    alice: User, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = StFolder(alice, tmp_path / "wren")
    canary = "CANARY-7f3a91"
    (folder.root / "secrets.json").write_text(json.dumps({"api_key_openai": canary}), "utf-8")
    (folder.root / "cookie-secret.txt").write_text(canary, "utf-8")
    (folder.root / "characters/secrets.json").write_text(canary, "utf-8")
    (folder.root / "user/files/secrets.json").write_text(canary, "utf-8")
    (folder.root / "_storage").mkdir()
    (folder.root / "_storage/abc").write_text(canary, "utf-8")

    def point_there(settings: dict[str, Any]) -> None:
        settings["oai_settings"] = {"proxy_password": canary}
        settings["extension_settings"]["apiKey"] = canary
        settings["extension_settings"]["attachments"].append(
            {"url": "/user/files/secrets.json", "name": "x-memories.md"}
        )
        settings["extension_settings"]["attachments"].append({"url": "../../secrets.json", "name": "y-memories.md"})

    folder.settings(point_there)
    with caplog.at_level("DEBUG"):
        folder.look()
    assert folder.tavern.characters.count() == 3
    with connection.cursor() as cursor, unscoped("the canary looks everywhere"):
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            assert canary not in repr(cursor.fetchall()), table
    assert canary not in caplog.text


def test_a_lost_chat_keeps_its_messages_when_another_begins_in_its_file(folder: StFolder) -> None:
    lost, before = folder.chat(), folder.texts()
    header = {"chat_metadata": {"integrity": "a-fresh-slug"}, "user_name": "unused", "character_name": "unused"}
    folder.write(MARA, [header])
    folder.look()
    assert folder.texts() == before, "a file that holds only its header takes nothing away"
    fresh = [
        {"name": "Mara", "is_user": False, "mes": f"A new night, {n}.", "send_date": f"2026-05-01T10:0{n}:00.000Z"}
        for n in range(3)
    ]
    folder.write(MARA, [header, *fresh])
    folder.look()
    assert folder.texts() == [message["mes"] for message in fresh]
    lost.refresh_from_db()
    assert lost.gone_at is not None and "kept here" in lost.problem
    assert [row.text for row in lost.messages.order_by("index")] == before
    folder.look()
    assert folder.chat().pk != lost.pk
