"""Names that may be opened and names that may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.tavern.paths import PathRefused, chats_folder, file_of_url, new_file_parts, parts_of

ODD = ["Maya \\ Lisa", "a: b", 'say "hi"', "it's", "100%", "🦊🌙", "Żółta Ćma 蛾子", "dots...", "new\nline"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_on_the_disk_are_readable(name: str) -> None:
    assert parts_of(f"chats/{name}/{name}.jsonl") == ["chats", name, f"{name}.jsonl"]
    assert parts_of(f"characters/{name}.png") == ["characters", f"{name}.png"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../other/settings.json",
        "chats/../secrets.json",
        "characters/./a.png",
        "characters//a.png",
        "characters/a\0.png",
        "secrets.json",
        "characters/secrets.json",
        "user/files/cookie-secret.txt",
        "_storage/abc",
        "Secrets.JSON",
        "backups/chat.jsonl",
        "thumbnails/a.png",
        "characters/a/b.png",
        "user/images/a.png",
        "characters/" + "x" * 300,
    ],
)
def test_what_is_not_on_the_list_is_refused(path: str) -> None:
    with pytest.raises(PathRefused):
        parts_of(path)


@pytest.mark.parametrize("path", ["chats/a/b.jsonl", "characters/a.png", "worlds/a.json", "groups/a.json"])
def test_chats_cards_and_lorebooks_are_never_written(path: str) -> None:
    with pytest.raises(PathRefused, match="CharMem does not write here"):
        new_file_parts(path)


@pytest.mark.parametrize("name", ["con.txt", "a:b.txt", "tab\t.txt", 'a"b', "ends.", "back\\slash"])
def test_new_files_have_harmless_names(name: str) -> None:
    with pytest.raises(PathRefused):
        new_file_parts(f"user/files/{name}")


def test_a_url_gives_only_its_base_name() -> None:
    assert file_of_url("/user/files/1750_1.txt") == "user/files/1750_1.txt"
    assert file_of_url("/user/files/../../secrets/x.txt?v=1") == "user/files/x.txt"
    with pytest.raises(PathRefused):
        file_of_url("/user/files/secrets.json")
    with pytest.raises(PathRefused):
        file_of_url("/user/files/..%2f..")


def test_only_the_first_png_is_taken_away() -> None:
    assert chats_folder("a.png.png") == "chats/a.png"


@given(st.text(max_size=60))
def test_no_name_leads_outside(path: str) -> None:
    try:
        parts = parts_of(path)
    except PathRefused:
        return
    assert ".." not in parts
    assert parts[0] in {
        "settings.json",
        "characters",
        "chats",
        "groups",
        "group chats",
        "worlds",
        "user",
        "vectors",
        "extensions",
    }
