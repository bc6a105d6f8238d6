"""Another connection steps in when one is down: for which reasons, in which order, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from providers import adapters, assigning, connecting, fallback, limits
from providers import complete as one
from providers import test_connection as testing
from providers.base import Completion, ProviderError, Request
from providers.budgets import set_budget
from providers.connecting import Wish
from providers.models import Call, Connection
from tests.support.fake_model import FakeModel
from tests.support.raw_server import RawServer, silent
from tests.support.wire import QUESTION, connect, no_pauses

pytestmark = pytest.mark.django_db


def saying(reason: str, **message: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": "", **message}, "finish_reason": reason}]}


@dataclass
class Two:
    """Alice's big connection, and the small one that steps in for it."""

    person: User
    big: FakeModel
    small: FakeModel
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        first = connect(self.person, self.big, name="Big", is_default=True)
        spare = connect(self.person, self.small, name="Small")
        assigning.assign(self.person, "extraction", None, [spare])
        self.ids = {"Big": first.pk, "Small": spare.pk}

    def __getitem__(self, name: str) -> Connection:
        """One of them, as the next chunk of work would read it."""
        return Connection.objects.for_user(self.person).select_related("owner").get(pk=self.ids[name])

    def ask(self, request: Request = QUESTION, name: str = "Big", **options: Any) -> Completion:
        def ask(connection: Connection) -> Completion:
            return one.complete(connection, request)

        return fallback.complete(self[name], request, ask, note=self.notes.append, **options)

    def fails(self, request: Request = QUESTION, **options: Any) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            self.ask(request, **options)
        return caught.value

    @property
    def asked(self) -> tuple[int, int]:
        return len(self.big.chats), len(self.small.chats)

    @property
    def ledger(self) -> list[tuple[str, str]]:
        return list(
            Call.objects.for_user(self.person).order_by("started_at").values_list("connection_name", "error_type")
        )


@pytest.fixture
def two(alice: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    no_pauses(monkeypatch)
    with FakeModel() as big, FakeModel() as small:
        yield Two(alice, big, small)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, "", "key"),
        (402, "", "payment"),
        (403, "", "forbidden"),
        (404, "", "not_found"),
        (405, "", "not_found"),
        (408, "", "timeout"),
        (429, "", "rate"),
        (500, "", "server"),
        (503, "", "server"),
        (302, "", "redirect"),
        (200, "<html><title>Under repair</title></html>", "html"),
        (200, {"error": {"message": "upstream is gone", "code": 502}}, "server"),
    ],
)
def test_another_one_steps_in_when_a_model_cannot_be_had(two: Two, status: int, body: Any, kind: str) -> None:
    two.big.respond(status, body, times=4)
    done = two.ask()
    assert done.call.connection_id == two["Small"].pk
    assert two.ledger == [("Big", kind), ("Small", "")]
    assert len(two.notes) == 1 and two.notes[0].startswith("Small steps in for Big: Big ")
    assert two.asked[1] == 1 and fallback.is_set_aside(two["Big"])


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "maximum context length is 4096 tokens"}}, "context"),
        (400, {"error": {"message": "unknown field"}}, "request"),
        (200, saying("stop"), "empty"),
        (200, saying("content_filter"), "forbidden"),
        (200, saying("length", reasoning="Hm."), "reasoning_only"),
        (200, "no JSON", "content_type"),
    ],
)
def test_nobody_steps_in_for_what_a_model_said(two: Two, status: int, body: Any, kind: str) -> None:
    plain = {"Content-Type": "text/plain"} if isinstance(body, str) else None
    two.big.respond(status, body, headers=plain, times=4)
    assert two.fails().error_type == kind
    assert two.asked[1] == 0 and two.notes == [] and two["Big"].down_until is None


def test_a_host_that_is_gone_silent_or_hangs_up(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "LOCAL_IDLE_SECONDS", 0.2)
    with FakeModel() as gone:
        places = {"connect": gone.base_url}
    with RawServer(silent) as mute, RawServer(lambda _socket, _closing: None) as hanging_up:
        places |= {"timeout": mute.url, "protocol": hanging_up.url}
        for url in places.values():
            rows = Connection.objects.for_user(two.person).filter(name="Big")
            rows.update(base_url=url, down_until=None)
            assert two.ask().call.connection_name == "Small"
    assert [kind for name, kind in two.ledger if name == "Big"] == list(places)
    assert two.asked == (0, 3)


