"""Where branches remember their own past: in whatever order and way lines are read, each knows what it shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from jobs.drain import run_until_idle
from memories import memory_file, reset_cost, scope_change, source_changes, watermark
from memories.extraction import start_extraction
from memories.memory_file import file_for
from memories.models import ExtractionSettings, Memory, MemoryFile
from sync.events import ChatsChanged
from sync.models import Character, Chat
from tests.support.branching import make_branch, make_reader, texts_in
from tests.support.builders import make_chat
from tests.support.fake_model import FakeModel

THINGS = (
    *("anchor", "basket", "candle", "dagger", "eagle", "feather", "goblet", "hammer", "island", "jewel"),
    *("kettle", "lantern", "mirror", "needle"),
)
VERBS = (
    *("bought", "burned", "carved", "dropped", "envied", "found", "gave", "hid", "inspected", "kicked"),
    *("lost", "mended", "noticed", "offered"),
)
SAID = re.compile(r"^#\d+ [^:\n]+: Wren (\w+) the (\w+)\.", re.MULTILINE)
SHARED = set(THINGS[:6])


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    """One memory of each message."""
    with FakeModel() as server:

        def rule(prompt: str) -> str | None:
            bullets = "\n".join(f"- Wren {verb} the {thing}." for verb, thing in SAID.findall(prompt))
            return f"<memory>\n- [Wren — things]\n{bullets}\n</memory>" if bullets else None

        server.rule = rule
        server.answer_with("NO_NEW_MEMORIES")
        yield server


@pytest.fixture
def odo(alice: User, fake: FakeModel) -> Character:
    return make_reader(alice, fake.base_url)


@pytest.fixture
def main(odo: Character) -> Chat:
    """One thing in each message."""
    texts = [f"Wren {verb} the {thing}." for verb, thing in zip(VERBS, THINGS, strict=True)]
    return make_chat(odo, texts, name="The story")


@pytest.fixture
def branch(main: Chat) -> Chat:
    return make_branch(main, 5, name="What if")


def read(user: User, odo: Character, *chats: Chat, span: tuple[int | None, int] | None = None) -> None:
    ranges = {str(chats[0].pk): list(span)} if span else None
    start_extraction(user, character=odo, chats=list(chats) or None, ranges=ranges)
    run_until_idle(user)


def known(odo: Character, chat: Chat | None = None) -> set[str]:
    """The things that the file of a chat, or the character's own, tells of."""
    file = MemoryFile.objects.for_user(odo.tavern.owner).filter(character=odo, chat=chat).first()
    return {text.rstrip(".").rsplit(" ", 1)[1] for text in texts_in(file)} if file else set()


def _pin(user: User, odo: Character, branch: Chat) -> None:
    client = Client()
    client.force_login(user)
    client.post(f"/chats/{branch.pk}/messages/6/pin/", {"text": "Odo swore by the bell.", "character": str(odo.pk)})


def _look(user: User, odo: Character, branch: Chat) -> None:
    assert branch.parent is not None
    read(user, odo, branch.parent, span=(0, 2))
    client = Client()
    client.force_login(user)
    assert client.get(f"/chats/{branch.pk}/range/?from=0&to=9").status_code == 200


def _skip(user: User, odo: Character, branch: Chat) -> None:
    assert branch.parent is not None
    watermark.mark_read(user, branch.parent, odo, 13)
    read(user, odo)
    watermark.reopen(user, branch.parent, odo)


@pytest.mark.parametrize(
    "begin",
    [
        lambda user, odo, branch: read(user, odo, branch, span=(None, 7)),
        lambda user, odo, branch: read(user, odo, branch, span=(6, 7)),
        lambda user, odo, branch: watermark.mark_read(user, branch, odo, 2),
        _pin,
        _look,
        _skip,
    ],
    ids=["up to here", "a stretch of its own", "the line moved", "a pin", "only looked at", "skipped, then read"],
)
def test_however_it_began_both_lines_know_what_they_share(
    alice: User, odo: Character, branch: Chat, begin: Callable[[User, Character, Chat], object]
) -> None:
    begin(alice, odo, branch)
    read(alice, odo)
    shared = SHARED - (set(THINGS[:3]) if not known(odo) & set(THINGS[:3]) else set())
    assert shared <= known(odo) and shared <= known(odo, branch)
    assert len(shared) == 6 or begin.__name__ == "<lambda>", "only what was set aside by hand is missing"
    assert not known(odo, branch) & set(THINGS[6:]), "what the other line says later stays there"


