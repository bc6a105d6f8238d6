"""Whatever happens to a chat between two passes: no message is lost or counted twice, survivors keep their row."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from sync.mirror import mirror
from sync.models import Chat, Tavern
from tests.support.generated_root import START, card_png, card_v2, date_of, header, message

KINDS = ["delete", "insert", "edit", "hide", "rename people", "rename chat", "append"]
passes = st.lists(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 10**6)), min_size=1, max_size=6), min_size=1, max_size=4
)


class Story:
    """A chat file and what is known about each of its messages: the row it had, or None when it is new."""

    def __init__(self, owner: User, root: Path, slug: str, dates: int) -> None:
        for name in ("characters", "chats/Mara", "user/files"):
            (root / name).mkdir(parents=True)
        (root / "characters/Mara.png").write_bytes(card_png(card_v2("Mara")))
        (root / "settings.json").write_text("{}", "utf-8")
        self.root, self.name, self.step, self.dates = root, "first", 0, dates
        self.slug = slug
        self.lines: list[dict[str, Any]] = []
        self.rows: list[int | None] = []
        for _number in range(8):
            self.insert(len(self.lines))
        self.tavern = Tavern.objects.create(owner=owner, name="story", folder=str(root))

    def insert(self, place: int) -> None:
        self.step += 1
        moment = START.replace(year=2023 + self.step // 12 % 3, month=self.step % 12 + 1, second=self.step % 60)
        line = message(f"text {self.step}", user=self.step % 2 == 0, date=date_of(self.dates, moment))
        self.lines.insert(place, line)
        self.rows.insert(place, None)

    def do(self, kind: str, where: int) -> None:
        self.step += 1
        place = where % (len(self.lines) or 1)
        if kind == "insert":
            self.insert(place)
        elif kind == "append":
            self.insert(len(self.lines))
        elif kind == "rename people":
            for line in self.lines:
                line["name"] = f"name {self.step}"
        elif kind == "rename chat":
            (self.root / f"chats/Mara/{self.name}.jsonl").unlink(missing_ok=True)
            self.name = f"name {self.step}"
        elif kind == "delete" and len(self.lines) > 6:
            del self.lines[place], self.rows[place]
        elif kind == "edit":
            self.lines[place]["mes"] = f"edited {self.step}"
        elif kind == "hide":
            self.lines[place]["is_system"] = not self.lines[place]["is_system"]

    def write(self) -> None:
        lines = [header(0, self.slug), *self.lines]
        path = self.root / f"chats/Mara/{self.name}.jsonl"
        path.with_suffix(".tmp").write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
        path.with_suffix(".tmp").replace(path)

    def check(self) -> None:
        mirror(self.tavern)
        chat = Chat.objects.for_user(self.tavern.owner).get(gone_at=None)
        rows = list(chat.messages.order_by("index"))
        assert [row.text for row in rows] == [line["mes"] for line in self.lines]
        assert [row.index for row in rows] == list(range(len(rows)))
        assert [row.name for row in rows] == [line["name"] for line in self.lines]
        assert [row.is_hidden for row in rows] == [line["is_system"] for line in self.lines]
        assert len({row.identity for row in rows}) == len(rows)
        for row, known in zip(rows, self.rows, strict=True):
            assert known is None or row.pk == known
        self.rows = [row.pk for row in rows]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passes, st.integers(0, 6))
def test_nothing_is_lost_or_repeated(alice: User, todo: list[list[tuple[str, int]]], dates: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(alice, Path(folder) / "wren", f"slug-{dates}", dates)
        story.write()
        story.check()
        for changes in todo:
            for kind, where in changes:
                story.do(kind, where)
            story.write()
            story.check()
        story.tavern.delete()


def test_swipes_and_continuations_all_through_a_chat(alice: User, tmp_path: Path) -> None:
    story = Story(alice, tmp_path / "wren", "slug", 0)
    story.write()
    story.check()
    before = copy.deepcopy(story.lines)
    for place in range(0, 8, 2):
        old = before[place]
        story.lines[place] = old | {
            "mes": f"swiped {place}",
            "send_date": f"2030-01-01T00:00:{place:02d}.000Z",
            "swipes": [old["mes"], f"swiped {place}"],
            "swipe_id": 1,
        }
    for place in range(1, 8, 2):
        line = before[place]
        story.lines[place] = line | {"mes": line["mes"] + " and on", "send_date": f"2031-01-01T00:00:{place:02d}.000Z"}
    story.write()
    story.check()
