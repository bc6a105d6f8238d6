"""A memory file that was edited outside comes back in as a revision, or, when both sides changed, as a question.

text outside ──▶ ours unchanged since the last write? ──yes──▶ revision "Changed in SillyTavern"
                                      └──no──▶ FileConflict: both texts kept, nothing written until decided
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from memories import memory_file, mirrored
from memories.blocks import parse, serialize_block
from memories.file_names import find_existing
from memories.file_state import format_of
from memories.models import MemoryFile
from memories.outside_merge import Trio, merged, trios
from memories.revisions import revision_text
from sync import databank, outbox
from sync.events import DatabankText
from sync.models import Attachment, Character, FileConflict

OURS, THEIRS, BOTH, BLOCKS = "ours", "theirs", "both", "blocks"
LONGEST_NAME = 300


def hear(news: DatabankText) -> None:
    """The mirror found a text that we did not write: adopt the file, take the edit over, or ask."""
    with unscoped("a Data Bank file changed outside"):
        rows = Attachment.objects.select_related("tavern__owner", "character__tavern")
        attachment = rows.filter(pk=news.attachment_id, gone_at__isnull=True).first()
        file = None if attachment is None else _file_of(attachment)
        if file is not None and attachment is not None:
            take(
                file,
                attachment,
                news.text,
                attachment.file_hash,
                compare_only=news.compare_only,
                known_hash=news.known_hash,
            )


def adopt(character: Character) -> MemoryFile:
    """The character's memory file, tied to the one that lies in the Data Bank already, if any."""
    file = memory_file.file_for(character)
    if file.attachment_id is None:
        found = existing(file)
        if found is not None:
            tie(file, found)
    return file


def existing(file: MemoryFile) -> Attachment | None:
    """The memory file that lies in the character's Data Bank already (spec/charmemory §2.2)."""
    candidates = databank.memory_file_candidates(file.character)
    chats = list(file.character.chats.values_list("name", flat=True))
    name = find_existing([one.name for one in candidates], file.character.name, own_name=file.name, chats=chats)
    return next((one for one in candidates if one.name == name), None)


def tie(file: MemoryFile, attachment: Attachment) -> None:
    """From now on `attachment` is where this file is written; it keeps its URL and its name."""
    databank.claim(attachment)
    rows = MemoryFile.objects.for_user(file.owner).filter(pk=file.pk)
    file.attachment, file.name = attachment, attachment.name
    rows.update(attachment=attachment, name=attachment.name)


def rename(file: MemoryFile, name: str) -> None:
    """Give the file a name of one's own; address and index stay, SillyTavern's entry follows. ValueError if unfit."""
    wanted = name.strip()
    if not wanted or len(wanted) > LONGEST_NAME or any(ord(character) < 32 for character in wanted):
        raise ValueError(_("A file name needs between 1 and 300 characters on one line."))
    from memories import write_back  # write_back asks this module about conflicts

    MemoryFile.objects.for_user(file.owner).filter(pk=file.pk).update(name=wanted)
    file.name = wanted
    write_back.schedule(file)


def take(
    file: MemoryFile,
    attachment: Attachment,
    text: str,
    digest: str,
    *,
    compare_only: bool = False,
    known_hash: str | None = None,
) -> bool:
    """Take an outside text over as a revision; False when both sides changed and the person has to decide.

    Nothing happens when our own writing was met half-way: `known_hash` is not what is known now, or the text is a
    version of ours that was put into the file but not noted as written, because the worker died or is still at it.
    """
    copy = mirrored.copy_at(file, attachment)
    with transaction.atomic():
        is_unchanged = _is_unchanged(file, copy)
        attachment.refresh_from_db(fields=["written_hash"])
        if digest == attachment.written_hash or known_hash not in (None, attachment.written_hash):
            return True
        if not is_unchanged and _is_our_own(file, copy, digest):
            outbox.accept(attachment, digest)
            return True
        if compare_only or not is_unchanged:
            _ask(attachment, memory_file.render(file), text, digest)
            return False
        is_first = not file.revisions.exists()
        reason = _("Found in SillyTavern") if is_first else _("Changed in SillyTavern")
        before = file.written_version
        memory_file.import_text(file, text, reason=reason)
        _accept(file, copy, attachment, digest, before=before, is_written=True)
    return True


def open_conflict(file: MemoryFile) -> FileConflict | None:
    """The question about this file, or about one of its copies, that waits for an answer, if any."""
    return next(filter(None, map(mirrored.open_conflict, mirrored.copies_of(file))), None)


