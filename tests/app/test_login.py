"""Signing in: one answer for every wrong try, and a pause that grows."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from accounts import throttling
from accounts.addresses import client_address, network_of
from accounts.models import SignIn, Throttle, User
from tests.support.people import PASSWORD


def attempt(client: Client, name: str = "bob", password: str = "wrong", **extra: Any) -> str:
    answer = client.post("/login/", {"username": name, "password": password}, **extra)
    return "in" if answer.status_code == 302 else answer.content.decode()


def test_the_right_password_opens_the_page_one_wanted(bob: User, client: Client) -> None:
    login = client.get("/settings/you/")
    assert login.status_code == 302
    answer = client.post(login.url, {"username": "bob", "password": PASSWORD, "next": "/settings/you/"})
    assert (answer.status_code, answer.url) == (302, "/settings/you/")
    assert SignIn.objects.get().user == bob


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_a_strange_target_is_not_followed(bob: User, client: Client, wanted: str) -> None:
    answer = client.post("/login/", {"username": "bob", "password": PASSWORD, "next": wanted})
    assert answer.url == "/"


def test_unknown_names_and_closed_accounts_get_the_same_answer(bob: User, charlie: User, client: Client) -> None:
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    tries = [("bob", "wrong"), ("nobody", "wrong"), ("charlie", PASSWORD)]
    pages = {_without_tokens(attempt(client, name, word)).replace(name, "NAME") for name, word in tries}
    assert len(pages) == 1
    assert "Name or password is wrong." in pages.pop()


def _without_tokens(page: str) -> str:
    return re.sub(r'(X-CSRFToken": "|csrfmiddlewaretoken" value=")\w+', r"\1", page)


def test_unknown_names_cost_the_same_hashing(bob: User, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    real = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda self, *a: hashed.append("x") or real(self, *a))
    attempt(client, "bob")
    known = len(hashed)
    attempt(client, "nobody")
    assert len(hashed) - known == known > 0


def test_after_five_free_tries_the_pause_doubles_up_to_a_quarter_of_an_hour(bob: User, client: Client) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        for _ in range(5):
            assert "Next try" not in attempt(client)
        for seconds in (2, 4, 8, 16, 32, 64):
            assert f"Next try in {seconds} s." in attempt(client)
            assert f"Next try in {seconds} s." in attempt(client, password=PASSWORD)
            clock.shift(seconds)
        for _ in range(6):
            attempt(client)
            clock.shift(900)
        attempt(client)
        assert "Next try in 15 min." in attempt(client)
        clock.shift(900)
        assert attempt(client, password=PASSWORD) == "in"
    assert not Throttle.objects.exists()


def test_the_pause_is_for_one_name_from_one_network(bob: User, charlie: User, client: Client) -> None:
    for _ in range(7):
        attempt(client, REMOTE_ADDR="10.0.0.5")
    assert "Next try" in attempt(client, password=PASSWORD, REMOTE_ADDR="10.0.0.77")
    assert attempt(Client(), "charlie", PASSWORD, REMOTE_ADDR="10.0.0.5") == "in"
    assert attempt(Client(), password=PASSWORD, REMOTE_ADDR="10.0.1.5") == "in"


def test_a_day_later_old_failures_are_forgotten(bob: User, client: Client) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(5):
            attempt(client)
        clock.shift(timedelta(days=1, minutes=1))
        assert "Next try" not in attempt(client)


def test_tries_in_the_same_moment_are_all_counted(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ("login", "bob", "10.0.0.0/24")
    throttling.begin_try(key)
    real, raced = throttling._row, []

    def behind(given: Any) -> Throttle:
        row = real(given)
        if not raced:
            raced.append(True)
            throttling.begin_try(key)
        return row

    monkeypatch.setattr(throttling, "_row", behind)
    throttling.begin_try(key)
    assert Throttle.objects.get().failures == 3


def test_ten_a_minute_is_ten_a_minute(bob: User) -> None:
    key = ("test connection", str(bob.pk))
    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert [throttling.allow(key, times=10, seconds=60) for _ in range(12)] == [True] * 10 + [False] * 2
        clock.shift(61)
        assert throttling.allow(key, times=10, seconds=60)


def test_the_forwarded_address_counts_only_from_a_trusted_proxy(rf: RequestFactory, settings: Settings) -> None:
    request = rf.get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="6.6.6.6, 203.0.113.9, 10.0.0.2")
    settings.TRUSTED_PROXIES = []
    assert client_address(request) == "10.0.0.1"
    settings.TRUSTED_PROXIES = ["10.0.0.0/24"]
    assert client_address(request) == "203.0.113.9"


@pytest.mark.parametrize(
    ("address", "network"),
    [("203.0.113.9", "203.0.113.0/24"), ("::ffff:203.0.113.9", "203.0.113.0/24"), ("2001:db8::1", "2001:db8::/64")],
)
def test_a_guesser_is_a_network(address: str, network: str) -> None:
    assert network_of(address) == network


def test_not_staying_ends_with_the_browser(bob: User, client: Client) -> None:
    client.post("/login/", {"username": "bob", "password": PASSWORD})
    assert client.session.get_expire_at_browser_close()
    again = Client()
    again.post("/login/", {"username": "bob", "password": PASSWORD, "stay": "on"})
    assert again.session.get_expiry_age() == 30 * 24 * 3600


def test_signing_out_needs_a_post_and_ends_the_row(bob: User, client: Client) -> None:
    client.post("/login/", {"username": "bob", "password": PASSWORD})
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert not SignIn.objects.exists()
    assert client.get("/settings/you/").status_code == 302
