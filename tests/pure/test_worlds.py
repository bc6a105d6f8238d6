"""Lorebooks and groups."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.tavern.groups import GroupError, read_group
from sync.tavern.worlds import WorldError, read_world


def test_both_forms_of_entries() -> None:
    table = {
        "entries": {
            "0": {"uid": 0, "key": ["a", "b"], "keysecondary": ["c"], "content": "x", "disable": True, "order": 7}
        }
    }
    listed = {
        "entries": [{"id": 4, "keys": ["a"], "content": "y", "enabled": True, "insertion_order": 9, "constant": True}]
    }
    (one,), (two,) = read_world(json.dumps(table).encode()), read_world(json.dumps(listed).encode())
    assert (one.uid, one.keys, one.secondary_keys, one.is_enabled, one.order) == ("0", ["a", "b"], ["c"], False, 7)
    assert (two.uid, two.keys, two.is_enabled, two.is_constant, two.order) == ("4", ["a"], True, True, 9)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{", "This lorebook is not valid JSON."),
        (b"{}", "This file holds no lorebook."),
        (b"\xff", "This lorebook is not written in UTF-8."),
    ],
)
def test_what_is_no_lorebook(data: bytes, sentence: str) -> None:
    with pytest.raises(WorldError) as caught:
        read_world(data)
    assert str(caught.value) == sentence


def test_a_disabled_member_still_belongs_to_the_group() -> None:
    group = read_group(
        json.dumps(
            {
                "name": "Ferry",
                "members": ["a.png", "b.png", "a.png", 5],
                "disabled_members": ["a.png", "b.png"],
                "chats": ["c1", "c1", "c2"],
                "chat_id": "c2",
            }
        ).encode()
    )
    assert [(seat.avatar, seat.is_disabled) for seat in group.seats] == [("a.png", True), ("b.png", True), ("5", False)]
    assert (group.chat_ids, group.current_chat) == (["c1", "c2"], "c2")


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"members": "a"}', b"\xff"])
def test_what_is_no_group(data: bytes) -> None:
    with pytest.raises(GroupError):
        read_group(data)


@given(st.binary(max_size=300))
def test_no_bytes_break_them(data: bytes) -> None:
    for reader, error in ((read_world, WorldError), (read_group, GroupError)):
        try:
            reader(data)
        except error as caught:
            assert str(caught).endswith(".")
