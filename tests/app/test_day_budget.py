"""What the day's budget counts for whom."""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounts.models import User
from memories import day_budget
from memories.models import ExtractionOverride, ExtractionSettings
from providers.models import Connection
from sync.models import Chat, Group
from tests.support.builders import make_call, make_character, make_chat, make_connection, make_group, make_tavern


@pytest.fixture
def group(alice: User) -> Group:
    tavern = make_tavern(alice)
    return make_group(tavern, make_character(tavern, "Mara"), make_character(tavern, "Odo"))


@pytest.fixture
def table(group: Group) -> Chat:
    return make_chat(group, 4)


def paid(alice: User, subject: str, cost: str = "0.5") -> None:
    connection = Connection.objects.for_user(alice).first() or make_connection(alice)
    make_call(alice, connection, subject=subject, cost=Decimal(cost), is_automatic=True)


def test_a_group_with_a_budget_of_its_own_counts_every_member(alice: User, group: Group, table: Chat) -> None:
    mara = group.tavern.characters.get(name="Mara")
    own = make_chat(mara, 4)
    for subject in (f"character:{mara.pk}/chat:{table.pk}", f"group:{group.pk}/chat:{table.pk}"):
        paid(alice, subject)
    paid(alice, f"character:{mara.pk}/chat:{own.pk}")
    ExtractionSettings.objects.create(user=alice, daily_budget=3)
    assert day_budget.left_today(alice, table) == Decimal("1.5"), "of everything"
    ExtractionOverride.objects.create(owner=alice, group=group, values={"daily_budget": "2"})
    assert day_budget.left_today(alice, table) == 1
    ExtractionOverride.objects.create(owner=alice, character=mara, values={"daily_budget": "2"})
    assert day_budget.left_today(alice, own) == 1, "whatever was read for her"


def test_without_a_budget_nothing_is_asked(alice: User, table: Chat) -> None:
    assert day_budget.left_today(alice, table) is None
