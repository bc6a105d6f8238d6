"""A lost password: a link from the command line, for one use."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.core.management import call_command
from django.test import Client

from accounts import password_links
from accounts.commands import CommandFailed
from accounts.models import User
from tests.support.people import PASSWORD

NEW = "another four words"


def link_for(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    call_command("password_link", "--user", name, "--json")
    return urlsplit(json.loads(capsys.readouterr().out)["link"]).path


def test_the_link_sets_a_password_signs_in_and_ends_all_sessions(bob: User, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere, guest = Client(), Client()
    elsewhere.post("/login/", {"username": "bob", "password": PASSWORD})
    link = link_for("bob", capsys)
    assert "For bob." in guest.get(link).content.decode()
    assert guest.post(link, {"new": NEW}).status_code == 302
    assert guest.get("/settings/you/").status_code == 200
    assert elsewhere.get("/settings/you/").status_code == 302
    bob.refresh_from_db()
    assert bob.check_password(NEW)


def test_it_works_once(bob: User, capsys: pytest.CaptureFixture[str]) -> None:
    link = link_for("bob", capsys)
    Client().post(link, {"new": NEW})
    assert Client().post(link, {"new": "a third four words"}).status_code == 404
    bob.refresh_from_db()
    assert bob.check_password(NEW)


def test_it_is_for_one_person(bob: User, charlie: User, capsys: pytest.CaptureFixture[str]) -> None:
    link = link_for("bob", capsys).replace(str(bob.pk), str(charlie.pk))
    assert Client().get(link).status_code == 404


def test_a_weak_password_is_refused_and_the_link_lives_on(bob: User, capsys: pytest.CaptureFixture[str]) -> None:
    link = link_for("bob", capsys)
    assert Client().post(link, {"new": "short"}).status_code == 422
    assert Client().get(link).status_code == 200


def test_a_closed_account_gets_none(bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(CommandFailed, match="is closed"):
        call_command("password_link", "--user", "bob")


def test_of_two_who_use_it_at_the_same_moment_one_succeeds(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    token = default_token_generator.make_token(bob)
    really = User.set_password

    def slowly(self: User, raw: str | None) -> None:
        really(self, raw)
        if raw == NEW:
            assert password_links.use(bob, token, "a third four words")

    monkeypatch.setattr(User, "set_password", slowly)
    assert not password_links.use(bob, token, NEW)
    bob.refresh_from_db()
    assert bob.check_password("a third four words")
