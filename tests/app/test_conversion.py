"""Import: foreign notes become a draft, nothing disappears, nothing is written before a person saves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from jobs.drain import run_until_idle
from memories import conversion, drafts
from memories.memory_file import change, file_for, render
from memories.models import Ancestor, Memory, MemoryBlock, MemoryFile, Proposal
from providers import retry
from tests.support.builders import make_attachment, make_block, make_connection
from tests.support.fake_model import FakeModel
from tests.support.story import make_character

NOTES = """# Seraphine, notes to self

## Lantern
* only wardens carry it lit
* oil is whale, never seal (she can smell it)
  * seal oil smokes blue

## People
1. Ólafur – owed one crossing

<memory chat="old" date="2024-
she hums when she files. always the same
four notes, never five.
~~~
"""
LINE = re.compile(r"^(b\d+\.\d+) (.+)$", re.MULTILINE)


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "wait", lambda seconds, stop: None)


@pytest.fixture
def file(alice: User) -> MemoryFile:
    return file_for(make_character(alice))


def start(file: MemoryFile, text: str | bytes = NOTES, name: str = "notes.md", **options: Any) -> Proposal:
    return conversion.start_conversion(file.owner, file, source_name=name, text=text, **options)


def texts(proposal: Proposal) -> list[tuple[str, list[str]]]:
    assert proposal.draft is not None
    return [(one.label, [m.text for m in one.memories]) for one in conversion.new_blocks(proposal.draft)]


def left(proposal: Proposal) -> list[tuple[int, str]]:
    return [(one["n"], one["why"]) for one in proposal.report["lines"]]


def test_notes_become_a_draft_and_every_line_is_somewhere(file: MemoryFile) -> None:
    proposal = start(file)
    assert proposal.state == Proposal.State.READY
    assert texts(proposal) == [
        (
            "Lantern",
            ["only wardens carry it lit", "oil is whale, never seal (she can smell it)", "seal oil smokes blue"],
        ),
        ("People", ["Ólafur – owed one crossing"]),
        ("imported", ["she hums when she files. always the same four notes, never five."]),
    ]
    assert left(proposal) == [(1, "title"), (11, "never_ends"), (14, "no_words")]
    assert proposal.report["result"]["text"] == "11 lines became 5 memories. 3 lines are left over."
    assert render(file) == ""


def test_saving_makes_one_revision_with_the_lines_as_evidence(file: MemoryFile) -> None:
    proposal = start(file)
    revision = conversion.save(file.owner, proposal)
    assert revision.reason == "Imported notes.md"
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.APPLIED
    last = Memory.objects.for_user(file.owner).get(text__startswith="she hums")
    assert last.evidence == [
        {"source": "notes.md", "line": 12, "quote": "she hums when she files. always the same"},
        {"source": "notes.md", "line": 13, "quote": "four notes, never five."},
    ]
    assert last.block.origin == MemoryBlock.Origin.IMPORTED


def test_what_is_left_over_can_be_added_or_left_out(file: MemoryFile) -> None:
    proposal = start(file)
    assert conversion.add_lines(proposal, [0]) == 1
    assert conversion.leave_out(proposal) == 2
    assert [one["state"] for one in proposal.report["lines"]] == ["added", "left_out", "left_out"]
    assert texts(proposal)[-1] == ("notes.md", ["Seraphine, notes to self"])
    assert proposal.draft is not None
    assert drafts.undo(proposal.draft) == "Added “Seraphine, notes to self”"


def test_what_the_file_has_already_is_left_out_and_told(file: MemoryFile) -> None:
    make_block(file, "Before", ["Only wardens carry it lit"])
    proposal = start(file)
    assert [(one["text"], one["state"]) for one in proposal.report["known"]] == [("only wardens carry it lit", "")]
    assert texts(proposal)[0][1] == ["oil is whale, never seal (she can smell it)", "seal oil smokes blue"]
    assert conversion.add_known(proposal, [0]) == 1
    assert texts(proposal)[-1] == ("Lantern", ["only wardens carry it lit"])


def test_another_format_is_another_reading_and_the_first_stays_below(file: MemoryFile) -> None:
    first = start(file)
    second = conversion.again(file.owner, first, form="freeform")
    assert second.previous == first
    assert second.report["format"] == "freeform"
    assert conversion.step_back(second) == first
    conversion.save(file.owner, first)


def test_the_result_can_go_into_another_file(file: MemoryFile, alice: User) -> None:
    other = file_for(make_character(alice, "Bram"))
    proposal = start(file)
    conversion.save(alice, proposal, file=other)
    assert "only wardens carry it lit" in render(other)
    assert render(file) == ""


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (
            "chat.jsonl",
            b'{"user_name": "You", "chat_metadata": {}}\n{"name": "Flux", "is_user": false, "mes": "Hi"}',
            "chat.jsonl is a chat, not notes. Put it among the chats in SillyTavern and extract it there; "
            "nothing was imported.",
        ),
        (
            "card.png",
            b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
            "card.png is not a text file. Save it as text, Markdown, JSON or CSV; nothing was imported.",
        ),
        ("empty.md", b" \n---\n", "empty.md holds no words. Nothing was imported."),
        (
            "huge.txt",
            b"a" * (24 * 1024 * 1024 + 1),
            "huge.txt is larger than 24 MB. Cut it into smaller files and import them one after another; "
            "nothing was imported.",
        ),
    ],
)
def test_what_is_no_notes_is_refused_with_a_sentence(file: MemoryFile, name: str, data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        start(file, data, name)
    assert not Proposal.objects.for_user(file.owner).exists()


def test_a_large_source_is_read_by_a_job_in_parts(file: MemoryFile) -> None:
    notes = "".join(f"## Scene {n}\n" + "".join(f"- Flux did thing {n}-{m}.\n" for m in range(10)) for n in range(5000))
    proposal = start(file, notes)
    assert proposal.state == Proposal.State.PLANNED
    run_until_idle(file.owner)
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.READY
    assert proposal.report["memories"] == 2000
    conversion.save(file.owner, proposal)
    following = conversion.go_on(file.owner, proposal)
    assert following is not None
    run_until_idle(file.owner)
    following.refresh_from_db()
    assert following.report["first"] == proposal.report["last"] + 1
    assert texts(following)[0][1][0] == "Flux did thing 200-0."


def answer(prompt: str, *, drop: str = "", invent: str = "") -> str:
    """Every line as a bullet with its id, without those that hold `drop`."""
    notes = prompt.rpartition("] NOTES")[2]
    bullets = [f"- {text} (from: {ref})" for ref, text in LINE.findall(notes) if not drop or drop not in text]
    bullets += [f"- {invent}"] if invent else []
    return '<memory chat="The lantern">\n- [Seraphine — the lantern]\n' + "\n".join(bullets) + "\n</memory>"


def by_model(file: MemoryFile, fake: FakeModel, **options: Any) -> Proposal:
    make_connection(file.owner, preset="local", base_url=fake.base_url, model="fake-small")
    proposal = start(file, by="model", **options)
    run_until_idle(file.owner)
    proposal.refresh_from_db()
    return proposal


def scripted(fake: FakeModel, monkeypatch: pytest.MonkeyPatch, **how: str) -> None:
    monkeypatch.setattr("tests.support.fake_model.memory_answer", lambda prompt, marker="": answer(prompt, **how))


def test_notes_of_20_mb_come_in_parts_and_none_of_their_lines_is_lost(file: MemoryFile, alice: User) -> None:
    notes = "\n".join(f"* Fact {n}: what Wren found below the water that night, and who knew." for n in range(290_000))
    assert len(notes) > 20_000_000
    proposal = start(file, notes.encode())
    run_until_idle(alice)
    proposal.refresh_from_db()
    report = proposal.report
    assert (proposal.state, report["first"], report["total"]) == (Proposal.State.READY, 1, report["last"])
    assert 0 < sum(len(bullets) for _label, bullets in texts(proposal)) == report["last"] < 290_000
    conversion.save(alice, proposal)
    following = conversion.go_on(alice, proposal)
    assert following is not None
    run_until_idle(alice)
    following.refresh_from_db()
    assert following.report["first"] == report["last"] + 1
    assert texts(following)[0][1][0].startswith(f"Fact {report['last']}:")


def test_a_model_that_drops_a_line_and_invents_another_is_shown_both(
    file: MemoryFile, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(fake, monkeypatch, drop="smokes blue", invent="Bram burned the library down in anger.")
    proposal = by_model(file, fake)
    assert proposal.state == Proposal.State.READY
    assert (6, "missing") in left(proposal)
    assert [one["text"] for one in proposal.report["lines"] if one["why"] == "missing"] == ["seal oil smokes blue"]
    (invented,) = proposal.report["new"]
    assert proposal.draft is not None
    row = drafts.view(proposal.draft).memory(invented)
    assert (row.text, row.is_unverified) == ("Bram burned the library down in anger.", True)
    conversion.save(file.owner, proposal)
    block = file.blocks.get()
    assert (block.origin, block.prompt_version) == (MemoryBlock.Origin.CONVERTED, "conversion 1.0")
    assert block.call is not None and block.call.job == proposal.job, "its model and cost are part of the evidence"
    kept = Memory.objects.for_user(file.owner).get(text="only wardens carry it lit")
    assert kept.evidence == [{"source": "notes.md", "line": 4, "quote": "* only wardens carry it lit"}]


def test_model_and_cost_go_along_into_another_file(
    file: MemoryFile, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(fake, monkeypatch)
    proposal = by_model(file, fake)
    draft = proposal.draft
    assert draft is not None
    held = next(row for block in conversion.new_blocks(draft) for row in block.memories if not row.is_topic)
    with drafts.step(draft, "Locked") as editor:
        editor.set_memories([held.id], is_locked=True)
    other = file_for(make_character(file.owner, "Bram"))
    conversion.save(file.owner, proposal, file=other)
    block = other.blocks.get()
    assert block.job == proposal.job and block.call is not None and block.call.model == "fake-small"
    assert [row.text for row in block.memories.filter(is_locked=True)] == [held.text]


def test_a_model_that_answers_in_prose_loses_nothing(file: MemoryFile, fake: FakeModel) -> None:
    fake.answer_with("I am sorry, what lovely notes these are. Shall I go on?")
    proposal = by_model(file, fake)
    assert proposal.state == Proposal.State.FAILED
    assert render(file) == ""


def test_tidying_up_by_model_keeps_parents_and_what_the_model_lost(
    file: MemoryFile, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = make_block(file, "Lantern", ["Only wardens carry the lantern lit.", "Seal oil smokes blue at night."])
    locked = make_block(file, "Locked", ["Nobody touches this."], is_locked=True)
    make_connection(file.owner, preset="local", base_url=fake.base_url, model="fake-small")
    scripted(fake, monkeypatch, drop="Seal oil")
    proposal = conversion.start_reformat(file.owner, file, block_ids=[block.pk, locked.pk])
    run_until_idle(file.owner)
    proposal.refresh_from_db()
    fates = {one["text"]: one["fate"] for one in proposal.report["sources"].values()}
    assert fates == {"Only wardens carry the lantern lit.": "merged", "Seal oil smokes blue at night.": "missing"}
    conversion.save(file.owner, proposal)
    assert "Seal oil smokes blue at night." in render(file)
    assert "Nobody touches this." in render(file)
    assert [one.text for one in Ancestor.objects.for_user(file.owner)] == ["Only wardens carry the lantern lit."]


def test_what_is_locked_while_the_model_sorts_stays_as_it_is(
    file: MemoryFile, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = make_block(file, "Lantern", ["Only wardens carry the lantern lit.", "Seal oil smokes blue at night."])
    make_connection(file.owner, preset="local", base_url=fake.base_url, model="fake-small")
    scripted(fake, monkeypatch)
    proposal = conversion.start_reformat(file.owner, file, block_ids=[block.pk])
    Memory.objects.for_user(file.owner).filter(text__startswith="Seal oil").update(is_locked=True)
    run_until_idle(file.owner)
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.READY
    conversion.save(file.owner, proposal)
    kept = Memory.objects.for_user(file.owner).get(text="Seal oil smokes blue at night.", is_locked=True)
    assert kept.block_id == block.pk


def test_tidying_up_by_rules_gives_topics_and_cuts_long_blocks(file: MemoryFile) -> None:
    bullets = [f"Flux did thing {n}." for n in range(7)]
    block = make_block(file, "The vet", bullets)
    proposal = conversion.start_reformat(file.owner, file, block_ids=[block.pk], by="rules")
    topic = f"[{file.character.name} — The vet]"
    assert texts(proposal) == [("The vet", [topic, *bullets[:5]]), ("The vet", [topic, *bullets[5:]])]
    conversion.save(file.owner, proposal)
    assert Memory.objects.for_user(file.owner).filter(is_topic=False).count() == 7


def test_a_saved_import_is_taken_back_from_history(file: MemoryFile) -> None:
    from memories import editing

    with change(file, reason="first") as editor:
        editor.add_block("Before", ["Flux was there."], origin="written")
    before = render(file)
    conversion.save(file.owner, start(file))
    assert render(file) != before
    editing.undo_last(file.owner, file)
    assert render(file) == before


def test_a_lorebook_becomes_blocks_with_its_keys(file: MemoryFile) -> None:
    book = {"entries": {"0": {"uid": 0, "key": ["glade"], "comment": "The glade", "content": "{{char}} guards it."}}}
    proposal = start(file, json.dumps(book), "world.json")
    assert texts(proposal) == [("The glade", ["[The glade — glade]", f"{file.character.name} guards it."])]
    assert proposal.report["warnings"] == [
        "Names, keys and texts were taken. Switches, numbers and ids of the other program were left out."
    ]


def test_an_older_memory_file_is_converted_when_asked_and_comes_back_from_history(file: MemoryFile) -> None:
    from memories import memory_file

    old = "## Memory 1\n_Extracted: 2023-06-15 10:00_\n- Flux was adopted.\n"
    attachment = make_attachment(file.character, file.name, is_registered=True)
    file.attachment = attachment
    file.save(update_fields=["attachment"])
    memory_file.import_text(file, old, reason="Taken over")
    assert render(file) == old
    proposal = start(file, old, file.name, attachment=str(attachment.pk))
    assert render(file) == old
    conversion.save(file.owner, proposal)
    file.refresh_from_db()
    assert render(file) == '<memory chat="unknown" date="2023-06-15 10:00">\n- Flux was adopted.\n</memory>'
    first = file.revisions.get(number=0)
    memory_file.restore(file, first, author=file.owner, reason="back")
    assert render(file) == old


def test_an_answer_that_is_cut_off_is_asked_for_again_in_halves(
    file: MemoryFile, fake: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(fake, monkeypatch)
    whole = {
        "message": {"role": "assistant", "content": '<memory chat="x">\n- only wardens ca'},
        "finish_reason": "length",
    }
    fake.respond(200, {"choices": [{"index": 0, **whole}]})
    proposal = by_model(file, fake)
    assert proposal.state == Proposal.State.READY
    assert sorted(proposal.parts.values_list("number", "state")) == [
        ("0001", "split"),
        ("0001.1", "done"),
        ("0001.2", "done"),
    ]
    assert not [one for one in proposal.report["lines"] if one["why"] == "missing"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (
            "old.txt",
            "- Ólafur owed one crossing".encode("cp1252"),
            "The file does not say which letters it uses; Western European was guessed. Look at letters with accents.",
        ),
        (
            "tags.md",
            b'<memory chat="a">\n- Flux slept.\n<memory chat="b">\n- Flux ate.\n</memory>',
            "A block has no closing tag. It was read up to the next one.",
        ),
        (
            "tags.md",
            b'<memory chat="a" date="2026-01-01 10:00">\n- Flux slept.\n</memory>',
            "This is a memory file already. Its blocks are taken over as they are.",
        ),
        (
            "prose.txt",
            "Flux slept. Flux ate.".encode("utf-16"),
            "This is plain text without lists or headings (freeform). Each sentence became a memory.",
        ),
        (
            "broken.json",
            b'{"memories": ["Flux slept in the tower"',
            "This looks like JSON, but it is damaged. It was read as plain text.",
        ),
    ],
)
def test_what_is_odd_about_a_source_is_told(file: MemoryFile, name: str, data: bytes, said: str) -> None:
    proposal = start(file, data, name)
    assert said in proposal.report["warnings"]
    assert proposal.report["memories"] >= 1
