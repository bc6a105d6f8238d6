"""`python -m bench [NAME …]`: run the measurements, all or those whose file name contains a given word."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import platform
import sys
import traceback
from pathlib import Path

from bench import Row

HERE = Path(__file__).resolve().parent
RESULT = HERE.parent / "build" / "bench.json"


def _modules(words: list[str]) -> list[str]:
    names = sorted(path.stem for path in HERE.glob("bench_*.py"))
    return [name for name in names if not words or any(word in name for word in words)]


def _line(row: Row) -> str:
    bare = "" if row.bare is None else f"{row.bare:,.2f}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}×"
    limit = "" if row.limit is None else f"≤ {row.limit:g}"
    mark = "" if row.limit is None else ("kept" if row.is_kept else "MISSED")
    return f"  {row.name:<56} {row.value:>12,.2f} {row.unit:<11} {bare:>12} {ratio:>9} {limit:>8}  {mark}"


def _run(name: str) -> list[Row]:
    """The rows of one file; one that breaks is shown and does not stop the others."""
    print(name.removeprefix("bench_").replace("_", " "), flush=True)
    try:
        rows: list[Row] = importlib.import_module(f"bench.{name}").run()
    except Exception:  # noqa: BLE001  one broken measurement must not hide the others
        traceback.print_exc()
        return [Row(f"{name} could not be measured", 1, "failure", limit=0)]
    for row in rows:
        print(_line(row), flush=True)
    return rows


def main(words: list[str]) -> int:
    """0 when every promise was kept."""
    results = {name: _run(name) for name in _modules(words)}
    RESULT.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()}
    figures = {name: [dataclasses.asdict(row) for row in rows] for name, rows in results.items()}
    RESULT.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n", encoding="utf-8")
    missed = [row for rows in results.values() for row in rows if not row.is_kept]
    print(f"{len(missed)} missed. Written to {RESULT.relative_to(HERE.parent)}.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
