"""The built-in model, for real: llama.cpp, the small GGUF, its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from accounts.models import User
from accounts.ownership import unscoped
from memories.prompts import open_grammar
from providers import builtin, connecting, gguf, local_model, machine, transport
from providers import test_connection as testing
from providers.base import ProviderError, Request
from providers.complete import complete
from providers.connecting import Wish
from providers.models import Call, Connection
from tests.support.real_model import end_children, serving
from tests.support.services import require
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.model, pytest.mark.django_db]
GRAMMAR = r"""
root ::= "<memory>\n" tag bullet bullet? "</memory>"
tag ::= "- [" words ", " words " — " words "]\n"
bullet ::= "- " words "." "\n"
words ::= word (" " word){0,5}
word ::= [A-Za-z]{1,12}
"""
ENDLESS = 'root ::= ([a-z]+ " ")+ "the end"'
STORY = "Wren: I moved to the harbour town with my sister.\nSorrel: I baked a walnut cake for you."
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A data folder of its own, and no process left behind."""
    require("model")
    settings.DATA_DIR = tmp_path
    yield tmp_path / "built-in-model.json"
    end_children()


def connect(owner: User) -> Connection:
    return connecting.add_connection(owner, Wish(preset="builtin"))


def pid_of(state: Path) -> int:
    return int(json.loads(state.read_text())["pid"])


def test_it_answers_in_the_grammar_and_counts_as_the_server_does(alice: User, model: Path) -> None:
    row = connect(alice)
    assert (row.max_parallel, row.context_tokens) == (1, local_model.CONTEXT_TOKENS)
    answers = set()
    for story in (STORY, "Tom: My dog is called Captain.\nMira: I am afraid of deep water."):
        said = complete(row, Request("You list memories.", story, 300, grammar=GRAMMAR))
        assert said.text.startswith("<memory>\n- [") and said.text.endswith("</memory>")
        assert not said.call.is_estimate and said.call.cost == 0
        assert said.call.model == local_model.MODEL_NAME
        answers.add(said.text)
    assert len(answers) == 2
    calls = list(row.calls.all())
    counted = served_counts()
    assert sum(call.completion_tokens for call in calls) == counted["tokens_predicted_total"]
    assert sum(call.prompt_tokens - (call.cached_tokens or 0) for call in calls) == counted["prompt_tokens_total"]


def served_counts() -> dict[str, float]:
    """What the running server itself has counted since it started."""
    with (
        local_model.running(serving()) as place,
        transport.open_client(place.base_url.removesuffix("/v1"), place.policy, reach="local") as client,
    ):
        text = client.get("/metrics", headers={"Authorization": f"Bearer {place.token}"}).text
    rows = [line.removeprefix("llamacpp:").split() for line in text.splitlines() if line.startswith("llamacpp:")]
    return {name: float(value) for name, value in rows}


