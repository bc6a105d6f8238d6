"""Invitations: one person, seven days, shown once."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import time_machine
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from accounts import invitations
from accounts.models import Invitation, SignIn, User

FORM = {"display_name": "Ingrid", "username": "ingrid", "password": "four words are fine"}


def invited_link(client: Client, **form: str) -> str:
    """Make an invitation as a person does and read its link from the page."""
    client.post("/people/invite/", {"note": "Ingrid", "role": "member", **form})
    page = client.get("/people/").content.decode()
    found = re.search(r'value="(http[^"]+/join/[^"]+)"', page)
    assert found
    return urlsplit(found[1]).path


def test_the_link_makes_one_account_with_the_role(alice_client: Client) -> None:
    link = invited_link(alice_client, role="admin")
    guest = Client()
    assert "alice invites you" in guest.get(link).content.decode()
    assert guest.post(link, FORM).status_code == 302
    ingrid = User.objects.get(username="ingrid")
    assert ingrid.is_admin
    assert SignIn.objects.get().user == ingrid
    assert Client().get(link).status_code == 404
    assert Client().post(link, {**FORM, "username": "second"}).status_code == 404


def test_the_link_is_shown_once_and_kept_as_a_hash(alice_client: Client) -> None:
    link = invited_link(alice_client)
    token = link.strip("/").split("/")[-1]
    assert token not in alice_client.get("/people/").content.decode()
    assert token not in str(Invitation.objects.values().get())


def test_after_seven_days_it_is_dead(alice_client: Client) -> None:
    link = invited_link(alice_client)
    with time_machine.travel(timezone.now() + timedelta(days=7, seconds=1)):
        assert Client().get(link).status_code == 404
        assert Client().post(link, FORM).status_code == 404
    assert not User.objects.filter(username="ingrid").exists()


def test_taken_back_it_is_dead(alice_client: Client) -> None:
    link = invited_link(alice_client)
    alice_client.post(f"/people/invitations/{Invitation.objects.get().pk}/revoke/")
    assert Client().get(link).status_code == 404


@pytest.mark.parametrize("change", [{"role": "member"}, {"is_active": False}])
def test_it_counts_only_while_its_maker_is_an_admin(alice_client: Client, change: dict[str, object]) -> None:
    link = invited_link(alice_client, role="admin")
    User.objects.filter(username="alice").update(**change)
    assert Client().get(link).status_code == 404
    assert Client().post(link, FORM).status_code == 404


def test_a_used_invitation_stays_in_the_books(alice_client: Client) -> None:
    Client().post(invited_link(alice_client), FORM)
    used = Invitation.objects.get()
    alice_client.post(f"/people/invitations/{used.pk}/revoke/")
    used.refresh_from_db()
    assert used.used_by == User.objects.get(username="ingrid")


def test_of_two_at_the_same_moment_one_gets_in(alice: User) -> None:
    _, token = invitations.invite(alice)
    assert invitations.accept(token, "first", "four words are fine") is not None
    assert invitations.accept(token, "second", "four words are fine") is None


def test_a_failed_account_does_not_use_it_up(alice: User, bob: User) -> None:
    _, token = invitations.invite(alice)
    with pytest.raises(IntegrityError):
        invitations.accept(token, "bob", "four words are fine")
    assert invitations.find(token) is not None


@pytest.mark.parametrize("name", ["alice", "ALICE"])
def test_a_name_that_is_taken_is_refused_on_the_form(alice_client: Client, name: str) -> None:
    answer = Client().post(invited_link(alice_client), {**FORM, "username": name})
    assert answer.status_code == 422
    assert "Somebody here has that name already." in answer.content.decode()


def test_members_cannot_invite(bob_client: Client) -> None:
    assert bob_client.post("/people/invite/", {"note": "x", "role": "admin"}).status_code == 404
    assert not Invitation.objects.exists()


def test_nobody_guesses_a_link(client: Client, alice: User) -> None:
    assert client.get("/join/guess/").status_code == 404
