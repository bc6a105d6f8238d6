"""The memory of one chat in the Data Bank of that chat: pasted by a person, adopted with its URL, kept up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import memory_file, outside_text, scope_words, write_back
from memories.memory_file import file_for
from memories.models import MemoryFile, MemoryScope
from memories.scopes import file_of_reading
from sync import registration
from sync.events import PassFinished
from sync.models import Attachment, Character, Chat
from tests.support.branching import remember, texts_in
from tests.support.databank import text_of
from tests.support.st_folder import MARA, StFolder

OTHER = "/user/files/1771160000000_99.txt"


@pytest.fixture
def folder(alice: User, tmp_path: Path, transactional_db: Any) -> StFolder:
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    return folder


@pytest.fixture
def mara(folder: StFolder) -> Character:
    found = folder.tavern.characters.select_related("tavern__owner").get(name="Mara Veldt")
    MemoryScope.objects.for_user(folder.tavern.owner).update_or_create(character=found, defaults={"scope": "chat"})
    return found


@pytest.fixture
def file(alice: User, folder: StFolder, mara: Character) -> MemoryFile:
    """The memory of one chat, written to the disk and known to nobody in SillyTavern."""
    made = file_of_reading(mara, folder.chat())
    remember(made, folder.chat(), "Mara keeps a lantern.", 1)
    run_until_idle(alice)
    return fresh(made)


def fresh(file: MemoryFile) -> MemoryFile:
    return MemoryFile.objects.for_user(file.owner).select_related("attachment", "chat").get(pk=file.pk)


def attachment_of(file: MemoryFile) -> Attachment:
    found = fresh(file).attachment
    assert found is not None
    return found


def paste(folder: StFolder, name: str, text: str, path: str = MARA) -> None:
    """As SillyTavern carries out /db-add source=chat: a file under its own name, and an entry in the chat's header."""
    (folder.root / OTHER.lstrip("/")).write_text(text, encoding="utf-8")
    entry = {"url": OTHER, "size": len(text), "name": name, "created": 1771160000000}

    def add(lines: list[dict[str, Any]]) -> None:
        lines[0].setdefault("chat_metadata", {})["attachments"] = [entry]

    folder.change(add, path)


def look(folder: StFolder, user: User) -> None:
    Job.objects.for_user(user).delete()  # no index can be built here, and a try that failed is not made again at once
    folder.look()
    write_back.sweep(PassFinished(folder.tavern.pk, changed=True))
    run_until_idle(user)


def test_its_text_is_written_for_the_chat_and_offered_to_nobody(file: MemoryFile, folder: StFolder) -> None:
    attachment = attachment_of(file)
    assert (attachment.scope, attachment.chat, attachment.avatar) == ("chat", folder.chat(), "")
    assert "Mara keeps a lantern." in text_of(attachment)
    assert not [one for one in registration.offer(folder.tavern) if one.url == attachment.url]


def test_what_is_pasted_into_the_chat_is_adopted_and_kept_up_to_date(
    alice: User, file: MemoryFile, folder: StFolder, mara: Character
) -> None:
    (line,) = [one for one in scope_words.isolation(alice, mara) if one.chat == folder.chat()]
    assert line.paste_line.startswith('/db-add source=chat name="Mara_Veldt-chat')
    paste(folder, file.name, "cut short")
    look(folder, alice)
    attachment = attachment_of(file)
    assert (attachment.url, attachment.is_registered, attachment.chat) == (OTHER, True, folder.chat())
    assert text_of(attachment) == memory_file.render(fresh(file))
    remember(fresh(file), folder.chat(), "Mara sold the lantern.", 3)
    run_until_idle(alice)
    assert "Mara sold the lantern." in text_of(attachment_of(file))
    (line,) = [one for one in scope_words.isolation(alice, mara) if one.chat == folder.chat()]
    assert (line.kind, line.text) == ("ok", "In force in this chat only.")


def test_the_chat_is_renamed_before_anything_is_pasted(alice: User, file: MemoryFile, folder: StFolder) -> None:
    chat = folder.chat()
    path = MARA.replace("Mara Veldt - 2025-06-15", "Renamed - 2025-06-15")
    (folder.root / MARA).rename(folder.root / path)
    folder.look()
    assert folder.chat(path) == chat
    paste(folder, file.name, "cut short", path)
    look(folder, alice)
    assert (attachment_of(file).url, fresh(file).chat) == (OTHER, chat)
    assert file_of_reading(fresh(file).character, folder.chat(path)) == file


def test_an_edit_of_the_chats_file_in_sillytavern_comes_back(alice: User, file: MemoryFile, folder: StFolder) -> None:
    paste(folder, file.name, "cut short")
    look(folder, alice)
    path = folder.root / OTHER.lstrip("/")
    path.write_text(path.read_text("utf-8").replace("a lantern", "two lanterns"), encoding="utf-8")
    look(folder, alice)
    assert texts_in(fresh(file)) == ["Mara keeps two lanterns."]
    assert fresh(file).version == fresh(file).written_version


def test_an_edit_on_both_sides_is_a_question(alice: User, file: MemoryFile, folder: StFolder) -> None:
    paste(folder, file.name, "cut short")
    look(folder, alice)
    path = folder.root / OTHER.lstrip("/")
    path.write_text(path.read_text("utf-8").replace("a lantern", "two lanterns"), encoding="utf-8")
    remember(fresh(file), folder.chat(), "Mara sold it.", 3)
    look(folder, alice)
    assert outside_text.open_conflict(fresh(file)) is not None
    assert "two lanterns" in path.read_text("utf-8")


def test_two_chats_of_the_same_name_in_two_data_banks_keep_their_own_files(
    alice: User, file: MemoryFile, folder: StFolder, mara: Character
) -> None:
    """A file of this name in another chat is not ours."""
    other: Chat = mara.chats.exclude(pk=folder.chat().pk).exclude(integrity="").first()  # type: ignore[assignment]
    paste(folder, file.name, "somebody else's", other.path)
    look(folder, alice)
    assert attachment_of(file).url != OTHER
    assert (folder.root / OTHER.lstrip("/")).read_text("utf-8") == "somebody else's"


def test_a_file_that_the_extension_keeps_at_the_character_is_adopted_and_not_called_isolated(
    alice: User, folder: StFolder, mara: Character
) -> None:
    name = f"Mara_Veldt-chat{folder.chat().name}-memories.md"
    text = '<memory chat="Pier" date="2025-06-15 15:30">\n- Mara fears the buoy.\n</memory>\n'
    (folder.root / OTHER.lstrip("/")).write_text(text, encoding="utf-8")
    entry = {"url": OTHER, "size": len(text), "name": name, "created": 1771160000000}

    def add(settings: dict[str, Any]) -> None:
        settings["extension_settings"]["character_attachments"].setdefault(mara.avatar, []).append(entry)

    folder.settings(add)
    folder.look()
    write_back.schedule(file_of_reading(mara, folder.chat()))
    run_until_idle(alice)
    file = fresh(file_for(mara, folder.chat()))
    assert texts_in(file) == ["Mara fears the buoy."]
    (line,) = [one for one in scope_words.isolation(alice, mara) if one.chat == folder.chat()]
    assert "not isolated" in line.text
    assert (folder.root / OTHER.lstrip("/")).read_text("utf-8") == text
