"""manage.py connect_provider."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command

from accounts.commands import CommandFailed, WrongUsage
from accounts.models import User
from providers.models import Connection
from tests.support.fake_model import FakeModel

pytestmark = pytest.mark.django_db


def run(*args: str) -> str:
    out = io.StringIO()
    call_command("connect_provider", "--user", "alice", *args, stdout=out)
    return out.getvalue()


def test_a_local_server_is_connected_and_tested(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOX_KEY", "box-key-0123456789")
    with FakeModel(key="box-key-0123456789") as fake:
        args = ("--preset", "local", "--base-url", fake.base_url, "--key-env", "BOX_KEY", "--default")
        said = json.loads(run(*args, "--json"))
        assert (said["model"], said["key"], said["default"], said["test"]["ok"]) == ("fake-small", "…6789", True, True)
        assert run(*args, "--model", "fake-large") == "Local server works.\n"
    row = Connection.objects.for_user(alice).get()
    assert row.model == "fake-large" and "box-key" not in json.dumps(said)


def test_a_failed_test_is_one_sentence_and_the_connection_is_kept(alice: User) -> None:
    with FakeModel(key="other") as fake, pytest.raises(CommandFailed) as caught:
        run("--preset", "local", "--base-url", fake.base_url)
    assert str(caught.value) == (
        "Local server does not accept the key. It said: Incorrect API key provided. "
        "Enter the key again: Settings, Models. The connection is saved."
    )
    assert caught.value.returncode == 1 and Connection.objects.for_user(alice).count() == 1


def test_a_model_that_is_misspelt_is_told_with_the_nearest_one(alice: User) -> None:
    with FakeModel() as fake, pytest.raises(CommandFailed) as caught:
        fake.respond(404, {"error": {"message": "model not found"}})
        run("--preset", "local", "--base-url", fake.base_url, "--model", "fake_small")
    assert "The list does not have fake_small. Nearest: fake-small, fake-large. The" in str(caught.value)


def test_wrong_usage(alice: User) -> None:
    with pytest.raises(WrongUsage, match="The environment variable NOT_SET_HERE is empty"):
        run("--preset", "openrouter", "--key-env", "NOT_SET_HERE")
    with pytest.raises(CommandFailed, match="Enter the address of the server"):
        run("--preset", "local")
    with pytest.raises(CommandFailed, match="is a kind of address that CharMem never talks to"):
        run("--preset", "local", "--base-url", "http://169.254.169.254")
    assert "is saved, not tested." in run("--preset", "pollinations", "--no-test")
