"""What falls between two jobs is found again, and what cannot work is not tried for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from jobs.drain import run_until_idle
from jobs.models import Job
from memories import conversion, drafts, editing, layouts, memory_file, replacing, trash, write_back
from memories.blocks import Format
from memories.find_replace import Options
from memories.mirrored import Copy
from memories.models import MemoryBlock, MemoryFile
from sync import registration, vectors
from sync.events import PassFinished
from sync.models import Attachment, Character, Tavern
from tests.support.builders import make_chat, make_connection
from tests.support.databank import make_mara, path_of, text_of
from tests.support.fake_model import FakeModel
from tests.support.fake_tavern import FakeTavern


@pytest.fixture
def tavern(tmp_path: Path) -> Iterator[FakeTavern]:
    with FakeTavern(tmp_path / "t") as running:
        yield running


@pytest.fixture
def mara(alice: User, tmp_path: Path, tavern: FakeTavern, transactional_db: Any) -> Character:
    return make_mara(alice, tmp_path / "t", url=tavern.url)


@pytest.fixture
def file(mara: Character, alice: User) -> MemoryFile:
    """A file that was written and indexed."""
    made = memory_file.file_for(mara)
    add(made, "Mara keeps a lantern.")
    run_until_idle(alice)
    made.refresh_from_db()
    return made


def add(file: MemoryFile, text: str) -> None:
    with memory_file.change(file, reason="Extracted") as editor:
        editor.add_block("Pier", [text], date="", origin=MemoryBlock.Origin.EXTRACTED)


def attachment_of(file: MemoryFile) -> Attachment:
    file.refresh_from_db()
    assert file.attachment is not None
    return file.attachment


def jobs(file: MemoryFile, **fields: Any) -> int:
    return Job.objects.for_user(file.owner).filter(kind=write_back.KIND, **fields).count()


def test_changes_before_the_job_starts_share_one_job_and_one_index(
    mara: Character, alice: User, tavern: FakeTavern
) -> None:
    file = memory_file.file_for(mara)
    for number in range(5):
        add(file, f"Memory number {number}.")
    assert jobs(file) == 1
    run_until_idle(alice)
    assert tavern.count("/api/vector/insert") == 1
    assert text_of(attachment_of(file)) == memory_file.render(file)


def test_a_change_while_the_job_runs_is_written_by_the_same_job(
    file: MemoryFile, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = vectors.rebuild_index

    def build_while_somebody_edits(attachment: Attachment, **options: Any) -> bool:
        monkeypatch.setattr(vectors, "rebuild_index", build)
        add(memory_file.file_for(file.character), "Mara fears the buoy.")
        return build(attachment, **options)

    monkeypatch.setattr(vectors, "rebuild_index", build_while_somebody_edits)
    write_back.schedule(file)
    run_until_idle(alice)
    assert "Mara fears the buoy." in text_of(attachment_of(file))
    assert vectors.is_current(attachment_of(file))


def test_a_pass_finds_a_version_that_nobody_queued(file: MemoryFile, alice: User) -> None:
    add(file, "Mara fears the buoy.")
    Job.objects.for_user(alice).filter(state=Job.State.QUEUED).delete()
    write_back.sweep(PassFinished(file.character.tavern_id, changed=True))
    run_until_idle(alice)
    assert "Mara fears the buoy." in text_of(attachment_of(file))


def test_a_pass_that_finds_all_in_order_queues_nothing(file: MemoryFile) -> None:
    before = jobs(file)
    write_back.sweep(PassFinished(file.character.tavern_id, changed=True))
    assert jobs(file) == before


def test_an_entry_that_a_tab_saved_over_is_asked_for_again(file: MemoryFile, alice: User) -> None:
    attachment = attachment_of(file)
    attachment.is_registered, attachment.name, attachment.registered_size = True, file.name, 60
    attachment.save()
    registration.settle(attachment.tavern)
    assert registration.offer(attachment.tavern) == []
    attachment.is_registered = False  # what the next pass finds in settings.json
    attachment.save()
    write_back.sweep(PassFinished(attachment.tavern_id, changed=True))
    run_until_idle(alice)
    assert [one.url for one in registration.offer(attachment.tavern)] == [attachment.url]


def test_a_file_that_was_deleted_outside_comes_back_on_request(file: MemoryFile, alice: User) -> None:
    attachment = attachment_of(file)
    path_of(attachment).unlink()
    attachment.file_present = False
    attachment.save()
    write_back.rebuild(file)
    run_until_idle(alice)
    assert "lantern" in text_of(attachment_of(file))


def test_another_embedding_model_renews_the_index_at_the_next_pass(
    file: MemoryFile, alice: User, tavern: FakeTavern
) -> None:
    row = file.character.tavern
    row.vectors = {**row.vectors, "vllm_model": "m2"}
    row.save()
    write_back.sweep(PassFinished(row.pk, changed=True))
    run_until_idle(alice)
    assert vectors.is_current(attachment_of(file))
    assert tavern.count("/api/vector/insert") == 2


def test_an_embedder_that_is_down_is_not_asked_at_every_pass(file: MemoryFile, alice: User, tavern: FakeTavern) -> None:
    tavern.embed_status = 500
    add(file, "Mara fears the buoy.")
    run_until_idle(alice)
    asked = tavern.count("/api/vector/insert")
    for _pass in range(3):
        write_back.sweep(PassFinished(file.character.tavern_id, changed=True))
        run_until_idle(alice)
    assert tavern.count("/api/vector/insert") == asked
    assert jobs(file, state=Job.State.FAILED) == 0


def test_a_folder_that_refuses_fails_the_job_with_a_sentence(mara: Character, alice: User) -> None:
    file = memory_file.file_for(mara)
    (mara.tavern.root / "user/files").rmdir()
    add(file, "Mara keeps a lantern.")
    run_until_idle(alice)
    job = Job.objects.for_user(alice).get(kind=write_back.KIND)
    assert job.error == "Mara_Veldt-memories.md could not be written to the Data Bank: No such file or directory."
    assert job.hint.startswith("The memories are kept here.")
    assert "lantern" in memory_file.render(file)


@pytest.mark.parametrize(
    "state", [{"compare_only": True}, {"state": Tavern.State.PAUSED}, {"state": Tavern.State.UNREACHABLE}]
)
def test_nothing_is_written_while_the_folder_is_away_or_only_compared(
    file: MemoryFile, alice: User, state: dict[str, Any]
) -> None:
    before = text_of(attachment_of(file))
    Tavern.objects.for_user(alice).update(**state)
    add(file, "Mara fears the buoy.")
    run_until_idle(alice)
    assert text_of(attachment_of(file)) == before


def test_rebuild_embeds_again_on_request(file: MemoryFile, alice: User, tavern: FakeTavern) -> None:
    write_back.rebuild(file)
    run_until_idle(alice)
    assert tavern.count("/api/vector/insert") == 2
    assert vectors.is_current(attachment_of(file))


def test_rebuild_says_why_it_cannot(file: MemoryFile, alice_client: Client, tavern: FakeTavern) -> None:
    type(file.character.tavern).objects.for_user(file.owner).update(url="")
    answer = alice_client.post(f"/files/{file.pk}/rebuild/", follow=True)
    assert answer.redirect_chain[-1][0] == f"/characters/{file.character_id}/health/"
    assert "address is not known" in answer.content.decode()
    assert not Job.objects.for_user(file.owner).filter(state__in=Job.ACTIVE).exists()


def test_deleting_the_last_memory_empties_file_and_index(file: MemoryFile, alice: User, tavern: FakeTavern) -> None:
    with memory_file.change(file, reason="Deleted") as editor:
        editor.delete_block(editor.blocks[0].pk)
    run_until_idle(alice)
    attachment = attachment_of(file)
    assert text_of(attachment) == ""
    assert "lantern" not in next((tavern.user_folder / "vectors/vllm").rglob("index.json")).read_text(encoding="utf-8")


def test_the_command_that_waits_brings_the_memories_into_the_data_bank(mara: Character, alice: User) -> None:
    with FakeModel() as model:
        make_connection(alice, preset="local", base_url=model.base_url, model="fake-small")
        make_chat(mara, ["I hid the brass sextant.", "Mara saw Wren hide the brass sextant under the stairs."])
        out = StringIO()
        call_command("extract", "--user", "alice", "--character", "Mara Veldt", "--wait", "--json", stdout=out)
    files = json.loads(out.getvalue())["files"]
    assert [(one["name"], one["state"], one["index"]) for one in files] == [("Mara_Veldt-memories.md", "done", True)]
    assert "brass sextant" in text_of(attachment_of(memory_file.file_for(mara)))


def test_a_layout_changed_as_the_job_begins_is_the_one_that_is_written(
    file: MemoryFile, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = write_back._attachment

    def while_the_layout_changes(stale: MemoryFile, copy: Copy) -> Attachment:
        monkeypatch.setattr(write_back, "_attachment", found)
        layouts.change_layout(alice, memory_file.file_for(file.character), Format("bullet", "\n\n", True))
        return found(stale, copy)

    add(file, "Mara fears the buoy.")
    monkeypatch.setattr(write_back, "_attachment", while_the_layout_changes)
    run_until_idle(alice)
    assert text_of(attachment_of(file)) == memory_file.render(memory_file.file_for(file.character))


def test_after_every_kind_of_change_the_copy_is_the_text(file: MemoryFile, alice: User) -> None:
    def is_same() -> bool:
        run_until_idle(alice)
        return text_of(attachment_of(file)) == memory_file.render(memory_file.file_for(file.character))

    add(file, "Mara fears the buoy.")
    draft = drafts.open_edit(alice, file)
    with drafts.step(draft, "Edit") as editor:
        block = editor.add_block("Quay", ["Mara sells nets.", "Mara sings."], origin="written")
        assert block is not None
        editor.move_block(block, before=str(file.blocks.order_by("order")[0].pk))
    drafts.save(draft)
    assert is_same()
    options = Options(find="Mara", replace="Māra")
    scope = replacing.Scope(files=(memory_file.file_for(file.character),))
    replacing.replace(alice, scope, options, replacing.preview(alice, scope, options).digest)
    assert is_same()
    proposal = conversion.start_conversion(
        alice, memory_file.file_for(file.character), source_name="n.md", text="# Boat\n\n- Māra owns a red boat.\n"
    )
    conversion.save(alice, proposal)
    assert is_same()
    for form in (Format("bullet", "\n\n", True), Format("custom", "\n---\n", False), Format("block", "\n\n", False)):
        layouts.change_layout(alice, memory_file.file_for(file.character), form)
        assert is_same()
    fresh = memory_file.file_for(file.character)
    editing.restore_revision(alice, fresh.revisions.get(number=2))
    assert is_same()
    memory_file.clear(memory_file.file_for(file.character), author=alice)
    assert is_same()
    (item,) = trash.items(alice)
    trash.put_back(alice, item)
    assert is_same()
    fresh = memory_file.file_for(file.character)
    editing.restore_revision(alice, fresh.revisions.get(number=0))
    assert is_same()
