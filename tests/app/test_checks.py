"""What a person can misconfigure, and the sentence they get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from charmem_site import checks


def _ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


def test_debug_is_refused_where_others_can_reach_the_port(settings: Any) -> None:
    settings.DEBUG = True
    settings.BIND = "0.0.0.0:8420"
    assert _ids(checks.debug_stays_at_home(None)) == ["charmem.E001"]

    settings.BIND = "127.0.0.1:8420"
    assert checks.debug_stays_at_home(None) == []


@pytest.mark.parametrize("keys", [[], ["short"], [Fernet.generate_key().decode(), "short"]])
def test_a_broken_vault_key_stops_the_start(settings: Any, keys: list[str]) -> None:
    settings.VAULT_KEYS = keys
    assert _ids(checks.vault_keys_can_be_used(None)) == ["charmem.E002"]


def test_another_key_in_the_file_is_named(settings: Any, tmp_path: Path) -> None:
    used, forgotten = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.VAULT_KEY_FILE = tmp_path / "vault-key"
    settings.VAULT_KEY_IN_FILE = False
    settings.VAULT_KEYS = [used]
    settings.VAULT_KEY_FILE.write_text(forgotten)
    assert _ids(checks.two_vault_keys_are_one_too_many(None)) == ["charmem.W001"]

    settings.VAULT_KEYS = [used, forgotten]
    assert checks.two_vault_keys_are_one_too_many(None) == []


def test_a_data_folder_that_is_gone_is_named(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "gone"
    (message,) = checks.data_folder_can_be_written(None)
    assert str(tmp_path / "gone") in message.msg


def test_sqlite_on_a_network_disk_is_warned_about(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda1 / ext4 rw 0 0\nnas:/data /mnt/my\\040nas nfs4 rw 0 0\n")

    assert checks.file_system_of(Path("/mnt/my nas/charmem"), mounts) == "nfs4"
    assert checks.file_system_of(Path("/home/alice/charmem"), mounts) == "ext4"
    assert checks.file_system_of(Path("/home/alice"), tmp_path / "none") == ""


@pytest.mark.parametrize(("url", "ids"), [("", []), ("https://a.example", []), ("a.example", ["charmem.E004"])])
def test_half_a_site_address_is_refused(settings: Any, url: str, ids: list[str]) -> None:
    settings.SITE_URL = url
    assert _ids(checks.site_url_is_an_address(None)) == ids


def test_a_mistyped_network_is_named(settings: Any) -> None:
    settings.LOCAL_NETWORKS = ["192.168.1.0/24", "192.168.1.300/24"]
    (message,) = checks.networks_are_networks(None)
    assert message.msg == "CHARMEM_LOCAL_NETWORKS: 192.168.1.300/24 is not a network."
