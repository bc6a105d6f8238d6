"""Speed and memory: `make bench` runs every `bench_*.py`, prints a table and writes build/bench.json.

A measurement is a ratio to a bare version of the same work in the same run wherever that is possible, so that it means
the same on every computer. Each file has `def run() -> list[Row]`.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure: what was measured, what the bare version took, their ratio, and the limit that was promised.

    The limit holds for the ratio, or for the value where there is no ratio. Without a limit the figure is only told.
    """

    name: str
    value: float
    unit: str
    bare: float | None = None
    ratio: float | None = None
    limit: float | None = None

    @property
    def judged(self) -> float:
        """The figure that the limit is about."""
        return self.value if self.ratio is None else self.ratio

    @property
    def is_kept(self) -> bool:
        """Whether the promise was kept; a figure without a promise always is."""
        return self.limit is None or self.judged <= self.limit


def prepare_django() -> None:
    """The product's models on a scratch database of this run."""
    import django
    from django.apps import apps

    if not apps.ready:
        os.environ.setdefault("CHARMEM_DATA_DIR", tempfile.mkdtemp(prefix="charmem-bench-data-"))
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
        django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
