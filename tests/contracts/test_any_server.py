"""The same contract with any real server that speaks OpenAI's language: it lists, answers, reads a chat, lets go, and
says when a text is too long. CHARMEM_TEST_BASE_URL, CHARMEM_TEST_MODEL and, if it wants one, CHARMEM_TEST_KEY name it.

What a server says depends on its model; so this asks for what a connection owes, not for good memories.
"""

from __future__ import annotations

import itertools
import os

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories.extraction import start_extraction
from memories.memory_file import file_for, memories_of
from providers import prices
from providers import test_connection as testing
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.connecting import Wish, add_connection, refresh_listing
from providers.models import Call, Connection
from tests.support.services import require
from tests.support.story import make_character, make_chat

pytestmark = [pytest.mark.server, pytest.mark.django_db]
MOST_TOKENS = 250_000  # no test pays for more than this
STORY = (
    "I moved from Bergen to Oslo last spring, because the harbour froze.",
    "Then you can teach me Norwegian! I am a carpenter, and my workshop is next to the old mill.",
    "I will. My sister Ingrid bakes cardamom buns; she asks whether you can build her a table.",
    "For Ingrid I will build one of oak until Sunday.",
)


@pytest.fixture(autouse=True)
def shut_network() -> None:
    """Here the network is open: the server may be anywhere."""


@pytest.fixture
def connection(alice: User) -> Connection:
    url = require("server")
    preset = "local" if url.startswith("http:") else "custom"
    wish = Wish(preset, "Real", url, os.environ.get("CHARMEM_TEST_KEY", ""), os.environ["CHARMEM_TEST_MODEL"])
    return add_connection(alice, wish)


def test_it_lists_its_models(connection: Connection) -> None:
    assert refresh_listing(connection)


def test_its_test_is_not_red(connection: Connection) -> None:
    verdict = testing.test_connection(connection)
    assert verdict.ok, f"{verdict.message} {verdict.hint}"


def test_it_reads_a_chat(alice: User, connection: Connection) -> None:
    flux = make_character(alice)
    make_chat(flux, "first night", STORY)
    job = start_extraction(alice, character=flux)
    run_until_idle(alice)
    job.refresh_from_db()
    calls = Call.objects.for_user(alice).filter(purpose="extraction")
    assert calls and all(call.status == 200 and call.prompt_tokens for call in calls), f"{job.error} {job.hint}"
    assert job.state == Job.State.DONE or job.error_type.startswith("answer_"), f"{job.error} {job.hint}"
    assert all("<think" not in memory.text and "</memory" not in memory.text for memory in memories_of(file_for(flux)))


def test_it_lets_go_in_the_middle_of_an_answer(connection: Connection) -> None:
    asked = itertools.count()
    request = Request("", "Write down all numbers from one to two thousand in words, each in a line of its own.", 8000)
    with pytest.raises(ProviderError) as caught:
        complete(connection, request, stop=lambda: next(asked) > 3)
    assert caught.value.error_type == "stopped"
    assert complete(connection, Request("", "Say hello.", 200)).call.status == 200


def test_it_says_when_a_text_is_too_long(connection: Connection) -> None:
    refresh_listing(connection)
    known = next((row.context for row in prices.listing(connection) if row.id == connection.model), None)
    if known and known >= MOST_TOKENS:
        pytest.skip(f"a text that is too long for {connection.model} would cost too much")
    with pytest.raises(ProviderError) as caught:
        complete(connection, Request("", "harbour " * int(1.1 * (known or MOST_TOKENS)), 50), tries=1)
    assert caught.value.error_type in ("context", "rate"), caught.value.sentence
