"""The memory manager under odd input, interruption and volume: nothing is lost, doubled or half written."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from charmem_site.backup.archive import write
from charmem_site.backup.restoring import restore
from memories import conversion, drafts, editing, memory_file, own_prompts, replacing, revisions, trash
from memories.find_replace import Options
from memories.memory_file import change, file_for, render
from memories.models import Draft, DraftStep, Memory, MemoryFile, TrashItem
from tests.app.test_backup import everything
from tests.support.builders import make_character, make_tavern, make_world

ODD = "odd \x00\ud800\x0b‮ RTL‬ 🜲 é é \x85   end"


@pytest.fixture
def file(alice: User) -> MemoryFile:
    file = file_for(make_character(make_tavern(alice), "Flux"))
    with change(file, reason="extracted") as editor:
        for label in ("one", "two"):
            editor.add_block(label, [f"{label} begins.", f"{label} ends."], origin="extracted")
    return file


def fresh(file: MemoryFile) -> MemoryFile:
    return MemoryFile.objects.for_user(file.owner).select_related("character").get(pk=file.pk)


def test_odd_letters_go_through_a_draft_and_back(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    block = str(file.blocks.get(label="one").pk)
    with drafts.step(draft, "Add " + "x" * 400) as editor:
        made = editor.add_memory(block, ODD)
        editor.set_block(block, label=f"label {ODD}", date="2026-02-01 10:00")
        editor.add_memory(block, "long " * 2000)
        editor.add_block(ODD, [ODD], origin="written")
    drafts.save(draft)
    text = render(fresh(file))
    kept = Memory.objects.for_user(alice).get(pk=made).text
    assert "\x00" not in text
    assert kept in text
    again = fresh(file)
    state = revisions.revision_state(again.revisions.get(number=again.version))
    memory_file.clear(again, author=alice)
    memory_file.restore(again, again.revisions.get(number=again.version - 1), author=alice, reason="back")
    assert render(fresh(file)) == text
    assert revisions.revision_state(again.revisions.get(number=again.version)) == state
    text.encode()


def test_two_hundred_bullets_in_the_same_gap_keep_their_order(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    block = str(file.blocks.get(label="one").pk)
    for number in range(200):
        with drafts.step(draft, "Add") as editor:
            editor.add_memory(block, f"line {number}", 1)
            editor.add_block(f"new {number}", ["x"], origin="written", after=block)
    wanted = ["one begins.", *(f"line {n}" for n in reversed(range(200))), "one ends."]
    assert [row.text for row in drafts.view(draft).block(block).memories] == wanted
    drafts.save(draft)
    kept = [m.text for m in Memory.objects.for_user(alice).filter(block__pk=block).order_by("order", "created_at")]
    assert kept == wanted
    labels = list(file.blocks.order_by("order", "created_at").values_list("label", flat=True))
    assert labels == ["one", *(f"new {n}" for n in reversed(range(200))), "two"]
    again = fresh(file)
    assert memory_file.revision_text(again.revisions.get(number=again.version)) == render(again)


def test_thousands_of_steps_are_saved_as_one_revision(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    memory = str(file.blocks.get(label="one").memories.get(text="one ends.").pk)
    before, steps = "one ends.", []
    for number in range(1, 3001):
        after = f"one ends {number}."
        changes = [{"row": "memory", "id": memory, "before": {"text": before}, "after": {"text": after}}]
        steps.append(DraftStep(draft=draft, number=number, label="Edit", changes=changes))
        before = after
    DraftStep.objects.bulk_create(steps, batch_size=500)
    Draft.objects.for_user(alice).filter(pk=draft.pk).update(pointer=3000)
    drafts.undo(draft)
    made = drafts.save(draft)
    assert made is not None
    assert (made.added, made.removed) == (1, 1)
    assert "one ends 2999." in render(fresh(file))


def test_replacing_that_breaks_off_in_the_middle_changes_nothing(
    alice: User, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [file]
    for number in range(50):
        other = file_for(make_character(file.character.tavern, f"Other {number}"))
        with change(other, reason="extracted") as editor:
            editor.add_block("b", ["Kaspar begins.", "Kaspar ends."], origin="extracted")
        files.append(other)
    texts = [render(one) for one in files]
    options = Options(find="Kaspar", replace="Casper")
    digest = replacing.preview(alice, replacing.Scope(), options).digest
    write_rows, calls = replacing._write, []

    def break_off(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 25:
            raise RuntimeError("killed")
        write_rows(*args)

    with monkeypatch.context() as broken:
        broken.setattr(replacing, "_write", break_off)
        with pytest.raises(RuntimeError):
            replacing.replace(alice, replacing.Scope(), options, digest)
    assert [render(fresh(one)) for one in files] == texts
    assert {fresh(one).version for one in files} == {1}
    done = replacing.replace(alice, replacing.Scope(), options, digest)
    assert (done.files, done.places) == (50, 100)
    assert done.batch is not None
    assert len(editing.undo_batch(alice, done.batch)) == 50
    assert [render(fresh(one)) for one in files] == texts


def test_put_back_twice_and_what_came_back_by_history_is_not_doubled(alice: User, file: MemoryFile) -> None:
    text = render(file)
    editing.delete_block(alice, file.blocks.get(label="one"))
    memory_file.clear(fresh(file), author=alice)
    cleared, deleted = trash.items(alice)
    assert cleared.kind == TrashItem.Kind.FILE
    same = TrashItem.objects.for_user(alice).select_related("file__character").get(pk=cleared.pk)
    trash.put_back(alice, cleared)
    with pytest.raises(ValueError, match="already"):
        trash.put_back(alice, same)
    trash.put_back(alice, deleted)
    again = fresh(file)
    assert sorted(render(again)) == sorted(text)
    first = again.revisions.get(number=1)
    block = str(file.blocks.get(label="one").pk)
    assert memory_file.restore_block(again, first, block, author=alice) is None
    memory_file.restore(again, first, author=alice, reason="back")
    assert render(fresh(file)) == text


def test_an_item_whose_bullets_live_in_another_block_now(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    one, two = (str(file.blocks.get(label=label).pk) for label in ("one", "two"))
    ends = str(file.blocks.get(label="one").memories.get(text="one ends.").pk)
    with drafts.step(draft, "Move") as editor:
        editor.move_memories([ends], two)
        editor.delete_block(one)
    drafts.save(draft)
    (item,) = trash.items(alice)
    trash.put_back(alice, item)
    again = fresh(file)
    assert render(again).count("one ends.") == render(again).count("one begins.") == 1
    first = again.revisions.get(number=1)
    memory_file.restore_block(again, first, one, author=alice)
    assert render(fresh(file)).count("one ends.") == 1
    memory_file.restore(fresh(file), first, author=alice, reason="back")
    assert render(fresh(file)).count("one ends.") == 1


def test_thousands_of_bullets_in_one_block(alice: User, alice_client: Client, file: MemoryFile) -> None:
    with change(file, reason="imported") as editor:
        editor.add_block("many", [f"bullet number {n}" for n in range(3_000)], origin="imported")
    block = file.blocks.get(label="many")
    memory = block.memories.order_by("order")[1500]
    draft = drafts.open_edit(alice, fresh(file))
    with drafts.step(draft, "Edit") as steps:
        steps.set_text(memory.pk, "reworded")
        steps.split_block(block.pk, memory.pk)
    page = alice_client.get(f"/drafts/{draft.pk}/")
    assert page.content.count(b'class="memory') <= 400
    drafts.save(draft)
    again = fresh(file)
    assert [one.memories.count() for one in again.blocks.order_by("order")] == [2, 2, 1500, 1500]
    memory_file.restore(again, again.revisions.get(number=2), author=alice, reason="back")
    assert list(again.blocks.get(label="many").memories.values_list("text", flat=True)) == [
        f"bullet number {n}" for n in range(3_000)
    ]


def test_a_restore_changes_rows_by_their_keys_alone(alice: User, file: MemoryFile) -> None:
    """PostgreSQL would read the whole table for each 200 rows that are changed through a join."""
    memory_file.clear(file, author=alice)
    with CaptureQueriesContext(connection) as seen:
        memory_file.restore(file, file.revisions.get(number=1), author=alice, reason="back")
    updates = [one["sql"] for one in seen if one["sql"].startswith('UPDATE "memories_memory"')]
    assert updates
    assert not [one for one in updates if "SELECT" in one]


@pytest.mark.django_db(transaction=True)
def test_a_whole_world_comes_back_from_a_backup(alice: User, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "vault-key").write_text("key-of-the-vault")
    world = make_world(alice, "canary")
    draft = drafts.open_edit(alice, world["file"])
    with drafts.step(draft, "Edit") as editor:
        editor.add_memory(world["block"].pk, "Said in a draft.")
    before = dict(everything())
    made = write(tmp_path / "b.zip")
    editing.delete_block(alice, world["block"])
    restore(made.path)
    after = dict(everything())
    assert {name for name in before if before[name] != after[name]} <= {"jobs.Job", "sync.Tavern"}
    assert drafts.save(Draft.objects.for_user(alice).select_related("file").get(pk=draft.pk)) is not None


def test_an_open_edit_a_month_old_is_still_there(alice: User, file: MemoryFile) -> None:
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Edit") as editor:
        editor.add_block("new", ["new words."], origin="written")
    Draft.objects.for_user(alice).filter(pk=draft.pk).update(updated_at=draft.created_at - timedelta(days=400))
    trash.purge()
    assert drafts.view(drafts.open_edit(alice, fresh(file))).changes == 1


def test_letters_that_no_database_takes_are_left_out_everywhere(alice: User, file: MemoryFile) -> None:
    """PostgreSQL takes no NUL, and no database half of a pair."""
    odd = "a\x00b\ud800c"
    options = Options(find="begins", replace=odd)
    digest = replacing.preview(alice, replacing.Scope(), options).digest
    replacing.replace(alice, replacing.Scope(), options, digest)
    again = fresh(file)
    assert "one abc." in render(again)
    assert again.revisions.get(number=2).reason == "“begins” replaced by “abc”"
    assert own_prompts.create_strategy(alice, odd).title == "abc"
    assert own_prompts.save_text(alice, "extraction", f"{odd} {{{{memories}}}}").text.startswith("abc ")
    proposal = conversion.start_conversion(alice, again, source_name=f"{odd}.md", text=f"# {odd}\n\n- Eats {odd}.\n")
    assert proposal.source_name == "abc.md"
    conversion.save(alice, proposal)
    assert "- Eats abc." in render(fresh(file))
    entry = {"uid": 0, "key": [odd], "comment": odd, "content": f"Sees {odd}.", "extensions": {odd: odd}, odd: odd}
    for name in ("book.json", "book.jsonl", "book.txt"):
        entry["content"] = f"Sees {odd} in {name}."
        book = json.dumps({"entries": {"0": entry}, "name": odd, "x": [odd, {odd: [odd]}]})
        conversion.save(alice, conversion.start_conversion(alice, fresh(file), source_name=name, text=book))
    assert "- Sees abc in book.json." in render(fresh(file))
