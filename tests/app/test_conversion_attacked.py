"""An import that is broken off, or meets other changes: nothing is saved in halves, nothing written since is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import User
from memories import conversion, drafts, memory_file
from memories.memory_file import change, file_for, render
from memories.models import MemoryFile, Proposal
from tests.support.builders import make_attachment, make_character, make_tavern

OLD = "## Memory 1\n_Extracted: 2023-06-15 10:00_\n- Flux was adopted.\n"


@pytest.fixture
def file(alice: User) -> Iterator[MemoryFile]:
    """A memory file of the older form, as it was found."""
    made = file_for(make_character(make_tavern(alice), "Flux"))
    made.attachment = make_attachment(made.character, made.name, is_registered=True)
    made.save(update_fields=["attachment"])
    memory_file.import_text(made, OLD, reason="Taken over")
    yield made


def start(file: MemoryFile) -> Proposal:
    return conversion.start_conversion(
        file.owner, file, source_name=file.name, text=OLD, attachment=str(file.attachment_id)
    )


def test_what_was_written_into_an_older_file_since_stays(file: MemoryFile) -> None:
    proposal = start(file)
    memory_file.import_text(file, OLD + "- Flux found a bell.\n", reason="Changed in SillyTavern")
    conversion.save(file.owner, proposal)
    text = render(file_for(file.character))
    assert "Flux found a bell." in text
    assert text.count("Flux was adopted.") == 1


def test_a_save_that_breaks_off_saves_nothing(file: MemoryFile, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = start(file)

    def break_off(*_args: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(conversion, "close", break_off)
        with pytest.raises(RuntimeError):
            conversion.save(file.owner, proposal)
    assert render(file_for(file.character)) == OLD
    again = Proposal.objects.for_user(file.owner).select_related("file__character", "draft").get(pk=proposal.pk)
    again.owner = again.file.owner = file.owner
    conversion.save(file.owner, again)
    assert render(file_for(file.character)).count("Flux was adopted.") == 1


def test_an_import_into_a_file_that_was_cleared_meanwhile(file: MemoryFile, alice: User) -> None:
    with change(file, reason="first") as editor:
        editor.add_block("Before", ["Flux was there."], origin="written")
    proposal = start(file)
    memory_file.clear(file_for(file.character), author=alice)
    conversion.save(alice, proposal)
    assert "Flux was adopted." in render(file_for(file.character))


def test_a_tidying_up_that_meets_a_reworded_memory_asks(alice: User, file: MemoryFile) -> None:
    with change(file, reason="first") as editor:
        block = editor.add_block("Before", ["[Flux — home] Flux lives at sea.", "Flux eats eels."], origin="written")
    assert block is not None
    proposal = conversion.start_reformat(alice, file, block_ids=[block.pk], by=conversion.RULES)
    with change(file_for(file.character), reason="elsewhere") as editor:
        editor.set_text(block.memories.get(text="Flux eats eels.").pk, "Flux eats eels and plums.")
    with pytest.raises(drafts.MergeNeeded):
        conversion.save(alice, proposal)
    assert "Flux eats eels and plums." in render(file_for(file.character))
