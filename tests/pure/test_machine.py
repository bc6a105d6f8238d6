"""How much memory there is, on a computer and in a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from providers import machine
from providers.machine import Memory

KB = 1024


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 8000 kB\nMemFree: 100 kB\nMemAvailable: 5000 kB\nHugePages_Total: 0\n")
    return tmp_path


def test_what_a_computer_says(place: Path) -> None:
    assert machine.memory() == Memory(8000 * KB, 5000 * KB)


def test_a_container_may_have_less(place: Path) -> None:
    (place / "memory.max").write_text(f"{4000 * KB}\n")
    (place / "memory.current").write_text(f"{3000 * KB}\n")
    assert machine.memory() == Memory(4000 * KB, 1000 * KB)
    (place / "memory.stat").write_text(f"anon 1\nfile {1500 * KB}\nkernel 2\n")
    assert machine.memory() == Memory(4000 * KB, 2500 * KB)
    (place / "memory.max").write_text("max\n")
    assert machine.memory() == Memory(8000 * KB, 5000 * KB)


@pytest.mark.parametrize("text", ["", "MemTotal: 8000 kB\n", "MemTotal: many\nMemAvailable: x kB\n"])
def test_where_nobody_says(place: Path, text: str) -> None:
    (place / "meminfo").write_text(text)
    assert machine.memory() is None
    (place / "meminfo").unlink()
    assert machine.memory() is None
