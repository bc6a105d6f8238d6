"""Whether a character's memories can reach a prompt at all, step by step (Data Bank and Vector Storage)."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from memories.mirrored import as_shown, guest_of
from memories.models import MemoryFile
from sync import registration, vectors
from sync.models import Attachment, Character, FileConflict, Tavern

VECTORS_EXTENSION = "vectors"


@dataclass(frozen=True)
class Step:
    """One thing on the way to the prompt. `setting` names what to tick or do in SillyTavern when it is not ok."""

    key: str
    label: str
    ok: bool
    text: str = ""
    setting: str = ""


@dataclass(frozen=True)
class Reach:
    """The answer for one character. `paste_line` adds the file by hand while it is not registered ("" otherwise)."""

    ok: bool
    steps: list[Step]
    paste_line: str = ""
    file: MemoryFile | None = None
    attachment: Attachment | None = None
    conflict: FileConflict | None = None

    @property
    def missing(self) -> list[Step]:
        """What is off, in the order in which it should be mended."""
        return [step for step in self.steps if not step.ok]


def reach(character: Character) -> Reach:
    """What stands between this character's memories and the prompt; asks the database only, at most five times."""
    tavern = character.tavern
    files = MemoryFile.objects.for_user(tavern.owner).filter(character=character, chat__isnull=True)
    file = files.select_related("owner", "attachment__tavern__owner", "attachment__registration").first()
    if guest := guest_of(character):
        file = as_shown(guest)
    attachment = file.attachment if file else None
    conflict = _conflict(attachment)
    steps = steps_of(tavern, file, conflict)
    line = _paste_line(file, attachment)
    return Reach(all(step.ok for step in steps), steps, line, file, attachment, conflict)


def steps_of(tavern: Tavern, file: MemoryFile | None, conflict: FileConflict | None) -> list[Step]:
    """Each step to the prompt, from rows in hand: a file with its attachment, and the conflict that waits there."""
    attachment = file.attachment if file else None
    return [
        _enabled(tavern),
        _present(file, attachment, conflict),
        _registered(attachment),
        _not_disabled(attachment),
        _index(attachment),
    ]


def _enabled(tavern: Tavern) -> Step:
    label = _("SillyTavern looks into files")
    if VECTORS_EXTENSION in tavern.disabled_extensions:
        return Step(
            "enabled",
            label,
            ok=False,
            text=_("The extension Vector Storage is switched off."),
            setting=_("Extensions, Manage extensions: tick Vector Storage."),
        )
    if tavern.vectors.get("enabled_files"):
        return Step("enabled", label, ok=True, text=_("Vector Storage looks into Data Bank files."))
    return Step(
        "enabled",
        label,
        ok=False,
        text=_("Vector Storage does not look into files."),
        setting=_("Extensions, Vector Storage, File vectorization settings: tick “Enable for files”."),
    )


def _present(file: MemoryFile | None, attachment: Attachment | None, conflict: FileConflict | None) -> Step:
    label = _("The file is in the Data Bank folder")
    if conflict is not None:
        text = _("It was changed in SillyTavern too. Both texts are kept until you decide.")
        return Step("file", label, ok=False, text=text, setting=_("Decide here which text to keep."))
    if file is None or attachment is None or file.written_version < 0:
        return Step("file", label, ok=False, text=_("It is written after the first extraction."))
    if not attachment.file_present:
        return Step("file", label, ok=False, text=_("It was deleted in SillyTavern."), setting=_("Press Rebuild."))
    if file.version != file.written_version:
        return Step("file", label, ok=False, text=_("The newest memories are not written yet."))
    return Step("file", label, ok=True, text=attachment.file_name)


def _registered(attachment: Attachment | None) -> Step:
    label = _("SillyTavern knows the file")
    if attachment is not None and attachment.is_registered:
        return Step("registered", label, ok=True, text=_("It stands in the character's Data Bank."))
    return Step(
        "registered",
        label,
        ok=False,
        text=_("It is not in the character's Data Bank yet."),
        setting=_("With the CharMem companion, open the character in SillyTavern. Without it, paste the line there."),
    )


def _not_disabled(attachment: Attachment | None) -> Step:
    is_on = attachment is None or not attachment.is_disabled
    return Step(
        "allowed",
        _("The file is not switched off"),
        ok=is_on,
        text="" if is_on else _("It is disabled in the Data Bank."),
        setting="" if is_on else _("Data Bank, Character attachments: press Enable beside the file."),
    )


def _index(attachment: Attachment | None) -> Step:
    label = _("The vector index is current")
    if attachment is None or not attachment.file_present:
        return Step("index", label, ok=False, text=_("There is no file to index yet."))
    if attachment.index_state == Attachment.Index.BUILDING:
        return Step("index", label, ok=False, text=_("It is being built."))
    if vectors.is_current(attachment):
        return Step("index", label, ok=True, text=_("%(count)d chunks.") % {"count": attachment.index_chunks})
    text = attachment.index_note or _("It was built before the last change.")
    return Step("index", label, ok=False, text=text, setting=_("Press Rebuild."))


def _conflict(attachment: Attachment | None) -> FileConflict | None:
    return attachment.conflicts.filter(decided_at__isnull=True).first() if attachment else None


def _paste_line(file: MemoryFile | None, attachment: Attachment | None) -> str:
    from memories.memory_file import canonical

    if file is None or attachment is None or attachment.is_registered or not attachment.file_present:
        return ""
    return registration.paste_line(file.name, canonical(file))