def decide(user: User, conflict: FileConflict, decision: str, choices: Mapping[str, str] | None = None) -> None:
    """Answer the question: keep ours, theirs, theirs with ours below, or block by block as `choices` say.

    Each way both texts stay in the history: the text outside becomes a revision first, so that it can be restored
    whatever was chosen. `choices`: {key of a block: "mine" | "theirs" | "both"}.
    """
    if decision not in (OURS, THEIRS, BOTH, BLOCKS):
        raise ValueError(_("Choose which text to keep."))
    file = mirrored.file_at(user, conflict.attachment)
    if file is None:
        raise ValueError(_("No memory file is written there any more. Nothing was changed."))
    copy = mirrored.copy_at(file, conflict.attachment)
    with transaction.atomic():
        _is_unchanged(file, copy)  # holds the row: what is ours stays the newest revision until it is decided
        open_rows = FileConflict.objects.for_user(file.owner).filter(pk=conflict.pk, decided_at__isnull=True)
        if not open_rows.update(decision=decision, decided_at=timezone.now()):
            return
        before = file.written_version
        ours, our_text = file.revisions.first(), memory_file.render(file)
        wanted = _wanted(conflict, file, our_text, decision, choices or {})
        memory_file.import_text(file, conflict.theirs, reason=_("Changed in SillyTavern"), author=user)
        if decision != THEIRS and ours is not None:
            memory_file.restore(file, ours, author=user, reason=_("Ours kept"))
        if wanted is not None:
            reason = _("Both kept") if decision == BOTH else _("Put together by block")
            memory_file.import_text(file, wanted, reason=reason, author=user)
        conflict.refresh_from_db(fields=["decision", "decided_at"])
        is_written = decision == THEIRS
        _accept(file, copy, conflict.attachment, conflict.theirs_hash, before=before, is_written=is_written)


def _wanted(
    conflict: FileConflict, file: MemoryFile, our_text: str, decision: str, choices: Mapping[str, str]
) -> str | None:
    """The text that is neither ours nor theirs; None when one of them stays."""
    if decision == BOTH:
        return appended(conflict.theirs, our_text)
    if decision == BLOCKS:
        return merged(blocks_of(conflict, file), choices, conflict.theirs, format_of(file))
    return None


def blocks_of(conflict: FileConflict, file: MemoryFile) -> list[Trio]:
    """All blocks of both texts beside what was written last."""
    written = mirrored.copy_at(file, conflict.attachment).written_version
    last = file.revisions.filter(number=written).select_related("text", "state").first()
    base = revision_text(last) if last is not None else ""
    ours = memory_file.render(file) if conflict.decided_at is None else conflict.ours
    return trios(base, ours, conflict.theirs, format_of(file))


def appended(theirs: str, ours: str) -> str:
    """Their text, and below it those of our blocks that they do not have."""
    present = {(block.chat, block.bullets) for block in parse(theirs).blocks}
    missing = [block for block in parse(ours).blocks if (block.chat, block.bullets) not in present]
    return "\n\n".join(part for part in (theirs.rstrip(), *map(serialize_block, missing)) if part)


def _file_of(attachment: Attachment) -> MemoryFile | None:
    """The file that is written to this attachment; one found in the Data Bank is adopted when it is the right one."""
    known = mirrored.file_at(attachment.tavern.owner, attachment)
    if known is not None or attachment.character is None or attachment.scope != Attachment.Scope.CHARACTER:
        return known
    file = adopt(attachment.character)
    return file if file.attachment_id == attachment.pk else None


def _is_unchanged(file: MemoryFile, copy: mirrored.Copy) -> bool:
    """Nothing of ours would be lost: written as it stands, or nothing made yet. Holds the row until the commit."""
    rows = MemoryFile.objects.for_user(file.owner).filter(pk=file.pk)
    rows.update(updated_at=timezone.now())
    file.refresh_from_db(fields=["version", "written_version"])
    if copy is not file:
        copy.refresh_from_db(fields=["written_version"])
    return file.version == copy.written_version or not file.revisions.exists()


def _is_our_own(file: MemoryFile, copy: mirrored.Copy, digest: str) -> bool:
    if outbox.hash_of(memory_file.render(file)) == digest:
        return True
    unwritten = file.revisions.filter(number__gt=copy.written_version).select_related("text", "state")
    return any(outbox.hash_of(memory_file.revision_text(one)) == digest for one in unwritten.iterator())


def _ask(attachment: Attachment, ours: str, theirs: str, digest: str) -> None:
    rows = FileConflict.objects.for_user(attachment.tavern.owner)
    values = {"ours": ours, "theirs": theirs, "theirs_hash": digest}
    rows.update_or_create(attachment=attachment, decided_at=None, defaults=values)


def _accept(
    file: MemoryFile, copy: mirrored.Copy, attachment: Attachment, digest: str, *, before: int, is_written: bool
) -> None:
    """The text outside is known now; what it does not hold yet is written, and the index renewed.

    When it was the text of a share, the file's own copy still holds version `before`.
    """
    from memories import write_back  # write_back asks this module about conflicts

    outbox.accept(attachment, digest)
    if copy is not file:
        mirrored.note_written(file, before, forward=False)
    mirrored.note_written(copy, file.version if is_written else -1, forward=False)
    write_back.schedule(file)
