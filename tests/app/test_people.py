"""The People page: names, roles, counts, sizes, spending and error types of everybody."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from accounts.wording import ago, money, size
from tests.support.builders import make_call, make_sign_in, make_world
from tests.support.people import make_person


def test_an_admin_sees_counts_spending_and_error_types(alice: User, alice_client: Client, bob: User) -> None:
    world = make_world(bob)
    make_call(bob, world["connection"], cost="1.25", error_type="HTTP 401")
    page = alice_client.get("/people/").content.decode()
    assert "2 people" in page
    assert "$1.25" in page
    assert "Timeout ×1" in page
    assert "HTTP 401 ×1" in page
    facts = alice_client.get(f"/people/{bob.pk}/").content.decode()
    assert "<dt>Messages</dt><dd>7</dd>" in facts


def test_members_find_no_people_page(bob_client: Client, alice: User) -> None:
    for url in ("/people/", "/people/invite/", f"/people/{alice.pk}/", f"/people/{alice.pk}/remove/"):
        assert bob_client.get(url).status_code == 404
    assert 'href="/people/"' not in bob_client.get("/settings/you/").content.decode()


def test_ten_times_the_people_cost_no_more_queries(
    alice: User, alice_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        person = make_person(f"person {number}")
        make_sign_in(person)
        make_world(person)
    with django_assert_max_num_queries(14):
        assert alice_client.get("/people/").status_code == 200


def test_a_role_can_be_changed(alice_client: Client, bob: User) -> None:
    assert alice_client.post(f"/people/{bob.pk}/role/", {"role": "admin"}).status_code == 302
    bob.refresh_from_db()
    assert bob.is_admin


@pytest.mark.parametrize(
    ("page", "form"), [("role", {"role": "member"}), ("active", {"active": "0"}), ("remove", {"name": "alice"})]
)
def test_the_last_admin_stays_an_admin(alice: User, alice_client: Client, page: str, form: dict[str, str]) -> None:
    answer = alice_client.post(f"/people/{alice.pk}/{page}/", form)
    assert answer.status_code == 422
    assert "This is the only admin." in answer.content.decode()
    alice.refresh_from_db()
    assert alice.is_admin
    assert alice.is_active


def test_a_closed_admin_does_not_count_as_another(alice: User, alice_client: Client, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(role="admin", is_active=False)
    assert alice_client.post(f"/people/{alice.pk}/role/", {"role": "member"}).status_code == 422


def test_closing_an_account_ends_its_sessions_and_keeps_its_rows(
    alice_client: Client, bob: User, bob_client: Client
) -> None:
    make_world(bob)
    alice_client.post(f"/people/{bob.pk}/active/", {"active": "0"})
    assert bob_client.get("/settings/you/").status_code == 302
    alice_client.post(f"/people/{bob.pk}/active/", {"active": "1"})
    assert bob_client.get("/settings/you/").status_code == 200


def test_a_nonsense_role_is_refused(alice_client: Client, bob: User) -> None:
    assert alice_client.post(f"/people/{bob.pk}/role/", {"role": "king"}).status_code == 422
    bob.refresh_from_db()
    assert bob.role == "member"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0 ¢"),
        (0.0021, "0.2 ¢"),
        (0.00001, "< 0.1 ¢"),
        (0.146, "14.6 ¢"),
        (3.12, "$3.12"),
        (0.9999, "$1.00"),
    ],
)
def test_money_is_said_as_people_say_it(value: float | None, text: str) -> None:
    assert money(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(812, "812 B"), (38_000_000, "38 MB"), (1_400_000_000, "1.4 GB"), (999_999, "1 MB"), (None, "–")],
)
def test_sizes_are_short(value: int | None, text: str) -> None:
    assert size(value) == text


def test_never_is_a_time_too() -> None:
    assert ago(None) == "never"
