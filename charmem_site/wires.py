"""Who hears what: the one list of connections between apps that may not import each other (jobs/events.py)."""

from __future__ import annotations


def connect() -> None:
    """Attach every listener. Called once when Django is ready."""
