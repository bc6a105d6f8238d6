"""A pytest plugin: the run ends with a list of the real parts that took part and of those that were missing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import services

KEY = "charmem_services"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A parallel worker hands its lists to the main process."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[KEY] = [sorted(services.used), services.missing]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    used, missing = getattr(node, "workeroutput", {}).get(KEY, ([], {}))
    services.used.update(used)
    services.missing.update(missing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"Real parts used: {', '.join(sorted(services.used)) or 'none'}.")
    for name, reason in sorted(services.missing.items()):
        terminalreporter.write_line(f"Missing: {name} ({reason}).")
