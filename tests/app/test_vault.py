"""Secrets at rest: bound to their row, and re-sealed when the key changes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet, InvalidToken
from django.core.management import call_command

from accounts.commands import CommandFailed
from accounts.models import User
from providers import connecting, rotation, vault
from providers.models import Connection
from tests.support.builders import make_connection

pytestmark = pytest.mark.django_db
KEY = "sk-live-0123456789abcd"


@pytest.fixture(autouse=True)
def own_vault(settings: object, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "vault-key"
    path.write_text(Fernet.generate_key().decode())
    settings.VAULT_KEY_FILE = path  # type: ignore[attr-defined]
    settings.VAULT_KEY_IN_FILE = True  # type: ignore[attr-defined]
    settings.DATA_DIR = tmp_path  # type: ignore[attr-defined]
    yield path


def stored(owner: User, key: str = KEY) -> Connection:
    row = make_connection(owner, preset="openrouter", is_default=False)
    connecting.set_key(row, key)
    row.save()
    return row


def opened(row: Connection) -> str:
    row = Connection.objects.for_user(row.owner).get(pk=row.pk)
    return vault.unseal(row.key_sealed, owner_id=row.owner_id, row_id=row.pk)


def test_a_sealed_key_opens_only_in_its_own_row(alice: User, bob: User) -> None:
    row = stored(alice)
    assert opened(row) == KEY and row.key_hint == "…abcd" and KEY not in row.key_sealed
    for owner, place in ((bob.pk, row.pk), (alice.pk, bob.pk)):
        with pytest.raises(vault.VaultError, match="belongs to another row"):
            vault.unseal(row.key_sealed, owner_id=owner, row_id=place)


def test_short_secrets_show_nothing_of_themselves() -> None:
    assert vault.hint_of("hunter2") == "…"
    assert vault.hint_of("") == ""
    assert vault.seal("", owner_id=1, row_id=1) == ""


def test_rotation_reseals_everything_and_drops_the_old_key(alice: User, bob: User, own_vault: Path) -> None:
    rows = [stored(alice), stored(bob, "another-key-99887766"), make_connection(alice)]
    old = own_vault.read_text()
    out = io.StringIO()
    call_command("rotate_vault", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"resealed": 2, "unreadable": 0, "dropped": 1}
    assert [opened(row) for row in rows[:2]] == [KEY, "another-key-99887766"]
    new = own_vault.read_text().split()
    assert len(new) == 1 and new != [old] and own_vault.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidToken):
        Fernet(old).decrypt(Connection.objects.for_user(alice).get(pk=rows[0].pk).key_sealed.encode())


def test_a_rotation_that_was_killed_loses_nothing_and_is_finished_later(
    alice: User, own_vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [stored(alice, f"key-number-{n}-abcdefgh") for n in range(3)]
    real, calls = rotation._opens, []

    def killed_at_second(key: Fernet, sealed: str) -> bool:
        calls.append(sealed)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(key, sealed)

    monkeypatch.setattr(rotation, "_opens", killed_at_second)
    with pytest.raises(KeyboardInterrupt):
        rotation.rotate()
    assert len(own_vault.read_text().split()) == 2
    assert [opened(row) for row in rows] == [f"key-number-{n}-abcdefgh" for n in range(3)]
    monkeypatch.setattr(rotation, "_opens", real)
    assert rotation.rotate().dropped == 2
    assert [opened(row) for row in rows] == [f"key-number-{n}-abcdefgh" for n in range(3)]


def test_a_secret_that_opens_with_no_key_keeps_the_old_keys(alice: User, own_vault: Path) -> None:
    row = stored(alice)
    lost = stored(alice)
    sealed = Fernet(Fernet.generate_key()).encrypt(b"x").decode()
    Connection.objects.for_user(alice).filter(pk=lost.pk).update(key_sealed=sealed)
    report = rotation.rotate()
    assert (report.resealed, report.unreadable, report.dropped) == (1, 1, 0)
    assert len(own_vault.read_text().split()) == 2 and opened(row) == KEY


def test_two_rotations_do_not_meet(alice: User, tmp_path: Path) -> None:
    held = rotation.try_lock(tmp_path / "vault-rotation.lock")
    assert held is not None
    with held, pytest.raises(CommandFailed, match="Another rotate_vault is running; nothing was changed"):
        call_command("rotate_vault")


def test_a_key_from_the_environment_is_used_and_not_written(alice: User, settings: object, own_vault: Path) -> None:
    row = stored(alice)
    old, new = own_vault.read_text(), Fernet.generate_key().decode()
    settings.VAULT_KEY_IN_FILE = False  # type: ignore[attr-defined]
    settings.VAULT_KEYS = [new, old]  # type: ignore[attr-defined]
    assert rotation.rotate().resealed == 1
    assert own_vault.read_text() == old
    settings.VAULT_KEYS = [new]  # type: ignore[attr-defined]
    assert opened(row) == KEY
