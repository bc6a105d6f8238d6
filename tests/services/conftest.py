"""Real processes: all on one parallel worker, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import Running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("services"))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Running]:
    """An installation with an empty data folder."""
    running = Running(tmp_path / "data")
    yield running
    running.end()
