"""The pages about jobs: lists, one job, live fragments and their pace, stop and retry."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from bs4 import BeautifulSoup, Tag
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs import queries, registry
from jobs.batch import enqueue_batch
from jobs.chunk import run_next
from jobs.drain import run_until_idle
from jobs.enqueue import enqueue
from jobs.lease import claim
from jobs.models import Job, JobEvent
from jobs.run import Outcome
from tests.support.kinds import forget_test_kinds, use_test_kinds

pytestmark = pytest.mark.django_db
LIST, LIVE = "/jobs/", "/jobs/live"


@pytest.fixture(autouse=True)
def test_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "panels", [])
    monkeypatch.setattr(registry, "facts", [])
    use_test_kinds()
    yield
    forget_test_kinds()


def soup(response: HttpResponse) -> BeautifulSoup:
    assert response.status_code == 200, response.status_code
    return BeautifulSoup(response.content, "html.parser")


def part(page: BeautifulSoup, css: str) -> Tag:
    found = page.select_one(css)
    assert found is not None, css
    return found


def running(owner: User, **fields: object) -> Job:
    job, _new = enqueue(owner, "count", **{"label": "Extract Wenna", "total": 8, **fields})  # type: ignore[arg-type]
    with unscoped("the test is a worker"):
        claim(job.pk)
    job.refresh_from_db()
    return job


def look(client: Client, url: str, page: BeautifulSoup, root: str) -> HttpResponse:
    """What the browser sends when the fragment asks for itself again."""
    assert part(page, root)["hx-include"] == "#jobs-seen"
    return client.get(url, {"seen": part(page, "#jobs-seen")["value"]}, headers={"HX-Request": "true"})


def test_a_person_without_jobs_is_told_what_will_be_here(alice: User, alice_client: Client) -> None:
    page = soup(alice_client.get(LIST))
    assert "No jobs yet" in part(page, ".empty").text


def test_running_waiting_and_finished_stand_apart(alice: User, alice_client: Client) -> None:
    enqueue(alice, "count", label="Extract Sorrel", total=1)
    run_until_idle()
    enqueue(alice, "fall", label="Extract Verdigris")
    run_until_idle()
    job = running(alice)
    enqueue(alice, "count", label="Extract Flux")
    page = soup(alice_client.get(LIST))
    assert "Extract Wenna" in part(page, ".running").text
    assert part(page, f"#bar-{job.pk} progress")["max"] == "8"
    waiting = part(page, "section[aria-labelledby=wait]")
    assert "Extract Flux" in waiting.text
    assert "Takes turns with 1 other job of yours." in waiting.text
    finished = part(page, "section[aria-labelledby=fin]")
    assert "The tide was out." in finished.text
    assert "Counted to 1." in finished.text
    assert "1 failed today" in part(page, ".lede").text


def test_a_paused_job_says_why_and_until_when(alice: User, alice_client: Client) -> None:
    enqueue(alice, "count")
    until = timezone.now() + timedelta(minutes=5)
    Job.objects.for_user(alice).update(state="paused", not_before=until, doing="The model asked for a pause.")
    text = part(soup(alice_client.get(LIST)), "section[aria-labelledby=wait]").text
    assert f"The model asked for a pause. Goes on by itself at {until:%H:%M:%S}." in text


@time_machine.travel("2026-03-10T12:00:00Z", tick=False)
def test_a_job_of_another_day_shows_the_day(alice: User, alice_client: Client) -> None:
    for hours in (1, 30):
        ended = timezone.now() - timedelta(hours=hours)
        Job.objects.create(owner=alice, kind="count", state="done", finished_at=ended)
    times = [found.text for found in soup(alice_client.get(LIST)).select(".job-row time")]
    assert times == ["11:00", "9 Mar"]


def test_finished_jobs_are_filtered_and_paged(alice: User, alice_client: Client) -> None:
    now = timezone.now()
    Job.objects.bulk_create(
        [Job(owner=alice, kind="count", label=f"done {n}", state="done", finished_at=now) for n in range(30)]
        + [Job(owner=alice, kind="fall", label="bad", state="failed", finished_at=now)]
    )
    page = soup(alice_client.get(LIST, {"show": "failed"}))
    assert [row.text for row in page.select("section[aria-labelledby=fin] .job-row .strong")] == ["bad"]
    page = soup(alice_client.get(LIST, {"show": "done", "page": "2"}))
    assert len(page.select("section[aria-labelledby=fin] .job-row")) == 5
    assert part(page, ".pager [rel=prev]")["href"] == "?show=done&page=1"
    assert "show=done&page=2" in str(part(page, "#jobs-live")["hx-get"])
    assert soup(alice_client.get(LIST, {"show": "nonsense", "page": "999"}))


@pytest.mark.parametrize(("minutes", "pace"), [(0, "every 5s"), (3, "every 20s")])
def test_the_list_slows_down_after_the_last_end(alice: User, alice_client: Client, minutes: int, pace: str) -> None:
    ended = timezone.now() - timedelta(minutes=minutes)
    Job.objects.create(owner=alice, kind="count", state="done", finished_at=ended)
    assert part(soup(alice_client.get(LIST)), "#jobs-live")["hx-trigger"] == pace


def test_the_list_is_quick_while_something_runs(alice: User, alice_client: Client) -> None:
    running(alice)
    assert part(soup(alice_client.get(LIST)), "#jobs-live")["hx-trigger"] == "every 1s"


def test_between_two_chunks_a_job_is_still_at_work_for_people(alice: User, alice_client: Client) -> None:
    enqueue(alice, "count", label="Extract Wenna", total=3)
    run_next()
    assert "Extract Wenna" in part(soup(alice_client.get(LIST)), ".running").text


def test_nothing_new_draws_nothing(alice: User, alice_client: Client) -> None:
    running(alice)
    page = soup(alice_client.get(LIST))
    answer = look(alice_client, LIVE, page, "#jobs-live")
    assert (answer.status_code, answer.content) == (204, b"")


def test_progress_swaps_the_bar_and_leaves_the_buttons_alone(alice: User, alice_client: Client) -> None:
    job = running(alice)
    page = soup(alice_client.get(LIST))
    Job.objects.for_user(alice).update(step=5, updated_at=timezone.now())
    answer = look(alice_client, LIVE, page, "#jobs-live")
    moved = soup(answer)
    assert answer["HX-Reswap"] == "none"
    assert part(moved, f"#bar-{job.pk}")["hx-swap-oob"] == "true"
    assert part(moved, f"#bar-{job.pk} progress")["value"] == "5"
    assert part(moved, "#jobs-seen")["value"] != part(page, "#jobs-seen")["value"]
    assert not moved.select("button")


def test_an_end_swaps_the_whole_list_with_its_new_pace(alice: User, alice_client: Client) -> None:
    running(alice)
    page = soup(alice_client.get(LIST))
    now = timezone.now()
    Job.objects.for_user(alice).update(state="done", token=None, finished_at=now, updated_at=now)
    answer = look(alice_client, LIVE, page, "#jobs-live")
    assert "HX-Reswap" not in answer
    assert part(soup(answer), "#jobs-live")["hx-trigger"] == "every 5s"


def test_a_plain_conditional_request_gets_304(alice: User, alice_client: Client) -> None:
    running(alice)
    tag = alice_client.get(LIVE)["ETag"]
    assert alice_client.get(LIVE, headers={"If-None-Match": tag}).status_code == 304
    Job.objects.for_user(alice).update(updated_at=timezone.now())
    assert alice_client.get(LIVE, headers={"If-None-Match": tag}).status_code == 200


def test_the_page_and_its_fragment_are_the_same(alice: User, alice_client: Client) -> None:
    Job.objects.create(owner=alice, kind="count", state="done", finished_at=timezone.now() - timedelta(hours=1))
    for address, live, root in (
        (LIST, LIVE, "#jobs-live"),
        (reverse("jobs:detail", args=[Job.objects.for_user(alice).get().pk]), None, "#job-live"),
    ):
        live = live or f"{address}live"
        whole = part(soup(alice_client.get(address)), root)
        fragment = part(soup(alice_client.get(live)), root)
        for token in (*whole.select("[name=csrfmiddlewaretoken]"), *fragment.select("[name=csrfmiddlewaretoken]")):
            token.decompose()
        assert str(whole) == str(fragment)


def test_one_job_shows_its_chunks_its_error_and_its_log(alice: User, alice_client: Client) -> None:
    job, _new = enqueue(alice, "fall", label="Extract Verdigris", total=12)
    Job.objects.for_user(alice).update(step=6)
    run_until_idle()
    page = soup(alice_client.get(f"/jobs/{job.pk}/"))
    assert len(page.select(".strip-12 .f-ok")) == 6
    assert len(page.select(".strip-12 .f-bad")) == 1
    assert len(page.select(".strip-12 .f-track")) == 5
    assert "The tide was out." in part(page, "section[aria-labelledby=td]").text
    assert "Everything made so far: 6 of 12 chunks." in part(page, "section[aria-labelledby=td]").text
    assert "Wait for the tide." in part(page, "section[aria-labelledby=td]").text
    assert "The tide was out." in part(page, ".log .is-bad").text
    assert "Go on at chunk 7" in part(page, f"#retry-{job.pk}").text
    assert part(page, "#job-live")["hx-trigger"] == "none"


def test_the_page_of_one_job_moves_and_then_stops_asking(alice: User, alice_client: Client) -> None:
    job = running(alice)
    address = f"/jobs/{job.pk}/"
    page = soup(alice_client.get(address))
    assert part(page, "#job-live")["hx-trigger"] == "every 1s"
    JobEvent.objects.create(job=job, text="chunk 1 answered")
    moved = look(alice_client, f"{address}live", page, "#job-live")
    assert moved["HX-Reswap"] == "none"
    assert "chunk 1 answered" in part(soup(moved), "#job-log").text
    Job.objects.for_user(alice).update(state="done", finished_at=timezone.now())
    ended = look(alice_client, f"{address}live", page, "#job-live")
    assert part(soup(ended), "#job-live")["hx-trigger"] == "none"


def test_a_long_log_is_shortened_until_asked_for(alice: User, alice_client: Client) -> None:
    job = running(alice)
    JobEvent.objects.bulk_create([JobEvent(job=job, text=f"line {n}") for n in range(250)])
    page = soup(alice_client.get(f"/jobs/{job.pk}/"))
    assert len(page.select(".log li")) == 200
    assert "line 249" in page.select(".log li")[-1].text
    page = soup(alice_client.get(f"/jobs/{job.pk}/", {"log": "all"}))
    assert len(page.select(".log li")) == 250


def test_a_batch_shows_its_parts(alice: User, alice_client: Client) -> None:
    parent, _new = enqueue_batch(alice, "count", [{"label": f"Part {n}", "total": 4} for n in range(30)], label="All")
    run_next()
    assert "Part 0" in part(soup(alice_client.get(LIST)), f"#parts-{parent.pk}").text
    page = soup(alice_client.get(f"/jobs/{parent.pk}/"))
    assert len(page.select(".parts tbody tr")) == 25
    assert part(page, ".pager [rel=next]")["href"] == "?page=2"


def test_apps_above_add_figures_and_panels(alice: User, alice_client: Client) -> None:
    job = running(alice)
    registry.add_facts(lambda jobs: {row.pk: [("Cost so far", "7.5 ¢")] for row in jobs})
    registry.add_panel(
        lambda row: registry.Panel("components/status.html", {"state": "ok", "text": f"about {row.label}"})
    )
    registry.add_panel(lambda row: None, kind="count")
    registry.add_panel(lambda row: registry.Panel("components/status.html", {"text": "not shown"}), kind="fall")
    assert "7.5 ¢" in part(soup(alice_client.get(LIST)), f"#bar-{job.pk}").text
    panels = part(soup(alice_client.get(f"/jobs/{job.pk}/")), "#job-panels").text
    assert "about Extract Wenna" in panels
    assert "not shown" not in panels


def test_stop_and_retry_from_the_page(alice: User, alice_client: Client) -> None:
    job, _new = enqueue(alice, "count", total=2)
    run_next()
    answer = alice_client.post(f"/jobs/{job.pk}/stop", {"from": "list"})
    assert answer["Location"] == LIST
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED
    assert alice_client.post(f"/jobs/{job.pk}/retry")["Location"] == f"/jobs/{job.pk}/"
    job.refresh_from_db()
    assert (job.state, job.step) == (Job.State.QUEUED, 1)


def test_a_running_job_says_that_it_is_stopping(alice: User, alice_client: Client) -> None:
    job = running(alice)
    page = soup(alice_client.post(f"/jobs/{job.pk}/stop", follow=True))
    assert "Stopping. What is finished stays." in page.text
    assert part(page, f"#stop-{job.pk}").has_attr("disabled")


def test_what_is_done_is_not_retried(alice: User, alice_client: Client) -> None:
    job, _new = enqueue(alice, "count", total=1)
    run_until_idle()
    page = soup(alice_client.post(f"/jobs/{job.pk}/retry", follow=True))
    assert "Nothing was started" in page.text
    assert not page.select(f"#retry-{job.pk}")


def test_all_waiting_jobs_are_taken_out(alice: User, bob: User, alice_client: Client) -> None:
    job = running(alice)
    for _number in range(3):
        enqueue(alice, "count")
    theirs, _new = enqueue(bob, "count")
    page = soup(alice_client.post("/jobs/waiting/stop", follow=True))
    assert "3 waiting jobs were taken out." in page.text
    job.refresh_from_db()
    theirs.refresh_from_db()
    assert (job.state, theirs.state) == (Job.State.RUNNING, Job.State.QUEUED)


def test_a_stranger_finds_nothing(alice: User, charlie: User, charlie_client: Client) -> None:
    job = running(alice)
    for name in ("detail", "detail_live"):
        assert charlie_client.get(reverse(f"jobs:{name}", args=[job.pk])).status_code == 404
    for name in ("stop", "retry"):
        assert charlie_client.post(reverse(f"jobs:{name}", args=[job.pk])).status_code == 404
    assert charlie_client.get(reverse("jobs:detail", args=[uuid.uuid4()])).status_code == 404
    assert "Extract Wenna" not in charlie_client.get(LIST).content.decode()
    assert Client().get(LIST).status_code == 302


def test_text_of_a_job_is_never_markup(alice: User, alice_client: Client) -> None:
    job = running(alice, label="<b>Wenna</b>")
    JobEvent.objects.create(job=job, text="<script>alert(1)</script>")
    for address in (LIST, f"/jobs/{job.pk}/"):
        page = alice_client.get(address).content.decode()
        assert "<b>Wenna" not in page
        assert "<script>alert" not in page


def test_the_number_of_queries_does_not_grow_with_the_rows(
    alice: User, alice_client: Client, django_assert_max_num_queries: object
) -> None:
    def fill() -> None:
        for n in range(4):
            running(alice, label=f"running {n}")
            enqueue(alice, "count")
            Job.objects.create(owner=alice, kind="count", state="done", finished_at=timezone.now())
        parent, _new = enqueue_batch(alice, "count", [{"total": 2} for _number in range(4)])
        Job.objects.for_user(alice).filter(parent=parent).update(state="failed")
        Job.objects.for_user(alice).filter(pk=parent.pk).update(state="running")

    fill()
    for address in (LIST, LIVE):
        with django_assert_max_num_queries(14):  # type: ignore[operator]
            alice_client.get(address)
    fill()
    fill()
    for address in (LIST, LIVE):
        with django_assert_max_num_queries(14):  # type: ignore[operator]
            alice_client.get(address)


def test_what_the_dashboard_asks(alice: User, bob: User) -> None:
    job = running(alice)
    failed, _new = enqueue(alice, "fall")
    run_until_idle(alice)
    waiting, _new = enqueue(alice, "count")
    running(bob)
    assert list(queries.running(alice)) == [job]
    assert list(queries.waiting(alice)) == [waiting]
    assert list(queries.failed_since(alice, timezone.now() - timedelta(hours=1))) == [failed]
    assert list(queries.failed_since(alice, timezone.now() + timedelta(hours=1))) == []
    assert queries.recent(alice, 2) == [waiting, failed]


def test_a_job_that_counts_something_else_than_chunks_says_so(
    alice: User, alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = registry.JobKind("reading", "Read", lambda run: Outcome(), unit="messages")
    monkeypatch.setitem(registry.kinds, "reading", kind)
    job = Job.objects.create(owner=alice, kind="reading", state=Job.State.RUNNING, step=18, total=38)
    assert "18 of 38 messages" in part(soup(alice_client.get(f"/jobs/{job.pk}/")), "#job-now").text
    assert " ".join(part(soup(alice_client.get("/jobs/")), f"#bar-{job.pk} .running-now").text.split()) == (
        "18 of 38 messages"
    )
    how = {"state": Job.State.FAILED, "error": "It said no.", "finished_at": timezone.now()}
    failed = Job.objects.create(owner=alice, kind="reading", step=18, total=38, **how)
    page = soup(alice_client.get(f"/jobs/{failed.pk}/"))
    assert "chunk" not in part(page, "main").text
    assert "Failed after 18 of 38 messages. It said no." in soup(alice_client.get("/jobs/")).get_text()
