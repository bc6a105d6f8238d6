"""Consolidation: many memories become fewer, nothing is lost unseen, everything can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import consolidation, drafts, memory_file
from memories.consolidation_parts import fates_of
from memories.memory_file import change, file_for, render
from memories.models import Ancestor, Memory, MemoryBlock, MemoryFile, Proposal
from providers import retry
from providers.models import Connection
from tests.support.builders import make_block, make_connection
from tests.support.consolidating import Merger, fill, heads, listed
from tests.support.story import make_character


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between two tries take no time."""
    monkeypatch.setattr(retry, "wait", lambda seconds, stop: None)


@pytest.fixture
def file(alice: User, fake: Merger) -> MemoryFile:
    make_connection(alice, preset="local", base_url=fake.base_url, model="fake-small")
    return file_for(make_character(alice))


def fresh(file: MemoryFile) -> list[Any]:
    return [block.pk for block in file.blocks.all()]


def consolidate(file: MemoryFile, strategy: str = "consolidation_balanced", **options: Any) -> Proposal:
    proposal = consolidation.start_consolidation(
        file.owner, file, block_ids=options.pop("block_ids", fresh(file)), strategy=strategy, **options
    )
    return work(proposal)


def work(proposal: Proposal) -> Proposal:
    run_until_idle(proposal.owner)
    proposal.refresh_from_db()
    if proposal.job is not None:
        proposal.job.refresh_from_db()
    return proposal


def draft_of(proposal: Proposal) -> drafts.Draft:
    assert proposal.draft is not None
    return proposal.draft


def log_of(proposal: Proposal) -> str:
    assert proposal.job is not None
    return "\n".join(proposal.job.events.values_list("text", flat=True))


def by_fate(proposal: Proposal, fate: str) -> list[str]:
    return [one["text"] for one in fates_of(proposal).values() if one["fate"] == fate]


def ids_of(proposal: Proposal, texts: list[str]) -> list[str]:
    return [one for one, found in fates_of(proposal).items() if found["text"] in texts]


def facts(file: MemoryFile) -> list[str]:
    return [memory.text for memory in memory_file.memories_of(file) if not memory.is_topic]


def small_window(file: MemoryFile, tokens: int = 3000) -> None:
    Connection.objects.for_user(file.owner).update(context_tokens=tokens)


def test_ninety_six_blocks_lose_four_memories_a_cut_and_a_failure(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 96)
    before = render(file)
    small_window(file)
    lost = [memories[n].text for n in (3, 40, 111, 190)]
    fake.lose = set(lost)
    fake.on(2, "cut")
    for number in (4, 5, 6, 7):
        fake.on(number, "error")
    proposal = consolidate(file)

    assert proposal.state == Proposal.State.READY, log_of(proposal)
    assert by_fate(proposal, "missing") == lost
    assert consolidation.undecided(proposal) == ids_of(proposal, lost)
    assert set(proposal.parts.values_list("state", flat=True)) == {"done", "split"}
    assert render(file) == before, "nothing is applied by running"
    with pytest.raises(ValueError, match="4 memories are not accounted for"):
        consolidation.apply(file.owner, proposal)
    assert render(file) == before

    made = consolidation.put_back(proposal, ids_of(proposal, lost))
    assert len(made) == 4
    assert consolidation.undecided(proposal) == []
    revision = consolidation.apply(file.owner, proposal)
    file.refresh_from_db()
    after = facts(file)
    assert set(lost) <= set(after)
    assert revision.reason == f"Consolidated 192 memories into {len(after)}"
    assert proposal.state == Proposal.State.APPLIED
    everything = " ".join(after)
    assert all(memory.text.rstrip(".") in everything for memory in memories)

    memory_file.restore(file, file.revisions.get(number=revision.number - 1), author=file.owner, reason="back")
    file.refresh_from_db()
    assert render(file) == before


def test_one_dropped_and_one_invented_names_the_dropped_one(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 6)
    victim = memories[5].text
    fake.invent = {victim: "Wren sold the ferry to a stranger from Corvid."}
    proposal = consolidate(file)
    assert by_fate(proposal, "missing") == [victim]
    invented = [one for one, found in proposal.report["new"].items() if found["is_invented"]]
    rows = drafts.view(draft_of(proposal)).memories(invented)
    assert [row.text for row in rows] == ["Wren sold the ferry to a stranger from Corvid."]
    assert rows[0].unverified_names == ["Corvid"]
    assert proposal.report["warnings"] == ["1 new memory says something that none of the old ones says."]


