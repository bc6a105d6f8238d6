"""Reading by identity: whatever happens to a chat between two readings, nothing is lost and nothing is read twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memories.lineage import parents_first, shared_prefixes
from memories.reading import Mark, chunk_key, end_of_stretch, find_position, inherited, last_read, tail_of, unread


def marks(messages: list[tuple[str, str, str]]) -> list[Mark]:
    """Marks of (role, date, text) as the mirror would number equals."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for role, date, text in messages:
        again = seen[role, date] = seen.get((role, date), -1) + 1
        found.append(Mark.of(f"{role}|{date}|{again}", f"hash of {text}"[-12:], role, date))
    return found


def dated(*texts: str) -> list[tuple[str, str, str]]:
    return [("user", f"2026-01-01T10:{place:02d}", text) for place, text in enumerate(texts)]


def test_delete_one_and_insert_two() -> None:
    before = dated("a", "b", "c", "d", "e")
    after = [*before[:3], ("user", "2026-02-01", "x"), ("character", "2026-02-02", "y"), before[4]]
    assert unread(marks(after), marks(before)) == [3, 4]


def test_an_edit_and_a_deletion_make_nothing_unread() -> None:
    before = dated("a", "b", "c", "d")
    edited = [before[0], (*before[1][:2], "changed"), before[3]]
    assert unread(marks(edited), marks(before)) == []


def test_messages_without_dates() -> None:
    read = [Mark(f"id{n}", f"text{n}", "user") for n in range(5)]
    new, other = Mark("new", "new", "user"), Mark("id2", "changed", "user")
    assert unread([*read[:2], new, *read[2:]], read) == [2]
    assert unread([*read[:2], other, *read[3:]], read) == []
    assert unread([*read[:2], other, new, *read[3:]], read) == [2, 3]
    assert unread([*read[:2], other, new, *read[3:]], [*read, new, other]) == []
    assert unread([*read[:4], Mark("id4", "another", "user")], read) == [4]


def test_two_messages_of_one_minute() -> None:
    before = [("user", "January 1, 2024 2:30pm", "one"), ("user", "January 1, 2024 2:30pm", "two")]
    assert unread(marks(before), marks(before[:1])) == [1]
    assert unread(marks([before[0], ("user", before[0][1], "two, edited")]), marks(before)) == []


def test_a_branch_inherits_what_was_read_of_its_beginning() -> None:
    parent = marks(dated("a", "b", "c", "d"))
    branch = marks([*dated("a", "b"), ("user", "2026-03-01", "other")])
    assert unread(branch, inherited(branch, parent, 1)) == [2]
    assert unread(branch, inherited(branch, parent, -1)) == [2]
    edited = marks([*dated("a"), (*dated("a", "b")[1][:2], "another b")])
    assert unread(edited, inherited(edited, parent, 0)) == [1]
    old = marks([("user", "", "aa"), ("user", "", "bb"), ("user", "", "cc")])
    assert unread(old, inherited(old, old, 1)) == [2]


edits = st.lists(
    st.tuples(st.sampled_from(["read", "add", "delete", "insert", "edit", "branch"]), st.integers(0, 10_000)),
    max_size=25,
)


@settings(max_examples=500)
@given(st.integers(1, 30), edits)
def test_any_history_reads_each_message_once(start: int, history: list[tuple[str, int]]) -> None:
    """Every message that exists when reading happens is read exactly once in its life."""
    clock = 0

    def message() -> tuple[str, str, str]:
        nonlocal clock
        clock += 1
        return ("user" if clock % 2 else "character", f"2026-01-01T{clock:06d}", f"text {clock}")

    chat = [message() for _ in range(start)]
    read: list[Mark] = []
    times: dict[str, int] = {}
    for step, place in [*history, ("read", 0)]:
        if step == "add":
            chat.append(message())
        elif step == "insert":
            chat.insert(place % (len(chat) + 1), message())
        elif step == "delete" and chat:
            chat.pop(place % len(chat))
        elif step == "edit" and chat:
            role, date, text = chat[place % len(chat)]
            chat[place % len(chat)] = (role, date, f"{text}, edited")
        elif step == "branch":
            chat = [*chat[: place % (len(chat) + 1)], message()]
        elif step == "read":
            now = marks(chat)
            fresh = unread(now, read)
            for position in fresh[: 1 + place % 7] if place else fresh:
                read.append(now[position])
                times[now[position].identity] = times.get(now[position].identity, 0) + 1
    assert set(times.values()) <= {1}
    assert {mark.identity for mark in marks(chat)} <= set(times)


def test_the_watermark_is_found_again() -> None:
    identities = [str(number) for number in range(30)]
    tail = tail_of(identities, 24)
    assert (len(tail), tail[-1]) == (20, "24")
    assert find_position(tail, identities) == 24
    assert find_position(tail, ["new", *identities[2:23], "other", *identities[25:]]) == 21
    assert find_position(tail, ["something", "else"]) == -1
    assert (last_read(30, [25, 26]), last_read(30, [])) == (24, 29)


def test_a_family_shares_its_beginning() -> None:
    forks = [("root", None, None), ("branch", "root", 9), ("twig", "branch", 5), ("other", "root", 3)]
    assert shared_prefixes("branch", forks) == {"root": 9, "twig": 5, "other": 3}
    assert shared_prefixes("twig", forks) == {"branch": 5, "root": 5, "other": 3}
    assert shared_prefixes("alone", forks) == {}


def test_an_edited_message_makes_another_chunk() -> None:
    first = chunk_key("chat", "flux", [("a", "1"), ("b", "2")])
    assert first == chunk_key("chat", "flux", [("a", "1"), ("b", "2")])
    others = [chunk_key("chat", "flux", [("a", "1"), ("b", "3")]), chunk_key("chat", "mike", [("a", "1"), ("b", "2")])]
    assert first not in others


def test_a_branch_comes_behind_its_parent_however_they_are_dated() -> None:
    parents = {"twig": "branch", "branch": "root", "loop": "pool", "pool": "loop", "orphan": "elsewhere"}
    rows = ["twig", "other", "branch", "orphan", "root", "loop", "pool"]
    assert parents_first(rows, str, parents.get) == ["root", "branch", "twig", "other", "orphan", "pool", "loop"]


def test_where_the_first_unread_stretch_ends() -> None:
    assert end_of_stretch([3, 4, 5, 8, 9]) == 5
    assert end_of_stretch([7]) == 7
