"""Settings → You: the list of sessions, the password, and how pages look."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.devices import device_name
from accounts.models import SignIn, User
from tests.support.builders import make_sign_in
from tests.support.people import PASSWORD

PHONE = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
DESK = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def signed_in(agent: str = DESK, name: str = "bob") -> Client:
    client = Client(headers={"user-agent": agent})
    client.post("/login/", {"username": name, "password": PASSWORD, "stay": "on"})
    return client


def is_in(client: Client) -> bool:
    return client.get("/settings/you/").status_code == 200


def test_the_list_names_devices_and_this_one(bob: User) -> None:
    signed_in(PHONE)
    page = signed_in().get("/settings/you/").content.decode()
    assert "Chrome on Android" in page
    assert "Firefox on Linux" in page
    assert page.count("this one") == 1


def test_one_session_can_be_ended_from_another(bob: User) -> None:
    phone, desk = signed_in(PHONE), signed_in()
    row = SignIn.objects.get(agent=PHONE)
    assert desk.post(f"/settings/you/sessions/{row.pk}/end/").status_code == 302
    assert (is_in(phone), is_in(desk)) == (False, True)


def test_all_others_can_be_ended(bob: User) -> None:
    others, desk = [signed_in(PHONE), signed_in(PHONE)], signed_in()
    desk.post("/settings/you/sessions/end/")
    assert [is_in(client) for client in others] == [False, False]
    assert is_in(desk)
    assert SignIn.objects.count() == 1


def test_the_session_of_somebody_else_does_not_exist_for_me(bob: User, alice: User) -> None:
    theirs = make_sign_in(alice)
    assert signed_in().post(f"/settings/you/sessions/{theirs.pk}/end/").status_code == 404
    assert SignIn.objects.filter(pk=theirs.pk).exists()


def test_a_new_password_ends_all_others_and_keeps_this(bob: User) -> None:
    phone, desk = signed_in(PHONE), signed_in()
    new = "another four words"
    answer = desk.post("/settings/you/password/", {"old": PASSWORD, "new": new})
    assert answer.status_code == 302
    assert (is_in(phone), is_in(desk)) == (False, True)
    assert SignIn.objects.get().session_key == desk.session.session_key
    bob.refresh_from_db()
    assert bob.check_password(new)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [("wrong", "another four words", "That is not your password now."), (PASSWORD, "short", "too short")],
)
def test_a_refused_password_changes_nothing(bob: User, old: str, new: str, sentence: str) -> None:
    phone, desk = signed_in(PHONE), signed_in()
    answer = desk.post("/settings/you/password/", {"old": old, "new": new})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert is_in(phone)
    bob.refresh_from_db()
    assert bob.check_password(PASSWORD)


def test_guessing_the_old_password_is_slowed_down(bob: User) -> None:
    desk = signed_in()
    for _ in range(6):
        desk.post("/settings/you/password/", {"old": "wrong", "new": "another four words"})
    answer = desk.post("/settings/you/password/", {"old": PASSWORD, "new": "another four words"})
    assert answer.status_code == 422
    assert "Too many tries" in answer.content.decode()
    bob.refresh_from_db()
    assert bob.check_password(PASSWORD)


def test_the_list_remembers_when_a_session_was_used(bob: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        desk = signed_in()
        clock.shift(timedelta(minutes=2))
        desk.get("/more/")
        before = SignIn.objects.get().seen_at
        clock.shift(timedelta(minutes=4))
        desk.get("/more/")
        assert SignIn.objects.get().seen_at - before == timedelta(minutes=6)


def test_sessions_that_nobody_can_use_any_more_leave_the_list(bob: User) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        signed_in(PHONE)
        clock.shift(timedelta(days=61))
        signed_in()
        assert [row.agent for row in SignIn.objects.all()] == [DESK]
        assert Session.objects.count() == 1


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Europe/Vienna", "Europe/Vienna"),
        ("vienna", "Europe/Vienna"),
        ("sao paulo", "America/Sao_Paulo"),
        ("utc", "UTC"),
    ],
)
def test_a_city_is_enough_for_a_time_zone(bob: User, bob_client: Client, typed: str, kept: str) -> None:
    form = {"display_name": "Bob", "time_zone": typed, "theme": "light", "density": "compact"}
    assert bob_client.post("/settings/you/", form).status_code == 302
    bob.refresh_from_db()
    assert (bob.name, bob.time_zone, bob.theme, bob.density) == ("Bob", kept, "light", "compact")


def test_an_unknown_time_zone_changes_nothing(bob: User, bob_client: Client) -> None:
    form = {"display_name": "Bob", "time_zone": "Atlantis", "theme": "light", "density": "compact"}
    answer = bob_client.post("/settings/you/", form)
    assert answer.status_code == 422
    assert "There is no time zone “Atlantis”" in answer.content.decode()
    assert 'data-theme="dark"' in answer.content.decode()
    bob.refresh_from_db()
    assert (bob.time_zone, bob.theme) == ("UTC", "dark")


@pytest.mark.parametrize(
    ("agent", "name"), [(DESK, "Firefox on Linux"), (PHONE, "Chrome on Android"), ("curl/8.5", "curl"), ("", "?")]
)
def test_devices_have_names(agent: str, name: str) -> None:
    assert device_name(agent) == name
