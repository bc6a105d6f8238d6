"""The chat reader, complete: whose marks, what they mean, how one finds one's way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from memories.models import Snapshot
from sync.models import Character, Chat, Group, Message
from tests.support.builders import make_block, make_character, make_chat, make_group, make_memory_file, make_tavern
from tests.support.pages import soup, toast, words
from tests.support.reading import read


@pytest.fixture
def seraphine(alice: User) -> Character:
    return make_character(make_tavern(alice), "Seraphine")


@pytest.fixture
def wardens(alice: User, seraphine: Character) -> Group:
    return make_group(seraphine.tavern, seraphine, make_character(seraphine.tavern, "Maren"))


def group_chat(group: Group, *speakers: str) -> Chat:
    """A chat of the group in which these members speak in turn, each under its avatar."""
    chat = make_chat(group, len(speakers), name="By the fire")
    for row, name in zip(chat.messages.order_by("index"), speakers, strict=True):
        avatar = "" if name == "Wren" else f"{name}.png"
        role = Message.Role.USER if name == "Wren" else Message.Role.CHARACTER
        chat.messages.filter(pk=row.pk).update(name=name, sender_avatar=avatar, role=role)
    return chat


def labels(page: Any, number: int) -> list[str]:
    """What the marks of a message say."""
    marks = page.select(f"#m{number} .marks [aria-label]")
    return [mark["aria-label"] for mark in marks]


def test_marks_say_how_each_message_was_read(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 6)
    read(chat, seraphine, 0, 1)
    read(chat, seraphine, 2, 3, outcome="skipped")
    chat.messages.filter(index=1).update(content="another text")
    chat.messages.filter(index=3).update(content="another text")
    chat.messages.filter(index=4).update(is_hidden=True)
    chat.messages.filter(index=5).update(is_hidden=True, is_tagged=True)
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert labels(page, 0) == ["extracted"]
    assert labels(page, 1) == ["extracted", "changed since it was read"]
    assert labels(page, 2) == ["counted as read by hand"]
    assert labels(page, 3) == ["counted as read by hand"], "nothing was made of it, so an edit changes nothing"
    assert labels(page, 4) == ["hidden from the model"]
    assert labels(page, 5) == ["hidden by the CharMemory extension after it read it"]


def test_a_branch_shows_what_its_parent_read_up_to_the_fork(alice_client: Client, seraphine: Character) -> None:
    parent = make_chat(seraphine, 6, name="Tea")
    branch = make_chat(seraphine, 6, name="Tea, otherwise", parent=parent, parent_name="Tea", fork_index=2)
    shared = dict(parent.messages.filter(index__lte=2).values_list("index", "identity"))
    for index, identity in shared.items():
        branch.messages.filter(index=index).update(identity=identity)
    read(parent, seraphine, 0, 5)
    block = make_block(
        make_memory_file(seraphine, []), "Tea", ["Keeps a lantern."], chat=parent, first_index=0, last_index=5
    )
    block.memories.update(evidence=[{"identity": shared[1], "index": 1, "quote": ""}])
    page = soup(alice_client.get(f"/chats/{branch.pk}/"))
    assert labels(page, 1) == ["1 memory from this message", "extracted"]
    assert labels(page, 3) == []
    assert "It leaves “Tea” at #2" in words(page.select_one(".page-head"))


def test_each_member_of_a_group_has_its_own_line(
    alice: User, alice_client: Client, seraphine: Character, wardens: Group
) -> None:
    maren = Character.objects.for_user(alice).get(name="Maren")
    chat = group_chat(wardens, "Wren", "Maren", "Seraphine", "Maren", "Wren")
    read(chat, seraphine, 0, 3)
    read(chat, maren, 0, 0)
    read(chat, maren, 1, 1, outcome="absent")
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert "Extracted up to here for Maren" in words(page.select_one("#watermark")), "who is furthest behind"
    assert [one["id"] for one in page.select("li.is-fresh")] == ["m2", "m3", "m4"]
    assert labels(page, 1) == ["Maren took no part"]
    picks = [words(one) for one in page.select(".reader-pick")]
    assert picks == ["Seraphine to #3, 1 unread", "Maren to #1, 3 unread"]
    page = soup(alice_client.get(f"/chats/{chat.pk}/?whose={seraphine.pk}"))
    assert [one["id"] for one in page.select("li.is-fresh")] == ["m4"]
    assert f"whose={seraphine.pk}" in page.select_one("#m0 .msg-no")["href"]


def test_speakers_of_a_group_have_the_faces_of_their_cards(
    alice: User, alice_client: Client, seraphine: Character, wardens: Group
) -> None:
    maren = Character.objects.for_user(alice).get(name="Maren")
    chat = group_chat(wardens, "Wren", "Maren", "Seraphine")
    chat.messages.filter(index=1).update(name="Maren the Elder")
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert str(maren.pk) in page.select_one("#m1 img.face")["src"], "known by the avatar, not by the name"
    assert str(seraphine.pk) in page.select_one("#m2 img.face")["src"]
    assert words(page.select_one("#m0 span.face")) == "W"


def test_a_group_whose_members_are_gone_says_so(alice: User, alice_client: Client, wardens: Group) -> None:
    chat = group_chat(wardens, "Wren", "Wren")
    Character.objects.for_user(alice).delete()
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert "Nobody in this group has a card" in words(page.select_one("main"))
    assert not page.select("[formaction$='/extract/']")


def test_finding_words_whatever_their_case_and_script(alice_client: Client, seraphine: Character) -> None:
    texts = ["Straße nach Hause.", "The LANTERN is lit, the *lan*tern.", "她拿着灯笼。", "nothing", "lantern again"]
    chat = make_chat(seraphine, texts)
    page = soup(alice_client.get(f"/chats/{chat.pk}/?find=lantern"))
    assert [one["id"] for one in page.select("li.is-hit")] == ["m1", "m4"]
    assert "1 of 2 messages with “lantern”" in words(page.select_one(".find-bar"))
    assert [words(one) for one in page.select("#m1 mark")][:1] == ["LANTERN"]
    assert page.select_one(".find-bar a[rel=next]")["href"] == "?at=4&find=lantern#m4"
    page = soup(alice_client.get(f"/chats/{chat.pk}/?find=lantern&at=4"))
    assert "2 of 2" in words(page.select_one(".find-bar"))
    assert page.select_one(".find-bar a[rel=prev]")["href"] == "?at=1&find=lantern#m1"
    assert [one["id"] for one in soup(alice_client.get(f"/chats/{chat.pk}/?find=STRASSE")).select("li.is-hit")] == [
        "m0"
    ]
    assert [
        one["id"] for one in soup(alice_client.get(f"/chats/{chat.pk}/", {"find": "灯笼"})).select("li.is-hit")
    ] == ["m2"]
    page = soup(alice_client.get(f"/chats/{chat.pk}/?find=whale"))
    assert "No message holds “whale”" in words(page.select_one(".find-bar"))


def test_marked_words_never_become_markup(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, ["<b>lamp</b> & lamp"])
    page = soup(alice_client.get(f"/chats/{chat.pk}/", {"find": "<b>lamp"}))
    assert page.select_one("#m0 mark") is not None
    assert page.select_one("#m0 .msg-text b") is None
    assert words(page.select_one("#m0 .msg-text")).replace(" ", "") == "<b>lamp</b>&lamp"


def test_going_to_a_day_of_the_persons_own_calendar(alice: User, alice_client: Client, seraphine: Character) -> None:
    alice.time_zone = "Pacific/Auckland"
    alice.save(update_fields=["time_zone"])
    chat = make_chat(seraphine, 4)
    for index, day in enumerate((1, 2, 3, 9)):
        chat.messages.filter(index=index).update(sent_at=datetime(2026, 3, day, 23, 0, tzinfo=UTC))
    assert alice_client.get(f"/chats/{chat.pk}/?date=2026-03-03")["Location"] == f"/chats/{chat.pk}/?at=1#m1"
    assert alice_client.get(f"/chats/{chat.pk}/?date=2026-03-05")["Location"] == f"/chats/{chat.pk}/?at=3#m3"
    assert alice_client.get(f"/chats/{chat.pk}/?date=2027-01-01")["Location"] == f"/chats/{chat.pk}/?at=3#m3"
    assert "This is the end of the chat" in words(toast(alice_client))
    for odd in ("x", "2026-13-40", "9999-99-99", "0001-01-01", "9999-12-31"):
        assert alice_client.get(f"/chats/{chat.pk}/", {"date": odd}).status_code in (200, 302)


def test_links_lead_to_the_unread_messages_before_and_behind(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 300)
    read(chat, seraphine, 0, 99)
    read(chat, seraphine, 120, 250)
    page = soup(alice_client.get(f"/chats/{chat.pk}/?at=150"))
    assert page.select_one('a[data-key="["]')["href"] == "?at=119#m119"
    assert page.select_one('a[data-key="]"]')["href"] == "?at=251#m251"
    assert "and 1 gap" in words(soup(alice_client.get(f"/chats/{chat.pk}/?at=99")).select_one("#watermark"))
    bar = page.select_one(".chat-map")
    assert [(one["class"][0], one["x"], one["width"]) for one in bar.select('rect[y="6"]')[1:]] == [
        ("f-ok", "0", "100"),
        ("f-accent", "100", "20"),
        ("f-ok", "120", "131"),
        ("f-accent", "251", "49"),
    ]


def test_a_part_of_the_page_holds_messages_alone(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 250)
    page = soup(alice_client.get(f"/chats/{chat.pk}/?at=100&part=1"))
    assert page.find("main") is None
    assert page.select_one("#reader")["data-previous"] == "?at=0"
    assert page.select_one("#reader")["data-following"] == "?at=200"
    assert len(page.select("li.msg")) == 100


def test_what_was_injected_is_shown_with_its_source(alice: User, alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 3)
    message = chat.messages.get(index=1)
    data = {
        "memories": [{"text": "Keeps a lantern."}, "odd"],
        "lore": [{"comment": "The lantern", "keys": ["lamp"], "content": "Brass."}],
        "prompts": [{"label": "Note", "content": "Speak softly.", "depth": 4}],
        "tokens": {"total": 900},
        "at": "12 March",
    }
    Snapshot.objects.create(owner=alice, chat=chat, identity=message.identity, index=1, source="charmemory", data=data)
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    assert "What was injected for message 1" in labels(page, 1)
    assert not page.select("#m0 .is-syringe")
    shown = words(soup(alice_client.get(f"/chats/{chat.pk}/messages/1/injected/")).select_one("main"))
    for said in ("Recorded by the CharMemory extension", "Keeps a lantern.", "The lantern lamp", "Brass.", "depth 4"):
        assert said in shown
    nothing = words(soup(alice_client.get(f"/chats/{chat.pk}/messages/0/injected/")).select_one("main"))
    assert "Nothing was recorded for this message." in nothing


def test_the_menu_of_a_message_works_without_scripts(alice_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 4)
    read(chat, seraphine, 0, 0)
    page = soup(alice_client.get(f"/chats/{chat.pk}/"))
    menu = page.select_one("#m2 details .menu")
    assert words(menu.select_one("button")) == "Extract up to here 2"
    assert menu.select_one("button")["form"] == "act"
    assert page.select_one("form#act")["method"] == "post"
    assert not page.select("#m0 details .menu button"), "nothing is unread up to the first"
    for link in menu.select("a"):
        assert alice_client.get(link["href"]).status_code == 200, link["href"]


def test_the_branches_of_a_chat_with_what_they_inherit(alice_client: Client, seraphine: Character) -> None:
    parent = make_chat(seraphine, 8, name="Tea")
    branch = make_chat(seraphine, 6, name="Otherwise", parent=parent, parent_name="Tea", fork_index=3)
    make_chat(seraphine, 7, name="Once more", parent=branch, parent_name="Otherwise", fork_index=5)
    make_chat(seraphine, 3, name="Apart")
    read(parent, seraphine, 0, 7)
    file = make_memory_file(seraphine, [])
    make_block(file, "Tea", ["One.", "Two."], chat=parent, first_index=0, last_index=3)
    make_block(file, "Tea", ["Three."], chat=parent, first_index=4, last_index=7)
    page = soup(alice_client.get(f"/chats/{branch.pk}/branches/"))
    rows = [words(one.select_one(".branch-name")) for one in page.select("li.branch")]
    assert rows == [
        "Tea 8 messages of its own, 3 memories",
        "Otherwise leaves at #3, inherits 4 messages and 2 memories, 2 messages of its own, 0 memories",
        "Once more leaves at #5, inherits 6 messages and 2 memories, 1 message of its own, 0 memories",
    ]
    assert words(page.select_one("h1")) == "“Tea” has 2 branches"
    assert words(page.select_one("li.branch .branch-state")) == "read"


def test_strangers_see_nothing_of_the_new_pages(charlie_client: Client, seraphine: Character) -> None:
    chat = make_chat(seraphine, 4)
    for path in ("messages/1/point/", "messages/1/injected/", "range/", "reset/", "branches/"):
        assert charlie_client.get(f"/chats/{chat.pk}/{path}").status_code == 404
    assert charlie_client.get(f"/chats/{chat.pk}/?find=story").status_code == 404
