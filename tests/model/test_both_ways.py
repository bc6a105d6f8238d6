"""The same small model as Built-in and as a local server: what people do with a connection, and what goes wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories.extraction import start_extraction
from memories.models import ExtractionSettings
from providers import adapters, connecting, local_model
from providers import test_connection as testing
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.connecting import Wish
from providers.models import Connection
from tests.support.real_model import LocalServer, end_children, is_answering, local_server
from tests.support.services import require
from tests.support.story import make_character, make_chat
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.model, pytest.mark.django_db]
HELLO = Request("", "Say hello to me.", 6)
LINES = [
    {"text": "I moved to the harbour town with my sister.", "role": "character", "name": "Wren", "raw_date": ""},
    {"text": "I baked a walnut cake for you.", "role": "user", "name": "Sorrel", "raw_date": ""},
]


@dataclass
class Way:
    """One way to the model; `server` is None where the product starts it by itself."""

    row: Connection
    folder: Path
    server: LocalServer | None

    @property
    def pid(self) -> int:
        state = self.server.state if self.server else local_model._state()
        assert state is not None
        return int(str(state["pid"]))

    def kill(self) -> None:
        if self.server:
            self.server.kill()
        else:
            psutil.Process(self.pid).kill()
            wait_until(lambda: not local_model.is_loaded(), 10)

    def start_again(self) -> None:
        """Whoever runs a local server does it; the built-in one comes by itself."""
        if self.server:
            self.server.start()
            connecting.set_key(self.row, self.server.state["token"])
            self.row.save()


@pytest.fixture(params=["builtin", "local"])
def way(request: pytest.FixtureRequest, alice: User, tmp_path: Path, settings: Any) -> Iterator[Way]:
    require("model")
    settings.DATA_DIR = tmp_path
    if request.param == "builtin":
        yield Way(connecting.add_connection(alice, Wish("builtin")), tmp_path, None)
        end_children()
        return
    with local_server(tmp_path) as server:
        yield Way(server.connect(alice), tmp_path, server)


def test_it_is_listed_and_tested(way: Way) -> None:
    assert [row.id for row in adapters.fetch_models(way.row)] == ["built-in"]
    way.row.model = ""
    verdict = testing.test_connection(way.row)
    assert verdict.ok and verdict.steps[0].state == "ok"
    assert way.row.model == ("" if way.server is None else "built-in")


@pytest.mark.parametrize("way", ["local"], indirect=True)
def test_it_reads_a_chat(way: Way, alice: User) -> None:
    """The built-in one does it in test_extraction.py; here nobody holds the model to the form of a memory."""
    ExtractionSettings.objects.create(user=alice, messages_per_call=6, response_tokens=60)
    way.row.temperature, way.row.extra_body = 0, {"seed": 1}  # the same answer each time
    way.row.save()
    character = make_character(alice, "Wren")
    make_chat(character, "Wren - first", LINES)
    job = start_extraction(alice, character=character)
    run_until_idle(alice)
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.DONE, "")
    calls = way.row.calls.filter(purpose="extraction")
    assert calls.count() >= 1
    assert all(call.prompt_tokens and call.completion_tokens and not call.is_estimate for call in calls)


def talk_on(way: Way) -> None:
    """From now on the model talks until its room is used up, whatever it would like to do."""
    way.row.extra_body = {"ignore_eos": True}
    way.row.save()


def test_a_stop_in_mid_answer_closes_the_connection(way: Way) -> None:
    complete(way.row, HELLO)
    talk_on(way)
    stopped_at: list[float] = []
    pid = way.pid

    def is_stopped() -> bool:
        if not stopped_at and is_answering(pid) and psutil.Process(pid).cpu_percent(0.2) > 20:
            stopped_at.append(time.monotonic())
        return bool(stopped_at)

    with pytest.raises(ProviderError) as caught:
        complete(way.row, Request("", "Count from 1 to 2000, every number in words.", 3000), stop=is_stopped)
    assert caught.value.error_type == "stopped"
    wait_until(lambda: not is_answering(pid), 2)
    assert time.monotonic() - stopped_at[0] < 2


def test_a_text_that_is_too_long_is_one_sentence(way: Way) -> None:
    with pytest.raises(ProviderError) as caught:
        complete(way.row, Request("", "hello " * 6000, 50))
    error = caught.value
    assert (error.error_type, error.retryable, error.status) == ("context", False, 400)
    assert error.hint == "Make the chunks smaller, or raise the context window."
    assert complete(way.row, HELLO).completion_tokens > 0


def test_it_is_killed_and_started_again(way: Way) -> None:
    complete(way.row, HELLO)
    first = way.pid
    way.kill()
    if way.server:
        with pytest.raises(ProviderError) as caught:
            complete(way.row, HELLO, tries=1)
        assert caught.value.error_type in ("connect", "protocol") and caught.value.retryable
    way.start_again()
    assert complete(way.row, HELLO).completion_tokens > 0
    assert way.pid != first


def test_it_is_killed_in_mid_answer(way: Way) -> None:
    complete(way.row, HELLO)
    talk_on(way)
    pid = way.pid
    killer = threading.Thread(target=lambda: wait_until(lambda: is_answering(pid)) and psutil.Process(pid).kill())
    killer.start()
    with pytest.raises(ProviderError) as caught:
        complete(way.row, Request("", "Count from 1 to 2000, every number in words.", 3000), tries=1)
    killer.join()
    way.row.extra_body = {}
    way.row.save()
    assert caught.value.retryable and caught.value.error_type in ("protocol", "connect")
    if way.server:
        way.server.kill()
    way.start_again()
    assert complete(way.row, HELLO).completion_tokens > 0
