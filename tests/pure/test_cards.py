"""Cards inside pictures, whole and broken."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync.tavern.cards import CardError, picture_hash, read_card
from tests.support.generated_root import card_png, card_v2

BOOK = {"name": "Tides", "entries": [{"id": 3, "keys": ["tide"], "content": "Twice a day.", "enabled": True}]}


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks)
    return b"\x89PNG\r\n\x1a\n" + body + struct.pack(">I", 0) + b"IEND" + b"\0\0\0\0"


def b64(card: dict[str, Any]) -> bytes:
    return base64.b64encode(json.dumps(card).encode())


@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt", b"iTXt"])
@pytest.mark.parametrize("keyword", [b"chara", b"ccv3", b"CHARA", b"Ccv3"])
def test_every_chunk_kind_and_spelling(kind: bytes, keyword: bytes) -> None:
    card = read_card(card_png(card_v2("Mara"), kind=kind, keywords=(keyword,)))
    assert (card.name, card.description, card.tags) == ("Mara", "Mara keeps a lamp.", ["test"])


def test_the_third_version_is_preferred() -> None:
    data = png((b"tEXt", b"chara\0" + b64(card_v2("Old"))), (b"tEXt", b"ccv3\0" + b64(card_v2("New"))))
    assert read_card(data).name == "New"


def test_a_first_version_card_has_its_fields_at_the_top() -> None:
    card = read_card(card_png({"name": "Mara", "description": "First.", "personality": "Dry.", "first_mes": "Hi."}))
    assert (card.name, card.description, card.personality, card.spec) == ("Mara", "First.", "Dry.", "chara_card_v1")


def test_books_inside_and_bound() -> None:
    card = read_card(card_png(card_v2("Mara", character_book=BOOK, extensions={"world": "Harbour"})))
    assert card.bound_lorebook == "Harbour"
    assert card.book and (card.book_name, card.book[0].keys, card.book[0].content) == (
        "Tides",
        ["tide"],
        "Twice a day.",
    )


def test_an_empty_name_stays_empty_for_the_file_name_to_help_out() -> None:
    assert read_card(card_png({"name": "", "data": {"name": "  "}, "spec": "chara_card_v2"})).name == ""


def test_a_broken_third_version_falls_back_and_says_so() -> None:
    data = png((b"tEXt", b"chara\0" + b64(card_v2("Mara"))), (b"tEXt", b"ccv3\0%%%not base64%%%"))
    card = read_card(data)
    assert card.name == "Mara"
    assert [(p.text, p.kept) for p in card.problems] == [
        ("The part “ccv3” of this card is broken.", "The other copy of the card inside the picture was read.")
    ]


def test_a_picture_cut_off_after_its_card_is_read() -> None:
    data = card_png(card_v2("Mara"))[:-6]
    card = read_card(data)
    assert card.name == "Mara"
    assert [(p.text, p.kept) for p in card.problems] == [
        ("This picture is cut off before its end.", "The card inside it was read.")
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"GIF89a", "This is not a PNG picture."),
        (png((b"IDAT", b"")), "There is no card inside this picture."),
        (png((b"tEXt", b"chara\0!!!")), "The card inside this picture is broken."),
        (b"\x89PNG\r\n\x1a\n" + b"\xff\xff\xff\xff" + b"tEXtchara", "This picture is cut off before its end."),
    ],
)
def test_what_is_no_card_has_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(CardError) as caught:
        read_card(data)
    assert str(caught.value) == sentence


def test_a_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(b"a" * (40 * 1024 * 1024))
    with pytest.raises(CardError):
        read_card(png((b"zTXt", b"chara\0\0" + bomb)))


def test_what_sillytavern_rewrites_by_itself_is_no_change() -> None:
    first, second = card_v2("Mara"), card_v2("Mara", extensions={"fav": True})
    first["data"]["extensions"] = {"fav": False}
    second |= {"chat": "another chat", "fav": True, "create_date": "now"}
    one, two = card_png(first), card_png(second)
    assert read_card(one).content_hash == read_card(two).content_hash
    assert picture_hash(one) == picture_hash(two)
    assert read_card(card_png(card_v2("Mara", description="Else."))).content_hash != read_card(one).content_hash


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=600), st.booleans())
def test_no_bytes_break_it(data: bytes, signed: bool) -> None:
    try:
        read_card(b"\x89PNG\r\n\x1a\n" + data if signed else data)
    except CardError as error:
        assert str(error).endswith(".")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 400), st.integers(0, 255))
def test_one_wrong_byte_never_breaks_it(place: int, value: int) -> None:
    data = bytearray(card_png(card_v2("Mara", character_book=BOOK), keywords=(b"chara", b"ccv3")))
    data[place % len(data)] = value
    try:
        card = read_card(bytes(data))
        assert isinstance(card.name, str)
    except CardError as error:
        assert str(error).endswith(".")
