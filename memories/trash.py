"""What was deleted lately: blocks, and all memories of a file or a character, to be put back within 30 days."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from memories import memory_file, revisions, trash_items
from memories.models import Revision, TrashItem

KEPT = timedelta(days=30)
EVERY = 86_400.0  # seconds between two clearings


def items(user: User) -> QuerySet[TrashItem]:
    """What can still be put back, newest first."""
    rows = TrashItem.objects.for_user(user).filter(restored_at=None, deleted_at__gt=timezone.now() - KEPT)
    return rows.select_related("file__character", "file__chat")


def put_back(user: User, item: TrashItem) -> Revision | None:
    """Bring it back: blocks that the file does not have, with everything that was known about them, in the place that
    their dates and order had. None when all of it is there already. ValueError when it was put back before."""
    if item.owner_id != user.pk:
        raise PermissionError("what is in the trash is put back by its owner only")
    rows = TrashItem.objects.for_user(user).filter(pk=item.pk, restored_at=None)
    blocks = revisions.read_json(item.state)["blocks"]
    with memory_file.change(item.file, reason=_("Put back: %(title)s") % {"title": item.title}, author=user) as editor:
        if not rows.update(restored_at=timezone.now()):
            raise ValueError(_("This was put back already."))
        memory_file.insert_blocks(editor, [revisions.full_block(block) for block in blocks])
        trash_items.note_reading(item.file, item)
    item.refresh_from_db(fields=["restored_at"])
    return item.file.revisions.get(number=item.file.version) if editor.is_changed else None


def purge() -> None:
    """What is older than 30 days goes; the history of the file keeps it all the same."""
    with unscoped("old trash of everybody"):
        TrashItem.objects.filter(deleted_at__lt=timezone.now() - KEPT).delete()
