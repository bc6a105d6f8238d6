"""A chat played in a real SillyTavern becomes memories while no page of CharMem is open anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_model import FakeModel
from tests.support.processes import Running, python, rows
from tests.support.tab import Tab
from tests.support.tavern import RunningTavern
from tests.support.waiting import wait_until
from tests.tavern.test_reaches_the_prompt import MARA, ask
from tests.tavern.test_whole_house import link, start_serve, wait_for_messages

pytestmark = [pytest.mark.tavern, pytest.mark.browser]
FACT = "Mara counted three lanterns on the quay."
THREE = """
import django; django.setup()
from accounts.models import User
from memories import choosing
choosing.change_settings(User.objects.get(), {"interval": 3})
"""
IS_READ = "SELECT count(*) FROM sync_tavern WHERE state = 'ok'"
JOBS = "SELECT count(*) FROM jobs_job WHERE kind = 'extract'"
MEMORIES = f"SELECT count(*) FROM memories_memory WHERE text = '{FACT}'"


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "charmem")
    yield running
    running.end()


def test_a_chat_that_was_played_is_read_by_itself(
    installation: Running, tavern: RunningTavern, tab: Tab, reader: FakeModel, tavern_model: FakeModel, tmp_path: Path
) -> None:
    house = installation
    reader.answer_with(f"<memory>\n- [Mara — lanterns]\n- {FACT}\n</memory>")
    start_serve(house)
    link(house, tavern, reader, tmp_path / "password")
    python(house, THREE)
    wait_until(lambda: rows(house, IS_READ)[0][0] == 1, 60)
    tab.open()
    tab.select(MARA)
    tab.slash("/newchat")
    ask(tab, tavern_model, "How many lanterns?")
    wait_for_messages(house, tab)
    assert rows(house, JOBS)[0][0] == 0, "a greeting and one answer"
    ask(tab, tavern_model, "And on the quay?")
    try:
        wait_until(lambda: rows(house, MEMORIES)[0][0] == 1, 60, every=0.3)
    except AssertionError as error:
        said = rows(house, "SELECT verdict, facts FROM memories_chatactivity WHERE verdict != ''")
        raise AssertionError(f"{said}\n{house.printed()[-3000:]}") from error
    assert rows(house, JOBS)[0][0] == 1
