"""What of a chat a model gets to read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memories.transcript import Entry, counts, join_lines, lines_of, next_chunk, strip


def size(text: str) -> int:
    return len(text.split())


def said(index: int, text: str, role: str = "character", name: str = "Flux") -> Entry:
    return Entry(index, role, name, text)


def test_ordinary_signs_are_not_markup() -> None:
    for text in (
        "I <3 you so much. She smiles -> then left",
        "if a < b and c > d then run",
        "He pointed at <Mara> and waved.",
        "either tea | coffee | nothing, she said",
        "| a whisper between bars |",
        "``` he wrote and never finished",
    ):
        assert strip(text).text == text
        assert strip(text).removed == ()


def test_machinery_goes_and_is_shown() -> None:
    text = (
        "Hello <b>you</b>.\n```json\n{}\n```\n<details><summary>x</summary>stats</details>\n"
        "| HP | 3 |\n|---|---|\n| MP | 4 |\n<!-- note --><think>hm</think>\n"
        '<font color="red">Run!</font> <mood>happy</mood>'
    )
    found = strip(text)
    assert found.text == "Hello you.\n\nRun! happy"
    assert "```json\n{}\n```" in found.removed
    assert "| HP | 3 |\n|---|---|\n| MP | 4 |" in found.removed
    assert "<mood>" in found.removed


def test_three_fence_marks_take_only_the_closed_pair() -> None:
    assert strip("a ```x``` b ``` c").text == "a  b ``` c"


@given(st.text(alphabet="<>/|`-ab \n=\"'!", max_size=300))
def test_no_text_makes_stripping_fail_or_grow(text: str) -> None:
    found = strip(text)
    assert len(found.text) <= len(text)
    assert strip(found.text).text is not None


@given(st.text(alphabet=st.characters(blacklist_characters="<`|\n"), max_size=80))
def test_words_without_markup_stay(text: str) -> None:
    assert strip(text).text == text.strip()


def test_which_messages_count() -> None:
    assert counts(said(0, "Hi"))
    assert counts(Entry(1, "user", "Alex", "hidden but said", is_hidden=True))
    assert counts(Entry(2, "system", "Narrator", "Night fell."))
    assert not counts(Entry(3, "system", "", "Chat saved."))
    assert not counts(Entry(4, "unreadable", "", "{broken"))
    assert not counts(said(5, "  \n"))
    assert [line.entry.index for line in lines_of([said(6, "```x```"), said(7, "y")])] == [7]


def test_lines_carry_the_number_sillytavern_shows() -> None:
    lines = lines_of([said(40, "Hi"), Entry(41, "user", "Alex", "Hello\nthere")])
    assert join_lines(lines) == "#40 Flux: Hi\n\n#41 Alex: Hello\nthere"


def test_a_chunk_ends_at_the_limit_of_messages_or_tokens() -> None:
    chat = [said(n, "one two three") for n in range(10)]
    chunk = next_chunk(chat, range(10), max_messages=4, max_tokens=100, measure=size)
    assert chunk is not None
    assert (chunk.first_index, chunk.last_index, len(chunk.lines)) == (0, 3, 4)
    chunk = next_chunk(chat, range(10), max_messages=9, max_tokens=11, measure=size)
    assert chunk is not None
    assert chunk.last_index == 1


def test_a_chunk_takes_empty_messages_along_and_stops_at_read_ones() -> None:
    chat = [said(0, "a"), said(1, ""), said(2, "```code```"), said(3, "b"), said(4, "c"), said(5, "d")]
    chunk = next_chunk(chat, [1, 2, 3, 5], max_messages=10, max_tokens=100, measure=size)
    assert chunk is not None
    assert [entry.index for entry in chunk.entries] == [1, 2, 3]
    assert [line.entry.index for line in chunk.lines] == [3]
    empty = next_chunk(chat, [1, 2], max_messages=10, max_tokens=100, measure=size)
    assert empty is not None
    assert (len(empty.entries), empty.lines) == (2, ())
    assert next_chunk(chat, [], max_messages=10, max_tokens=100, measure=size) is None


def test_one_message_longer_than_the_budget_is_shortened_in_the_middle() -> None:
    chat = [said(0, "begin " + "word " * 500 + "end"), said(1, "next")]
    chunk = next_chunk(chat, [0, 1], max_messages=10, max_tokens=60, measure=size)
    assert chunk is not None
    assert chunk.last_index == 0
    assert chunk.lines[0].text.startswith("begin")
    assert "[…]" in chunk.lines[0].text
    assert chunk.lines[0].text.endswith("end")
    assert size(chunk.lines[0].text) <= 60
