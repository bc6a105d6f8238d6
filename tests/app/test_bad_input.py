"""Everything that can be wrong with a folder: one clear sentence each, on the page and in the command, nothing lost."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.html import escape

from accounts.commands import CommandFailed
from accounts.models import User
from sync.management.commands.sync import issue_line
from sync.mirror_scan import no_permission
from sync.tavern.folder import Folder
from sync.watch import look
from tests.support.generated_root import card_png, card_v2
from tests.support.services import short_folder
from tests.support.st_folder import MARA, StFolder, without_root

KEPT_LINE = "The line is counted and kept as it is; nothing is taken from it."
CARD = "characters/Mara Veldt.png"


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> StFolder:
    folder = StFolder(alice, tmp_path / "wren")
    folder.look()
    return folder


def raw(folder: StFolder, path: str, data: bytes) -> None:
    target = folder.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def shown(client: Client) -> str:
    return client.get("/settings/sillytavern/issues/").content.decode()


def told() -> str:
    out = io.StringIO()
    call_command("sync", user="alice", stdout=out)
    return out.getvalue()


def check(folder: StFolder, client: Client, path: str, line: int | None, text: str, kept: str) -> None:
    """The one issue is there, on the page, and in the command, word for word."""
    folder.look()
    assert folder.issues() == [(path, line, text, kept)]
    page = shown(client)
    assert escape(path) in page
    assert escape(text) in page
    assert escape(kept) in page
    assert f"{path}{f':{line}' if line else ''}: {text} {kept}".rstrip() in told()


def cut_in_the_middle(data: bytes) -> bytes:
    return data[: len(data) - 20]


def with_a_bad_line(data: bytes) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join([*lines[:3], lines[3][:30], *lines[4:]])


def with_a_long_line(data: bytes) -> bytes:
    lines = data.split(b"\n")
    long = json.dumps({"name": "Mara", "is_user": False, "mes": "x" * (20 * 1024 * 1024)}).encode()
    return b"\n".join([*lines, long])


@pytest.mark.parametrize(
    ("change", "line", "text", "kept", "messages"),
    [
        (cut_in_the_middle, 10, "The last line is cut off in the middle.", KEPT_LINE, 9),
        (with_a_bad_line, 4, "This line is not valid JSON.", KEPT_LINE, 9),
        (with_a_long_line, 11, "This line is 20.0 MiB long; more than 8 MiB is not read.", KEPT_LINE, 10),
        (
            lambda data: b"\xef\xbb\xbf" + data,
            1,
            "This file begins with a byte order mark, which an editor left there.",
            "All its lines were read. SillyTavern may lose the first line: save the file without the mark.",
            9,
        ),
        (
            lambda data: b"",
            None,
            "This chat had 9 messages and now holds nothing.",
            "All 9 messages are kept here. SillyTavern's own copies are in its folder backups.",
            9,
        ),
        (
            lambda data: data.split(b"\n")[0],
            None,
            "This chat had 9 messages and now holds only its first line.",
            "All 9 messages are kept here. SillyTavern's own copies are in its folder backups.",
            9,
        ),
        (
            lambda data: b"\n".join(data.split(b"\n")[:2]),
            None,
            "This chat had 9 messages and now holds only one message.",
            "All 9 messages are kept here. SillyTavern's own copies are in its folder backups.",
            9,
        ),
        (
            lambda data: data.decode().encode("utf-16"),
            1,
            "This file was saved as UTF-16; SillyTavern itself cannot read it.",
            "All its lines were read.",
            9,
        ),
    ],
)
def test_a_damaged_chat(
    folder: StFolder, alice_client: Client, change: Any, line: int | None, text: str, kept: str, messages: int
) -> None:
    before = (folder.root / MARA).read_bytes()
    raw(folder, MARA, change(before))
    check(folder, alice_client, MARA, line, text, kept)
    chat = folder.chat()
    assert chat.messages.count() == chat.message_count == messages
    assert chat.gone_at is None
    raw(folder, MARA, before)
    folder.look()
    assert folder.issues() == []
    assert folder.chat().messages.count() == 9


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"no picture", "This is not a PNG picture."),
        (card_png(card_v2("x"), keywords=()), "There is no card inside this picture."),
        (card_png(card_v2("x"))[:90], "This picture is cut off before its end."),
    ],
)
def test_a_card_that_cannot_be_read_keeps_the_character(
    folder: StFolder, alice_client: Client, data: bytes, text: str
) -> None:
    raw(folder, CARD, data)
    check(folder, alice_client, CARD, None, text, "The character as it was read before is kept.")
    mara = folder.tavern.characters.get(avatar="Mara Veldt.png")
    assert (mara.name, mara.gone_at) == ("Mara Veldt", None)


def test_a_picture_without_a_card_is_left_out(folder: StFolder, alice_client: Client) -> None:
    raw(folder, "characters/Rook_2.png", card_png(card_v2("x"), keywords=()))
    check(
        folder,
        alice_client,
        "characters/Rook_2.png",
        None,
        "There is no card inside this picture.",
        "It was left out; everything else was read.",
    )


def test_a_card_with_one_broken_chunk_is_read_from_the_other(folder: StFolder, alice_client: Client) -> None:
    data = card_png(card_v2("Mara the Second"), keywords=(b"ccv3", b"chara"))
    place = data.index(b"ccv3\0") + 5
    raw(folder, CARD, data[:place] + b"!" * 8 + data[place + 8 :])
    check(
        folder,
        alice_client,
        CARD,
        None,
        "The part “ccv3” of this card is broken.",
        "The other copy of the card inside the picture was read.",
    )
    assert folder.tavern.characters.get(avatar="Mara Veldt.png").name == "Mara the Second"


def test_a_link_is_reported_and_not_followed(folder: StFolder, alice_client: Client, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    shutil.copy(folder.root / MARA, outside)
    (folder.root / "chats/Mara Veldt/Linked.jsonl").symlink_to(outside)
    check(
        folder,
        alice_client,
        "chats/Mara Veldt/Linked.jsonl",
        None,
        "This is a symbolic link; CharMem does not follow links.",
        "What it leads to was left alone.",
    )
    assert not folder.tavern.chats.filter(path="chats/Mara Veldt/Linked.jsonl").exists()
    (folder.root / "chats/Mara Veldt/Linked.jsonl").unlink()
    folder.look()
    assert folder.issues() == []


def test_a_link_among_data_bank_files_and_settings_leads_nowhere(folder: StFolder, tmp_path: Path) -> None:
    """Neither is opened: what was read before stays, and nothing from outside gets into the database."""
    outside = tmp_path / "outside"
    outside.write_text(json.dumps({"currentVersion": "CANARY", "username": "CANARY"}))
    known = folder.tavern.attachments.filter(gone_at=None, file_present=True).first()
    assert known is not None
    for path in (known.url.lstrip("/"), "settings.json"):
        (folder.root / path).unlink()
        (folder.root / path).symlink_to(outside)
    folder.look()
    assert {(path, text) for path, _line, text, _kept in folder.issues() if "link" in text} == {
        (known.url.lstrip("/"), "This is a symbolic link; CharMem does not follow links."),
        ("settings.json", "This is a symbolic link; CharMem does not follow links."),
    }
    folder.tavern.refresh_from_db()
    assert folder.tavern.version == "1.19.0"
    assert "CANARY" not in repr([vars(row) for row in folder.tavern.attachments.all()]) + repr(vars(folder.tavern))
    assert folder.tavern.attachments.filter(gone_at=None).count() == 4


def test_a_folder_that_is_not_sillytaverns(alice_client: Client, tmp_path: Path, settings: Any) -> None:
    settings.SILLYTAVERN_ROOTS = [str(tmp_path)]
    music = tmp_path / "music"
    music.mkdir()
    sentence = f"{music} is not a SillyTavern user folder: it has no characters beside chats or settings.json."
    page = alice_client.post("/settings/sillytavern/link/", {"folder": str(music)})
    assert escape(sentence) in page.content.decode()
    with pytest.raises(CommandFailed) as caught:
        call_command("link_sillytavern", user="alice", folder=str(music))
    assert str(caught.value) == sentence
    assert list(music.iterdir()) == []


def test_a_linked_folder_is_reported_and_not_entered(folder: StFolder, tmp_path: Path) -> None:
    shutil.copytree(folder.root / "chats/Mara Veldt", tmp_path / "elsewhere")
    (folder.root / "chats/Linked").symlink_to(tmp_path / "elsewhere")
    folder.look()
    assert [(path, text) for path, _line, text, _kept in folder.issues()] == [
        ("chats/Linked", "This is a symbolic link; CharMem does not follow links.")
    ]
    assert folder.tavern.chats.count() == 11


def test_a_broken_lorebook_group_and_settings_keep_what_was_there(folder: StFolder) -> None:
    raw(folder, "worlds/Saltmere Harbour.json", b"{")
    raw(folder, "groups/1795974490403.json", b"[]")
    raw(folder, "settings.json", b'{"currentVersion":')
    folder.look()
    assert folder.issues() == [
        ("groups/1795974490403.json", None, "This file holds no group.", "The group as it was read before is kept."),
        ("settings.json", None, "settings.json is not valid JSON.", "The settings as they were read before are kept."),
        (
            "worlds/Saltmere Harbour.json",
            None,
            "This lorebook is not valid JSON.",
            "The lorebook as it was read before is kept.",
        ),
    ]
    folder.tavern.refresh_from_db()
    assert folder.tavern.version == "1.19.0"
    assert folder.tavern.groups.get().members.count() == 3
    assert folder.tavern.lorebooks.get(path="worlds/Saltmere Harbour.json").entries.count() > 0
    assert folder.tavern.attachments.filter(gone_at=None).count() == 4


@pytest.mark.parametrize("name", ["Maya \\ Lisa", "a: b", 'say "hi"', "it's", "100% sure", "🦊🌙", "new\nline"])
def test_odd_names_are_read(folder: StFolder, alice_client: Client, name: str) -> None:
    raw(folder, f"characters/{name}.png", card_png(card_v2("Who / knows")))
    folder.write(f"chats/{name}/{name}.jsonl", folder.lines())
    folder.look()
    character = folder.tavern.characters.get(avatar=f"{name}.png")
    assert character.name == "Who / knows"
    chat = character.chats.get()
    assert chat.messages.count() == 9
    assert "Who / knows" in alice_client.get("/characters/").content.decode()
    assert escape(name).split("\n")[0] in alice_client.get(f"/chats/{chat.pk}/").content.decode()


def test_a_name_that_is_not_utf_8_is_reported(folder: StFolder) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder.root / "characters") + b"/\xff\xfe.png")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system only takes UTF-8 names")
    folder.look()
    ((path, _line, text, kept),) = folder.issues()
    assert (path, text, kept) == (
        "characters/\ufffd\ufffd.png",
        "The name of this file is not UTF-8.",
        "The file was left alone.",
    )


@pytest.mark.parametrize("path", [MARA, CARD, "settings.json", "chats/Mara Veldt"])
def test_what_may_not_be_read_keeps_what_was_read(alice: User, alice_client: Client, path: str) -> None:
    folder = StFolder(alice, short_folder("wren") / "wren")
    folder.look()
    target = folder.root / path
    if target.is_file():
        target.write_bytes(target.read_bytes() + b"\n")
    mode = target.stat().st_mode
    target.chmod(0)
    with without_root():
        folder.look()
    who = f"uid {os.getuid()}, gid {os.getgid()}"
    text = f"CharMem runs as {who} and may not read this; it belongs to {who}, mode 0."
    kept = {
        MARA: "The messages read before are kept.",
        CARD: "The character as it was read before is kept.",
        "settings.json": "The settings as they were read before are kept.",
        "chats/Mara Veldt": "What was read from it before is kept.",
    }[path]
    assert folder.issues() == [(path, None, text, kept)]
    page = shown(alice_client)
    assert escape(text) in page and escape(kept) in page
    with without_root():
        look(folder.tavern)
    assert issue_line(folder.tavern.issues.get()) == f"{path}: {text} {kept}"
    folder.tavern.refresh_from_db()
    assert (folder.tavern.state, folder.tavern.version) == ("ok", "1.19.0")
    assert folder.chat().messages.count() == 9
    assert folder.tavern.chats.filter(gone_at=None).count() == 11
    assert folder.tavern.characters.filter(gone_at=None).count() == 3
    target.chmod(mode)
    folder.look()
    assert folder.issues() == []


def test_a_folder_that_may_not_be_entered(alice: User, alice_client: Client) -> None:
    folder = StFolder(alice, short_folder("wren") / "wren")
    folder.look()
    folder.root.chmod(0)
    with without_root():
        folder.look()
    sentence = f"CharMem may not open {folder.root}. Everything read before is kept."
    folder.tavern.refresh_from_db()
    assert (folder.tavern.state, folder.tavern.state_reason) == ("unreachable", sentence)
    assert escape(sentence) in alice_client.get("/settings/sillytavern/").content.decode()
    with without_root(), pytest.raises(CommandFailed) as caught:
        told()
    assert str(caught.value) == sentence
    folder.root.chmod(0o755)
    assert folder.look().state == "ok"
    assert folder.tavern.chats.filter(gone_at=None).count() == 11


def test_who_may_not_read_is_told_with_numbers(folder: StFolder) -> None:
    (folder.root / MARA).chmod(0o640)
    with Folder(folder.root) as opened:
        text = no_permission(opened, MARA).text
    uid, gid = os.getuid(), os.getgid()
    assert text == (
        f"CharMem runs as uid {uid}, gid {gid} and may not read this; it belongs to uid {uid}, gid {gid}, mode 640."
    )


def test_an_unmounted_disk_pauses_and_deletes_nothing(folder: StFolder, alice_client: Client) -> None:
    away = folder.root.with_name("away")
    folder.root.rename(away)
    folder.root.mkdir()
    folder.look()
    sentence = (
        f"{folder.root} had 3 characters and has none now. Most often a disk is not mounted, or a container "
        "was started without it. Everything read before is kept and nothing was marked as deleted."
    )
    folder.tavern.refresh_from_db()
    assert (folder.tavern.state, folder.tavern.state_reason) == ("paused", sentence)
    assert escape(sentence) in alice_client.get("/settings/sillytavern/").content.decode()
    with pytest.raises(CommandFailed, match="had 3 characters and has none now"):
        told()
    assert folder.tavern.characters.filter(gone_at=None).count() == 3
    assert folder.tavern.chats.filter(gone_at=None).count() == 11
    folder.root.rmdir()
    away.rename(folder.root)
    assert folder.look().state == "ok"
    assert folder.tavern.chats.filter(gone_at=None).count() == 11


def test_a_folder_that_is_not_there(folder: StFolder, alice_client: Client) -> None:
    folder.root.rename(folder.root.with_name("away"))
    folder.look()
    sentence = f"{folder.root} is not there. Everything read before is kept."
    folder.tavern.refresh_from_db()
    assert (folder.tavern.state, folder.tavern.state_reason) == ("unreachable", sentence)
    assert escape(sentence) in alice_client.get("/settings/sillytavern/").content.decode()
    with pytest.raises(CommandFailed) as caught:
        told()
    assert str(caught.value) == sentence


def test_a_missing_chats_folder_keeps_its_chats(folder: StFolder, alice_client: Client) -> None:
    (folder.root / "chats").rename(folder.root / "elsewhere")
    check(
        folder,
        alice_client,
        "chats",
        None,
        "This folder is missing; it held 9 chats.",
        "All of them are kept as they were read.",
    )
    assert folder.tavern.chats.filter(gone_at=None).count() == 11
    (folder.root / "elsewhere").rename(folder.root / "chats")
    folder.look()
    assert folder.issues() == []


def test_a_chat_of_100_mb_is_read(folder: StFolder) -> None:
    """Most of it are swipes that nobody chose; a second pass writes only the line that is new."""
    path = "chats/Mara Veldt/Long.jsonl"
    swipes = json.dumps(["chosen", "x" * 50_000])
    with (folder.root / path).open("w", encoding="utf-8") as file:
        file.write(json.dumps({"chat_metadata": {"integrity": "long"}}))
        for number in range(2_000):
            date = f"2025-01-01T{number // 60 % 24:02d}:{number % 60:02d}:00.{number % 1000:03d}Z"
            file.write(f'\n{{"name":"Mara","is_user":false,"send_date":"{date}","mes":"{number}","swipes":{swipes}}}')
    assert (folder.root / path).stat().st_size > 100_000_000
    report = folder.look()
    assert (report.messages_written, folder.issues()) == (2_000, [])
    with (folder.root / path).open("a", encoding="utf-8") as file:
        file.write('\n{"name":"Ren","is_user":true,"send_date":"2025-02-01T00:00:00.000Z","mes":"more"}')
    assert folder.look().messages_written == 1
    assert folder.texts(path) == [*(str(number) for number in range(2_000)), "more"]
