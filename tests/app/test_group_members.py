"""Who is in a group: nobody is lost (problem-reports D2), and what a person says about somebody stays."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from memories import pinning
from memories.group_members import add_member, set_member
from memories.members import groups_of, readers, roster, rosters
from memories.models import MemberChoice
from sync.mirror import mirror
from sync.models import Character, Group, GroupMember, Tavern
from tests.support.builders import make_character, make_chat, make_group, make_tavern
from tests.support.grouping import press_undo, say_in, turns
from tests.support.pages import soup, toast, words

CARD, PERSONA, LEFT_OUT = MemberChoice.Kind.CARD, MemberChoice.Kind.PERSONA, MemberChoice.Kind.LEFT_OUT
SAMPLE = Path(__file__).parents[1] / "data" / "st-data" / "default-user"


@pytest.fixture
def tavern(alice: User) -> Tavern:
    return make_tavern(alice)


@pytest.fixture
def flux(tavern: Tavern) -> Character:
    return make_character(tavern, "Flux")


@pytest.fixture
def orla(tavern: Tavern) -> Character:
    return make_character(tavern, "Orla")


@pytest.fixture
def group(flux: Character, orla: Character) -> Group:
    return make_group(flux.tavern, flux, orla)


def names(user: User, group: Group) -> list[str]:
    return [one.character.name for one in roster(user, group).members]


def unknown(user: User, group: Group) -> dict[str, int]:
    return {one.name: one.messages for one in roster(user, group).unknown}


def test_a_group_of_ten_has_ten_members(alice: User, tavern: Tavern) -> None:
    ten = [make_character(tavern, f"Guest {n}") for n in range(10)]
    group = make_group(tavern, *ten)
    chat = say_in(group, turns(*ten[:2]))
    assert names(alice, group) == [f"Guest {n}" for n in range(10)]
    assert len(readers(alice, chat)) == 10
    assert groups_of(alice, ten[9]) == [group]


def test_append_with_disabled_keeps_everybody(alice: User, group: Group) -> None:
    GroupMember.objects.for_user(alice).filter(group=group).update(is_disabled=True)
    found = roster(alice, group)
    assert [(one.character.name, one.is_muted) for one in found.members] == [("Flux", True), ("Orla", True)]
    assert found.unknown == []


def test_who_only_spoke_is_a_member_and_a_name_without_a_card_is_listed(
    alice: User, tavern: Tavern, group: Group
) -> None:
    guest = make_character(tavern, "Guest")
    say_in(group, [*turns(guest), ("Archivist", "", "Hm."), ("Lost", "lost.png", "Ah."), ("Lost", "lost.png", "Oh.")])
    assert names(alice, group) == ["Flux", "Orla", "Guest"]
    assert unknown(alice, group) == {"Lost": 2, "Archivist": 1}
    assert not next(one for one in roster(alice, group).members if one.character == guest).is_seated


def test_a_renamed_card_keeps_its_seat_and_its_words(alice: User, group: Group, flux: Character) -> None:
    say_in(group, turns(flux))
    flux.avatar, flux.former_avatars, flux.name = "Ember.png", ["Flux.png"], "Ember"
    flux.save()
    (ember, _orla) = roster(alice, group).members
    assert ember.character.name == "Ember" and ember.messages == 2 and ember.is_seated


def test_two_cards_of_one_name_share_nothing(alice: User, tavern: Tavern) -> None:
    one, two = (make_character(tavern, "Lilith", avatar=name) for name in ("Lilith.png", "Lilith1.png"))
    group = make_group(tavern, one, two)
    say_in(group, [*turns(two), ("Lilith", "", "Which one am I?")])
    assert [(m.character.avatar, m.messages) for m in roster(alice, group).members] == [
        ("Lilith.png", 0),
        ("Lilith1.png", 2),
    ]
    assert unknown(alice, group) == {"Lilith": 1}


def test_chats_and_cards_that_are_gone_do_not_count(alice: User, group: Group, flux: Character) -> None:
    say_in(group, turns(flux), gone_at=timezone.now())
    assert [one.messages for one in roster(alice, group).members] == [0, 0]
    flux.gone_at = timezone.now()
    flux.save()
    assert names(alice, group) == ["Orla"]
    assert unknown(alice, group) == {"Flux": 0}


def test_many_groups_and_chats_cost_no_more_queries(alice: User, group: Group, flux: Character) -> None:
    def asked(groups: list[Group]) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            rosters(alice, groups)
        return len(seen)

    few = asked([group])
    more = [make_group(flux.tavern, flux, name=f"Group {n}") for n in range(5)]
    for one in (group, *more):
        say_in(one, turns(flux))
        say_in(one, turns(flux))
    assert asked([group, *more]) == few <= 5


def test_what_a_person_says_wins_and_comes_back(alice: User, group: Group, flux: Character, orla: Character) -> None:
    say_in(group, [*turns(flux), ("Mother T.", "", "Hush."), ("Wren the Elder", "", "I am the player.")])
    assert set_member(alice, group, "name:Mother T.", CARD, orla).kind == ""
    set_member(alice, group, "name:Wren the Elder", PERSONA)
    set_member(alice, group, flux.avatar, LEFT_OUT)
    found = roster(alice, group)
    assert [(one.character.name, one.messages) for one in found.members] == [("Orla", 1)]
    assert found.unknown == []
    before = set_member(alice, group, flux.avatar, "")
    assert before.kind == LEFT_OUT
    assert names(alice, group) == ["Flux", "Orla"]


def test_a_card_that_is_gone_is_asked_for_again(alice: User, group: Group, tavern: Tavern) -> None:
    guest = make_character(tavern, "Guest")
    say_in(group, [("Archivist", "", "Hm.")])
    set_member(alice, group, "name:Archivist", CARD, guest)
    guest.gone_at = timezone.now()
    guest.save()
    assert unknown(alice, group) == {"Archivist": 1}


def test_a_member_added_by_hand(alice: User, group: Group, tavern: Tavern, flux: Character) -> None:
    guest = make_character(tavern, "Guest")
    add_member(alice, group, guest)
    assert names(alice, group) == ["Flux", "Orla", "Guest"]
    with pytest.raises(ValueError, match="Flux is a member already"):
        add_member(alice, group, flux)


def test_strange_cards_and_names_are_refused(alice: User, bob: User, group: Group) -> None:
    elsewhere = make_character(make_tavern(alice), "Elsewhere")
    for speaker, kind, card in (
        ("name:Nobody", LEFT_OUT, None),
        ("Flux.png", CARD, elsewhere),
        ("Flux.png", CARD, None),
        ("Flux.png", "king", None),
    ):
        with pytest.raises(ValueError, match="Nothing was changed"):
            set_member(alice, group, speaker, kind, card)
    assert MemberChoice.objects.for_user(alice).count() == 0


def test_a_choice_survives_another_reading_of_the_group_file(alice: User, tmp_path: Path) -> None:
    root = tmp_path / "default-user"
    shutil.copytree(SAMPLE, root)
    tavern = make_tavern(alice, folder=str(root))
    mirror(tavern)
    group = Group.objects.for_user(alice).filter(members__isnull=False).order_by("pk").first()
    assert group is not None
    first = roster(alice, group).members[0]
    set_member(alice, group, first.character.avatar, LEFT_OUT)
    path = root / "groups" / f"{group.file_id}.json"
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    mirror(tavern)
    assert first.character.name not in names(alice, group)
    assert MemberChoice.objects.for_user(alice).count() == 1


def test_a_pin_in_a_group_knows_who_spoke(alice: User, group: Group, flux: Character, orla: Character) -> None:
    chat = say_in(group, [("Wren", "", "Who?"), ("Fluxy", flux.avatar, "I."), ("Mother T.", "", "And I.")])
    set_member(alice, group, "name:Mother T.", CARD, orla)
    chosen = [pinning.whom(alice, message).chosen for message in chat.messages.select_related("chat__group")]
    assert chosen == [set(), {flux.pk}, {orla.pk}]
    assert pinning.whom(alice, group=group).near == [flux, orla]
    assert pinning.whom(alice, group=group).chosen == set()


# the pages


def test_the_page_asks_who_an_unknown_speaker_is(
    alice: User, group: Group, orla: Character, alice_client: Client
) -> None:
    say_in(group, [("Archivist", "", "Hm."), ("Archivist", "", "Ah.")])
    page = soup(alice_client.get(f"/groups/{group.pk}/"))
    notice = page.select_one("#unknown")
    assert "“Archivist” spoke 2 times" in words(notice)
    assert "1 name has no card" in words(page.select_one(".lede"))
    form: dict[str, Any] = {"speaker": "name:Archivist", "who": str(orla.pk)}
    alice_client.post(f"/groups/{group.pk}/members/choose/", form)
    assert unknown(alice, group) == {}
    press_undo(alice_client)
    assert unknown(alice, group) == {"Archivist": 2}


def test_nothing_chosen_changes_nothing_and_says_so(alice: User, group: Group, alice_client: Client) -> None:
    say_in(group, [("Archivist", "", "Hm.")])
    alice_client.post(f"/groups/{group.pk}/members/choose/", {"speaker": "name:Archivist", "who": ""})
    assert "Choose who it is" in words(toast(alice_client))
    alice_client.post(f"/groups/{group.pk}/members/choose/", {"speaker": "name:Archivist", "instead": "left_out"})
    assert unknown(alice, group) == {}


def test_correct_the_list_shows_every_seat_and_speaker(
    alice: User, group: Group, flux: Character, tavern: Tavern, alice_client: Client
) -> None:
    guest = make_character(tavern, "Guest")
    say_in(group, [*turns(flux), ("Archivist", "", "Hm.")])
    path = f"/groups/{group.pk}/members/"
    page = soup(alice_client.get(path))
    rows = [words(row.select_one(".who-text")) for row in page.select(".who-list li")]
    assert rows == ["Flux seat, 2 messages", "Orla seat, 0 messages", "Archivist 1 message"]
    alice_client.post(f"{path}add/", {"character": str(guest.pk)})
    assert "Guest is a member now." in words(toast(alice_client))
    page = soup(alice_client.get(path))
    assert "Guest added by you" in [words(row.select_one(".who-text")) for row in page.select(".who-list li")]
    alice_client.post(f"{path}choose/", {"speaker": "added:Guest.png", "who": "itself"})
    assert names(alice, group) == ["Flux", "Orla"]
    assert "is taken back" in words(toast(alice_client))


def test_others_see_and_change_nothing(
    alice: User, group: Group, flux: Character, bob_client: Client, charlie_client: Client
) -> None:
    for client in (bob_client, charlie_client):
        assert client.get(f"/groups/{group.pk}/members/").status_code == 404
        for name in ("members/choose/", "members/add/"):
            form = {"speaker": flux.avatar, "who": "left_out", "character": str(flux.pk)}
            assert client.post(f"/groups/{group.pk}/{name}", form).status_code == 404
    assert MemberChoice.objects.for_user(alice).count() == 0


def test_a_strangers_card_cannot_be_chosen(bob: User, bob_client: Client, flux: Character) -> None:
    his = make_group(make_tavern(bob), make_character(make_tavern(bob), "His"))
    make_chat(his, 2)
    answer = bob_client.post(f"/groups/{his.pk}/members/choose/", {"speaker": "His.png", "who": str(flux.pk)})
    assert answer.status_code == 404
