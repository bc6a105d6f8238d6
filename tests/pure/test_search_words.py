"""One tokeniser for both engines, questions that cannot be wrong, and snippets that mark the right letters."""

from __future__ import annotations

import sqlite3
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.query import Query, Term, for_fts5, for_postgresql, parse
from search.rank import score
from search.scope import between, of_time
from search.snippets import snippet, spans
from search.tokens import LONGEST_WORD, fold, index_text, tokens, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She swore on the brass LANTERN.", "she swore on the brass lantern"),
        ("Ólafur’s café — naïve, Straße", "olafur s cafe naive strasse"),
        ("Şehrazad bint-Nâdir und Øystein Łukasz", "sehrazad bint nadir und oystein lukasz"),
        ("Брат Григорий живёт", "брат григории живет"),
        ("she_said **well** #42 3rd", "she said well 42 3rd"),
        ("ﬁne ＦＵＬＬ ½", "fine full 1 2"),
        ("她搬到了海边", "她搬 搬到 到了 了海 海边"),
        ("白川ゆき and ローズ", "白川 川ゆ ゆき and ロー ーズ"),
        ("ﾊﾞﾗ", "バラ"),
        ("한국어 말", "한국 국어 말"),
        ("海", "海"),
        ("foo海边bar", "foo 海边 bar"),
        ("مَرْيَم", "مريم"),
        ("", ""),
        ("… — !?", ""),
    ],
)
def test_words_of_many_scripts(text: str, found: str) -> None:
    assert words(text) == found.split()


def test_thai_stays_whole_and_is_found_inside() -> None:
    assert set(words("ทะเล")) < set(words("เธอไปทะเลแล้ว"))


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert words("Cafe\u0301 が") == words("Café か\u3099")


def test_single_letters_of_pairs_are_in_the_index_too() -> None:
    assert index_text("她搬到了海边").split()[-6:] == sorted("她搬到了海边")
    assert "海" not in index_text("lantern").split()


def test_endless_words_are_cut_the_same_way_in_text_and_question() -> None:
    (term,) = parse("x" * 90 + " ").wanted
    assert term.words == ("x" * LONGEST_WORD,)
    assert words("x" * 5000) == ["x" * LONGEST_WORD]


@given(st.text(max_size=80))
def test_every_word_stands_where_its_place_says(text: str) -> None:
    found = list(tokens(text))
    assert [token.word for token in found] == words(text)
    for token in found:
        assert 0 <= token.start < token.end <= len(text)
        assert fold(token.word) == token.word
        assert token.word in words(text[token.start : token.end]) or len(token.word) == LONGEST_WORD


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("lantern", Query((Term(("lantern",), True),))),
        ("brass lan", Query((Term(("brass",)), Term(("lan",), True)))),
        ('"brass lantern" oath', Query((Term(("brass", "lantern")), Term(("oath",), True)))),
        ("„brass lantern“", Query((Term(("brass", "lantern")),))),
        ("lantern -oil", Query((Term(("lantern",)),), (Term(("oil",)),))),
        ('lantern -"whale oil"', Query((Term(("lantern",)),), (Term(("whale", "oil")),))),
        ("well-known", Query((Term(("well", "known"), True),))),
        ("don't", Query((Term(("don", "t")),))),
        ("海边的", Query((Term(("海边", "边的")),))),
        ('"unclosed', Query((Term(("unclosed",)),))),
        ("-only", Query((), (Term(("only",)),))),
        ("   ", Query()),
    ],
)
def test_what_is_typed_becomes_terms(text: str, query: Query) -> None:
    assert parse(text) == query


def test_conditions_are_never_more_than_a_few() -> None:
    query = parse(" ".join(f"w{n}" for n in range(90)))
    assert len(query.wanted) == 12


def index_with(*rows: str) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(words, scope, tokenize='ascii')")
    for row in rows:
        database.execute("INSERT INTO t VALUES (?, 'o1 kmessages')", [index_text(row)])
    return database


