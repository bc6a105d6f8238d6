"""What docker-compose.yml promises: no root, closed databases, one clock, one volume, SillyTavern writable."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support import compose

ROOT = Path(__file__).resolve().parents[2]
OURS = ["web", "worker", "beat"]
THEIRS = ["db", "redis"]


def test_the_parts_are_there() -> None:
    assert set(compose.services()) == {*OURS, *THEIRS}


@pytest.mark.parametrize("name", OURS)
def test_our_parts_are_one_image_with_the_entrypoint_that_leaves_root(name: str) -> None:
    part = compose.services()[name]

    assert part["image"] == "charmem"
    assert {"PUID", "PGID"} <= set(part["environment"])
    assert "entrypoint" not in part
    assert "user" not in part


@pytest.mark.parametrize("name", [*OURS, *THEIRS])
def test_every_part_is_locked_down(name: str) -> None:
    part = compose.services()[name]

    assert part["read_only"] is True
    assert part["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in part["security_opt"]
    assert not {"privileged", "network_mode", "pid"} & set(part)


def test_only_the_pages_can_be_reached_from_outside() -> None:
    published = [name for name, part in compose.services().items() if "ports" in part]

    assert published == ["web"]
    assert compose.load()["networks"]["inside"]["internal"] is True
    assert all(compose.services()[name]["networks"] == ["inside"] for name in THEIRS)


def test_passwords_come_from_the_environment_and_must_be_given() -> None:
    text = compose.FILE.read_text("utf-8")

    for secret in re.findall(r"\$\{((?:POSTGRES|REDIS)_PASSWORD)(:\?)?", text):
        assert secret[1] == ":?"
    assert "redis://:${REDIS_PASSWORD" in text
    assert "--requirepass" in compose.services()["redis"]["command"][-1]


def test_several_workers_and_exactly_one_clock() -> None:
    assert compose.replicas("worker") >= 2
    assert compose.command("worker") == ["worker", "--no-beat"]
    assert compose.command("beat") == ["worker", "--beat-only"]
    assert compose.replicas("beat") == 1
    assert "container_name" not in compose.services()["worker"]


def test_only_the_pages_change_the_tables() -> None:
    assert compose.command("web") == ["web", "--prepare"]
    for name in ("worker", "beat"):
        assert compose.services()[name]["depends_on"]["web"]["condition"] == "service_healthy"


@pytest.mark.parametrize("name", ["web", "db", "redis"])
def test_what_others_wait_for_says_when_it_is_healthy(name: str) -> None:
    assert compose.services()[name]["healthcheck"]["test"][0].startswith("CMD")


@pytest.mark.parametrize("name", OURS)
def test_data_is_one_volume_and_sillytavern_is_mounted_for_writing(name: str) -> None:
    volumes = compose.services()[name]["volumes"]

    assert [volume for volume in volumes if volume.endswith(":/data")] == ["data:/data"]
    assert [volume for volume in volumes if volume.endswith(":/sillytavern:rw")] == [volumes[-1]]
    assert compose.services()[name]["environment"]["CHARMEM_SILLYTAVERN_ROOTS"] == "/sillytavern"


def test_every_variable_is_explained_by_the_documentation() -> None:
    documented = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for name in compose.services()["web"]["environment"]:
        assert name in documented, name


def test_the_entrypoint_becomes_the_asked_person_and_refuses_root() -> None:
    script = (ROOT / "docker" / "entrypoint").read_text("utf-8")

    assert 'setpriv --reuid "$uid" --regid "$gid" --clear-groups' in script
    assert subprocess.run(["sh", "-n", str(ROOT / "docker" / "entrypoint")], check=False).returncode == 0
    assert "PUID=0 is refused" in script


def test_the_image_installs_from_the_locks_alone() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")

    assert "--require-hashes -r requirements.lock" in dockerfile
    assert not re.search(r"pip install(?![^\n]*--require-hashes)", dockerfile)
    assert 'ENTRYPOINT ["/app/docker/entrypoint"]' in dockerfile
