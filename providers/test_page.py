"""The last test of a connection as pages show it, or that one is under way."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from jobs.models import Job
from providers import adapters, test_jobs
from providers.models import Connection

STEP_NAMES = {"reached": "Reached", "key": "Key", "answer": "Answer", "memory": "Memory"}


@dataclass(frozen=True)
class TestPart:
    """`job` is the test under way, `result` what the last one found ({} when there was none)."""

    __test__ = False  # for pytest: this is no test

    connection: Connection
    job: Job | None
    result: dict[str, Any]

    @property
    def steps(self) -> list[dict[str, str]]:
        """The rows in words."""
        rows = self.result.get("steps", [])
        return [{**row, "name": _(STEP_NAMES.get(row.get("name", ""), ""))} for row in rows]

    @property
    def cost(self) -> Decimal | None:
        """Dollars of the whole test; None when nobody knows."""
        cost = self.result.get("cost")
        return Decimal(cost) if cost else None

    @property
    def has_key_trouble(self) -> bool:
        return any(row.get("name") == "key" and row.get("state") == "bad" for row in self.result.get("steps", []))

    @property
    def lacks_model(self) -> bool:
        """Nothing could be asked, because no model is chosen."""
        return bool(self.result) and not adapters.model_of(self.connection)

    @property
    def seen(self) -> str:
        """Changes when there is something else to show."""
        return f"{self.job.pk}.{self.job.state}" if self.job else "ended"

    @property
    def led_to(self) -> str:
        """What the fields beside it were filled from: a test may mend the address and choose the model."""
        return f"{self.connection.base_url} {self.connection.model}"


def test_part(connection: Connection) -> TestPart:
    """The part for this connection."""
    result = connection.test_result if connection.tested_at else {}
    return TestPart(connection, test_jobs.running(connection), result)
