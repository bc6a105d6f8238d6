"""What a person decides in the review queues. Each decision about a memory is one revision; both can be undone."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from memories import ancestors, editing, memory_file, review
from memories.models import Memory, MemoryFile, ReviewPair, Revision

OLDER, NEWER, BOTH, MERGED, UNRELATED = "older", "newer", "both", "merged", "unrelated"
KEPT = {
    ReviewPair.Kind.DUPLICATE: (OLDER, NEWER, BOTH, MERGED),
    ReviewPair.Kind.SUPERSEDED: (NEWER, BOTH, UNRELATED),
}


def mark_right(user: User, memory: Memory) -> Revision | None:
    """What the memory says is right, although no message bears out its names."""
    file = memory.block.file
    with memory_file.change(file, reason=_("Checked: it is right"), author=user) as editor:
        row = editor.memory(memory.pk)
        if row.is_unverified or row.unverified_names or row.doubts:
            row.is_unverified, row.unverified_names, row.doubts = False, [], []
            row.save(update_fields=["is_unverified", "unverified_names", "doubts"])
            editor.touch([row.block_id])
    return file.revisions.filter(number=file.version).first()


def decide(user: User, pair: ReviewPair, decision: str, text: str = "") -> Revision | None:
    """Keep the `older` or the `newer` one (the other goes and becomes its ancestor), `both`, or one with new words
    (`merged`, with `text`); `unrelated` says that the suggestion was wrong. The revision when the file was changed.

    ValueError with a sentence for an unknown decision, a lost memory, an empty text, or when it was decided already.
    """
    if decision not in KEPT[ReviewPair.Kind(pair.kind)]:
        raise ValueError(_("Choose one of the answers below the two memories."))
    with transaction.atomic():
        open_rows = ReviewPair.objects.for_user(user).filter(pk=pair.pk, decision="")
        if not open_rows.update(decision=decision, decided_at=timezone.now()):
            raise ValueError(_("This pair was decided already. Nothing was changed."))
        if decision in (BOTH, UNRELATED):
            told = Memory.objects.for_user(user).filter(pk=pair.newer, duplicate_of=pair.older)
            told.update(duplicate_of=None)
            return None
        return _change(user, pair, decision, text)


def undo(user: User, pair: ReviewPair, number: int | None) -> None:
    """Take a decision back: the pair is open again, and revision `number`, if there is one, is undone.

    ValueError with a sentence when the file was changed since in a way that cannot be told apart.
    """
    with transaction.atomic():
        if number is not None:
            editing.undo(user, pair.file, number)
        ReviewPair.objects.for_user(user).filter(pk=pair.pk).update(decision="", decided_at=None)


def _change(user: User, pair: ReviewPair, decision: str, text: str) -> Revision | None:
    file = MemoryFile.objects.for_user(user).select_related("owner", "character__tavern").get(pk=pair.file_id)
    kept, gone = (pair.older, pair.newer) if decision == OLDER else (pair.newer, pair.older)
    with memory_file.change(file, reason=_reason(pair, decision), author=user) as editor:
        rows = [editor.memory(one) for one in (kept, gone)]
        if review.digest_of(rows[0].text, rows[1].text) != pair.digest:
            raise ValueError(_("One of the two was reworded meanwhile. Look at the pair again."))
        if any(row.is_locked or row.block.is_locked for row in rows[decision != MERGED :]):
            raise ValueError(_("A locked memory stays as it is. Unlock it first."))
        if decision == MERGED:
            ancestors.keep(file, rows)
            row = editor.set_text(kept, text)
            row.evidence = _together(rows)
            row.parents = [str(one.pk) for one in rows] if row.text != rows[0].text else _lineage(rows)
        else:
            ancestors.keep(file, rows[1:])
            row, row.parents = rows[0], _lineage(rows)
        row.save(update_fields=["evidence", "parents", "updated_at"])
        editor.touch([row.block_id])
        editor.delete_memory(gone)
    return file.revisions.filter(number=file.version).first()


def _lineage(rows: list[Memory]) -> list[str]:
    """The kept one's own parents, and the one that it replaces."""
    return list(dict.fromkeys([*rows[0].parents, str(rows[1].pk)]))


def _together(rows: list[Memory]) -> list[dict[str, object]]:
    """The evidence of both, each message once."""
    return list({str(item.get("identity", "")): item for row in rows for item in row.evidence}.values())


def _reason(pair: ReviewPair, decision: str) -> str:
    if pair.kind == ReviewPair.Kind.SUPERSEDED:
        return _("An older memory was out of date")
    return _("Two memories merged") if decision == MERGED else _("A duplicate taken out")
