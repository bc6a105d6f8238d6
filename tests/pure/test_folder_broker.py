"""Messages in a folder: never seen half-written, never the end of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection

from charmem_site import folder_broker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Any]:
    folders = {"data_folder_in": str(tmp_path), "data_folder_out": str(tmp_path), "control_folder": str(tmp_path / "c")}
    new_process()
    with Connection(f"{folder_broker.SCHEME}://localhost//", transport_options=folders) as connection:
        yield connection


def new_process() -> None:
    """Forget what this process has bound, as another one would not know it."""
    folder_broker.Transport.global_state.clear()


def messages(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.msg"))


def test_a_message_arrives_once(broker: Any, tmp_path: Path) -> None:
    with broker.SimpleQueue("charmem") as queue:
        queue.put({"job": 1})
        assert queue.get(timeout=2).payload == {"job": 1}
        with pytest.raises(queue.Empty):
            queue.get(block=False)
    assert messages(tmp_path) == []


def test_a_message_has_its_name_only_when_it_is_complete(
    broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    rename = Path.replace

    def replace(source: Path, target: Path) -> Path:
        assert messages(tmp_path) == []
        seen.append(source.read_bytes())
        return rename(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    with broker.SimpleQueue("charmem") as queue:
        queue.put({"job": 1})
    assert len(seen) == 1
    assert [path.read_bytes() for path in messages(tmp_path)] == seen


def test_a_damaged_message_is_dropped_and_the_next_one_read(broker: Any, tmp_path: Path) -> None:
    with broker.SimpleQueue("charmem") as queue:
        (tmp_path / "0_cut.charmem.msg").write_bytes(b"")
        queue.put({"job": 2})
        assert queue.get(timeout=2).payload == {"job": 2}


def test_a_table_that_was_cut_off_is_made_anew(broker: Any, tmp_path: Path) -> None:
    with broker.SimpleQueue("charmem") as queue:
        queue.put({"job": 1})
    (table,) = (tmp_path / "c").iterdir()
    table.write_bytes(b"")
    new_process()
    with broker.SimpleQueue("charmem") as queue:
        assert queue.get(timeout=2).payload == {"job": 1}
    assert table.read_bytes()