def test_a_branch_of_a_branch_that_is_read_first(alice: User, odo: Character, main: Chat) -> None:
    first = make_branch(main, 7, name="What if")
    second = make_branch(first, 3, name="What if not", after=90)
    read(alice, odo, second)
    read(alice, odo)
    assert set(THINGS[:8]) <= known(odo, first)
    assert set(THINGS[:4]) <= known(odo, second) and not known(odo, second) & set(THINGS[4:])
    assert known(odo) == set(THINGS)


@pytest.mark.parametrize("begins", [0, 1])
def test_siblings_whose_parent_is_gone(
    alice: User, odo: Character, main: Chat, branch: Chat, fake: FakeModel, begins: int
) -> None:
    other = make_branch(main, 7, name="What if not", after=90)
    main.gone_at = timezone.now()
    main.save()
    read(alice, odo, (branch, other)[begins])
    read(alice, odo)
    assert known(odo, branch) >= SHARED and set(THINGS[:8]) <= known(odo, other)


def test_messages_that_are_left_alone_at_the_parents_end(alice: User, odo: Character, main: Chat) -> None:
    ExtractionSettings.objects.filter(user=alice).update(leaves_newest=True, newest=4)
    branch = make_branch(main, 13, 12, name="What if")
    start_extraction(alice, character=odo, chats=[branch], is_automatic=True)
    run_until_idle(alice)
    assert known(odo) == set(THINGS)


def test_reading_a_branch_alone_costs_what_it_shares_too(alice: User, odo: Character, main: Chat) -> None:
    branch = make_branch(main, 11, name="What if")
    alone = reset_cost.cost_of_reading(alice, character=odo, chats=[branch])
    assert alone.messages == 16
    assert reset_cost.cost_of_reading(alice, character=odo).messages == 14 + 4, "with its parent it is read once"
    assert start_extraction(alice, character=odo).total == 18


def test_an_edit_concerns_the_line_in_which_it_was_made(alice: User, odo: Character, main: Chat, branch: Chat) -> None:
    read(alice, odo)
    branch.messages.filter(index=2).update(content="f" * 32, text="Other.")
    main.messages.filter(index=3).update(content="e" * 32, text="Another.")
    source_changes.hear(ChatsChanged(odo.tavern_id, [branch.pk, main.pk]))
    flagged = Memory.objects.for_user(alice).filter(is_source_changed=True)
    assert [one.text for one in flagged.filter(block__file__chat=branch)] == ["Wren carved the candle."]
    assert [one.text for one in flagged.filter(block__file=file_for(odo))] == ["Wren dropped the dagger."]
    source_changes.still_right(alice, flagged.get(block__file__chat=branch))
    source_changes.hear(ChatsChanged(odo.tavern_id, [branch.pk]))
    assert not flagged.filter(block__file__chat=branch), "it is held against the branch's own words from now on"


def test_the_same_choice_again_brings_nothing_back(alice: User, odo: Character, branch: Chat) -> None:
    read(alice, odo)
    own = MemoryFile.objects.for_user(alice).get(character=odo, chat=branch)
    memory_file.clear(own, author=alice)
    scope_change.choose(alice, odo, "all", "branches")
    assert known(odo, branch) == set()


@pytest.mark.django_db(transaction=True)
def test_a_folder_with_files_of_branches_is_forgotten(
    alice: User, alice_client: Client, odo: Character, branch: Chat
) -> None:
    read(alice, odo)
    address = f"/settings/sillytavern/{odo.tavern_id}/unlink/"
    assert alice_client.post(address, {"forget": "1"}).status_code == 302
    assert not MemoryFile.objects.for_user(alice).exists()
