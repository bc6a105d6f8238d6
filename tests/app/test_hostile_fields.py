"""Every page asked with words that nobody's browser sends: each answers with a page, whatever stands in its fields."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as pace
from hypothesis import strategies as st

from accounts.models import User
from tests.app.test_stranger_walk import WITHOUT_LOGIN, world_of
from tests.app.test_stranger_walk import row_id as row_of
from tests.support.routes import Route, all_routes

FIELD = re.compile(r"(?:(?:GET|POST|query|sent|wish|given)(?:\.get(?:list)?\(|\[)|in (?:request\.)?)\"([a-z_]+)\"")
ROUTES = [route for route in all_routes() if route.name not in {"accounts:logout", *WITHOUT_LOGIN}]
OURS = [route for route in ROUTES if route.name.startswith("memories:")]
ODD = [
    "",
    "0",
    "-1",
    "9" * 20,
    "9" * 5000,
    "NaN",
    "²",
    "x" * 600,
    "<b>\"'&",
    "\u202e",
    "\ufeff",
    "\r\n",
    "{{x}}",
    "%s",
    "{0}",
]
DAYS = ["0000-00-00", "9999-12-31", "0001-01-01", "2026-03-01T25:00", "10000-01-01"]
PLACES = ["//evil.example/", "/" + "a" * 3000, "../../x", "a:b:c", "(a+)+$", "[", "\\1", '"', "word NEAR *", "-"]
WISHES = [
    "all",
    "ask",
    "save",
    "move",
    "copy",
    "merge",
    "label",
    "place",
    "up",
    "delete",
    "story",
    "json",
    "mine",
    "own",
]


def _fields() -> list[str]:
    """The names that the views ask for."""
    views = Path(settings.BASE_DIR, "memories").rglob("*.py")
    return sorted({name for path in views for name in FIELD.findall(path.read_text(encoding="utf-8"))})


FIELDS = _fields()


@pytest.fixture
def world(alice: User) -> dict[str, Any]:
    return world_of(alice)


def path_of(route: Route, world: dict[str, Any]) -> str:
    return route.path([row_of(param, world) for param in route.params])


def values(world: dict[str, Any]) -> st.SearchStrategy[str]:
    ids = [str(row.pk) for row in world.values()]
    some = st.sampled_from([*ids, str(uuid.uuid4())])
    named = st.builds("{}:{}".format, st.sampled_from(["block", "file", "character", "draft", "chat"]), some)
    return st.one_of(some, named, st.sampled_from([*ODD, *DAYS, *PLACES, *WISHES]))


def test_the_fields_are_found() -> None:
    assert {"where", "memory", "do", "by", "at", "choose"} & set(FIELDS) >= {"memory", "do", "by"}


def test_pages_answer_whatever_is_asked(alice: User, alice_client: Client, world: dict[str, Any]) -> None:
    said = st.dictionaries(st.sampled_from(FIELDS), st.lists(values(world), min_size=1, max_size=3), max_size=12)

    @pace(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(ROUTES), said)
    def ask(route: Route, said: dict[str, list[str]]) -> None:
        mark = transaction.savepoint()
        answer = alice_client.get(path_of(route, world), said)
        transaction.savepoint_rollback(mark)
        assert answer.status_code < 500

    ask()


def test_forms_answer_whatever_they_hold(alice: User, alice_client: Client, world: dict[str, Any]) -> None:
    said = st.dictionaries(st.sampled_from(FIELDS), st.lists(values(world), min_size=1, max_size=3), max_size=12)

    @pace(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(OURS), said, st.booleans())
    def send(route: Route, said: dict[str, list[str]], is_part: bool) -> None:
        mark = transaction.savepoint()
        answer = alice_client.post(path_of(route, world), said, headers={"HX-Request": "true"} if is_part else {})
        transaction.savepoint_rollback(mark)
        assert answer.status_code < 500

    send()
