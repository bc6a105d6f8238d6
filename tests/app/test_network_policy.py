"""Which local networks may be reached, and by whom."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from providers import network
from providers.models import NetworkRule
from providers.network import may_reach, policy_for, refusal

OLLAMA = "http://127.0.0.1:11434/v1"
BOX = "http://192.168.40.7:5001/v1"


@pytest.fixture(autouse=True)
def fixed_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_own_addresses", lambda: ("192.168.40.2", "8.8.4.4"))
    monkeypatch.setattr(network, "_own_services", lambda: (frozenset({("127.0.0.1", 6379)}), 8420))


def test_one_person_alone_reaches_this_computer_and_its_own_subnets(alice: User) -> None:
    policy = policy_for(alice)
    assert may_reach(OLLAMA, policy, "local") and may_reach(BOX, policy, "local")
    assert may_reach("http://[::1]:11434", policy, "local")
    assert not may_reach("http://192.168.41.7:5001", policy, "local")
    assert not may_reach("http://10.0.0.7:5001", policy, "local")


def test_our_own_services_are_never_reached(alice: User) -> None:
    policy = policy_for(alice)
    for url in (
        "http://127.0.0.1:8420",
        "http://192.168.40.2:8420",
        "http://127.0.0.1:6379",
        "http://[::ffff:7f00:1]:8420",
        "http://127.9.9.9:6379",
        "http://192.168.40.2:6379",
        "http://[::1]:6379",
        "http://2130706433:6379",
        "http://0x7f.1:8420",
        "http://0177.0.0.1:8420",
    ):
        assert "belongs to CharMem itself." in refusal(url, policy, "local")


def test_members_reach_only_what_was_opened_and_admins_keep_what_works(alice: User, bob: User, charlie: User) -> None:
    assert may_reach(OLLAMA, policy_for(alice), "local")
    assert refusal(OLLAMA, policy_for(bob), "local") == "127.0.0.1 is in a local network that is not allowed here."
    NetworkRule.objects.create(network="127.0.0.0/8", person=bob)
    assert may_reach(OLLAMA, policy_for(bob), "local")
    assert not may_reach(OLLAMA, policy_for(charlie), "local")
    NetworkRule.objects.create(network="192.168.40.0/24")
    for person in (alice, bob):
        assert may_reach(BOX, policy_for(person), "local")


def test_the_environment_names_the_networks(alice: User, bob: User, settings: object) -> None:
    settings.LOCAL_NETWORKS = ["10.1.0.0/16", "nonsense"]  # type: ignore[attr-defined]
    for person in (alice, bob):
        assert may_reach("http://10.1.2.3:8080", policy_for(person), "local")
        assert not may_reach(OLLAMA, policy_for(person), "local")


def test_an_admin_opens_and_closes_networks(alice: User, bob: User, alice_client: Client, bob_client: Client) -> None:
    url = "/settings/models/networks/"
    assert bob_client.get(url).status_code == 404
    page = alice_client.get(url).content.decode()
    assert "Members reach no local network yet" in page
    answer = alice_client.post(url, {"network": "192.168.40.9/24", "person": str(bob.pk)}, follow=True)
    assert "192.168.40.0/24 may be reached from now on." in answer.content.decode()
    rule = NetworkRule.objects.get()
    assert (rule.network, rule.person) == ("192.168.40.0/24", bob)
    assert may_reach(BOX, policy_for(bob), "local")
    assert bob_client.post(f"{url}{rule.pk}/remove").status_code == 404
    alice_client.post(f"{url}{rule.pk}/remove")
    assert not NetworkRule.objects.exists()


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("0.0.0.0/0", "Only private networks are opened here; public https addresses always are."),
        ("8.8.8.8", "Only private networks are opened here; public https addresses always are."),
        ("169.254.0.0/16", "Only private networks are opened here; public https addresses always are."),
        ("kitchen", "This is not a network. Write it like 192.168.1.0/24."),
    ],
)
def test_public_networks_cannot_be_opened(alice_client: Client, typed: str, sentence: str) -> None:
    answer = alice_client.post("/settings/models/networks/", {"network": typed})
    assert answer.status_code == 422 and sentence in answer.content.decode()