def test_new_blocks_keep_the_span_and_the_place_of_their_sources(file: MemoryFile, fake: Merger) -> None:
    fill(file, 3)
    make_block(file, "Own words", ["Keep me."], order=1.5, origin="consolidated")
    fresh_ones = [b.pk for b in file.blocks.exclude(origin="consolidated")]
    fake.answer_with(
        '<memory chat="Hiding &amp; seeking">\n'
        + "\n".join(f"- {m.text} (from: b{n}.{k})" for n, k, m in _numbered(file))
        + "\n</memory>"
    )
    proposal = consolidate(file, block_ids=fresh_ones)
    assert heads(fake.prompts()[0]) == [f"Night {n} · 2026-01-0{n} 18:00 · [Flux, Wren — night {n}]" for n in (1, 2, 3)]
    consolidation.apply(file.owner, proposal)
    first, second = file.blocks.order_by("order")
    assert (first.label, first.date) == ("Hiding & seeking", "2026-01-01 18:00 to 2026-01-03 18:00")
    assert (first.origin, first.prompt_version) == ("consolidated", "consolidation_balanced 1.0")
    assert first.job == proposal.job and first.call is not None
    assert second.label == "Own words"
    assert [m.text for m in first.memories.filter(is_topic=True)] == ["[Flux — Hiding & seeking]"]
    assert next(iter(first.memories.all())).is_topic


def _numbered(file: MemoryFile) -> Iterator[tuple[int, int, Memory]]:
    blocks = file.blocks.exclude(origin="consolidated").order_by("order")
    for n, block in enumerate(blocks, 1):
        for k, memory in enumerate(block.memories.filter(is_topic=False), 1):
            yield n, k, memory


def test_locked_blocks_and_bullets_stay_word_for_word(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 4)
    MemoryBlock.objects.for_user(file.owner).filter(pk=memories[0].block_id).update(is_locked=True)
    Memory.objects.for_user(file.owner).filter(pk=memories[2].pk).update(is_locked=True)
    proposal = consolidate(file)
    asked = {text for prompt in fake.prompts() for _ref, text in listed(prompt)}
    assert asked.isdisjoint({memories[n].text for n in (0, 1, 2)})
    consolidation.apply(file.owner, proposal)
    texts = facts(file)
    assert {memories[n].text for n in (0, 1, 2)} <= set(texts)
    kept = Memory.objects.for_user(file.owner).get(pk=memories[2].pk)
    assert kept.block.memories.filter(is_topic=True).exists(), "a block that goes on keeps its topic"


