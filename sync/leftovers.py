"""Files in our own data folder that belong to a linked folder: they go when CharMem is told to forget it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.conf import settings

from sync.models import Tavern
from sync.outbox import copies_of_tavern
from sync.portraits import portraits_of


def sample_folder(owner_id: UUID) -> Path:
    """Where a person's own copy of the sample story lies."""
    return Path(settings.DATA_DIR) / "sample" / str(owner_id)


def forget(tavern: Tavern) -> None:
    """Remove the row with everything below it, then small pictures, earlier versions of memory files and a copied
    sample. Nothing in SillyTavern's own folder is touched. Call it inside `unscoped()`."""
    tavern_id, owner_id, is_sample = tavern.pk, tavern.owner_id, tavern.is_sample
    characters = list(tavern.characters.values_list("pk", flat=True))
    tavern.delete()
    for picture in (path for character in characters for path in portraits_of(character)):
        with suppress(OSError):
            picture.unlink()
    shutil.rmtree(copies_of_tavern(tavern_id), ignore_errors=True)
    if is_sample:
        shutil.rmtree(sample_folder(owner_id), ignore_errors=True)
