"""News that must travel upward between apps: a small typed registry, no Django signals (architecture, Rooms).

An app that has news declares an `Event` with a payload type; apps above attach listeners in charmem_site/wires.py.
Listeners run at once, in the order they were attached, in the sender's thread and outside its transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

P = TypeVar("P")
logger = logging.getLogger(__name__)


class Event(Generic[P]):
    """One kind of news with payload type `P`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._listeners: list[Callable[[P], None]] = []

    def connect(self, listener: Callable[[P], None]) -> None:
        """Attach a listener once; attaching it again changes nothing."""
        if listener not in self._listeners:
            self._listeners.append(listener)

    def send(self, payload: P) -> None:
        """Tell every listener. A listener that fails is logged and does not stop the others."""
        for listener in self._listeners:
            try:
                listener(payload)
            except Exception:  # one deaf listener must not undo the sender's work
                logger.exception("A listener of %s failed.", self.name)
