"""The first account: a link that works once, for half an hour, and never again once somebody exists."""

from __future__ import annotations

import json
import stat
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import time_machine
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts import first_run
from accounts.commands import CommandFailed
from accounts.models import SignIn, User

FORM = {"display_name": "Wren Achterberg", "username": "wren", "password": "four words are fine"}


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def fresh_token() -> str:
    link = first_run.setup_link("http://127.0.0.1:8420")
    assert link is not None
    return urlsplit(link).query.removeprefix("token=")


@pytest.mark.django_db
def test_the_link_makes_an_admin_and_signs_in(client: Client) -> None:
    token = fresh_token()
    assert "You are the first one here" in client.get("/setup/", {"token": token}).content.decode()
    answer = client.post("/setup/", {**FORM, "token": token})
    assert answer.status_code == 302
    wren = User.objects.get()
    assert (wren.username, wren.name, wren.is_admin) == ("wren", "Wren Achterberg", True)
    assert SignIn.objects.get().user == wren
    assert client.get("/people/").status_code == 200


@pytest.mark.django_db
def test_without_a_living_token_there_is_no_such_page(client: Client) -> None:
    token = fresh_token()
    for url in ("/setup/", "/setup/?token=", "/setup/?token=guess", f"/setup/?token={token}x"):
        assert client.get(url).status_code == 404
        assert client.post(url, FORM).status_code == 404
    assert not User.objects.exists()


@pytest.mark.django_db
def test_the_link_dies_after_half_an_hour_and_a_new_one_kills_the_old(client: Client) -> None:
    old = fresh_token()
    token = fresh_token()
    assert client.get("/setup/", {"token": old}).status_code == 404
    assert client.get("/setup/", {"token": token}).status_code == 200
    with time_machine.travel(timezone.now() + timedelta(minutes=31), tick=False):
        assert client.get("/setup/", {"token": token}).status_code == 404


@pytest.mark.django_db
def test_the_second_use_finds_nothing(client: Client) -> None:
    token = fresh_token()
    client.post("/setup/", {**FORM, "token": token})
    again = Client().post("/setup/", {**FORM, "username": "mallory", "token": token})
    assert again.status_code == 404
    assert list(User.objects.values_list("username", flat=True)) == ["wren"]


def test_once_somebody_exists_there_is_no_link(alice: User) -> None:
    assert first_run.setup_link() is None


@pytest.mark.django_db
def test_a_token_in_hand_is_worthless_once_somebody_exists() -> None:
    token = fresh_token()
    User.objects.create_person("bob", "somebody was here")
    assert first_run.create_first_admin(token, "mallory", "four words are fine") is None


@pytest.mark.django_db
def test_the_file_holds_no_token_and_is_closed_to_others(tmp_path: Path) -> None:
    token = fresh_token()
    file = tmp_path / "setup-token"
    assert token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.django_db
@pytest.mark.parametrize("damage", ["", "[]", "{", '{"hash": "x"}'])
def test_a_damaged_file_opens_nothing(client: Client, tmp_path: Path, damage: str) -> None:
    token = fresh_token()
    (tmp_path / "setup-token").write_text(damage)
    assert client.get("/setup/", {"token": token}).status_code == 404


@pytest.mark.django_db
def test_a_weak_password_is_refused_and_the_link_lives_on(client: Client) -> None:
    token = fresh_token()
    answer = client.post("/setup/", {**FORM, "password": "short", "token": token})
    assert answer.status_code == 422
    assert "too short" in answer.content.decode()
    assert client.get("/setup/", {"token": token}).status_code == 200


@pytest.mark.django_db
def test_bootstrap_makes_the_admin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "password").write_text("four words are fine\n")
    call_command("bootstrap", "--admin", "wren", "--password-file", str(tmp_path / "password"), "--json")
    assert json.loads(capsys.readouterr().out)["username"] == "wren"
    assert User.objects.get().check_password("four words are fine")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "sentence"),
    [("short", "This password is too short"), (None, "cannot be read: No such file"), ("", "This field is required")],
)
def test_bootstrap_says_in_a_sentence_why_not(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / "password").write_text(text)
    with pytest.raises(CommandFailed, match=sentence) as failure:
        call_command("bootstrap", "--admin", "wren", "--password-file", str(tmp_path / "password"))
    assert "No account was made." in str(failure.value)
    assert not User.objects.exists()


def test_bootstrap_never_adds_a_second_admin(alice: User, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("four words are fine\n")
    with pytest.raises(CommandFailed, match="Somebody has an account here already"):
        call_command("bootstrap", "--admin", "wren", "--password-file", str(tmp_path / "password"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("bind", "site", "start"),
    [
        ("127.0.0.1:8420", "", "http://127.0.0.1:8420/setup/?token="),
        ("0.0.0.0:8420", "", "http://127.0.0.1:8420/setup/?token="),
        ("[::]:80", "https://mem.home", "https://mem.home/setup/?token="),
    ],
)
def test_the_link_is_one_that_a_browser_can_open(settings: Settings, bind: str, site: str, start: str) -> None:
    settings.BIND, settings.SITE_URL = bind, site
    assert str(first_run.setup_link()).startswith(start)
