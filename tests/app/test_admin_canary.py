"""The admin canary: everything that bob wrote, named or caused to be logged carries a word that no admin ever reads.

Alice, an admin, walks every page with her own ids, then every page about people and the installation with bob's.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from tests.app.test_stranger_walk import NOBODYS, ROWS
from tests.support.builders import make_world
from tests.support.routes import Route, all_routes

CANARY = "canaryofbob"
ROUTES = all_routes()
# Rows of others that an admin may open: accounts and invitations. Everything else of bob's is 404 for her.
ABOUT_PEOPLE = {"owner", "invitation", "grant"}
PRIVATE = [r for r in ROUTES if {ROWS[param.key] for param in r.params if param.key in ROWS} - ABOUT_PEOPLE]


@pytest.fixture
def worlds(alice: User, bob: User) -> tuple[dict[str, Any], dict[str, Any]]:
    hers = {**make_world(alice, admin=alice), "owner": alice}
    his = {**make_world(bob, CANARY, admin=bob), "owner": bob}
    his["tavern"].state_reason = f"unreadable: {CANARY}"
    his["tavern"].persona_name = CANARY
    his["tavern"].save()
    return hers, his


def path_of(route: Route, world: dict[str, Any]) -> str:
    values = [NOBODYS[p.key][0] if p.key in NOBODYS else world[ROWS[p.key]].pk for p in route.params]
    return route.path(values)


def test_an_admin_never_reads_what_somebody_else_wrote(
    alice: User, worlds: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    sung: list[str] = []
    for path in [path_of(route, world) for route in ROUTES for world in worlds]:
        for headers in ({}, {"HX-Request": "true"}):
            client = Client()
            client.force_login(alice)
            answer = client.get(path, headers=headers)
            if CANARY.encode() in b"".join(answer) + str(answer.headers).encode():
                sung.append(path)
    assert sung == []


def test_being_an_admin_opens_no_private_page(
    alice_client: Client, worlds: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    answers = {path: alice_client.get(path).status_code for path in [path_of(route, worlds[1]) for route in PRIVATE]}
    assert {path: status for path, status in answers.items() if status not in {401, 403, 404, 405}} == {}


def test_the_canary_sings_for_bob_himself(bob: User, bob_client: Client) -> None:
    job = make_world(bob, CANARY)["job"]
    assert CANARY in bob_client.get(f"/jobs/{job.pk}/").content.decode()
