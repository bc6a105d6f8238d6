"""The stranger walk: every address, every method, another person's id in every position.

Nobody signed in is sent to the door. Charlie, who has an account and rows of his own, gets 404 wherever an id of alice
stands, alone or beside his own, and nothing of hers changes. 405 is fine where a random id gets it too: it says
something about the method and nothing about the row.

An address with a variable part that the tables below do not know fails: say whose row stands there, or in words why it
is nobody's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from django.test import Client

from accounts.models import Invitation, SignIn, User
from accounts.ownership import ScopedModel
from tests.support.builders import make_world
from tests.support.routes import METHODS, Param, Route, all_routes

# The word before an id says what it is the id of: a key of make_world().
ROWS: dict[tuple[str, str], str] = {
    ("proposals", "uuid"): "proposal",
    ("compare", "uuid"): "proposal",
    ("jobs", "uuid"): "job",
    ("models", "uuid"): "connection",
    ("sillytavern", "uuid"): "tavern",
    ("api", "uuid"): "tavern",
    ("charmemory", "uuid"): "tavern",
    ("characters", "uuid"): "character",
    ("portraits", "uuid"): "character",
    ("groups", "uuid"): "group",
    ("chats", "uuid"): "chat",
    ("files", "uuid"): "file",
    ("blocks", "uuid"): "block",
    ("memories", "uuid"): "memory",
    ("pairs", "uuid"): "pair",
    ("held", "uuid"): "held",
    ("history", "uuid"): "revision",
    ("revisions", "uuid"): "revision",
    ("attachments", "uuid"): "attachment",
    ("conflicts", "uuid"): "conflict",
    ("drafts", "uuid"): "draft",
    ("prompt-versions", "uuid"): "override",
    ("trash", "uuid"): "trash",
    ("issues", "int"): "issue",
    ("folders", "uuid"): "grant",
    ("lorebooks", "uuid"): "lorebook",
    ("sessions", "uuid"): "sign_in",
    ("people", "uuid"): "owner",
    ("invitations", "uuid"): "invitation",
    ("password", "uuid"): "owner",
    ("budgets", "uuid"): "owner",
    ("activity", "int"): "activity",
}

# Variable parts behind which no person's row stands: a value that exists, and why it is nobody's.
NOBODYS: dict[tuple[str, str], tuple[object, str]] = {
    ("", "str"): ("guess", "the token of a link for a new password; a wrong one is 404 for everybody"),
    ("review", "slug"): ("duplicates", "a queue, named alike for everybody"),
    ("prompts", "str"): ("extraction", "shipped prompts are named alike for everybody; own ones are asked by person"),
    ("messages", "int"): (1, "the number of a message inside a chat, whose row stands before it"),
    ("help", "slug"): ("extraction", "the guide is the same for everybody"),
    ("join", "str"): ("guess", "an invitation is for whoever holds its token; a wrong token is 404 for everybody"),
    ("new", "slug"): ("openai", "a preset of the catalogue, which is the same for everybody"),
    ("networks", "int"): (1, "networks belong to the installation; the page is for admins only"),
}

# Addresses that answer without an account: what they may answer, and why.
WITHOUT_LOGIN: dict[str, tuple[set[int], str]] = {
    "healthz": ({200, 405}, "a container asks whether the server lives; the answer names nobody"),
    "accounts:login": ({200, 405, 422}, "the door"),
    "accounts:setup": ({404, 405}, "without a living token there is no such page"),
    "accounts:new_password": ({404, 405}, "without a living token there is no such page"),
    "accounts:join": ({404, 405}, "without a living invitation there is no such page"),
    "companion:pending": ({401, 403, 404, 405}, "SillyTavern's page shows a key of its own instead of a session"),
    "companion:done": ({401, 403, 404, 405}, "SillyTavern's page shows a key of its own instead of a session"),
    "companion:seen": ({401, 403, 404, 405}, "SillyTavern's page shows a key of its own instead of a session"),
}

# Addresses where a stranger may get something else than 404: what, and why.
FOR_STRANGERS: dict[str, tuple[set[int], str]] = {
    "companion:pending": ({401, 403, 404}, "a session does not count there; without the tavern's key nothing opens"),
    "companion:done": ({401, 403, 404}, "a session does not count there; without the tavern's key nothing opens"),
    "companion:seen": ({401, 403, 404}, "a session does not count there; without the tavern's key nothing opens"),
}

ROUTES = all_routes()
WITH_ROWS = [route for route in ROUTES if any(param.key in ROWS for param in route.params)]
FOR_OWNERS = [route for route in WITH_ROWS if route.name not in {*FOR_STRANGERS, *WITHOUT_LOGIN}]
MARK = "alicecanary"


def is_known(param: Param) -> bool:
    return param.key in ROWS or param.key in NOBODYS


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_the_walk_knows_every_variable_part(route: Route) -> None:
    unknown = [param for param in route.params if not is_known(param)]
    assert not unknown, f"{route.pattern}: say in ROWS or NOBODYS what stands in {unknown}"


def test_the_tables_name_only_what_exists() -> None:
    names = {route.name for route in ROUTES}
    assert set(FOR_STRANGERS) <= names
    assert set(WITHOUT_LOGIN) <= names


def test_nobody_gets_past_the_door(alice: User, client: Client) -> None:
    world = world_of(alice)
    before = everything_of(alice)
    wrong: list[str] = []
    for route in ROUTES:
        path = route.path([row_id(param, world) for param in route.params])
        for method in METHODS:
            answer = client.generic(method, path)
            if route.name in WITHOUT_LOGIN:
                is_right = answer.status_code in WITHOUT_LOGIN[route.name][0]
            else:
                is_right = answer.status_code == 302 and answer.headers["Location"].startswith("/login/?next=")
            wrong += complaints(method, path, answer, is_right)
    assert wrong == []
    assert everything_of(alice) == before


def test_a_stranger_finds_nothing_under_ids_of_others(alice: User, charlie: User, charlie_client: Client) -> None:
    hers, his = world_of(alice), world_of(charlie)
    before = everything_of(alice)
    wrong: list[str] = []
    for route in WITH_ROWS:
        allowed = FOR_STRANGERS.get(route.name, ({404}, ""))[0]
        for values in mixtures(route, hers, his):
            path = route.path(values)
            for method in METHODS:
                answer = charlie_client.generic(method, path)
                is_right = answer.status_code in allowed
                if answer.status_code == 405:
                    is_right = charlie_client.generic(method, random_path(route)).status_code == 405
                wrong += complaints(method, path, answer, is_right)
    assert wrong == []
    assert everything_of(alice) == before


@pytest.mark.parametrize("route", FOR_OWNERS, ids=lambda route: route.name)
def test_the_owner_is_let_in_so_that_the_404_of_strangers_means_something(
    route: Route, alice: User, bob: User, alice_client: Client
) -> None:
    world = {**world_of(alice), "owner": bob}  # an admin's page about somebody
    path = route.path([row_id(param, world) for param in route.params])
    answer = alice_client.get(path)
    if answer.status_code == 405:
        answer = alice_client.post(path)
    assert answer.status_code != 404, path


def test_pages_without_ids_show_and_change_nothing_of_others(alice: User, charlie: User) -> None:
    world_of(alice)
    before = everything_of(alice)
    wrong: list[str] = []
    for route in (route for route in ROUTES if not route.params):
        for method in METHODS:
            client = Client()
            client.force_login(charlie)  # each time: one of the addresses signs out
            wrong += complaints(method, route.path([]), client.generic(method, route.path([])), True)
    assert wrong == []
    assert everything_of(alice) == before


# Fields and query words that carry an id or a place somewhere in the product.
FIELDS = (
    "character chat before block memory file folder tavern connection person parent job next revision attachment "
    "base_url url name preset text topic bullets decision from show page choose all token where batch upload draft find"
    " member speaker who instead what group group_calls whose with choice moves takes take check mode memory_id q at to"
    " subject model purpose day how price everything now on own_interval interval"
    " extraction extraction-1 consolidation conversion-2 embedder embedding_model"
).split()


def test_ids_of_others_in_fields_open_and_change_nothing(alice: User, charlie: User, charlie_client: Client) -> None:
    """His own ids in the address, hers in every field: a field with several values counts with all or with the last."""
    hers, his = world_of(alice), world_of(charlie)
    before = everything_of(alice)
    ids = [str(row.pk) for row in hers.values()]
    said: dict[str, Any] = {name: [*ids, hers["tavern"].folder] for name in FIELDS}
    said["chat"] = [*ids, str(hers["chat"].pk)]
    wrong: list[str] = []
    for route in (route for route in ROUTES if route.name not in {"accounts:logout", *WITHOUT_LOGIN}):
        path = route.path([row_id(param, his) for param in route.params])
        for headers in ({}, {"HX-Request": "true", "HX-Target": "cards"}):
            answer = charlie_client.get(path, said, headers=headers)
            wrong += complaints("GET", path, answer, answer.status_code < 500)
        mark = transaction.savepoint()
        answer = charlie_client.post(path, said)
        wrong += complaints("POST", path, answer, answer.status_code < 500)
        wrong += [] if everything_of(alice) == before else [f"POST {path} changed a row of alice"]
        transaction.savepoint_rollback(mark)
    assert wrong == []


def complaints(method: str, path: str, answer: Any, is_right: bool) -> list[str]:
    """What is wrong with an answer: its status, or a word of alice in it."""
    found = [] if is_right else [f"{method} {path} answered {answer.status_code}"]
    if MARK.encode() in b"".join(answer):
        found.append(f"{method} {path} shows what alice wrote")
    return found


def random_path(route: Route) -> str:
    """The address with ids that nobody has."""
    unknown = {"uuid": uuid.uuid4(), "int": 2**31 - 1}
    return route.path([NOBODYS[p.key][0] if p.key in NOBODYS else unknown[p.converter] for p in route.params])


def mixtures(route: Route, hers: dict[str, Any], his: dict[str, Any]) -> Iterator[list[object]]:
    """Her id in each position with his own in the others, then hers in all."""
    positions = [n for n, param in enumerate(route.params) if param.key in ROWS]
    for strange in [*[{n} for n in positions], set(positions)]:
        yield [row_id(param, hers if n in strange else his) for n, param in enumerate(route.params)]


def row_id(param: Param, world: dict[str, Any]) -> object:
    if param.key in NOBODYS:
        return NOBODYS[param.key][0]
    return world[ROWS[param.key]].pk


def world_of(person: User) -> dict[str, Any]:
    return {**make_world(person, MARK if person.username == "alice" else "", admin=person), "owner": person}


def everything_of(person: User) -> dict[str, list[dict[str, Any]]]:
    """All rows of a person as they are in the database."""
    scoped = [model for model in apps.get_models() if issubclass(model, ScopedModel)]
    rows = {model.__name__: list(model.objects.for_user(person).order_by("pk").values()) for model in scoped}
    rows["User"] = list(User.objects.filter(pk=person.pk).values())
    rows["SignIn"] = list(SignIn.objects.filter(user=person).order_by("pk").values())
    rows["Invitation"] = list(Invitation.objects.filter(invited_by=person).order_by("pk").values())
    return rows