def test_silence_is_borne_once_when_somebody_can_step_in(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "LOCAL_IDLE_SECONDS", 0.2)
    rows = Connection.objects.for_user(two.person).filter(name="Big")
    with RawServer(silent) as mute:
        rows.update(base_url=mute.url)
        assert two.ask().call.connection_name == "Small"
        assert mute.connections == 1
        Connection.objects.for_user(two.person).filter(name="Small").update(context_tokens=10)
        rows.update(down_until=None)
        assert two.fails().error_type == "timeout"
        assert mute.connections == 1 + 4, "nobody else takes this question"
    assert [kind for name, kind in two.ledger if name == "Big"] == ["timeout", "timeout"]


def test_a_silent_spare_is_given_up_on_too_while_there_is_another(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "LOCAL_IDLE_SECONDS", 0.2)
    with RawServer(silent) as mute, FakeModel() as last:
        third = connect(two.person, last, name="Third")
        assigning.assign(two.person, "extraction", None, [two["Small"], third])
        Connection.objects.for_user(two.person).filter(name="Small").update(base_url=mute.url)
        two.big.respond(401, "")
        assert two.ask().call.connection_name == "Third"
        assert mute.connections == 1


def test_a_stop_and_a_budget_are_the_same_everywhere(two: Two) -> None:
    two.big.respond(200, saying("stop"))
    set_budget(two.person, day_tokens=1)
    assert two.fails().error_type == "budget"
    assert two.asked == (0, 0)

    def stopped(connection: Connection) -> Completion:
        raise ProviderError("Stopped.", retryable=True, error_type="stopped")

    with pytest.raises(ProviderError, match="Stopped"):
        fallback.complete(two["Big"], QUESTION, stopped, note=two.notes.append)
    assert two.notes == []


def test_a_long_pause_lets_another_one_step_in_and_is_not_forgotten(two: Two) -> None:
    two.big.respond(429, "", headers={"Retry-After": "300"})
    for _n in range(2):
        assert two.ask().call.connection_name == "Small"
    assert two.asked == (1, 2)  # the second time nobody knocked
    assert two["Big"].down_until is None and two["Big"].paused_until is not None
    assert "asked for a pause" in two.notes[1]


def test_a_short_pause_is_waited_for(two: Two) -> None:
    two.big.respond(429, "", headers={"Retry-After": "0"})
    assert two.ask().call.connection_name == "Big"
    assert two.asked == (2, 0) and two.notes == []


def test_what_failed_is_asked_last_for_a_minute(two: Two) -> None:
    two.big.respond(401, "")
    two.ask()
    two.ask()
    assert two.asked == (1, 2)
    assert two.notes[0] == two.notes[1] == "Small steps in for Big: Big does not accept the key."
    past = timezone.now() - timedelta(seconds=1)
    Connection.objects.for_user(two.person).filter(name="Big").update(down_until=past)
    assert two.ask().call.connection_name == "Big"
    assert two["Big"].down_until is None and two["Big"].down_reason == ""


def test_what_failed_is_asked_after_all_when_nobody_else_answers(two: Two) -> None:
    two.big.respond(401, "")
    two.ask()
    two.small.respond(401, "")
    assert two.ask().call.connection_name == "Big"
    assert two.notes[1:] == [
        "Small steps in for Big: Big does not accept the key.",
        "Big steps in for Small: Small does not accept the key.",
    ]
    assert two["Big"].down_until is None and fallback.is_set_aside(two["Small"])


def test_when_all_fail_the_first_ones_error_is_said(two: Two) -> None:
    two.big.respond(402, "")
    two.small.respond(401, "")
    assert two.fails().error_type == "payment"
    two.big.respond(402, "")
    two.small.respond(401, "")
    assert two.fails().error_type == "payment"
    assert two.asked == (2, 2)


def test_an_answer_of_no_use_is_the_end_whoever_gave_it(two: Two) -> None:
    two.big.respond(401, "")
    two.small.respond(200, saying("length", reasoning="Hm."))
    assert two.fails().error_type == "reasoning_only"
    assert two.asked == (1, 1)


