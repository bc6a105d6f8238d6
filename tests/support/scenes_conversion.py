"""Imports for looking at: notes that wait to be checked, a saved one whose original is still injected, tidying up."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from memories import conversion
from memories.memory_file import file_for
from sync.models import Tavern
from tests.support.builders import make_attachment, make_block, make_character

NOTES = """# Marit, notes to self

## Lantern
* only wardens carry it lit
* oil is whale, never seal (she can smell it)
  * seal oil smokes blue
• the glass was Maren’s

## People
1. Ólafur – owed one crossing
2) Yuki – letters on new moon
3. the Archivist: do not speak to

<memory chat="old" date="2024-
she hums when she files. always the same
four notes, never five.

TO-DO ask what the 209 is about??
~~~

### The night of the two moons, which the harbour master of Pellhaven still refuses to write down
- Family:
  - mother Ana, who kept the first ledger
  - father Bo, lost with the Kittiwake
- Promised Wren not to open the seventh stack before the first frost, whatever the Archivist says.
"""


def add_imports(alice: User, tavern: Tavern) -> dict[str, Any]:
    """One import to be checked, one that was saved while its original is still registered, one reformat."""
    character = make_character(tavern, "Marit, Warden of Small Keys")
    file = file_for(character)
    make_block(
        file, "Before", ["Only wardens carry it lit.", "Marit counts the stairs aloud."], date="2026-02-01 20:00"
    )
    make_attachment(character, "marit-notes.md", is_registered=True, is_ours=False, file_present=True)
    waiting = conversion.start_conversion(alice, file, source_name="notes.md", text=NOTES)
    other = file_for(make_character(tavern, "Bram of the Far Lock"))
    make_attachment(other.character, "bram.md", is_registered=True, is_ours=False)
    saved = conversion.start_conversion(alice, other, source_name="bram.md", text="- Bram bakes at night.\n- He sails.")
    conversion.save(alice, saved)
    blocks = [block.pk for block in file.blocks.all()]
    tidied = conversion.start_reformat(alice, file, block_ids=blocks, by=conversion.RULES)
    return {"import-waiting": waiting, "import-saved": saved, "import-tidied": tidied}


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """Pages of imports."""
    waiting, saved, tidied = (scene[f"import-{name}"] for name in ("waiting", "saved", "tidied"))
    pk = waiting.file.character_id
    return {
        "import": f"/characters/{pk}/import/",
        "import-check": f"/proposals/{waiting.pk}/",
        "import-saved": f"/proposals/{saved.pk}/",
        "import-tidied": f"/proposals/{tidied.pk}/",
        "reformat": f"/characters/{pk}/reformat/",
        "copy-memories": f"/characters/{pk}/copy/",
    }
