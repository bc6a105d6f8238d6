"""The memory file as text: nothing is lost, whatever somebody wrote into it."""

from __future__ import annotations

from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from memories.blocks import (
    Block,
    Document,
    Format,
    clean_bullet,
    clean_label,
    parse,
    parse_memories,
    serialize,
    sniff_format,
    timestamp,
)
from memories.file_names import auto_file_name, find_existing

FORMATS = [
    Format(),
    Format("bullet"),
    Format("bullet", "\n\n", True),
    Format("custom", "\n---\n"),
    Format("custom", "\n***\n", True),
]
any_text = st.text(alphabet=st.characters(), max_size=60) | st.sampled_from(
    ["a </memory> b", '<memory chat="x">', "- dash", "[d | c] - text", "1. one", "[Flux, Alex — a day]", "x\u2028y"]
)
bullets = st.lists(any_text.map(clean_bullet).filter(bool), min_size=1, max_size=6).map(tuple)
dates = st.sampled_from(["", "2026-02-15 14:30"])
blocks = st.lists(st.builds(Block, any_text.map(clean_label), dates, bullets), max_size=5)


@given(blocks, st.sampled_from(FORMATS))
def test_what_is_written_is_read_back(written: list[Block], form: Format) -> None:
    text = serialize(Document(tuple(written)), form)
    assert parse(text, form) == Document(tuple(written))


@given(st.text() | st.lists(any_text, max_size=8).map("\n".join))
def test_any_text_survives_reading_and_writing(text: str) -> None:
    """A second reading of what was written gives the same document; no text makes reading fail."""
    once = parse(text)
    assert parse(serialize(once)).blocks == once.blocks


def test_hand_written_text_stays_where_it_stood() -> None:
    text = (
        "# My notes on Flux\n\n"
        '<memory chat="one" date="2026-01-01 10:00">\n- Flux was adopted.\n</memory>\n\n'
        "Remember: he hates Mondays.\n\n"
        '<memory chat="two" date="2026-01-02 10:00">\n- Flux met Mike.\n</memory>\n\nThe end.\n'
    )
    document = parse(text)
    assert serialize(document) == text
    assert [block.chat for block in document.blocks] == ["one", "two"]


def test_an_unclosed_block_swallows_nothing() -> None:
    text = '<memory chat="open">\n- never closed\n\n<memory chat="good" date="d">\n- kept\n</memory>'
    document = parse(text)
    assert [block.bullets for block in document.blocks] == [("kept",)]
    assert document.loose[0].text.startswith('<memory chat="open">')
    assert serialize(document) == text


def test_other_bullet_marks_and_wrapped_lines_are_taken_over() -> None:
    body = "* star\n• dot\n  wrapped on\n2) numbered\n\nprose on its own\n  - nested"
    document = parse(f'<memory chat="c" date="d">\n{body}\n</memory>')
    assert document.blocks[0].bullets == ("star", "dot wrapped on", "numbered", "prose on its own", "nested")


def test_a_label_with_a_bracket_keeps_its_bullets_with_metadata() -> None:
    block = Block("a ] b | c", "2026-01-01 10:00", ("one", "[x] - two"))
    form = Format("bullet", "\n\n", True)
    assert parse(serialize(Document((block,)), form), form).blocks == (block,)


def test_the_layout_of_a_found_file_is_recognised() -> None:
    three = tuple(Block(f"c{n}", "2026-01-01 10:00", ("one", "two")) for n in range(3))
    for form in FORMATS:
        found = sniff_format(serialize(Document(three), form))
        assert (found.layout, found.metadata) == (form.layout, form.metadata)
        assert found.between_blocks == form.between_blocks


def test_the_extension_reads_what_we_write() -> None:
    """The strict reading of SillyTavern's extension finds every bullet in the default layout."""
    document = Document((Block('A & "B" <c>', "2026-01-01 10:00", ("[Flux, Alex — day]", 'Alex said "hi" & left')),))
    assert parse_memories(serialize(document)) == list(document.blocks)


def test_file_names_follow_one_rule() -> None:
    assert auto_file_name("Flux the Cat") == "Flux_the_Cat-memories.md"
    assert auto_file_name("🙂") == "__-memories.md"
    assert auto_file_name("") == "char-memories.md"
    assert timestamp(datetime(2026, 1, 5, 9, 5)) == "2026-01-05 09:05"


def test_an_existing_file_is_found_by_its_owner() -> None:
    names = ["notes.md", "Neo-chatter-memories.md", "Neo-chatA-memories.md"]
    assert find_existing(names, "Neo-chatter") == "Neo-chatter-memories.md"
    assert find_existing(names, "Neo", chat="A") == "Neo-chatA-memories.md"
    assert find_existing(["Flux-chatA-memories.md", "old-memories.md"], "Flux", chats=["A"]) == "old-memories.md"
    assert find_existing(["diary.md"], "Flux", own_name="diary.md") == "diary.md"
    assert find_existing(["diary.md"], "Flux") is None


BODIES = st.lists(
    st.sampled_from(["\n", "- a fact", "\n- ", "* star", "  ", "\t", "[d | c] - text", "< memory", "prose", "-", "é"]),
    max_size=12,
).map("".join)


@given(BODIES, st.booleans())
def test_the_quick_reading_of_a_block_finds_what_the_careful_one_finds(body: str, tolerant: bool) -> None:
    """A character that only the careful reading can deal with, outside of the block, makes the difference."""
    block = f'<memory chat="c" date="d">{body}</memory>'
    quick, careful = (parse if tolerant else parse_memories), f"{block}\x0b"
    found, wanted = quick(block), quick(careful)
    if isinstance(found, Document) and isinstance(wanted, Document):
        assert found.blocks == wanted.blocks
    else:
        assert found == wanted
