"""Foreign notes: no line disappears, whatever somebody wrote; each kind of file is told apart and read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories import formats
from memories.blocks import parse, serialize_memories
from memories.formats_text import decode
from memories.formats_types import Reading, Refused

NOTES = """# Seraphine, notes to self

## Lantern
* only wardens carry it lit
* oil is whale, never seal (she can smell it)
  * seal oil smokes blue
• the glass was Maren’s

## People
1. Ólafur – owed one crossing
2) Yuki – letters on new moon
3. the Archivist: do not speak to

<memory chat="old" date="2024-
she hums when she files. always the same
four notes, never five.

TO-DO ask what the 209 is about??
~~~"""
WORDS = st.sampled_from(
    [
        "- one fact",
        "* two facts here",
        "• dotted",
        "1. first",
        "2) second",
        "  - nested below",
        "wrapped on",
        "A whole sentence. And another!",
        "Family:",
        "# Heading",
        "### Deeper heading",
        "## Memory 3",
        "_Extracted: 2023-06-15 10:00_",
        '<memory chat="a" date="2026-01-01 10:00">',
        "<memory chat=“smart > quotes” date='2026-02-02'>",
        '<memory chat="never',
        "</memory>",
        "</memory> behind",
        "[2026-01-01 10:00 | a] - with prefix",
        "[Flux, Alex — a day]",
        "> quoted",
        "> - quoted bullet",
        "---",
        "```python",
        "TO-DO later",
        "<!-- hidden -->",
        "她搬到了海边。她很高兴。",
        "",
        "   ",
        "\t- tabbed",
        "🙂",
        "- ",
        "a,b,c",
        '{"content": "a memory", "key": ["x"]}',
        "x\u2028y",
        "- [ ] open task",
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=30), max_size=25).map("\n".join)
FORMS = st.sampled_from(formats.FORMATS)


def accounted(reading: Reading, text: str) -> None:
    """Each line that is not blank is somewhere, and so is each of its words."""
    lines = formats.lines_of(text, reading.format)
    wanted = {number for number, line in enumerate(lines, 1) if line.strip(" \t\r\x00\ufeff") and not line.isspace()}
    assert wanted <= formats.numbers_of(reading)
    said = " ".join(
        [
            *(f"{section.label} {section.date}" for section in reading.sections),
            *(bullet.text for section in reading.sections for bullet in section.bullets),
            *(one.text for one in reading.leftovers),
        ]
    )
    for number in wanted - set(reading.structure):
        for word in lines[number - 1].split():
            core = "".join(char for char in word if char.isalnum())
            if len(core) > 3 and core == word and "memory" not in word.lower() and word not in ("Extracted", "Memory"):
                assert word in said, (number, word)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_no_line_disappears(text: str) -> None:
    form = formats.detect(text)
    try:
        reading = formats.read(text, form)
    except Refused:
        return
    accounted(reading, text)


@settings(max_examples=200, deadline=None)
@given(TEXTS, FORMS)
def test_no_line_disappears_when_a_person_chose_another_format(text: str, form: str) -> None:
    try:
        reading = formats.read(text, form)
    except Refused:
        return
    accounted(reading, text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["", "a.json", "a.csv", "a.md"]))
def test_no_bytes_make_reading_fail(data: bytes, name: str) -> None:
    try:
        text = decode(data).text
        reading = formats.read(text, formats.detect(text, name))
    except Refused:
        return
    assert reading.memories >= 0


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_what_was_read_can_be_written_and_read_as_a_memory_file(text: str) -> None:
    try:
        found = formats.read(text, formats.detect(text)).blocks
    except Refused:
        return
    assert list(parse(serialize_memories(found)).blocks) == found


def test_a_mixed_file_of_notes() -> None:
    assert formats.detect(NOTES, "notes.md") == "markdown_headings"
    reading = formats.read(NOTES, "markdown_headings")
    assert [(one.label, [b.text for b in one.bullets]) for one in reading.sections] == [
        (
            "Lantern",
            [
                "only wardens carry it lit",
                "oil is whale, never seal (she can smell it)",
                "seal oil smokes blue",
                "the glass was Maren’s",
            ],
        ),
        (
            "People",
            ["Ólafur – owed one crossing", "Yuki – letters on new moon", "the Archivist: do not speak to"],
        ),
        ("imported", ["she hums when she files. always the same four notes, never five."]),
    ]
    assert reading.sections[0].bullets[2].lines == (6,)
    assert reading.sections[2].bullets[0].lines == (15, 16)
    assert [(one.line, one.why) for one in reading.leftovers] == [
        (1, "title"),
        (14, "never_ends"),
        (18, "note"),
        (19, "no_words"),
    ]
    accounted(reading, NOTES)


def test_a_list_below_a_line_with_a_colon_keeps_what_it_is_about() -> None:
    text = "- Family:\n  - mother Ana\n  - father Bo\n- Flux hates rain"
    reading = formats.read(text, "bullets")
    assert [(b.text, b.lines) for b in reading.sections[0].bullets] == [
        ("Family: mother Ana", (1, 2)),
        ("Family: father Bo", (1, 3)),
        ("Flux hates rain", (4,)),
    ]


def test_nested_and_unclosed_tags_swallow_nothing() -> None:
    text = (
        '<memory chat="outer" date="2026-01-01 10:00">\n- first\n<memory chat="inner">\n- second\n</memory>\n'
        '- third\n</memory>\n</memory>\n<memory chat="open">\n- fourth\n'
        '<memory chat="last" date="d">- fifth</memory> sixth'
    )
    reading = formats.read(text, "memory_tags")
    assert [(one.label, one.block.bullets) for one in reading.sections] == [
        ("outer", ("first", "third")),
        ("inner", ("second",)),
        ("open", ("fourth",)),
        ("last", ("fifth",)),
        ("imported", ("sixth",)),
    ]
    assert [(one.line, one.why) for one in reading.leftovers] == [(8, "stray_close")]
    assert reading.warnings == ("already", "unclosed")


def test_attributes_with_smart_quotes_and_angle_brackets() -> None:
    text = "<memory chat=“A > B” date='2026-02-02 10:00' mood=\"low\">\n- x is here\n</memory>"
    reading = formats.read(text, "memory_tags")
    assert (reading.sections[0].label, reading.sections[0].date) == ("A > B", "2026-02-02 10:00")
    assert [(one.text, one.why) for one in reading.leftovers] == [("mood=low", "attribute")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_usual_encoding_is_read(encoding: str) -> None:
    text = "- Ólafur owed one crossing\n- Yuki wrote letters\n"
    found = decode(text.replace("\n", "\r\n").encode(encoding))
    assert (found.text, found.warnings) == (text, ())


def test_a_guess_at_the_encoding_is_told() -> None:
    found = decode("- Ólafur’s crossing".encode("cp1252"))
    assert (found.text, found.warnings) == ("- Ólafur’s crossing", ("guessed_encoding",))


def test_a_picture_is_refused() -> None:
    with pytest.raises(Refused, match="binary"):
        decode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4)


def test_a_chat_is_refused() -> None:
    lines = [{"user_name": "You", "chat_metadata": {}}, {"name": "Flux", "is_user": False, "mes": "Hello"}]
    text = "\n".join(json.dumps(one) for one in lines)
    assert formats.detect(text, "chat.jsonl") == "jsonl"
    with pytest.raises(Refused, match="chat"):
        formats.read(text, "jsonl")


def test_the_summaries_inside_a_chat_are_read_without_the_chat() -> None:
    said = {"name": "Flux", "mes": "Long talk", "extra": {"qvink_memory": {"memory": "Flux met Alex at the vet."}}}
    text = "\n".join(json.dumps(one) for one in [{"chat_metadata": {"openvault": {}}}, said])
    reading = formats.read(text, formats.detect(text))
    assert [bullet.text for one in reading.sections for bullet in one.bullets] == [
        "Flux met Alex at the vet. (message 0)"
    ]


def test_a_lorebook_keeps_names_keys_and_texts() -> None:
    entries = {
        "0": {"uid": 0, "key": ["glade", "forest"], "comment": "The glade", "content": "It is safe.\nIt is old."},
        "1": {"uid": 1, "key": ["wolf"], "comment": "", "content": "Wolves fear fire.", "disable": True},
    }
    text = json.dumps({"entries": entries})
    assert formats.detect(text, "world.json") == "lorebook"
    reading = formats.read(text, "lorebook")
    assert [(one.label, one.block.bullets) for one in reading.sections] == [
        ("The glade", ("[The glade — glade, forest]", "It is safe.", "It is old.")),
        ("wolf", ("[wolf — wolf]", "Wolves fear fire.")),
    ]


def test_exports_of_other_extensions() -> None:
    book = json.dumps([{"title": "The vet", "content": "Flux was brave.", "keywords": ["vet", "Flux"]}])
    assert formats.detect(book) == "export"
    assert formats.read(book, "export").sections[0].block.bullets == ("[The vet — vet, Flux]", "Flux was brave.")
    tagged = "[fact:3:permanent:entity=Elara/character] Elara sold her forge.\n[arc] Will Elara write?"
    assert formats.detect(tagged) == "export"
    found = formats.read(tagged, "export")
    assert [(one.label, one.block.bullets) for one in found.sections] == [
        ("fact: Elara", ("Elara sold her forge.",)),
        ("arc", ("Will Elara write?",)),
    ]


def test_a_table() -> None:
    text = 'date;chat;text;mood\n2026-01-02;Vet;"Flux; the cat, was brave";calm\n2026-01-02;Vet;He slept.;\n'
    assert formats.detect(text, "notes.csv") == "csv"
    reading = formats.read(text, "csv")
    assert [(one.label, one.date, one.block.bullets) for one in reading.sections] == [
        ("Vet", "2026-01-02", ("Flux; the cat, was brave (mood: calm)", "He slept."))
    ]
    assert reading.structure == frozenset({1})


NAMES = st.sampled_from(["x", "content", "title", "key", "keys", "entries", "memories", "date", "comment", "summary"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 10**6) | st.text("abc déf — \n#-", max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


def words_of(value: object) -> list[str]:
    if isinstance(value, dict):
        return [word for one in value.values() for word in words_of(one)]
    if isinstance(value, list):
        return [word for one in value for word in words_of(one)]
    return [w for w in value.split() if w.isalnum()] if isinstance(value, str) else []


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_every_word_of_any_json_is_somewhere(value: object) -> None:
    text = json.dumps([value, "end"])
    reading = formats.read(text, formats.detect(text))
    said = json.dumps([[one.label, one.date, one.block.bullets] for one in reading.sections], ensure_ascii=False)
    said += json.dumps([one.text for one in reading.leftovers], ensure_ascii=False)
    assert all(word in said for word in words_of(value))


def test_an_old_memory_file_is_only_offered_for_conversion() -> None:
    text = "# Notes\n## Memory 1\n_Extracted: 2023-06-15 10:00_\n- A fact\n\nProse."
    assert formats.detect(text) == "memory_headings"
    reading = formats.read(text, "memory_headings")
    assert [(one.label, one.date, one.block.bullets) for one in reading.sections] == [
        ("unknown", "2023-06-15 10:00", ("A fact", "Prose."))
    ]
    accounted(reading, text)
