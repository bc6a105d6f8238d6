"""What a chunk has to say while it runs, collected in memory and written at most once a second (stack-notes §5)."""

from __future__ import annotations

import threading
from typing import Any

from jobs.models import Job, JobEvent
from jobs.redaction import redact


class Notes:
    """Fields and log lines that are not written yet. The working thread adds, the heartbeat thread writes."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._fields: dict[str, Any] = {}
        self._lines: list[JobEvent] = []

    def line(self, text: str, level: str) -> None:
        """Add a log line; it carries the time of now and is redacted."""
        with self._lock:
            self._lines.append(JobEvent(job=self._job, text=redact(text), level=level))

    def set(self, **fields: Any) -> None:
        """Change fields of the job, in memory at once and in the row with the next write."""
        with self._lock:
            self._fields.update(fields)
            for name, value in fields.items():
                setattr(self._job, name, value)

    def fields(self) -> dict[str, Any]:
        """The fields that wait to be written (they keep waiting)."""
        with self._lock:
            return dict(self._fields)

    def take(self) -> tuple[dict[str, Any], list[JobEvent]]:
        """Everything that waits, for one write."""
        with self._lock:
            taken = self._fields, self._lines
            self._fields, self._lines = {}, []
            return taken

    def put_back(self, fields: dict[str, Any], lines: list[JobEvent]) -> None:
        """What could not be written waits again, before anything newer."""
        with self._lock:
            self._fields = {**fields, **self._fields}
            self._lines = lines + self._lines

    def __bool__(self) -> bool:
        return bool(self._fields or self._lines)
