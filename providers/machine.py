"""How much memory this computer has, as far as it tells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Memory:
    """Bytes in all and bytes that are free for more work."""

    total: int
    free: int


def memory() -> Memory | None:
    """The computer's memory, or that of the container around us when it may use less; None where nobody says."""
    try:
        rows = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines() if ":" in line)
        found = Memory(_bytes(rows["MemTotal"]), _bytes(rows["MemAvailable"]))
    except (OSError, KeyError, ValueError, IndexError):
        return None
    limit, used = _number(CGROUP / "memory.max"), _number(CGROUP / "memory.current")
    if limit is None or used is None:
        return found
    return Memory(min(found.total, limit), max(0, min(found.free, limit - used + _file_cache())))


def _bytes(text: str) -> int:
    return int(text.split()[0]) * 1024


def _file_cache() -> int:
    """What a container counts as used although it is given up at once."""
    try:
        lines = (CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("file ")), 0)
    except (OSError, ValueError, IndexError):
        return 0


def _number(path: Path) -> int | None:
    """The number in a file; None without a limit ("max") and without the file."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