def test_a_window_that_is_too_small_is_passed_over(two: Two) -> None:
    long = replace(QUESTION, user="word " * 3000)
    small = Connection.objects.for_user(two.person).filter(name="Small")
    small.update(context_tokens=2000)
    two.big.respond(401, "", times=2)
    assert two.fails(long).error_type == "key"
    assert two.asked == (1, 0) and two["Big"].down_until is None  # there is nobody to ask before it
    assert two.ask().call.connection_name == "Small"


def test_one_that_takes_less_than_it_said_is_passed_over(two: Two) -> None:
    two.big.respond(401, "")
    two.small.respond(400, {"error": {"message": "maximum context length is 4096 tokens"}})
    assert two.fails().error_type == "key"
    assert two["Small"].down_until is None


def test_one_that_may_not_be_asked_is_passed_over(two: Two) -> None:
    two.big.respond(401, "")
    assert two.fails(may_ask=lambda connection: connection.name != "Small").error_type == "key"
    assert two.asked == (1, 0)


def test_several_step_in_one_after_the_other(two: Two) -> None:
    with FakeModel() as last:
        third = connect(two.person, last, name="Third")
        assigning.assign(two.person, "extraction", None, [third, two["Small"]])
        two.big.respond(401, "")
        last.respond(404, "")
        assert two.ask().call.connection_name == "Small"
    assert two.ledger == [("Big", "key"), ("Third", "not_found"), ("Small", "")]
    assert [note[:28] for note in two.notes] == ["Third steps in for Big: Big ", "Small steps in for Third: Th"]


def test_nobody_steps_in_unless_it_was_said(two: Two) -> None:
    assigning.assign(two.person, "extraction", None)
    two.big.respond(401, "", times=2)
    for _n in range(2):
        assert two.fails().error_type == "key"
    assert two.asked == (2, 0) and two["Big"].down_until is None


def test_checking_goes_where_extraction_goes_and_other_purposes_do_not(two: Two) -> None:
    two.big.respond(401, "", times=2)
    assert two.fails(replace(QUESTION, purpose="consolidation")).error_type == "key"
    assert two.ask(replace(QUESTION, purpose="checking")).call.connection_name == "Small"


def test_one_that_was_picked_by_hand_is_asked_alone(two: Two) -> None:
    assigning.assign(two.person, "extraction", two["Big"], [two["Small"]])
    two.small.respond(401, "")
    assert two.fails(name="Small").error_type == "key"
    assert two.asked == (0, 1)


def test_an_answer_costs_no_query_more(two: Two) -> None:
    big = two["Big"]
    one.complete(big, QUESTION)  # what is learned from the first answer does not count
    with CaptureQueriesContext(database) as plain:
        one.complete(big, QUESTION)
    with CaptureQueriesContext(database) as guarded:
        fallback.complete(big, QUESTION, lambda row: one.complete(row, QUESTION), note=two.notes.append)
    assert len(guarded) == len(plain)


def test_a_good_test_or_other_settings_end_the_minute(two: Two) -> None:
    for change in ("test", "settings"):
        two.big.respond(401, "")
        two.ask()
        assert fallback.is_set_aside(two["Big"])
        if change == "test":
            assert testing.test_connection(two["Big"]).ok
        else:
            connecting.change_connection(two["Big"], Wish("local", "Big", two.big.base_url, key="another-key-1234"))
        assert not fallback.is_set_aside(two["Big"])


def test_those_that_waited_in_line_do_not_find_out_one_by_one(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one, "LONG_IN_LINE", -1.0)  # every call has waited for long
    big = two["Big"]
    rows = Connection.objects.for_user(two.person).filter(pk=big.pk)
    rows.update(down_until=timezone.now() + timedelta(seconds=30), down_reason="Nobody is at home.")
    done = fallback.complete(big, QUESTION, lambda row: one.complete(row, QUESTION), note=two.notes.append)
    assert done.call.connection_name == "Small" and two.asked == (0, 1)
    assert two.notes == [
        "Small steps in for Big: Big failed while this question waited for its turn: Nobody is at home."
    ]
    left = two["Big"].down_until
    assert left is not None and left < timezone.now() + timedelta(seconds=31)  # hearsay makes it no longer
    assert limits.in_flight(two["Big"]) == 0