def test_a_text_that_is_too_long_is_one_sentence(alice: User, model: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        complete(connect(alice), Request("", "hello " * 6000, 50))
    error = caught.value
    assert (error.error_type, error.retryable, error.status) == ("context", False, 400)
    assert error.message.startswith("The text is too long for Built-in (this computer). It said: request (6")
    assert error.hint == "Make the chunks smaller, or raise the context window."


def test_stop_frees_the_model_for_the_next_question(alice: User, model: Path) -> None:
    row = connect(alice)
    complete(row, Request("", "hi", 4))
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(ProviderError) as caught:
        complete(row, Request("", "Tell a very long story.", 3500, grammar=ENDLESS), stop=stop.is_set)
    assert caught.value.error_type == "stopped"
    with unscoped("the test reads the ledger"):
        assert Call.objects.latest("started_at").error_type == "stopped"
    assert complete(row, Request("", "hi", 4)).seconds < 10


def test_it_leaves_memory_when_idle_and_comes_back(alice: User, model: Path) -> None:
    builtin.change(builtin.Wish("", None, 4096, idle_seconds=1))
    row = connect(alice)
    complete(row, Request("", "hi", 4))
    first = pid_of(model)
    assert local_model.is_loaded()
    wait_until(lambda: local_model._children[0].poll() is not None, 20)
    assert not local_model.is_loaded() and not psutil.pid_exists(first)
    complete(row, Request("", "hi", 4))
    assert pid_of(model) != first


def test_it_comes_back_after_a_kill_and_is_shared(alice: User, model: Path) -> None:
    row = connect(alice)
    threads = [threading.Thread(target=local_model.running(serving()).__enter__) for _n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(local_model._children) == 1
    psutil.Process(pid_of(model)).kill()
    assert complete(row, Request("", "hi", 4)).completion_tokens > 0
    assert len(local_model._children) == 1
    assert model.stat().st_mode & 0o777 == 0o600


def test_other_settings_hold_from_the_next_question_on(alice: User, model: Path) -> None:
    row = connect(alice)
    complete(row, Request("", "hi", 4))
    first = pid_of(model)
    builtin.change(builtin.Wish("", 1, 2048, 300))
    row.refresh_from_db()
    assert row.context_tokens == 2048
    assert complete(row, Request("", "hi", 4)).completion_tokens > 0
    assert pid_of(model) != first
    assert not psutil.pid_exists(first)
    with pytest.raises(ProviderError) as caught:
        complete(row, Request("", "hello " * 2500, 50))
    assert caught.value.error_type == "context" and "2048" in caught.value.message


def test_the_answer_that_somebody_waits_for_is_given_before_it_is_started_anew(alice: User, model: Path) -> None:
    row = connect(alice)
    complete(row, Request("", "hi", 4))
    other = connect(alice)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(_in_thread, row, Request("", "Tell a long story.", 150, grammar=ENDLESS))
        wait_until(lambda: served_now() > 0, 20)
        builtin.change(builtin.Wish("", None, 2048, 300))
        assert complete(other, Request("", "hi", 4)).completion_tokens > 0
        assert slow.result(60) == 150


def _in_thread(row: Connection, request: Request) -> int:
    """The wire alone: a ledger row would need this thread's own connection to the test's database."""
    with local_model.running(serving()) as place, transport.open_client(place.base_url, place.policy) as client:
        body = {"messages": [{"role": "user", "content": request.user}], "max_tokens": request.max_tokens}
        headers = {"Authorization": f"Bearer {place.token}"}
        answer = client.post("/chat/completions", json={**body, "grammar": request.grammar}, headers=headers)
    return int(answer.json()["usage"]["completion_tokens"])


def served_now() -> float:
    """Requests that the server is at just now."""
    return served_counts()["requests_processing"]


def test_it_does_not_start_without_the_memory_for_it(alice: User, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = connect(alice)
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(8 * 10**9, 200 * 10**6))
    with pytest.raises(ProviderError) as caught:
        complete(row, Request("", "hi", 4))
    assert caught.value.error_type == "setup"
    assert caught.value.message == "The built-in model needs about 361 MB of memory, and 200 MB are free."
    assert not local_model.is_loaded()


def test_the_estimate_is_above_what_it_really_takes_and_not_far(alice: User, model: Path) -> None:
    row = connect(alice)
    complete(row, Request("", "hi", 4))
    really = psutil.Process(pid_of(model)).memory_info().rss
    estimate = gguf.facts_of(Path(serving().model_file)).memory_for(4096)
    assert really < estimate < 2.5 * really


def test_it_ends_with_its_starter(tmp_path: Path) -> None:
    require("model")
    script = (
        "import django; django.setup()\nfrom providers import local_model\n"
        "from tests.support.real_model import serving\n"
        "local_model.running(serving()).__enter__(); print('up', flush=True); input()"
    )
    env = {**os.environ, "CHARMEM_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    starter = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert starter.stdout is not None and starter.stdout.readline() == b"up\n"
    server = pid_of(tmp_path / "built-in-model.json")
    starter.kill()
    starter.communicate()
    wait_until(lambda: not psutil.pid_exists(server) or psutil.Process(server).status() == psutil.STATUS_ZOMBIE, 10)


def test_nobody_without_the_token_gets_an_answer(alice: User, model: Path) -> None:
    with (
        local_model.running(serving()) as place,
        transport.open_client(place.base_url, place.policy, reach="local") as client,
    ):
        assert client.post("/chat/completions", json={"messages": []}).status == 401


def test_a_test_says_honestly_what_it_is_worth(alice: User, model: Path) -> None:
    """Reached, answered, and held to the form by the grammar; whether it holds what the lines say is its own affair."""
    verdict = testing.test_connection(connect(alice))
    assert [s.state for s in verdict.steps[:3]] == ["ok", "ok", "ok"]
    assert verdict.steps[3].state in ("ok", "warn") and verdict.state == verdict.steps[3].state
    assert verdict.quote and verdict.tokens_in > 300 and verdict.tokens_out > 5 and verdict.cost == "0"
    assert verdict.steps[3].text in ("1 memory in the right form", "not what the lines say") or verdict.ok


def test_as_a_local_server_it_is_held_to_the_form_of_memories(alice: User, model: Path) -> None:
    """llama.cpp says in its list of models who it is."""
    with local_model.running(serving()) as place:
        wish = Wish(preset="local", base_url=place.base_url, key=place.token, more={"context_tokens": 4096})
        row = connecting.add_connection(alice, wish)
        verdict = testing.test_connection(row)
        row.refresh_from_db()
        assert row.learned == {local_model.MODEL_NAME: {"grammar": True}}
        assert verdict.steps[3].state in ("ok", "warn") and "not in the form" not in verdict.steps[3].text
        said = complete(row, Request("You list memories.", STORY, 200, grammar=open_grammar()))
    assert said.text.startswith(("<memory>\n- ", "NO_NEW_MEMORIES"))


def test_without_the_model_it_is_said(alice: User, settings: Any, tmp_path: Path) -> None:
    settings.MODEL_FILE = str(tmp_path / "missing.gguf")
    settings.DATA_DIR = tmp_path
    assert not local_model.is_available()
    with pytest.raises(ProviderError) as caught:
        complete(connect(alice), Request("", "hi", 4))
    assert caught.value.sentence == (
        "The built-in model is not installed here. "
        "Start CharMem with “make run”, without MODEL=no, or choose another connection."
    )
