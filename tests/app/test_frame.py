"""The frame around every page: where one can go, what it costs, and what no template may hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from charmem_site.middleware import CSP
from jobs.models import Job
from sync.models import Tavern
from tests.support.builders import make_character, make_chat, make_group, make_tavern

TEMPLATES = [
    path
    for folder in [settings.BASE_DIR / "templates", *settings.BASE_DIR.glob("*/templates")]
    for path in folder.rglob("*.html")
]
INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|hx-on|hx-vals=.js:|javascript:", re.IGNORECASE)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR)))
def test_no_template_has_inline_script_or_style(path: Path) -> None:
    assert INLINE.findall(path.read_text(encoding="utf-8")) == []


def test_no_script_writes_markup_or_evaluates_text() -> None:
    scripts = {path: path.read_text(encoding="utf-8") for path in (settings.BASE_DIR / "static" / "js").rglob("*.js")}
    assert scripts
    for path, text in scripts.items():
        assert not re.search(r"\beval\(|new Function|innerHTML|document\.write", text), path
        assert text.count("\n") <= 150, path


def test_every_answer_carries_the_policy(alice_client: Client) -> None:
    for url in ("/people/", "/login/", "/nowhere/"):
        assert alice_client.get(url).headers["Content-Security-Policy"] == CSP


def test_the_page_wears_what_its_reader_chose(bob: User, bob_client: Client) -> None:
    User.objects.filter(pk=bob.pk).update(theme="light", density="compact")
    page = bob_client.get("/settings/you/").content.decode()
    assert '<html lang="en" data-theme="light" data-density="compact">' in page


def test_the_frame_costs_two_queries(bob_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_max_num_queries(4):  # session, person, jobs, folder
        bob_client.get("/more/")


def test_only_what_runs_of_mine_is_counted(alice: User, bob: User, bob_client: Client) -> None:
    Job.objects.create(owner=alice, kind="test", state=Job.State.RUNNING, step=1, total=9)
    Job.objects.create(owner=bob, kind="test", state=Job.State.RUNNING, step=3, total=10)
    Job.objects.create(owner=bob, kind="test", state=Job.State.QUEUED)
    live = bob_client.get("/frame/live/").content.decode()
    assert "every 2s" in live
    assert '<progress max="10" value="3"' in live


def test_with_nothing_to_do_the_page_asks_rarely(bob_client: Client) -> None:
    live = bob_client.get("/frame/live/").content.decode()
    assert "every 15s" in live
    assert "jobs-pill" not in live


@pytest.mark.parametrize(
    ("state", "words"),
    [("ok", "In step"), ("paused", "Paused"), ("unreachable", "Away"), ("new", "Reading SillyTavern")],
)
def test_the_top_line_says_how_sillytavern_is(bob: User, bob_client: Client, state: str, words: str) -> None:
    Tavern.objects.create(owner=bob, name="default", folder="/tavern/ok", state="ok", last_pass_at=timezone.now())
    Tavern.objects.create(owner=bob, name="other", folder="/tavern/other", state=state, last_pass_at=timezone.now())
    assert words in bob_client.get("/frame/live/").content.decode()


def test_a_page_that_does_not_exist_says_so_in_our_look(bob_client: Client, client: Client) -> None:
    for visitor in (bob_client, client):
        answer = visitor.get("/nowhere/")
        assert answer.status_code == 404
        assert "There is no such page" in answer.content.decode()
        assert "css/components.css" in answer.content.decode()


def test_a_broken_page_is_shown_without_the_database(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("broken for the test")

    monkeypatch.setattr("accounts.views.door.LoginForm", broken)
    client.raise_request_exception = False
    answer = client.get("/login/")
    assert answer.status_code == 500
    assert "Something broke" in answer.content.decode()


def test_an_old_form_is_told_to_reload(bob: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(bob)
    answer = strict.post("/settings/you/", {"display_name": "x"})
    assert answer.status_code == 403
    assert "This page is too old" in answer.content.decode()


def test_a_strange_host_name_is_refused_with_a_sentence(client: Client) -> None:
    answer = client.get("/login/", HTTP_HOST="evil.example")
    assert answer.status_code == 400
    assert "CHARMEM_SITE_URL" in answer.content.decode()


def test_a_fragment_without_a_session_reloads_the_page_instead_of_showing_the_door_in_it(client: Client) -> None:
    answer = client.get("/frame/live/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (401, b"")
    assert answer.headers["HX-Refresh"] == "true"


def test_a_groups_chat_is_found_under_groups_and_reading_many_chats_under_jobs(
    alice: User, alice_client: Client
) -> None:
    tavern = make_tavern(alice)
    seraphine = make_character(tavern, "Seraphine")
    own, shared = make_chat(seraphine), make_chat(make_group(tavern, seraphine))
    places = {f"/chats/{own.pk}/": "Characters", f"/chats/{shared.pk}/": "Groups", "/batch/": "Jobs"}
    places |= {f"/chats/{shared.pk}/{page}/": "Groups" for page in ("range", "reset", "branches", "forget")}
    for path, label in places.items():
        rail = alice_client.get(path).content.decode().partition('class="rail"')[2].partition("</nav>")[0]
        here = re.findall(r'aria-current="page".*?<span>(\w+)</span>', rail)
        assert here == [label], path