def found_in(database: sqlite3.Connection, text: str) -> list[int]:
    match = for_fts5(parse(text), [["o1", "o2"], ["kmessages"]])
    return [row[0] for row in database.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid", [match])]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("lantern", [1, 2]),
        ("LANTERN", [1, 2]),
        ("lant", [1, 2]),
        ("lant brass", []),
        ("brass lant", [1]),
        ('"brass lantern"', [1]),
        ('"lantern brass"', []),
        ("lantern -oil", [1]),
        ("海边", [3]),
        ("海", [3]),
        ("搬到了", [3]),
        ("边海", []),
        ("olafur", [2]),
        ("NEAR AND", [4]),
        ("kmessages", []),
    ],
)
def test_a_real_index_answers(text: str, rows: list[int]) -> None:
    database = index_with(
        "She swore on the brass lantern.", "Ólafur sells oil for lanterns.", "她搬到了海边。", "Stand near and wait."
    )
    assert found_in(database, text) == rows
    database.close()


QUESTION = st.text(alphabet=st.sampled_from("ab海边 \"'-*():^{}+\\&|!<>=~%\0éÅ\u0301“”„"), max_size=30)


@given(st.one_of(QUESTION, st.text(max_size=60)))
def test_no_question_is_a_syntax_error(text: str) -> None:
    if parse(text).is_empty:
        return
    database = index_with("a b 海边")
    found_in(database, text)
    database.close()


def test_the_same_terms_for_postgresql() -> None:
    query = parse('"brass lantern" oil -whale lan')
    assert for_postgresql(query, [["o1"], ["t2025", "t202611"]]) == (
        "('brass' <-> 'lantern') & ('oil') & ('lan':*) & !('whale') & ('=o1') & ('=t2025' | '=t202611')"
    )


def marked(text: str, query: str, letters: int = 240) -> str:
    return "".join(f"[{piece.text}]" if piece.is_hit else piece.text for piece in snippet(text, parse(query), letters))


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("The brass Lantern.", "lantern", "The brass [Lantern]."),
        ("Lanterns burn.", "lantern", "[Lanterns] burn."),
        ("Ólafur came.", "olafur", "[Ólafur] came."),
        ("她搬到了海边。", "海边", "她搬到了[海边]。"),
        ("她搬到了海边。", "搬到了", "她[搬到了]海边。"),
        ("她搬到了海边。", "海", "她搬到了[海]边。"),
        ("brass and the brass lantern", '"brass lantern"', "brass and the [brass lantern]"),
        ("nothing here", "lantern", "nothing here"),
        ("<b>lantern</b>", "lantern", "<b>[lantern]</b>"),
    ],
)
def test_snippets_mark_what_was_found(text: str, query: str, shown: str) -> None:
    assert marked(text, query) == shown


def test_a_snippet_of_a_long_text_stands_around_the_first_place() -> None:
    text = "tide " * 200 + "the lantern " + "wave " * 200
    shown = marked(text, "lantern", 100)
    assert shown.startswith("… tide tide")
    assert "the [lantern] wave" in shown
    assert shown.endswith("wave …")
    assert len(shown) < 120


@given(st.text(max_size=400), st.text(max_size=20), st.integers(20, 300))
def test_a_snippet_is_a_piece_of_its_text(text: str, query: str, letters: int) -> None:
    pieces = [piece.text for piece in snippet(text, parse(query), letters)]
    assert "".join(piece for piece in pieces if piece not in ("… ", " …")) in text or "…" in text
    places = spans(text, parse(query))
    assert all(one[1] < two[0] for one, two in pairwise(places))


def test_rows_that_say_it_more_and_shorter_come_first() -> None:
    query = parse("lantern oath ")
    rows = ["lantern oath", "oath of the lantern", "the lantern " + "x " * 80 + " oath"]
    assert sorted(rows, key=lambda row: -score(query, index_text(row))) == rows


def test_a_time_is_whole_years_and_months_with_days_at_both_ends() -> None:
    assert between(date(2024, 12, 30), date(2026, 3, 2)) == [
        "t20241230", "t20241231", "t2025", "t202601", "t202602", "t20260301", "t20260302",
    ]  # fmt: skip
    assert between(date(2026, 3, 2), date(2026, 3, 1)) == []


@given(st.dates(date(1990, 1, 1), date(2190, 1, 1)), st.integers(0, 3000), st.integers(-40, 3040))
def test_a_time_holds_exactly_its_days(since: date, length: int, at: int) -> None:
    day = since + timedelta(days=at)
    inside = set(of_time(day).split()) & set(between(since, since + timedelta(days=length)))
    assert bool(inside) == (0 <= at <= length)
