"""A made-up root with every header and date form passes what the real one passes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from memories.extraction import start_extraction
from sync.mirror import mirror
from sync.models import Chat, Tavern
from tests.support.builders import make_connection
from tests.support.fake_model import FakeModel
from tests.support.generated_root import START, ChatFacts, RootFacts, date_of, make_root, message


@pytest.fixture
def root(tmp_path: Path) -> RootFacts:
    return make_root(tmp_path / "generated", characters=40, chats=1000, messages=12)


@pytest.fixture
def tavern(alice: User, root: RootFacts) -> Tavern:
    tavern = Tavern.objects.create(owner=alice, name="generated", folder=str(root.root))
    mirror(tavern)
    return tavern


def test_a_thousand_chats_in_every_form(tavern: Tavern, root: RootFacts) -> None:
    assert set(tavern.characters.values_list("avatar", flat=True)) == set(root.characters)
    assert set(tavern.groups.values_list("file_id", flat=True)) == set(root.groups)
    everything_that_was_written_is_found_again(tavern, root)
    branches_know_their_parent_and_fork(tavern, root)
    broken_lines_are_reported_with_file_and_line(tavern, root)
    report = mirror(tavern)
    assert (report.changed, report.files_read, report.messages_written) == (False, 0, 0)
    with FakeModel() as fake:
        message_3_is_deleted_and_two_are_inserted_in_each_form(tavern, root, fake)
    renamed_and_deleted_chats_are_the_same_chats(tavern, root)


def everything_that_was_written_is_found_again(tavern: Tavern, root: RootFacts) -> None:
    chats = {chat.path: chat for chat in tavern.chats.all()}
    assert chats.keys() == root.chats.keys()
    for path, facts in root.chats.items():
        rows = list(chats[path].messages.order_by("index"))
        assert [row.text for row in rows] == facts.texts, path
        assert [row.index for row in rows] == list(range(len(rows)))
        assert [row.index for row in rows if row.is_hidden] == facts.hidden, path
        assert all(row.sent_at for row in rows if row.role != "unreadable"), path
        assert chats[path].unreadable_lines == facts.broken_lines
        assert len({row.identity for row in rows}) == len(rows)


def branches_know_their_parent_and_fork(tavern: Tavern, root: RootFacts) -> None:
    branches = [facts for facts in root.chats.values() if facts.parent]
    assert len(branches) > 10
    for facts in branches:
        chat = tavern.chats.get(path=facts.path)
        assert (chat.parent and chat.parent.path, chat.fork_index) == (facts.parent, facts.fork)
    assert tavern.chats.exclude(parent=None).count() == len(branches)


def broken_lines_are_reported_with_file_and_line(tavern: Tavern, root: RootFacts) -> None:
    broken = {path for path, facts in root.chats.items() if facts.broken_lines}
    assert len(broken) > 10
    assert set(tavern.issues.values_list("path", flat=True)) == broken
    assert all(issue.line for issue in tavern.issues.all())


def one_chat_of_each_form(root: RootFacts) -> dict[int, ChatFacts]:
    """Whole chats of characters, by number: every form of header with every form of date."""
    found: dict[tuple[int, int], tuple[int, ChatFacts]] = {}
    for facts in root.chats.values():
        is_plain = not (facts.parent or facts.broken_lines or facts.path.startswith("group"))
        if is_plain and len(facts.texts) >= 6:
            number = int(facts.texts[0].rpartition("(")[2].partition(".")[0])
            found.setdefault((number % 3, number // 3 % 7), (number, facts))
    assert len(found) == 21
    return dict(found.values())


def message_3_is_deleted_and_two_are_inserted_in_each_form(tavern: Tavern, root: RootFacts, fake: FakeModel) -> None:
    """Through files, mirror and extraction: each message is shown once, the deleted one never again."""
    fake.answer_with("NO_NEW_MEMORIES")
    make_connection(tavern.owner, preset="local", base_url=fake.base_url, model="fake-small")
    chosen = one_chat_of_each_form(root)
    chats = {number: tavern.chats.get(path=facts.path) for number, facts in chosen.items()}
    assert shown(tavern, chats.values(), fake) == sorted(text for facts in chosen.values() for text in facts.texts)
    new = []
    for number, facts in chosen.items():
        path = root.root / facts.path
        lines = path.read_text("utf-8").split("\n")
        for place in range(2):
            moment = START + timedelta(days=900, hours=number, minutes=place)
            new.append(f"put in between ({number}.{place})")
            made = message(new[-1], user=bool(place), date=date_of(number // 3, moment))
            lines.insert(4 + place, json.dumps(made))
        del lines[6]  # message 3 below the header and the two new ones
        path.write_text("\n".join(lines), "utf-8")
        facts.texts[3:4] = new[-2:]
    assert sorted(mirror(tavern).chats) == sorted(chat.pk for chat in chats.values())
    for number, facts in chosen.items():
        assert list(chats[number].messages.order_by("index").values_list("text", flat=True)) == facts.texts
    assert shown(tavern, chats.values(), fake) == sorted(new)
    assert shown(tavern, chats.values(), fake) == []


def shown(tavern: Tavern, chats: Iterable[Chat], fake: FakeModel) -> list[str]:
    """What of these chats the model is asked about, sorted."""
    fake.requests.clear()
    for chat in chats:
        assert chat.character is not None
        start_extraction(tavern.owner, character=chat.character, chat=chat)
    run_until_idle(tavern.owner)
    parts = [prompt.partition("NEW MESSAGES")[2].splitlines() for prompt in fake.prompts()]
    lines = [line for part in parts for line in part if line[:1] == "#" and line[1:2].isdigit()]
    return sorted(line.partition(": ")[2] for line in lines)


def renamed_and_deleted_chats_are_the_same_chats(tavern: Tavern, root: RootFacts) -> None:
    chosen = list(one_chat_of_each_form(root).values())
    rows = {facts.path: tavern.chats.get(path=facts.path).pk for facts in chosen}
    for facts in chosen[:14]:
        path = root.root / facts.path
        path.rename(path.with_name(f"Renamed {path.name}"))
    for facts in chosen[14:]:
        (root.root / facts.path).unlink()
    report = mirror(tavern)
    assert (report.messages_written, report.gone) == (0, 7)
    for facts in chosen[:14]:
        folder, _, name = facts.path.rpartition("/")
        row = tavern.chats.get(path=f"{folder}/Renamed {name}")
        assert (row.pk, row.gone_at) == (rows[facts.path], None)
    for facts in chosen[14:]:
        row = tavern.chats.get(pk=rows[facts.path])
        assert row.gone_at is not None
        assert row.messages.count() == len(facts.texts)
