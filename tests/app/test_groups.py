"""The list of groups and the pages of a group: what each member remembers, what waits, what runs, what is cleared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from accounts.ownership import unscoped
from jobs.batch import settle
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import group_clearing, memory_file
from memories.automatic_state import AutoState
from memories.chosen import choices_for, own_values
from memories.group_list import group_tiles
from memories.group_members import set_member
from memories.group_page import GroupFrame
from memories.group_table import presence
from memories.members import roster
from memories.models import MemberChoice, Memory, MemoryBlock, TrashItem
from memories.unread import unread_by_member
from providers.models import Call
from sync.models import Character, Chat, Group
from tests.support.builders import (
    make_attachment,
    make_character,
    make_chat,
    make_connection,
    make_group,
    make_job,
    make_memory_file,
    make_tavern,
)
from tests.support.fake_model import FakeModel
from tests.support.grouping import press_undo, say_in, turns
from tests.support.pages import soup, toast, words

GOOD = "<memory>\n- [Flux, Wren — a talk]\n- Flux told Wren about the harbour.\n</memory>"

TABS = ("", "live/", "memories/", "chats/", "health/", "settings/", "consolidate/", "reset/", "clear/")


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture
def three(alice: User) -> list[Character]:
    tavern = make_tavern(alice)
    return [make_character(tavern, name) for name in ("Flux", "Orla", "Ilse")]


@pytest.fixture
def group(three: list[Character]) -> Group:
    return make_group(three[0].tavern, *three)


@pytest.fixture
def chat(group: Group, three: list[Character]) -> Chat:
    return say_in(group, turns(*three, times=5), name="By the fire")


def remembered(character: Character, chat: Chat, here: int = 2, elsewhere: int = 1) -> None:
    """Blocks from a group's chat and from elsewhere in a member's file."""
    owner, name = character.tavern.owner, character.name
    with memory_file.change(memory_file.file_for(character), reason="written", author=owner) as editor:
        editor.add_block("Alone", [f"{name} likes tea {n}." for n in range(elsewhere)], origin="written")
        editor.add_block(chat.name, [f"{name} heard a story {n}." for n in range(here)], origin="written", chat=chat)


def texts(character: Character) -> list[str]:
    with unscoped("a test looks"):
        return sorted(Memory.objects.filter(block__file__character=character).values_list("text", flat=True))


# the list


def test_the_list_shows_members_memories_and_what_waits(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    remembered(three[0], chat)
    remembered(three[1], chat, here=3)
    page = soup(alice_client.get("/groups/"))
    tile = page.select_one(".group-tile")
    said = words(tile)
    assert "The wardens" in said and "3 members · 5 memories · 1 chat" in said
    assert "20 unread" in said, "every member still has to read twenty messages"
    assert len(page.select(".group-tile .faces img")) == 3


def test_a_group_that_is_gone_is_not_listed(group: Group, chat: Chat, alice_client: Client) -> None:
    Group.objects.for_user(group.tavern.owner).update(gone_at=timezone.now())
    assert "No groups yet" in words(soup(alice_client.get("/groups/")))


def test_without_sillytavern_the_list_leads_to_the_first_steps(bob_client: Client) -> None:
    assert soup(bob_client.get("/groups/")).select_one('.empty a[href="/wizard/"]')


def test_memories_of_others_and_from_elsewhere_are_not_counted(
    alice: User, group: Group, chat: Chat, three: list[Character]
) -> None:
    stranger = make_character(three[0].tavern, "Stranger")
    remembered(stranger, chat, here=9)
    remembered(three[0], chat, here=1, elsewhere=7)
    (tile,) = group_tiles(alice)
    assert tile.memories == 1


def test_ten_groups_cost_no_more_queries_than_one(
    alice: User, group: Group, chat: Chat, three: list[Character]
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as seen:
            group_tiles(alice)
        return len(seen)

    few = asked()
    for n in range(9):
        say_in(make_group(three[0].tavern, *three, name=f"Group {n}"), turns(*three))
    assert asked() <= few + 1


def test_ten_members_cost_no_more_queries_than_three(
    group: Group, chat: Chat, three: list[Character], alice_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the group as such asks; why it is read by itself is asked for each member."""
    quiet = AutoState("below", "14 of 20 messages", 14, 20, None, chat, is_on=True)
    monkeypatch.setattr("memories.group_page.state_of", lambda user, whose: quiet)
    big = make_group(three[0].tavern, *(make_character(three[0].tavern, f"Guest {n}") for n in range(10)), name="Big")
    for n in range(5):
        say_in(big, turns(*three), name=f"Night {n}")

    def asked(path: str) -> int:
        alice_client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert alice_client.get(path).status_code == 200
        return len(seen)

    for tab in (*TABS, "live/?tab=members", "members/"):
        if tab != "reset/":
            assert asked(f"/groups/{big.pk}/{tab}") <= asked(f"/groups/{group.pk}/{tab}") + 2, tab


