"""Reading chat files in every form, whole or broken."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync.tavern import chats
from sync.tavern.chats import ChatLine, ChatReader, read_chat

HEADER = {"chat_metadata": {"integrity": "abc", "main_chat": "Before"}, "user_name": "unused"}


def read(*lines: Any, raw: bytes | None = None) -> tuple[ChatReader, list[ChatLine]]:
    data = raw if raw is not None else "\n".join(json.dumps(line) for line in lines).encode()
    with read_chat(io.BytesIO(data)) as reader:
        return reader, list(reader.lines())


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"name": "Mara", "is_user": False, "send_date": "2025-06-15T15:06:40.000Z", "mes": text, **fields}


def problems(reader: ChatReader) -> list[tuple[int | None, str, str]]:
    return [(problem.line, problem.text, problem.kept) for problem in reader.problems.all()]


def test_numbers_are_sillytaverns_own_and_start_after_the_header() -> None:
    reader, lines = read(HEADER, said("one"), said("two"))
    assert reader.header.integrity == "abc"
    assert reader.header.main_chat == "Before"
    assert [(line.index, line.line, line.text) for line in lines] == [(0, 2, "one"), (1, 3, "two")]


@pytest.mark.parametrize(
    "header",
    [
        {"chat_metadata": {}, "user_name": "unused", "character_name": "unused"},
        {"user_name": "Ren", "character_name": "X", "create_date": "2023-6-19 @14h 20m 50s 12ms", "chat_metadata": {}},
        {"user_name": "You", "character_name": "X"},
        {"chat_metadata": {"integrity": "x"}, "mes": "even then"},
    ],
)
def test_every_header_form_is_a_header(header: dict[str, Any]) -> None:
    reader, lines = read(header, said("one"))
    assert reader.has_header
    assert [line.index for line in lines] == [0]


def test_a_group_chat_without_a_header_begins_with_message_0() -> None:
    reader, lines = read(said("one", original_avatar="Mara.png"), said("two"))
    assert not reader.has_header
    assert [(line.index, line.sender_avatar) for line in lines] == [(0, "Mara.png"), (1, "")]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"mes": "b", "swipes": ["a", "b"], "swipe_id": 1}, "b"),
        ({"mes": "", "swipes": ["zero", "one"], "swipe_id": 0}, "zero"),
        ({"mes": "", "swipes": ["zero", "one"], "swipe_id": 1}, "one"),
        ({"mes": "kept", "swipes": ["zero"], "swipe_id": 9}, "kept"),
        ({"mes": None, "swipes": ["zero"], "swipe_id": 0}, "zero"),
    ],
)
def test_the_chosen_swipe_counts_and_number_0_is_a_choice(fields: dict[str, Any], text: str) -> None:
    _reader, (line,) = read(HEADER | {}, said("x") | fields)
    assert line.text == text


def test_hidden_is_not_a_notice() -> None:
    _reader, lines = read(
        HEADER,
        said("hidden", is_system=True),
        said("help text", is_system=True, extra={"type": "help"}),
        said("a narrator, hidden", is_system=True, extra={"type": "narrator"}),
        said("the user", is_user=True, is_system=True),
        said("a notice of nobody", name="", is_system=True),
    )
    assert [(line.role, line.is_hidden) for line in lines] == [
        ("character", True),
        ("system", True),
        ("character", True),
        ("user", True),
        ("system", True),
    ]


def test_a_bad_line_keeps_its_number_and_is_reported() -> None:
    raw = b"\n".join([json.dumps(HEADER).encode(), b'{"mes": "cut', json.dumps(said("after")).encode()])
    reader, lines = read(raw=raw)
    assert [(line.index, line.role, line.text) for line in lines] == [(0, "unreadable", ""), (1, "character", "after")]
    assert reader.unreadable == 1
    assert problems(reader) == [
        (2, "This line is not valid JSON.", "The line is counted and kept as it is; nothing is taken from it.")
    ]


def test_a_file_cut_off_in_its_last_line_says_so() -> None:
    raw = b"\n".join([json.dumps(HEADER).encode(), json.dumps(said("one")).encode(), b'{"name":"Mara","mes":"and th'])
    reader, lines = read(raw=raw)
    assert len(lines) == 2
    assert problems(reader) == [
        (
            3,
            "The last line is cut off in the middle.",
            "The line is counted and kept as it is; nothing is taken from it.",
        )
    ]


def test_a_line_of_20_mb_is_counted_with_number_and_size_but_not_read() -> None:
    long = json.dumps(said("x" * 20 * 1024 * 1024)).encode()
    raw = b"\n".join([json.dumps(HEADER).encode(), long, json.dumps(said("after")).encode()])
    reader, lines = read(raw=raw)
    assert [(line.index, line.role, len(line.text)) for line in lines] == [(0, "unreadable", 0), (1, "character", 5)]
    assert problems(reader) == [
        (
            2,
            "This line is 20.0 MiB long; more than 8 MiB is not read.",
            "The line is counted and kept as it is; nothing is taken from it.",
        )
    ]


def test_a_byte_order_mark_costs_nothing() -> None:
    raw = b"\xef\xbb\xbf" + "\n".join(json.dumps(line) for line in (HEADER, said("one"))).encode()
    reader, lines = read(raw=raw)
    assert reader.header.integrity == "abc"
    assert [line.text for line in lines] == ["one"]
    assert problems(reader) == [
        (
            1,
            "This file begins with a byte order mark, which an editor left there.",
            "All its lines were read. SillyTavern may lose the first line: save the file without the mark.",
        )
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read(encoding: str) -> None:
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in (HEADER, said("Żółta 蛾子")))
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    reader, lines = read(raw=mark + text.encode(encoding))
    assert [line.text for line in lines] == ["Żółta 蛾子"]
    assert problems(reader) == [
        (1, "This file was saved as UTF-16; SillyTavern itself cannot read it.", "All its lines were read.")
    ]


def test_an_empty_file_says_so() -> None:
    reader, lines = read(raw=b"")
    assert (reader.is_empty, lines) == (True, [])
    assert problems(reader) == [(None, "This file is empty.", "What was read from it before is kept.")]


def test_a_foreign_line_names_the_missing_field() -> None:
    reader, (line,) = read(HEADER, {"role": "assistant", "content": "hi"})
    assert line.role == "unreadable"
    assert problems(reader)[0][:2] == (2, "This line has no field “mes”, so it is not a message of SillyTavern's.")


def test_a_date_that_cannot_be_leaves_the_message() -> None:
    reader, (line,) = read(HEADER, said("one", send_date=1764440000000000))
    assert (line.text, line.sent_at) == ("one", None)
    assert problems(reader) == [
        (2, "The date of this message cannot be read.", "The message was read, its date is open.")
    ]


def test_a_header_that_cannot_be_read_is_not_taken_for_a_message() -> None:
    raw = b'{"chat_metadata":{"integ\n' + json.dumps(said("one")).encode()
    reader, lines = read(raw=raw)
    assert [line.text for line in lines] == ["one"]
    assert problems(reader) == [(1, "The first line, the header, cannot be read.", "All messages were read.")]


def test_only_the_first_fifty_problems_are_listed() -> None:
    reader, lines = read(raw=b"\n".join([b"{bad"] * 80))
    assert len(lines) == 80
    assert len(reader.problems.all()) == 51
    assert reader.problems.all()[-1].text == "30 more lines of this file have problems of their own."


def test_a_line_is_found_again_where_it_stood() -> None:
    reader, lines = read(HEADER, said("one"), said("two", swipes=["two", "other"], swipe_id=0))
    again = reader.again(lines[1].line, lines[1].index, lines[1].offset, lines[1].length)
    assert again == lines[1]


def test_the_first_message_behind_a_byte_order_mark_is_found_again() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(said("one")).encode()
    reader, (line,) = read(raw=raw)
    assert reader.again(line.line, line.index, line.offset, line.length) == line


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=2000))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with read_chat(io.BytesIO(data)) as reader:
        lines = list(reader.lines())
    assert [line.index for line in lines] == list(range(len(lines)))
    for line in lines:
        line.text.encode()
        assert "\x00" not in line.text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
KEYS = [
    "name",
    "is_user",
    "is_system",
    "send_date",
    "mes",
    "swipes",
    "swipe_id",
    "swipe_info",
    "extra",
    "chat_metadata",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=8), max_size=6))
def test_no_json_breaks_the_reader(values: list[dict[str, Any]]) -> None:
    raw = "\n".join(json.dumps(value) for value in values).encode()
    reader = read_chat(io.BytesIO(raw))
    lines = list(reader.lines())
    assert len(lines) == len(values) - reader.has_header
    for line in lines:
        line.key()
        assert reader.again(line.line, line.index, line.offset, line.length).content == line.content


def test_half_a_surrogate_and_nul_become_storable() -> None:
    raw = json.dumps(HEADER).encode() + b'\n{"name":"\\ud83d","is_user":false,"mes":"a\\u0000b\\udc00"}'
    _reader, (line,) = read(raw=raw)
    assert line.text == "a\ufffdb\ufffd"
    line.name.encode()


def test_the_limit_is_the_one_that_is_told() -> None:
    assert chats.LONGEST_LINE == 8 * 1024 * 1024


def test_a_header_full_of_an_extensions_notes_stays_the_header() -> None:
    """Otherwise it would count as a message, and every number in the chat would move by one."""
    notes = {"charMemory": {"injectionData": {str(n): {"timestamp": "x" * 16_000} for n in range(700)}}}
    header = json.dumps({"user_name": "Wren", "chat_metadata": {"integrity": "same", **notes}})
    assert len(header) > chats.LONGEST_LINE
    reader = chats.ChatReader(io.BytesIO(f"{header}\n{json.dumps({'name': 'Wren', 'mes': 'Hello.'})}".encode()))
    assert [(line.index, line.text) for line in reader.lines()] == [(0, "Hello.")]
    assert reader.header.integrity == "same"
