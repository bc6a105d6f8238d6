"""What goes wrong during a consolidation costs its own part and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest

from jobs.enqueue import request_cancel
from jobs.models import Job
from memories import consolidation, consolidation_run, drafts, proposals
from memories.consolidation_parts import Tree
from memories.file_editor import NewMemory
from memories.memory_file import change
from memories.models import MemoryFile, Proposal
from providers.models import Call, Connection
from tests.app.test_consolidation import (
    by_fate,
    consolidate,
    draft_of,
    facts,
    fake,
    file,
    fresh,
    ids_of,
    log_of,
    patient,
    small_window,
    work,
)
from tests.support.consolidating import Merger, fill, listed

__all__ = ["fake", "file", "patient"]


def asked(fake: Merger) -> Counter[tuple[str, ...]]:
    """How often each set of memories was asked about."""
    return Counter(tuple(text for _ref, text in listed(prompt)) for prompt in fake.prompts())


def states(proposal: Proposal) -> dict[str, str]:
    return {f"{part.level}/{part.number}": part.state for part in proposal.parts.all()}


def test_a_cut_answer_is_never_used_and_its_piece_is_halved(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 6)
    fake.on(1, "cut")
    proposal = consolidate(file)
    assert {name: state for name, state in states(proposal).items() if name[0] == "0"} == {
        "0/0001": "split",
        "0/0001.1": "done",
        "0/0001.2": "done",
    }
    halves = [listed(prompt) for prompt in fake.prompts()[1:3]]
    assert [text for half in halves for _ref, text in half] == [memory.text for memory in memories]
    assert consolidation.undecided(proposal) == []
    assert "cut off" in log_of(proposal)
    assert proposal.report["calls"] == 4


def test_an_answer_that_stops_without_saying_so_counts_as_cut(file: MemoryFile, fake: Merger) -> None:
    fill(file, 4)
    fake.on(1, '<memory chat="x">\n- Wren hid the')
    proposal = consolidate(file)
    assert states(proposal)["0/0001"] == "split"
    assert consolidation.undecided(proposal) == []


@pytest.mark.parametrize("what", ["prose", "empty", "I'm sorry, I can't help with that."])
def test_an_answer_of_no_use_is_asked_for_once_more(file: MemoryFile, fake: Merger, what: str) -> None:
    fill(file, 3)
    fake.on(1, what)
    proposal = consolidate(file)
    assert proposal.state == Proposal.State.READY
    assert states(proposal) == {"0/0001": "done"}
    assert len(fake.chats) == 2
    for number in range(3, 11 if what == "empty" else 5):  # a server that sends nothing is asked four times each
        fake.on(number, what)
    again = work(consolidation.rerun(file.owner, proposal))
    assert states(again)["0/0001"] == "split"
    assert consolidation.undecided(again) == []


def test_a_piece_too_long_for_the_model_is_halved(file: MemoryFile, fake: Merger) -> None:
    fill(file, 6)
    fake.respond(400, {"error": {"message": "This model's maximum context length is 512 tokens."}})
    proposal = consolidate(file)
    assert proposal.state == Proposal.State.READY
    assert states(proposal)["0/0001"] == "split"
    assert consolidation.undecided(proposal) == []


def test_a_piece_that_cannot_be_read_stays_as_it_is_and_the_others_go_on(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 60)
    small_window(file)
    for number in range(2, 10):
        fake.on(number, "error")
    proposal = consolidate(file)
    assert proposal.state == Proposal.State.READY
    assert states(proposal)["0/0002"] == "failed"
    kept = proposal.parts.get(level=0, number="0002").sources
    assert kept
    assert [one for one in kept if proposal.report["sources"][one]["fate"] != "kept"] == []
    assert any(f"{len(kept)} memories could not be read" in text for text in proposal.report["warnings"])
    consolidation.apply(file.owner, proposal)
    here = facts(file)
    assert {memory.text for memory in memories if str(memory.pk) in kept} <= set(here)
    assert len(here) < len(memories)


def test_a_model_that_is_down_fails_the_run_and_resume_goes_on_there(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 60)
    small_window(file)
    for number in range(2, 40):
        fake.on(number, "error")
    proposal = consolidate(file)
    assert proposal.state == Proposal.State.FAILED
    assert proposal.job is not None and "Nothing was changed" in proposal.job.error
    assert proposal.draft is None
    first = listed(fake.prompts()[0])
    fake.plan.clear()
    work(proposals.resume(file.owner, proposal))
    assert proposal.state == Proposal.State.READY
    assert asked(fake)[tuple(text for _ref, text in first)] == 1, "what was answered is not paid for again"
    assert consolidation.undecided(proposal) == []
    assert len(proposal.report["sources"]) == len(memories)


def test_a_model_that_only_talks_ends_with_its_reason(file: MemoryFile, fake: Merger) -> None:
    fill(file, 8)
    fake.answer_with("What lovely memories these are.")
    proposal = consolidate(file)
    assert proposal.state == Proposal.State.FAILED
    assert proposal.job is not None
    assert proposal.job.error.startswith("The model answered, but not with memories.")
    assert len(fake.chats) < 20
    assert {part.state for part in proposal.parts.all()} == {"split", "waiting"}


def test_a_wrong_key_is_said_at_once(file: MemoryFile, fake: Merger) -> None:
    fill(file, 3)
    fake.respond(401, {"error": {"message": "no"}})
    proposal = consolidate(file)
    assert (proposal.state, len(fake.chats)) == (Proposal.State.FAILED, 1)
    assert states(proposal) == {"0/0001": "waiting"}


def test_stopped_in_the_middle_it_keeps_what_is_done_and_goes_on(
    file: MemoryFile, fake: Merger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(file, 60)
    small_window(file)
    real = consolidation_run.ask

    def then_stop(run, *args, **options):  # type: ignore[no-untyped-def]
        read = real(run, *args, **options)
        if len(fake.chats) == 2:
            request_cancel(run.job)
        return read

    monkeypatch.setattr(consolidation_run, "ask", then_stop)
    proposal = consolidate(file)
    assert proposals.settle(proposal).state == Proposal.State.STOPPED
    assert proposal.job is not None and proposal.job.state == Job.State.CANCELLED
    done = proposal.parts.filter(state="done").count()
    assert done == 2
    with pytest.raises(ValueError, match="not waiting"):
        consolidation.apply(file.owner, proposal)
    work(proposals.resume(file.owner, proposal))
    assert proposal.state == Proposal.State.READY
    assert max(asked(fake).values()) == 1
    assert proposal.report["calls"] == len(fake.chats)


def test_a_waiting_run_that_is_stopped_can_go_on(file: MemoryFile, fake: Merger) -> None:
    fill(file, 3)
    proposal = consolidation.start_consolidation(file.owner, file, block_ids=fresh(file))
    proposals.stop(proposal)
    assert proposal.state == Proposal.State.STOPPED
    assert work(proposals.resume(file.owner, proposal)).state == Proposal.State.READY
    with pytest.raises(ValueError, match="has not stopped"):
        proposals.resume(file.owner, proposal)


def test_a_turn_that_is_repeated_pays_nothing_twice(file: MemoryFile, fake: Merger, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """The worker dies after the answer was written and before its job heard of it."""
    fill(file, 60)
    small_window(file)
    real = consolidation_run._keep
    deaths = iter([2])

    def keep_and_die(work, part, *args):  # type: ignore[no-untyped-def]
        real(work, part, *args)
        if part.number == "0002" and next(deaths, None):
            raise consolidation_run.Stopped

    monkeypatch.setattr(consolidation_run, "_keep", keep_and_die)
    proposal = consolidate(file)
    assert proposal.state == Proposal.State.READY
    assert max(asked(fake).values()) == 1


def test_many_parts_are_brought_together_level_by_level(file: MemoryFile, fake: Merger) -> None:
    fill(file, 40, bullets=8)
    small_window(file, 2600)
    proposal = consolidate(file)
    levels = Counter(part.level for part in proposal.parts.all())
    assert len(levels) >= 3
    assert consolidation.undecided(proposal) == []
    tree = Tree.of(proposal)
    assert sorted({root for roots in tree.roots().values() for root in roots}) == sorted(tree.sources)
    before, after = len(tree.sources), len(tree.made(tree.height))
    assert after < before / 2, "the reduce merges further"
    assert proposal.job is not None and proposal.job.step == proposal.job.total


def test_a_model_that_is_disconnected_meanwhile(file: MemoryFile, fake: Merger) -> None:
    fill(file, 3)
    proposal = consolidation.start_consolidation(file.owner, file, block_ids=fresh(file))
    Connection.objects.for_user(file.owner).delete()
    work(proposal)
    assert proposal.state == Proposal.State.FAILED
    assert proposal.job is not None and "no longer connected" in proposal.job.error
    assert not Call.objects.for_user(file.owner).exists()


def test_a_memory_merged_further_by_hand_stays_accounted_for(file: MemoryFile, fake: Merger) -> None:
    fill(file, 3)
    proposal = consolidate(file)
    made = list(proposal.report["new"])
    with drafts.step(draft_of(proposal), "merge") as editor:
        editor.merge_memories(made[:2], "Wren hid four things in four places.")
    assert consolidation.undecided(proposal) == []
    with drafts.step(draft_of(proposal), "delete") as editor:
        editor.delete_memories([made[2]])
    gone = [one for one, found in proposal.report["sources"].items() if made[2] in found["into"]]
    assert consolidation.undecided(proposal) == gone
    with pytest.raises(ValueError, match="not accounted for"):
        consolidation.apply(file.owner, proposal)
    consolidation.put_back(proposal, gone)
    consolidation.apply(file.owner, proposal)
    assert len(facts(file)) == 3


def test_the_same_block_changed_meanwhile_is_asked_about(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    proposal = consolidate(file)
    with change(file, reason="Extracted") as editor:
        editor.set_text(memories[0].pk, "Wren hid it better.")
        editor.add_memory(memories[0].block_id, NewMemory("Wren came back for it."))
    with pytest.raises(drafts.MergeNeeded):
        consolidation.apply(file.owner, proposal)
    assert "Wren hid it better." in facts(file)
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.READY
    assert by_fate(proposal, "missing") == []
    assert ids_of(proposal, [memories[0].text]) == [str(memories[0].pk)]
    for block in drafts.merge_of(draft_of(proposal)).blocks:
        drafts.choose(draft_of(proposal), block.id, "theirs")
    consolidation.apply(file.owner, proposal)
    assert {"Wren hid it better.", "Wren came back for it."} <= set(facts(file))
