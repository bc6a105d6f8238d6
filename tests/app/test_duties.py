"""Settings → Models, “Who does what”: choices, what they change, and whose they are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.models import User
from jobs.models import Job
from providers import assigning, duty_page, pages, queries
from providers.models import Connection, Duty
from providers.purposes import CONSOLIDATION, CONVERSION, EXTRACTION, ROWS, purpose_of
from tests.support.builders import make_connection, make_job
from tests.support.pages import soup, words

pytestmark = pytest.mark.django_db
MODELS, SAVE = "/settings/models/", "/settings/models/who-does-what"


@pytest.fixture
def big(alice: User) -> Connection:
    return make_connection(alice, name="Big")


@pytest.fixture
def small(alice: User, big: Connection) -> Connection:
    return make_connection(alice, name="Small", is_default=False)


@pytest.fixture
def third(alice: User, small: Connection) -> Connection:
    return make_connection(alice, name="Third", is_default=False)


def order(person: User, purpose: str = EXTRACTION) -> list[str]:
    return [one.name for one in queries.order_for(person, purpose)]


def chosen(client: Client) -> dict[str, str]:
    """What stands chosen in the section, by field."""
    page = soup(client.get(MODELS))
    found = {}
    for select in page.select("#duties select"):
        option = select.find("option", selected=True)
        found[str(select["name"])] = option.text.strip() if option else ""
    return found


def test_the_default_does_everything_until_somebody_chooses(
    alice: User, big: Connection, small: Connection, third: Connection
) -> None:
    assert queries.connection_for(alice, EXTRACTION) == big and order(alice) == ["Big"]
    assigning.assign(alice, EXTRACTION, small, [third, big])
    assert queries.connection_for(alice, EXTRACTION) == small
    assert order(alice) == ["Small", "Third", "Big"]
    assert order(alice, CONSOLIDATION) == ["Big"]
    assigning.assign(alice, EXTRACTION, None, [big, third, third])
    assert order(alice) == ["Big", "Third"], "nobody stands in for itself, or twice"
    assert queries.connection_for(alice, "something else") == big == queries.default_connection(alice)


def test_without_a_default_the_oldest_does_it(alice: User, bob: User) -> None:
    assert queries.connection_for(alice, EXTRACTION) is None and queries.order_for(alice, EXTRACTION) == []
    for name in ("Zeta", "Alpha"):
        make_connection(alice, name=name, is_default=False)
    assert order(alice) == ["Zeta"]
    page = pages.list_page(alice)
    assert page.default is not None and page.default.name == "Zeta" and page.chosen == page.default
    assert queries.connection_for(bob, EXTRACTION) is None


def test_a_removed_connection_leaves_its_work_to_the_default(
    alice: User, alice_client: Client, big: Connection, small: Connection, third: Connection
) -> None:
    assigning.assign(alice, EXTRACTION, small, [third])
    assigning.assign(alice, CONVERSION, None, [small, third])
    asked = words(soup(alice_client.get(f"{MODELS}{small.pk}/delete/")))
    assert "What you gave to it is done by the default from then on." in asked
    alice_client.post(f"{MODELS}{small.pk}/delete/")
    assert order(alice) == ["Big", "Third"] and order(alice, CONVERSION) == ["Big", "Third"]
    alice_client.post(f"{MODELS}{big.pk}/delete/")
    assert order(alice) == ["Third"] and order(alice, CONVERSION) == ["Third"]


def test_the_page_shows_and_saves_who_does_what(
    alice: User, alice_client: Client, big: Connection, small: Connection, third: Connection
) -> None:
    assert set(chosen(alice_client).values()) == {""}
    given = {"extraction": small.pk, "extraction-1": "", "extraction-2": third.pk, "conversion": "", "conversion-1": ""}
    page = words(soup(alice_client.post(SAVE, given, follow=True)))
    assert order(alice) == ["Small", "Third"] and order(alice, CONVERSION) == ["Big"]
    now = chosen(alice_client)
    assert (now["extraction"], now["extraction-1"], now["extraction-2"]) == ("Small, small", "Third, small", "")
    assert "Saved." in page and "If it fails, Third steps in." in page and "The default (Big)" in page
    assert "It reads your chats." in words(soup(alice_client.get(f"{MODELS}{small.pk}/")))
    assert "It reads your chats." not in words(soup(alice_client.get(f"{MODELS}{big.pk}/")))
    does = {line.connection.name: line.does for line in pages.list_page(alice).lines}
    assert does == {"Big": ["Consolidation", "Import"], "Small": ["Extraction"], "Third": []}


def test_what_a_form_does_not_name_stays(alice: User, alice_client: Client, big: Connection, small: Connection) -> None:
    assigning.assign(alice, CONSOLIDATION, small)
    alice_client.post(SAVE, {"extraction": small.pk, "extraction-1": big.pk})
    assert order(alice, CONSOLIDATION) == ["Small"] and order(alice) == ["Small", "Big"]


def test_with_one_connection_there_is_nothing_to_choose(alice_client: Client, big: Connection) -> None:
    assert "Who does what" not in words(soup(alice_client.get(MODELS)))


def test_two_connections_have_one_place_to_step_in(alice_client: Client, small: Connection) -> None:
    assert {"extraction", "extraction-1"} <= set(chosen(alice_client))
    assert "extraction-2" not in chosen(alice_client)


@pytest.mark.parametrize("field", ["extraction", "extraction-1", "consolidation-2"])
def test_connections_of_others_are_refused(
    alice: User, bob: User, alice_client: Client, small: Connection, field: str
) -> None:
    theirs = make_connection(bob, name="Hers alone")
    given = {"extraction": small.pk, "consolidation": "", field: theirs.pk}
    answer = alice_client.post(SAVE, given)
    said = words(soup(answer, 422))
    assert "Choose one of your own connections. Nothing was changed." in said and "Hers alone" not in said
    assert not Duty.objects.for_user(alice).exists()
    with pytest.raises(ValueError, match="Choose one of your own connections"):
        assigning.assign(alice, EXTRACTION, small, [theirs])
    assert alice_client.post(SAVE, {"extraction": "nonsense"}).status_code == 422


def test_everybody_sees_their_own(alice: User, charlie: User, charlie_client: Client, small: Connection) -> None:
    assigning.assign(alice, EXTRACTION, small)
    make_connection(charlie, name="Mine")
    assert not Duty.objects.for_user(charlie).exists()
    charlie_client.post(SAVE, {"extraction": ""})
    assert order(alice) == ["Small"] and order(charlie) == ["Mine"]
    assert Client().post(SAVE, {"extraction": ""}).status_code == 302


def test_only_purposes_can_be_given_out(alice: User, big: Connection) -> None:
    with pytest.raises(ValueError, match="nothing of this kind"):
        assigning.assign(alice, "test", big)
    assert purpose_of("checking") == EXTRACTION and purpose_of("test") == ""
    assert [row.label for row in ROWS] == ["Extraction", "Consolidation", "Import"]
    assert list(duty_page.wanted(alice, {"test": str(big.pk)})) == []


def test_one_that_was_removed_meanwhile_is_left_out(alice: User, big: Connection, small: Connection) -> None:
    gone = Connection.objects.for_user(alice).select_related("owner").get(pk=small.pk)
    small.delete()
    assigning.assign(alice, EXTRACTION, gone, [big])
    assert order(alice) == ["Big"]


def test_jobs_that_waited_look_again(alice: User, big: Connection, small: Connection) -> None:
    later = timezone.now() + timedelta(hours=1)
    waiting = make_job(alice, state=Job.State.PAUSED, not_before=later, error_type="rate")
    assigning.assign(alice, EXTRACTION, small)
    waiting.refresh_from_db()
    assert waiting.not_before is None


def test_the_page_says_who_was_set_aside(alice: User, alice_client: Client, big: Connection, small: Connection) -> None:
    until = timezone.now() + timedelta(seconds=40)
    fields = {"down_until": until, "down_reason": "Nothing answers at 127.0.0.1:5001."}
    Connection.objects.for_user(alice).filter(pk=big.pk).update(**fields)
    page = words(soup(alice_client.get(MODELS)))
    assert "Big failed, so it is asked last for another" in page and "Nothing answers at 127.0.0.1:5001." in page
    assert "failed, asked last for" in page
    Connection.objects.for_user(alice).filter(pk=big.pk).update(down_until=timezone.now())
    assert "asked last" not in words(soup(alice_client.get(MODELS)))


def test_the_command_that_names_the_default_leaves_choices_alone(
    alice: User, big: Connection, small: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    assigning.assign(alice, EXTRACTION, small)
    url = "http://127.0.0.1:5001/v1"
    call_command("connect_provider", user="alice", preset="local", base_url=url, default=True, no_test=True)
    default = queries.default_connection(alice)
    assert default is not None and default.base_url == url
    assert order(alice) == ["Small"] and queries.connection_for(alice, CONVERSION) == default


def test_who_is_chosen_in_the_wizard_reads(
    alice: User, alice_client: Client, big: Connection, small: Connection
) -> None:
    assigning.assign(alice, EXTRACTION, small, [big])
    assigning.assign(alice, CONSOLIDATION, small)
    alice_client.post("/wizard/model/", {"preset": "pollinations"})
    reading = queries.connection_for(alice, EXTRACTION)
    assert reading is not None and reading.preset == "pollinations" and reading.is_default
    assert order(alice)[1:] == ["Big"] and order(alice, CONSOLIDATION) == ["Small"]
