"""Names that somebody chose to break a page with: each page shows them as they are, and runs none of them."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.test import Client

from accounts.models import User
from memories import activity
from providers.models import Call, Connection
from sync.models import Chat
from tests.app.test_stranger_walk import WITHOUT_LOGIN, row_id, world_of
from tests.support.routes import all_routes

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e👩\u200d🚀{{ 7|add:7 }}%s{0}"
RUNS = "script:not([src]), img[onerror], [onload], [onclick], [onmouseover], [style]"


@pytest.fixture
def world(alice: User) -> dict[str, Any]:
    """Everything of alice's is called EVIL."""
    world = world_of(alice)
    for kind in ("character", "group", "tavern", "connection", "file", "lorebook", "attachment"):
        row = world[kind]
        row.name = EVIL[:100]
        row.save(update_fields=["name"])
    world["job"].label = EVIL
    world["job"].save()
    world["chat"].name = world["chat"].path = EVIL
    world["chat"].save()
    world["chat"].messages.update(name=EVIL, text=f"{EVIL} *{EVIL}* </memory> === END ===", sender_avatar=EVIL)
    branch = Chat.objects.for_user(alice).get(pk=world["chat"].pk)
    branch.pk, branch.parent, branch.fork_index, branch._state.adding = None, world["chat"], 1, True
    branch.path += "-2"
    branch.save()
    world["block"].label = EVIL
    world["block"].save()
    world["memory"].text = EVIL
    world["memory"].save()
    activity.note(alice, "sent", EVIL, character=world["character"], chat=world["chat"])
    for field in ("model", "subject", "connection_name", "purpose"):
        Call.objects.for_user(alice).update(**{field: EVIL[:60]})
    Connection.objects.for_user(alice).update(model=EVIL)

    return world


def test_no_page_runs_a_name(alice_client: Client, world: dict[str, Any]) -> None:
    wrong = []
    for route in (route for route in all_routes() if route.name not in {"accounts:logout", *WITHOUT_LOGIN}):
        path = route.path([row_id(param, world) for param in route.params])
        for headers in ({}, {"HX-Request": "true"}):
            answer = alice_client.get(path, {"q": EVIL, "find": EVIL, "whose": EVIL}, headers=headers)
            if answer.status_code >= 500:
                wrong.append(f"{path} answered {answer.status_code}")
            if not answer.headers.get("Content-Type", "").startswith("text/html") or answer.streaming:
                continue
            page = BeautifulSoup(answer.content, "html.parser")
            wrong += [f"{path} holds {str(found)[:90]}" for found in page.select(RUNS)]
            if "14%s{0}" in answer.content.decode():
                wrong.append(f"{path} calculates what stands in a name")
    assert wrong == []


def test_no_download_is_named_or_calculated_by_a_name(alice: User, alice_client: Client) -> None:
    world_of(alice)
    Call.objects.for_user(alice).update(model="=cmd|' /C calc'!A0", connection_name="+1", subject="@x", purpose="\t=1")
    table = b"".join(alice_client.get("/settings/spending/calls.csv")).decode()
    cells = [cell for line in table.splitlines()[1:] for cell in line.split(",")]
    assert cells
    assert not [cell for cell in cells if cell.strip('"').startswith(("=", "+", "@", "\t", "\r"))]
