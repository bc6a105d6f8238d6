"""A made-up root with every header and date form passes what the real one passes."""

from __future__ import annotations

import pytest

from accounts.models import User
from sync.mirror import mirror
from sync.models import Tavern
from tests.support.generated_root import RootFacts, make_root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> RootFacts:
    return make_root(tmp_path_factory.mktemp("generated"), characters=40, chats=1000, messages=12)


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
