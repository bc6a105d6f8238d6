"""System checks: anything a person can misconfigure gets a sentence and an id."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

LOOPBACK_BINDS = ("127.", "localhost", "[::1]")
NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "davfs", "fuse.rclone"}
MOUNTS = Path("/proc/self/mounts")


@register()
def debug_stays_at_home(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """DEBUG shows source and settings to anybody who can reach the port."""
    if not settings.DEBUG or settings.BIND.startswith(LOOPBACK_BINDS):
        return []
    return [
        Error(
            f"CHARMEM_DEBUG is on while CHARMEM_BIND={settings.BIND} can be reached from other machines.",
            hint="Turn CHARMEM_DEBUG off, or bind 127.0.0.1.",
            id="charmem.E001",
        )
    ]


@register()
def vault_keys_can_be_used(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A cut or mistyped key would make every stored API key unreadable, so nothing starts with one."""
    if settings.VAULT_KEYS and all(_is_fernet_key(key) for key in settings.VAULT_KEYS):
        return []
    where = f"The file {settings.VAULT_KEY_FILE}" if settings.VAULT_KEY_IN_FILE else "CHARMEM_VAULT_KEY"
    return [
        Error(
            f"{where} does not hold a usable key.",
            hint="Put the key back from where you keep it; a new key cannot open what the old one sealed.",
            id="charmem.E002",
        )
    ]


@register()
def two_vault_keys_are_one_too_many(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """With a key from the environment the file in the data folder is not read: say so where they differ."""
    path: Path = settings.VAULT_KEY_FILE
    if settings.VAULT_KEY_IN_FILE or not path.exists():
        return []
    if set(path.read_text(encoding="utf-8").split()) <= set(settings.VAULT_KEYS):
        return []
    return [
        Warning(
            f"CHARMEM_VAULT_KEY is used, and {path} holds another key, which is ignored.",
            hint="API keys sealed with the file's key stay closed. Add it to CHARMEM_VAULT_KEY after a blank.",
            id="charmem.W001",
        )
    ]


@register()
def data_folder_can_be_written(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Everything that CharMem keeps goes there."""
    if os.access(settings.DATA_DIR, os.W_OK | os.X_OK):
        return []
    return [
        Error(
            f"The data folder {settings.DATA_DIR} cannot be written by user {_user()}.",
            hint="Give the folder to that user, or set CHARMEM_DATA_DIR to another one.",
            id="charmem.E003",
        )
    ]


@register()
def sqlite_lies_on_a_local_disk(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """SQLite's write-ahead log needs shared memory, which network file systems do not have (stack-notes §5)."""
    if "sqlite" not in str(settings.DATABASES["default"]["ENGINE"]):
        return []
    kind = file_system_of(settings.DATA_DIR)
    if kind not in NETWORK_FILE_SYSTEMS:
        return []
    return [
        Warning(
            f"The data folder {settings.DATA_DIR} lies on a network file system ({kind}), where SQLite can lose data.",
            hint="Set CHARMEM_DATA_DIR to a folder on a local disk, or use PostgreSQL with CHARMEM_DATABASE_URL.",
            id="charmem.W002",
        )
    ]


@register()
def site_url_is_an_address(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Half an address would lock everybody out by its missing host name."""
    parts = urlsplit(settings.SITE_URL)
    if not settings.SITE_URL or (parts.scheme in ("http", "https") and parts.hostname):
        return []
    return [
        Error(
            f"CHARMEM_SITE_URL={settings.SITE_URL} is not a web address.",
            hint="It looks like https://memory.example.org or http://192.168.1.5:8420.",
            id="charmem.E004",
        )
    ]


@register()
def networks_are_networks(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A mistyped network would silently allow nothing."""
    return [
        Error(
            f"CHARMEM_LOCAL_NETWORKS: {text} is not a network.",
            hint="A network looks like 192.168.1.0/24.",
            id="charmem.E005",
        )
        for text in settings.LOCAL_NETWORKS
        if not _is_network(text)
    ]


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that holds `path`, "" where the system does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    best, kind = -1, ""
    for line in lines:
        _device, point, found, *_rest = line.split(" ")
        mount = Path(point.replace("\\040", " "))
        if path.is_relative_to(mount) and len(mount.parts) > best:
            best, kind = len(mount.parts), found
    return kind


def _is_fernet_key(text: str) -> bool:
    try:
        Fernet(text)
    except ValueError:
        return False
    return True


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
