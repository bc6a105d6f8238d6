"""docker-compose.yml as data, for its own test and for the process tests that run the same commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).resolve().parents[2] / "docker-compose.yml"
Service = dict[str, Any]


def load() -> dict[str, Any]:
    """The whole file, merge keys resolved, variables as they stand."""
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
    return loaded


def services() -> dict[str, Service]:
    found: dict[str, Service] = load()["services"]
    return found


def command(name: str) -> list[str]:
    """The management command of a part with its options."""
    return list(services()[name]["command"])


def replicas(name: str) -> int:
    return int(services()[name]["deploy"]["replicas"])
