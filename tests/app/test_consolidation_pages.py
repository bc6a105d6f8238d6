"""The pages of a consolidation: choose, run, review with what is missing on top, put back, apply, undo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from jobs import registry
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import consolidation, drafts
from memories.memory_file import change, file_for, render
from memories.models import Draft, MemoryBlock, MemoryFile, Proposal
from tests.support.builders import make_block, make_chat, make_connection
from tests.support.consolidating import Merger, fill
from tests.support.pages import soup, toast, words
from tests.support.story import make_character


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture
def file(alice: User, fake: Merger) -> MemoryFile:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small", price_in=2, price_out=8)
    return file_for(make_character(alice))


def url(file: MemoryFile, rest: str = "") -> str:
    return f"/characters/{file.character_id}/consolidate/{rest}"


def form(file: MemoryFile, **more: Any) -> dict[str, Any]:
    file.refresh_from_db()
    return {
        "version": file.version,
        "which": "fresh",
        "strategy": "consolidation_balanced",
        "block": [str(block.pk) for block in file.blocks.all()],
        **more,
    }


def started(client: Client, file: MemoryFile, **more: Any) -> Proposal:
    response = client.post(url(file), form(file, **more))
    assert response.status_code == 302, response.content[-2000:]
    run_until_idle(file.owner)
    return Proposal.objects.for_user(file.owner).get(pk=response.url.strip("/").split("/")[-1])


def seen(client: Client, proposal: Proposal, rest: str = "") -> Any:
    return soup(client.get(f"/proposals/{proposal.pk}/{rest}"))


def test_fresh_blocks_are_ticked_and_the_rest_is_named(alice_client: Client, file: MemoryFile) -> None:
    fill(file, 3)
    make_block(file, "Locked", ["Wren has a locked door."], order=7, is_locked=True)
    make_block(file, "Theme", ["Wren is done with boats."], order=8, origin=MemoryBlock.Origin.CONSOLIDATED)
    shown = soup(alice_client.get(url(file)))
    ticks = shown.select('input[name="block"]')
    assert len(ticks) == 3 and all(tick.has_attr("checked") for tick in ticks)
    price = words(shown.select_one("#price"))
    assert "6 memories in 3 blocks" in price and "1 call" in price and "¢" in price
    assert "1 locked block, 1 earlier result" in price
    both = soup(alice_client.get(url(file), {"which": "all"}))
    assert len(both.select('input[name="block"]')) == 4


def test_the_price_follows_the_choice(alice_client: Client, file: MemoryFile) -> None:
    fill(file, 4)
    one = [str(file.blocks.all()[0].pk)]
    shown = soup(alice_client.post(url(file, "price/"), form(file, block=one), headers={"HX-Request": "true"}))
    assert "2 memories in 1 block" in words(shown)
    nothing = soup(alice_client.post(url(file, "price/"), form(file, block=[]), headers={"HX-Request": "true"}))
    assert nothing.select_one("button").has_attr("disabled")


def test_blocks_of_another_program_that_may_be_results_are_named(alice_client: Client, file: MemoryFile) -> None:
    make_block(file, "Flux - 2026-02-15@10h00m00s", ["Wren has a boat."], origin=MemoryBlock.Origin.IMPORTED)
    make_block(file, "The boats", ["Wren sold a boat."], order=1, origin=MemoryBlock.Origin.IMPORTED)
    assert "1 chosen block may be an earlier result" in words(soup(alice_client.get(url(file))).select_one("#price"))


def test_blocks_beyond_the_list_are_taken_along(
    alice_client: Client, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.consolidation_choice.SHOWN", 2)
    fill(file, 5)
    shown = soup(alice_client.get(url(file)))
    assert len(shown.select('input[name="block"]')) == 2
    assert "3 more blocks match and are taken along" in words(shown)
    listed = [tick["value"] for tick in shown.select('input[name="block"]')]
    proposal = started(alice_client, file, block=listed[:1])
    assert len(proposal.params["blocks"]) == 4 and listed[1] not in proposal.params["blocks"]


def test_groups_that_belong_together_can_be_chosen(alice_client: Client, file: MemoryFile) -> None:
    make_block(file, "A", ["The brass lantern burns whale oil in the drowned library."], order=1)
    make_block(file, "B", ["Wren carried the brass lantern through the drowned library."], order=2)
    make_block(file, "C", ["Pim bought apples at the harvest fair."], order=3)
    found = soup(alice_client.get(url(file, "groups/"), headers={"HX-Request": "true"}))
    link = found.select_one("a.group-pick")
    assert "2 blocks, 2 memories" in words(link)
    assert len(soup(alice_client.get(link["href"])).select('input[name="block"]')) == 2


def test_a_choice_that_is_out_of_date_starts_nothing(alice_client: Client, file: MemoryFile) -> None:
    fill(file, 2)
    old = form(file)
    with change(file, reason="from elsewhere") as editor:
        editor.add_block("New", ["Wren found a third key."], origin="extracted")
    shown = soup(alice_client.post(url(file), old), 422)
    assert "changed meanwhile" in words(shown.select_one("#toasts"))
    assert not Proposal.objects.for_user(file.owner).exists()


def test_without_a_model_the_page_says_so(alice_client: Client, alice: User) -> None:
    file = file_for(make_character(alice))
    fill(file, 2)
    shown = soup(alice_client.get(url(file)))
    assert "No model is connected yet" in words(shown)
    assert shown.select_one("#price button").has_attr("disabled")


def test_review_put_back_apply_and_undo(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 6)
    with change(file, reason="a first revision") as editor:
        editor.add_block("Kept", ["Wren owes nothing."], origin="written", is_locked=True)
    before = render(file)
    lost = [memories[2].text, memories[9].text]
    fake.lose = set(lost)
    proposal = started(alice_client, file)
    review = seen(alice_client, proposal)
    assert words(review.h1) == "12 memories became 6"
    box = review.select_one("#lost")
    assert "2 old memories are not accounted for" in words(box)
    assert [words(one.select_one(".memory-text")) for one in box.select(".lost")] == lost
    assert "lose 2" in words(review.select_one(".selection-bar"))
    first = review.select_one(".review-row")
    assert first.select(".old li") and first.select(".card .bullet")
    targets = {one["href"] for one in review.select("a.to")}
    assert targets <= {f"#{one['id']}" for one in review.select(".bullet[id]")} and targets

    source = box.select_one('button[name="source"]')["value"]
    alice_client.post(f"/proposals/{proposal.pk}/keep/", {"source": source})
    assert "1 old memory is not accounted for" in words(seen(alice_client, proposal).select_one("#lost"))
    alice_client.post(f"/proposals/{proposal.pk}/keep/", {"all": "yes"})
    review = seen(alice_client, proposal)
    assert review.select_one("#lost") is None and "lose" not in words(review.select_one(".selection-bar"))

    answer = alice_client.post(f"/proposals/{proposal.pk}/apply/")
    assert answer.url == f"/characters/{file.character_id}/"
    shown = toast(alice_client)
    assert "Applied as revision" in words(shown)
    assert all(text in render(file) for text in [*lost, "Wren owes nothing."])
    assert "This result was applied" in words(seen(alice_client, proposal))
    alice_client.post(shown.select_one("form")["action"])
    assert render(file) == before


def test_what_is_let_go_stands_among_what_was_left_out(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    fake.lose, fake.drop = {memories[0].text}, {memories[3].text: "a passing mood"}
    proposal = started(alice_client, file)
    ids = [one["value"] for one in seen(alice_client, proposal).select('#lost button[name="source"]')]
    alice_client.post(f"/proposals/{proposal.pk}/let-go/", {"source": ids[0]})
    review = seen(alice_client, proposal)
    assert review.select_one("#lost") is None
    left = words(review.select_one("#left-out"))
    assert "you let it go" in left and "a passing mood" in left and "2 left out on purpose" in left
    alice_client.post(f"/proposals/{proposal.pk}/keep/", {"source": [*ids[:1]]})
    assert "1 left out on purpose" in words(seen(alice_client, proposal).select_one("#left-out"))


def test_taking_out_a_new_memory_by_hand_shows_what_it_held(
    alice_client: Client, file: MemoryFile, fake: Merger
) -> None:
    fill(file, 2)
    proposal = started(alice_client, file)
    new = next(iter(proposal.report["new"]))
    held = proposal.report["new"][new]["from"]
    draft = Draft.objects.for_user(file.owner).get(pk=proposal.draft_id)
    with drafts.step(draft, "taken out") as editor:
        editor.delete_memories([new])
    shown = seen(alice_client, proposal)
    assert "1 change of yours" in words(shown.select_one("#edit-bar"))
    box = words(shown.select_one("#lost"))
    assert f"{len(held)} old memories are not accounted for" in box and "you took out what held it" in box


def test_what_is_merged_on_by_hand_counts_as_held_on_the_page_and_when_it_is_applied(
    alice_client: Client, file: MemoryFile, fake: Merger
) -> None:
    fill(file, 2)
    proposal = started(alice_client, file)
    draft = Draft.objects.for_user(file.owner).get(pk=proposal.draft_id)
    with drafts.step(draft, "merged") as editor:
        editor.merge_memories(list(proposal.report["new"])[:2], "Wren hid everything.")
    review = seen(alice_client, proposal)
    assert review.select_one("#lost") is None and "lose" not in words(review.select_one(".selection-bar"))
    alice_client.post(f"/proposals/{proposal.pk}/apply/")
    assert "Wren hid everything." in render(file)


def test_undo_takes_back_what_the_person_did_and_never_the_result_itself(
    alice_client: Client, file: MemoryFile, fake: Merger
) -> None:
    fill(file, 2)
    proposal = started(alice_client, file)
    draft = Draft.objects.for_user(file.owner).get(pk=proposal.draft_id)
    with drafts.step(draft, "taken out") as editor:
        editor.delete_memories([next(iter(proposal.report["new"]))])
    for _time in range(3):
        alice_client.post(f"/drafts/{draft.pk}/undo/")
    draft.refresh_from_db()
    assert draft.pointer == 1
    assert words(seen(alice_client, proposal).h1) == "4 memories became 2"


def test_nothing_is_lost_by_an_apply_that_did_not_say_so(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    fake.lose = {memories[4].text}
    proposal = started(alice_client, file)
    before = render(file)
    alice_client.post(f"/proposals/{proposal.pk}/apply/")
    assert "1 memory is not accounted for" in words(toast(alice_client)) and render(file) == before
    alice_client.post(f"/proposals/{proposal.pk}/apply/", {"lose": "yes"})
    assert memories[4].text not in render(file)


def test_run_again_step_back_and_compare(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    first = started(alice_client, file)
    fake.merges, fake.lose = False, {memories[5].text}
    answer = alice_client.post(f"/proposals/{first.pk}/again/", {"strategy": "consolidation_conservative"})
    run_until_idle(file.owner)
    second = Proposal.objects.for_user(file.owner).get(pk=answer.url.strip("/").split("/")[-1])
    assert second.previous_id == first.pk
    review = seen(alice_client, second)
    assert review.select_one(f'a[href="/proposals/{first.pk}/"]')
    assert words(seen(alice_client, first).h1) == "6 memories became 3"
    both = seen(alice_client, first, f"compare/{second.pk}/")
    sides = both.select(".compare > section")
    assert "6 became 3" in words(sides[0]) and "Balanced" in words(sides[0])
    assert "6 became 5" in words(sides[1]) and "Not accounted for 1" in words(sides[1])
    assert memories[5].text in words(both.select_one(".sheet")) and "not accounted for" in words(both)


def test_a_large_review_comes_in_pages_of_few_rows(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    fill(file, 350)
    proposal = started(alice_client, file)
    page = seen(alice_client, proposal)
    old, new = 0, 0
    for _page in range(20):
        rows = len(page.select(".review .old li")), len(page.select("li[data-memory]"))
        assert 0 < sum(rows) <= 400
        old, new = old + rows[0], new + rows[1]
        following = page.select_one("nav.pager a[rel=next]")
        if following is None:
            break
        page = seen(alice_client, proposal, following["href"])
    assert (old, new) == (700, 350)


def test_two_models_stand_side_by_side_with_their_price(
    alice: User, alice_client: Client, file: MemoryFile, fake: Merger
) -> None:
    dear = make_connection(
        alice,
        name="Dear",
        preset="local",
        base_url=fake.base_url,
        model="fake-large",
        is_default=False,
        price_in=20_000,
        price_out=80_000,
    )
    fill(file, 3)
    first = started(alice_client, file)
    again = soup(alice_client.get(f"/proposals/{first.pk}/again/"))
    assert len(again.select("select[name=connection] option")) == 2
    sent = {"strategy": "consolidation_balanced", "connection": str(dear.pk)}
    answer = alice_client.post(f"/proposals/{first.pk}/again/", sent)
    run_until_idle(alice)
    second = Proposal.objects.for_user(alice).get(pk=answer.url.strip("/").split("/")[-1])
    sides = seen(alice_client, first, f"compare/{second.pk}/").select(".compare > section")
    assert ["fake-small" in words(sides[0]), "fake-large" in words(sides[1])] == [True, True]
    assert words(sides[0]).partition("Cost")[2] != words(sides[1]).partition("Cost")[2]
    assert "$" in words(sides[1]).partition("Cost")[2] and "¢" in words(sides[0]).partition("Cost")[2]


def test_a_choice_is_narrowed_to_a_chat_and_to_days_of_the_story(alice_client: Client, file: MemoryFile) -> None:
    chat = make_chat(file.character, 2, name="By the fire")
    make_block(file, "Fire", ["Wren burned a letter."], date="2026-03-01 18:00 to 2026-03-04 18:00", chat=chat)
    make_block(file, "Sea", ["Wren swam alone."], date="2026-03-05 18:00", order=1)

    def titles(**query: str) -> list[str]:
        page = soup(alice_client.get(url(file), query))
        return [words(one) for one in page.select(".block-choice .strong")]

    assert titles() == ["Sea", "Fire"]
    assert titles(chat=str(chat.pk)) == ["Fire"]
    assert titles(since="2026-03-03") == ["Sea", "Fire"], "a block that spans days counts with each of them"
    assert titles(since="2026-03-05") == ["Sea"]
    assert titles(until="2026-03-01") == ["Fire"]


@pytest.mark.django_db(transaction=True)
def test_no_clock_starts_a_consolidation(alice: User, file: MemoryFile) -> None:
    fill(file, 60)
    for periodic in registry.periodics.values():
        periodic.call()
    run_until_idle(alice)
    assert not Proposal.objects.for_user(alice).exists()
    assert not Job.objects.for_user(alice).filter(kind=consolidation.job_kind().kind).exists()


def test_a_run_shows_its_progress_and_can_be_stopped_and_gone_on_with(
    alice_client: Client, file: MemoryFile, fake: Merger
) -> None:
    fill(file, 2)
    answer = alice_client.post(url(file), form(file))
    proposal = Proposal.objects.for_user(file.owner).get()
    running = soup(alice_client.get(answer.url))
    assert "You can leave this page" in words(running)
    assert running.select_one("#progress[hx-get]")
    alice_client.post(f"/proposals/{proposal.pk}/stop/")
    stopped = seen(alice_client, proposal)
    assert words(stopped.h1) == "The run was stopped"
    live = alice_client.get(f"/proposals/{proposal.pk}/live/")
    assert live.status_code == 204 and live["HX-Refresh"] == "true"
    alice_client.post(f"/proposals/{proposal.pk}/go-on/")
    run_until_idle(file.owner)
    assert words(seen(alice_client, proposal).h1) == "4 memories became 2"


def test_a_run_that_failed_says_why_and_that_nothing_changed(
    alice_client: Client, file: MemoryFile, fake: Merger
) -> None:
    fill(file, 2)
    before = render(file)
    fake.respond(401, {"error": {"message": "bad key"}})
    proposal = started(alice_client, file)
    shown = words(seen(alice_client, proposal))
    assert "The run broke off" in shown and "Nothing was changed" in shown
    assert render(file) == before


def test_discarded_results_change_nothing(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    fill(file, 2)
    before = render(file)
    proposal = started(alice_client, file)
    alice_client.post(f"/proposals/{proposal.pk}/discard/")
    assert render(file) == before
    assert "discarded" in words(seen(alice_client, proposal)).lower()


def test_a_discarded_result_comes_back_as_it_was_edited(alice_client: Client, file: MemoryFile, fake: Merger) -> None:
    fill(file, 2)
    proposal = started(alice_client, file)
    row = seen(alice_client, proposal).select_one("li.bullet[data-memory]")
    with drafts.step(proposal.draft, "Wording") as editor:
        editor.set_text(row["data-memory"], "Said in words of her own.")
    page = soup(alice_client.post(f"/proposals/{proposal.pk}/discard/", follow=True))
    undo = page.select_one("#toasts form")["action"]
    alice_client.post(undo)
    proposal.refresh_from_db()
    assert proposal.state == "ready"
    assert "Said in words of her own." in words(seen(alice_client, proposal))
    assert "no discarded result" in words(soup(alice_client.post(undo, follow=True)).select_one("#toasts"))
