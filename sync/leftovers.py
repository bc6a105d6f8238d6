"""Files in our own data folder that belong to a linked folder: they go when CharMem is told to forget it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.utils import timezone

from sync.models import Tavern
from sync.outbox import copies_of_tavern
from sync.portraits import portraits_of

TRIES = 5


def sample_folder(owner_id: UUID) -> Path:
    """Where a person's own copy of the sample story lies."""
    return Path(settings.DATA_DIR) / "sample" / str(owner_id)


def forget(tavern: Tavern) -> None:
    """Remove the row with everything below it, then small pictures, earlier versions of memory files and a copied
    sample. Nothing in SillyTavern's own folder is touched. Call it inside `unscoped()`."""
    tavern_id, owner_id, is_sample = tavern.pk, tavern.owner_id, tavern.is_sample
    characters = list(tavern.characters.values_list("pk", flat=True))
    _delete(tavern)
    for picture in (path for character in characters for path in portraits_of(character)):
        with suppress(OSError):
            picture.unlink()
    shutil.rmtree(copies_of_tavern(tavern_id), ignore_errors=True)
    if is_sample:
        shutil.rmtree(sample_folder(owner_id), ignore_errors=True)


def _delete(tavern: Tavern) -> None:
    """Delete the row. A pass that is under way loses its hold; what it adds in between goes at the next try."""
    rows = Tavern.objects.filter(pk=tavern.pk)
    rows.update(unlinked_at=timezone.now(), pass_token=None, pass_until=None)
    for _try in range(TRIES - 1):
        try:
            rows.delete()
            return
        except IntegrityError:
            continue
    rows.delete()
