"""What one process learned about a model, another one knows before it asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.fake_model import FakeModel
from tests.support.processes import Running, python

COOL = {"error": {"message": "Unsupported value: 'temperature' does not support 0.3 with this model."}}
ASK = """
import django; django.setup()
from accounts.models import User
from providers.base import Request
from providers.complete import complete
from providers.queries import default_connection
print(complete(default_connection(User.objects.get()), Request("Be brief.", "Mira: I live in Oslo.", 50)).call.retries)
"""
LEARN = """
import sys
import django; django.setup()
from accounts.models import User
from providers import learning
from providers.queries import default_connection
connection = default_connection(User.objects.get())
for number in range(20):
    learning.remember(connection, f"{sys.argv[1]}-{number}", {"system": False})
"""
COUNT = """
import django; django.setup()
from accounts.models import User
from providers.queries import default_connection
print(len(default_connection(User.objects.get()).learned))
"""


def connected(house: Running, model: FakeModel, folder: Path) -> None:
    (folder / "password").write_text("correct horse battery\n")
    house.data_dir.mkdir(parents=True, exist_ok=True)
    for arguments in (
        ["migrate", "-v0"],
        ["bootstrap", "--admin", "alice", "--password-file", str(folder / "password")],
        ["connect_provider", "--user", "alice", "--preset", "local", "--base-url", model.base_url,
         "--model", "fake-small", "--default", "--no-test"],
    ):  # fmt: skip
        done = house.command(*arguments)
        assert done.returncode == 0, done.stderr


def two_learn_at_once(house: Running) -> None:
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda name: python(house, LEARN, name), ("a", "b")))


def test_a_second_process_asks_in_the_right_form_at_once(house: Running, tmp_path: Path) -> None:
    with FakeModel() as model:
        connected(house, model, tmp_path)
        model.respond(400, COOL)
        assert python(house, ASK) == "1", "the first process asked twice"
        assert python(house, ASK) == "0"
    assert [request.body.get("temperature") for request in model.chats] == [0.3, None, None]
    two_learn_at_once(house)
    assert python(house, COUNT) == "41", "nobody's lesson is lost"


@pytest.mark.postgres
def test_two_processes_lose_no_lesson_on_postgres_either(house: Running, tmp_path: Path, postgres_url: str) -> None:
    house.extra = {"CHARMEM_DATABASE_URL": postgres_url}
    with FakeModel() as model:
        connected(house, model, tmp_path)
    two_learn_at_once(house)
    assert python(house, COUNT) == "40"
