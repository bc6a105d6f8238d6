"""Looks whether a model server answers on this computer's usual ports. Quick, in parallel, by the policy.

Inside a container this computer is the container; the one around it is asked too.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from accounts.models import User
from providers import network, openai_compatible, transport
from providers.catalogue import LOCAL_PORTS, LocalPort
from providers.network import Policy

MOST_SECONDS = 1.2
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
HOST_OF_CONTAINER = "host.docker.internal"
SILENT = re.compile(r"embed|rerank|whisper|\btts\b|\bbge-|minilm|clip-vit", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """A server that answered with a list of models; `preset` is the catalogue's key for a connection to it."""

    preset: str
    label: str
    base_url: str
    models: list[str]


def talks(model: str) -> bool:
    """Whether a model answers questions, by its name: some only embed, rank or listen."""
    return SILENT.search(model) is None


def discover_local(user: User, ports: tuple[LocalPort, ...] = LOCAL_PORTS) -> list[Found]:
    """Servers in the order of `ports`; empty when this person may not reach this computer's own address."""
    policy = network.policy_for(user)
    places = [(port, port.base_url) for port in ports]
    if is_in_container():
        places += [(port, port.at(HOST_OF_CONTAINER)) for port in ports]
    with ThreadPoolExecutor(max_workers=max(1, len(places)), thread_name_prefix="discover") as pool:
        answers = list(pool.map(lambda place: _ask(place[0], place[1], policy), places))
    return [found for found in answers if found is not None]


def is_in_container() -> bool:
    """Whether 127.0.0.1 is a container and not the computer around it."""
    return any(Path(mark).exists() for mark in CONTAINER_MARKS)


def _ask(port: LocalPort, base_url: str, policy: Policy) -> Found | None:
    try:
        with transport.open_client(base_url, policy, reach="local") as client:
            answer = client.get(openai_compatible.MODELS_PATH, idle=MOST_SECONDS, total=MOST_SECONDS)
        models = openai_compatible.model_ids(answer.json()) if answer.status == 200 else []
    except (transport.TransportError, ValueError):
        return None
    return Found("local", port.label, base_url, models) if models else None
