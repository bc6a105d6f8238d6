"""No form of another site is taken: every address refuses a request that changes something without our token."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from tests.app.test_stranger_walk import WITHOUT_LOGIN, row_id, world_of
from tests.support.routes import all_routes

CHANGES = ("POST", "PUT", "PATCH", "DELETE")
# Called by SillyTavern's page with a key in a header and without a cookie: there is nothing to forge.
COMPANION = {"companion:pending", "companion:done", "companion:seen"}
ROUTES = all_routes()


@pytest.mark.parametrize("is_signed_in", [True, False])
def test_every_address_refuses_a_forged_request(alice: User, is_signed_in: bool) -> None:
    world = world_of(alice)
    client = Client(enforce_csrf_checks=True)
    if is_signed_in:
        client.force_login(alice)
    taken = []
    for route in (route for route in ROUTES if route.name not in COMPANION):
        path = route.path([row_id(param, world) for param in route.params])
        for method in CHANGES:
            answer = client.generic(method, path, headers={"Origin": "https://evil.example"})
            if answer.status_code != 403:
                taken.append(f"{method} {path} answered {answer.status_code}")
    assert taken == []


def test_the_companion_needs_its_key_however_one_is_signed_in(alice: User) -> None:
    assert set(WITHOUT_LOGIN) > COMPANION
    world = world_of(alice)
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    for route in (route for route in ROUTES if route.name in COMPANION):
        path = route.path([row_id(param, world) for param in route.params])
        answers = {method: client.generic(method, path).status_code for method in ("GET", *CHANGES)}
        assert set(answers.values()) <= {401, 403, 404, 405}, (path, answers)