def test_what_is_left_out_on_purpose_has_its_reason(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    fake.drop = {memories[4].text: "says the same as b1.1"}
    proposal = consolidate(file)
    source = proposal.report["sources"][str(memories[4].pk)]
    assert source["fate"] == "dropped"
    assert source["reason"] == f"says the same as “{memories[0].text}”"
    assert consolidation.undecided(proposal) == []


def test_every_source_is_reachable_after_two_rounds_and_a_conversion(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 8)
    consolidation.apply(file.owner, consolidate(file))
    consolidation.apply(file.owner, consolidate(file))
    _convert(file)
    reached = _reachable(file)
    assert {str(memory.pk) for memory in memories} <= reached
    kept = Ancestor.objects.for_user(file.owner).filter(memory__in=[memory.pk for memory in memories])
    assert sorted(one.text for one in kept) == sorted(memory.text for memory in memories)
    assert {one.facts["label"] for one in kept} == {f"Night {n}" for n in range(1, 9)}


def _convert(file: MemoryFile) -> None:
    """Every block is written anew by a conversion, bullet by bullet."""
    from memories.file_editor import NewMemory

    file.refresh_from_db()
    draft = drafts.start(file.owner, file, kind="conversion", title="Converted")
    with drafts.step(draft, "Convert") as editor:
        for block in file.blocks.order_by("order"):
            rows = list(block.memories.all())
            new = [NewMemory(row.text, parents=[str(row.pk)]) for row in rows]
            editor.add_block(block.label, new, date=block.date, origin="converted")
            editor.delete_block(block.pk)
    assert drafts.save(draft) is not None


def _reachable(file: MemoryFile) -> set[str]:
    parents = {str(one.memory): one.parents for one in Ancestor.objects.for_user(file.owner)}
    found: set[str] = set()
    rows = Memory.objects.for_user(file.owner).filter(block__file=file)
    ahead = [parent for row in rows for parent in row.parents]
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += parents.get(one, [])
    return found


def test_an_extraction_during_the_review_is_not_overwritten(file: MemoryFile, fake: Merger) -> None:
    fill(file, 3)
    proposal = consolidate(file)
    with change(file, reason="Extracted") as editor:
        editor.add_block("Night 9", ["Wren found the lost key."], origin="extracted")
    consolidation.apply(file.owner, proposal)
    assert "Wren found the lost key." in facts(file)
    assert len(facts(file)) == 4


def test_a_memory_that_changes_while_the_model_works_is_left_alone(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    proposal = consolidation.start_consolidation(file.owner, file, block_ids=fresh(file))
    with change(file, reason="by hand") as editor:
        editor.set_text(memories[0].pk, "Wren never hid anything.")
        editor.delete_memory(memories[3].pk)
    work(proposal)
    sources = proposal.report["sources"]
    assert (sources[str(memories[0].pk)]["fate"], sources[str(memories[3].pk)]["fate"]) == ("kept", "dropped")
    consolidation.apply(file.owner, proposal)
    assert "Wren never hid anything." in facts(file)


def test_put_back_is_a_step_that_can_be_undone(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    lost = [memories[2], memories[3]]
    fake.lose = {one.text for one in lost}
    proposal = consolidate(file)
    made = consolidation.put_back(proposal, [one.pk for one in lost])
    view = drafts.view(draft_of(proposal))
    rows = view.memories(made)
    assert [row.text for row in rows] == [one.text for one in lost]
    assert len({row.block_id for row in rows}) == 1
    block = view.block(rows[0].block_id)
    assert (block.label, block.date, block.origin) == ("Night 2", "2026-01-02 18:00", "extracted")
    assert consolidation.put_back(proposal, [lost[0].pk]) == []
    drafts.undo(draft_of(proposal))
    assert consolidation.undecided(proposal) == [str(one.pk) for one in lost]
    consolidation.put_back(proposal, [lost[0].pk])
    consolidation.let_go(proposal, [lost[1].pk])
    assert consolidation.undecided(proposal) == []
    consolidation.apply(file.owner, proposal)
    assert lost[0].text in facts(file) and lost[1].text not in facts(file)


def test_what_is_missing_goes_only_when_the_person_says_so(file: MemoryFile, fake: Merger) -> None:
    memories = fill(file, 3)
    fake.lose = {memories[1].text}
    proposal = consolidate(file)
    consolidation.apply(file.owner, proposal, lose=True)
    assert memories[1].text not in facts(file)
    proposal.refresh_from_db()
    assert proposal.report["sources"][str(memories[1].pk)]["fate"] == "let_go"
    with pytest.raises(ValueError, match="not waiting"):
        consolidation.apply(file.owner, proposal)


def test_runs_form_a_stack_and_stand_side_by_side(file: MemoryFile, fake: Merger, alice: User) -> None:
    memories = fill(file, 4)
    Connection.objects.for_user(alice).update(price_in=2, price_out=8)
    first = consolidate(file)
    fake.merges = False
    fake.lose = {memories[0].text}
    second = work(consolidation.rerun(alice, first, strategy="consolidation_conservative"))
    assert [one.pk for one in consolidation.stack(first)] == [second.pk, first.pk]
    found = consolidation.compare(alice, first, second)
    assert (found.a.after, found.b.after) == (4, 7)
    assert (found.a.fates.get("missing", 0), found.b.fates["missing"]) == (0, 1)
    assert found.a.cost and found.b.cost and found.a.tokens_after and found.a.calls == 1
    assert memories[0].text in [one.text for one in found.differences]
    consolidation.apply(alice, first)
    second.refresh_from_db()
    assert second.state == Proposal.State.DISCARDED
    assert draft_of(second).state == drafts.Draft.State.LEFT


def test_the_estimate_is_near_what_a_run_takes(file: MemoryFile, fake: Merger, alice: User) -> None:
    fill(file, 60)
    small_window(file)
    connection = Connection.objects.for_user(alice).get()
    connection.price_in, connection.price_out = 2, 8
    guess = consolidation.estimate(alice, file, fresh(file), "consolidation_balanced", connection)
    proposal = consolidate(file)
    assert guess.memories == 120
    assert abs(guess.calls - proposal.report["calls"]) <= 2
    assert guess.price
    with pytest.raises(ValueError, match="no prompt"):
        consolidation.estimate(alice, file, fresh(file), "consolidation:nonsense", connection)


def test_refusals_are_sentences(file: MemoryFile, fake: Merger, alice: User, bob: User) -> None:
    fill(file, 1, bullets=1)
    with pytest.raises(ValueError, match="at least two"):
        consolidation.start_consolidation(alice, file, block_ids=fresh(file))
    make_block(file, "Another night", ["Wren came home.", "Wren left again."])
    with pytest.raises(ValueError, match="no prompt"):
        consolidation.start_consolidation(alice, file, block_ids=fresh(file), strategy="consolidation:nonsense")
    Connection.objects.for_user(alice).delete()
    with pytest.raises(ValueError, match="No model"):
        consolidation.start_consolidation(alice, file, block_ids=fresh(file))
    assert not Proposal.objects.for_user(alice).exists()
    assert not Job.objects.for_user(alice).exists()
