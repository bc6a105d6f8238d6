"""What `serve` was asked to do: command line over environment."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from charmem_site.env import EnvError, env_bool, env_str
from charmem_site.local_addresses import lan_addresses

BASE_DIR = Path(__file__).resolve().parents[2]
DEFAULT_BIND = "127.0.0.1:8420"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  only compared with
MOST_WORKERS = 2


class BadBind(ValueError):
    """CHARMEM_BIND is not HOST:PORT; the message is a finished sentence."""


@dataclass(frozen=True)
class Options:
    """Data folder, address and port to listen on, whether the local network may call, and who reads what is said."""

    data_dir: Path
    host: str
    port: int
    lan: bool
    json: bool = False
    workers: int = 1

    @property
    def bind(self) -> str:
        """The form of CHARMEM_BIND."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def addresses(self) -> list[str]:
        """Every address at which a browser finds the pages, this machine's own first."""
        if self.host not in EVERYWHERE:
            return [f"http://{self.bind}/"]
        names = ["127.0.0.1", *lan_addresses()]
        return [f"http://{f'[{name}]' if ':' in name else name}:{self.port}/" for name in names]

    def child_environment(self) -> dict[str, str]:
        """The environment of the children: ours with the answers filled in, so that all parts agree."""
        return {
            **os.environ,
            "CHARMEM_DATA_DIR": str(self.data_dir),
            "CHARMEM_BIND": self.bind,
            "CHARMEM_LAN": "1" if self.lan else "0",
            "PYTHONUNBUFFERED": "1",
        }

    def helper_environment(self) -> dict[str, str]:
        """The environment of a second worker, which holds its jobs under a name of its own."""
        name = env_str("CHARMEM_WORKER_NAME") or f"worker@{socket.gethostname()}"
        return {**self.child_environment(), "CHARMEM_WORKER_NAME": f"{name[:70]} (2)"}


def split_bind(text: str) -> tuple[str, int]:
    """`HOST:PORT` or `[IPv6]:PORT` as host and port; raises BadBind."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadBind(f"CHARMEM_BIND={text} is not an address with a port, like {DEFAULT_BIND}.")
    return host.strip("[]"), int(port)


def most_workers() -> int:
    """How many worker processes there may be at a time: one for each core, two at most, unless fewer are asked for."""
    text = env_str("CHARMEM_WORKERS") or str(MOST_WORKERS)
    if text not in ("1", "2"):
        raise EnvError(f"CHARMEM_WORKERS={text} is neither 1 nor 2.")
    return min(int(text), _cores())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def data_dir() -> Path:
    """The folder that holds everything CharMem keeps."""
    return Path(env_str("CHARMEM_DATA_DIR") or BASE_DIR / "data").resolve()


def read(arguments: Sequence[str]) -> Options:
    """Options from the command line and the environment; raises BadBind, EnvError or SystemExit(2)."""
    parser = argparse.ArgumentParser(prog="manage.py serve", description="Run CharMem: pages and background work.")
    parser.add_argument("--lan", action="store_true", help="answer the whole local network, not only this machine")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with the addresses; everything else to stderr"
    )
    asked = parser.parse_args(arguments)
    host, port = split_bind(env_str("CHARMEM_BIND") or DEFAULT_BIND)
    lan = asked.lan or env_bool("CHARMEM_LAN")
    host = "0.0.0.0" if lan else host  # noqa: S104  asked for
    return Options(data_dir=data_dir(), host=host, port=port, lan=lan, json=asked.json, workers=most_workers())