# the page


def test_the_table_says_what_each_member_remembers(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    remembered(three[0], chat, here=2, elsewhere=1)
    group.members.filter(avatar="Orla.png").update(is_disabled=True)
    page = soup(alice_client.get(f"/groups/{group.pk}/"))
    rows = [words(row) for row in page.select("table.members tbody tr")]
    assert [row.split()[0] for row in rows] == ["Flux", "Orla", "Ilse"]
    assert "Flux-memories.md 100 % 5 2 memories of 3 20 unread" in rows[0]
    assert "Muted in SillyTavern, still remembers" in rows[1]
    lede = words(page.select_one(".lede"))
    assert lede == "3 members remember 2 things from 20 messages ."


def test_the_bar_says_what_is_counted_hidden_and_how_the_files_do(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    make_connection(alice)
    chat.messages.filter(index__lt=3).update(is_hidden=True)
    file = make_memory_file(three[0])
    file.attachment = make_attachment(three[0], is_registered=False)
    file.save()
    for address in (f"/groups/{group.pk}/", f"/groups/{group.pk}/live/"):
        bar = words(soup(alice_client.get(address)).select_one(".group-auto"))
        assert "3 hidden" in bar and "not registered" in bar and "20" in bar, "live, too"


def test_presence_is_the_share_of_stretches_in_which_somebody_spoke(
    alice: User, group: Group, three: list[Character]
) -> None:
    flux, orla, _ilse = three
    say_in(group, [*turns(flux, times=20), *turns(flux, orla, times=1), *turns(flux, times=8)])
    assert presence(alice, group, roster(alice, group)) == {flux.pk: 100, orla.pk: 33}


def test_when_all_cards_are_gone_the_page_says_so(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    make_connection(alice)
    Character.objects.for_user(alice).update(gone_at=timezone.now())
    for tab in (
        "",
        "memories/",
        "chats/",
        "health/",
        "settings/",
        "members/",
        "consolidate/",
        "reset/",
        "clear/",
        "live/",
    ):
        assert alice_client.get(f"/groups/{group.pk}/{tab}").status_code == 200
    page = words(soup(alice_client.get(f"/groups/{group.pk}/")))
    assert "Nobody here has a card any more" in page and "Memories made before are kept" in page
    assert "3 names have no card" in page
    alice_client.post(f"/groups/{group.pk}/extract/")
    assert "nobody to remember" in words(toast(alice_client))


def test_an_empty_group_and_a_chat_without_messages(alice: User, alice_client: Client) -> None:
    group = make_group(make_tavern(alice), name="Nobody")
    make_chat(group, 0)
    assert "This group is empty" in words(soup(alice_client.get(f"/groups/{group.pk}/")))


def test_memories_stand_in_a_section_for_each_member(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    remembered(three[0], chat)
    page = soup(alice_client.get(f"/groups/{group.pk}/memories/"))
    sections = [words(one) for one in page.select(".group-section")]
    assert len(sections) == 3
    assert "Flux heard a story 0." in sections[0] and "likes tea" not in sections[0]
    assert "nothing from this group yet" in sections[1] and "20 messages wait to be read" in sections[1]


def test_chats_stand_with_their_branches_and_who_is_behind(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    make_chat(group, 4, name="Another end", parent=chat, parent_name=chat.name, fork_index=1)
    page = soup(alice_client.get(f"/groups/{group.pk}/chats/"))
    rows = [words(row) for row in page.select("table tbody tr")]
    assert rows[0].startswith("By the fire Flux: 20, Orla: 20, Ilse: 20") and "20 unread" in rows[0]
    assert "leaves By the fire at #1" in rows[1]


def test_health_names_the_first_thing_that_is_missing(
    alice: User, group: Group, three: list[Character], alice_client: Client
) -> None:
    file = make_memory_file(three[0])
    file.attachment = make_attachment(three[0], is_registered=False)
    file.save()
    rows = [words(row) for row in soup(alice_client.get(f"/groups/{group.pk}/health/")).select(".group-health li")]
    assert "not registered" in rows[0] and "SillyTavern looks into files" in rows[0]
    assert "nothing yet" in rows[1]


def test_how_members_are_asked_is_kept_for_this_group_only(
    alice: User, group: Group, chat: Chat, alice_client: Client
) -> None:
    alice_client.post(f"/groups/{group.pk}/asking/", {"group_calls": "together", "asks_present_only": "on"})
    assert choices_for(alice, group).group_calls == "together" and choices_for(alice).group_calls == "each"
    assert own_values(alice, group) == {"group_calls": "together"}
    alice_client.post(f"/groups/{group.pk}/asking/", {"group_calls": "each", "asks_present_only": "on"})
    assert own_values(alice, group) == {}
    alice_client.post(f"/groups/{group.pk}/asking/", {"group_calls": "shouting"})
    assert "Choose how the members are asked" in words(toast(alice_client))


# reading


def test_extract_reads_for_each_member_and_the_page_says_who(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client, fake: FakeModel
) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    fake.answer_with(GOOD)
    alice_client.post(f"/groups/{group.pk}/extract/")
    frame = GroupFrame(alice, group)
    assert frame.running is not None and frame.now == "Flux (1 of 3)"
    live = soup(alice_client.get(f"/groups/{group.pk}/live/?tab=members"))
    assert "Flux (1 of 3)" in words(live.select_one("#group-live"))
    assert "waits for its turn" in words(live.select_one("#members"))
    run_until_idle(alice)
    assert unread_by_member(alice, group) == {} or not any(
        one.messages for one in unread_by_member(alice, group).values()
    )
    rows = soup(alice_client.get(f"/groups/{group.pk}/")).select("table.members tbody tr")
    assert all("up to date" in words(row) for row in rows)


def failed_for(alice: User, group: Group, member: Character) -> Job:
    parent = make_job(alice, "batch", subject=f"group:{group.pk}", is_batch=True, state=Job.State.RUNNING)
    for other in roster(alice, group).characters:
        state = Job.State.FAILED if other == member else Job.State.DONE
        error = "The model did not answer." if other == member else ""
        make_job(
            alice, subject=f"character:{other.pk}", parent=parent, state=state, error=error, finished_at=timezone.now()
        )
    settle(parent.pk)
    return parent


def test_a_member_that_failed_is_named_and_goes_on_alone(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    make_connection(alice)
    parent = failed_for(alice, group, three[1])
    page = soup(alice_client.get(f"/groups/{group.pk}/"))
    rows = [words(row) for row in page.select("table.members tbody tr")]
    assert "failed at #0" in rows[1] and "failed" not in rows[0] + rows[2]
    assert "Orla : The model did not answer." in words(page.select_one(".panel-foot"))
    alice_client.post(f"/groups/{group.pk}/extract/", {"member": str(three[1].pk)})
    states = {job.subject: job.state for job in parent.children.all()}
    assert states == {
        f"character:{three[0].pk}": "done",
        f"character:{three[1].pk}": "queued",
        f"character:{three[2].pk}": "done",
    }


def test_a_failed_reading_of_all_together_is_said_once(
    alice: User, group: Group, chat: Chat, alice_client: Client
) -> None:
    fields = {"state": Job.State.FAILED, "error": "The model refused.", "finished_at": timezone.now()}
    make_job(alice, "extract_together", subject=f"group:{group.pk}", **fields)
    page = soup(alice_client.get(f"/groups/{group.pk}/"))
    assert words(page.select_one("#members")).count("The model refused.") == 1
    assert page.select_one('#members a[href^="/jobs/"]')


def test_one_member_alone(alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client) -> None:
    make_connection(alice)
    alice_client.post(f"/groups/{group.pk}/extract/", {"member": str(three[2].pk)})
    jobs = Job.objects.for_user(alice).filter(kind="extract")
    assert [job.subject for job in jobs] == [f"character:{three[2].pk}"]


def test_reading_again_says_the_price_and_touches_no_other_chat(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client, fake: FakeModel
) -> None:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small", price_in="1", price_out="1")
    fake.answer_with(GOOD)
    own = make_chat(three[0], 4, name="Alone")
    alice_client.post(f"/groups/{group.pk}/extract/")
    alice_client.post(f"/characters/{three[0].pk}/extract/")
    run_until_idle(alice)
    paid = Call.objects.for_user(alice).count()
    page = soup(alice_client.get(f"/groups/{group.pk}/reset/"))
    assert "20 messages would be read again" in words(page) and page.select_one("button .price")
    assert [words(one.select_one(".strong")) for one in page.select(".tick")] == ["Flux", "Orla", "Ilse"]
    alice_client.post(f"/groups/{group.pk}/reset/", {"member": [str(three[0].pk)]})
    assert "20 messages are to be read again." in words(toast(alice_client))
    unread = unread_by_member(alice, group)
    assert {pk: one.messages for pk, one in unread.items() if one.messages} == {three[0].pk: 20}
    assert own.watermarks.get(character=three[0]).waiting == 0
    assert Call.objects.for_user(alice).count() == paid


# pin, consolidate, clear


def test_pin_and_consolidate_ask_for_the_member(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    remembered(three[0], chat)
    page = soup(alice_client.get(f"/pin/?group={group.pk}"))
    near = page.select_one(".pin-who > .pin-list")
    assert [words(one) for one in near.select(".tick")] == ["Flux", "Orla", "Ilse"]  # type: ignore[union-attr]
    assert not page.select(".pin-who input[checked]")
    page = soup(alice_client.get(f"/groups/{group.pk}/consolidate/"))
    links = {a["href"] for a in page.select("main section a")}
    assert links == {f"/characters/{three[0].pk}/consolidate/"}


def test_clear_names_everybody_and_takes_only_what_came_from_here(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    for one in three:
        remembered(one, chat)
    MemoryBlock.objects.for_user(alice).filter(chat=chat, file__character=three[0]).update(is_locked=True)
    page = soup(alice_client.get(f"/groups/{group.pk}/clear/"))
    said = words(page.select_one("main"))
    assert "3 members remember 6 things from this group’s chats, 9 in all" in said
    assert "2 from this group, 3 in all, of these 2 and 2 locked" in said
    members = [str(three[0].pk), str(three[1].pk)]
    alice_client.post(f"/groups/{group.pk}/clear/", {"member": members, "what": "here"})
    assert texts(three[0]) == ["Flux likes tea 0."] and texts(three[1]) == ["Orla likes tea 0."]
    assert len(texts(three[2])) == 3
    assert TrashItem.objects.for_user(alice).count() == 2
    press_undo(alice_client)
    assert [len(texts(one)) for one in three] == [3, 3, 3]


def test_clear_everything_takes_all_and_one_undo_brings_all_back(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    for one in three:
        remembered(one, chat)
    bystander = make_character(three[0].tavern, "Bystander")
    remembered(bystander, chat)
    form = {"member": [str(one.pk) for one in (*three, bystander)], "what": "everything"}
    alice_client.post(f"/groups/{group.pk}/clear/", form)
    assert [len(texts(one)) for one in (*three, bystander)] == [0, 0, 0, 3], "only members lose anything"
    press_undo(alice_client)
    assert [len(texts(one)) for one in three] == [3, 3, 3]
    alice_client.post(f"/groups/{group.pk}/clear/", {"what": "everything"})
    assert "Choose at least one member" in words(toast(alice_client))


def test_an_undo_leaves_alone_what_was_changed_since(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    for one in three:
        remembered(one, chat)
    done = group_clearing.clear(alice, group, three)
    assert done.memories == 6
    alice_client.post(f"/groups/{group.pk}/undo/?batch={group.pk}")
    assert "nothing to take back" in words(toast(alice_client))
    assert [len(texts(one)) for one in three] == [1, 1, 1]


def test_who_was_left_out_keeps_their_memories(
    alice: User, group: Group, chat: Chat, three: list[Character], alice_client: Client
) -> None:
    for one in three:
        remembered(one, chat)
    set_member(alice, group, three[2].avatar, MemberChoice.Kind.LEFT_OUT)
    form = {"member": [str(one.pk) for one in three], "what": "everything"}
    alice_client.post(f"/groups/{group.pk}/clear/", form)
    assert len(texts(three[2])) == 3
    rows = [words(row) for row in soup(alice_client.get(f"/groups/{group.pk}/")).select("table.members tbody tr")]
    assert "Left out by you" in rows[-1] and "not asked" in rows[-1]


def test_nobody_else_has_the_pages(
    group: Group, chat: Chat, three: list[Character], bob_client: Client, charlie_client: Client
) -> None:
    remembered(three[0], chat)
    for client in (bob_client, charlie_client):
        assert "The wardens" not in words(soup(client.get("/groups/")))
        for tab in TABS:
            assert client.get(f"/groups/{group.pk}/{tab}").status_code == 404
        for verb in ("extract/", "asking/", "reset/", "clear/", "undo/"):
            form = {"member": [str(three[0].pk)], "what": "everything", "group_calls": "together"}
            assert client.post(f"/groups/{group.pk}/{verb}", form).status_code == 404
        assert client.get(f"/pin/?group={group.pk}").status_code == 404
    assert len(texts(three[0])) == 3
