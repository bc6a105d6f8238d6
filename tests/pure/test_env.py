"""Values of the environment: used, or refused in one sentence that repeats no secret."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from charmem_site.env import EnvError, env_address, env_choice, env_folder, env_zone

ROOT = Path(__file__).resolve().parents[2]


def test_what_can_be_used_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZONE", "Europe/Oslo")
    monkeypatch.setenv("LEVEL", "debug")
    monkeypatch.setenv("PLACE", str(tmp_path / "new" / "folder"))
    monkeypatch.setenv("BASE", "postgres://a:b@c/d")
    assert (env_zone("ZONE", "UTC"), env_zone("NO_ZONE", "UTC")) == ("Europe/Oslo", "UTC")
    assert env_choice("LEVEL", "INFO", ("DEBUG", "INFO")) == "DEBUG"
    made = env_folder("PLACE", tmp_path)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert env_address("BASE", ("postgres",), "x://y") == "postgres://a:b@c/d"
    assert env_address("NO_BASE", ("postgres",), "x://y") == ""


@pytest.mark.parametrize("zone", ["Nowhere/Land", "../etc/passwd", "/etc/localtime"])
def test_a_time_zone_that_nobody_knows(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("ZONE", zone)
    with pytest.raises(EnvError, match=f"ZONE={zone} is not the name of a time zone"):
        env_zone("ZONE", "UTC")


def test_a_wrong_address_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASE", "mysql://carl:hunter2@db/charmem")
    with pytest.raises(EnvError) as refused:
        env_address("BASE", ("postgres",), "postgres://name:password@host/name")
    assert str(refused.value) == "BASE is not an address like postgres://name:password@host/name."


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("CHARMEM_LAN", "maybe", "CHARMEM_LAN='maybe' is neither yes nor no."),
        ("CHARMEM_LOG_LEVEL", "LOUD", "CHARMEM_LOG_LEVEL=LOUD is none of DEBUG, INFO, WARNING, ERROR."),
        (
            "CHARMEM_DATA_DIR",
            "/proc/charmem",
            "CHARMEM_DATA_DIR: the folder /proc/charmem cannot be made: No such file or directory.",
        ),
    ],
)
def test_a_command_stops_with_that_one_sentence(tmp_path: Path, name: str, value: str, sentence: str) -> None:
    environment = {**os.environ, "CHARMEM_DATA_DIR": str(tmp_path), name: value}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    command = [sys.executable, "manage.py", "status", "--user", "alice"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{sentence}\n")
