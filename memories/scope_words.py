"""What keeps the memories of a character's chats apart in SillyTavern, and what does not yet: in words.

SillyTavern shows every file of a character's Data Bank in all of its chats; a file in the Data Bank of a chat only
there (spec/sillytavern §5). Chats are never written by CharMem, so a person, or the page in SillyTavern, registers a
file there. What branches remember comes into the character's one file while they are open (memories/lines.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.models import User
from memories import mirrored
from memories.lines import line_of
from memories.memory_file import canonical
from memories.models import MemoryFile, MemoryLine, MemoryScope
from memories.scopes import files_in_use, has_own_file, is_divided, scope_of, share_of
from memories.sharing import sharers
from sync import registration
from sync.models import Attachment, Character, Chat


@dataclass(frozen=True)
class InForce:
    """Where the text of one file reaches prompts. `kind` is ok, warn or off; `paste_line` registers it by hand."""

    file: MemoryFile
    kind: str
    text: str
    chat: Chat | None = None
    character: Character | None = None
    paste_line: str = ""


def isolation(user: User, character: Character) -> list[InForce]:
    """One line for each file, when memories are divided; else nothing has to be kept apart."""
    if share_of(character) is not None or not is_divided(scope_of(character)):
        return []
    files = files_in_use(user, character)
    if len(files) < 2 and scope_of(character).scope == MemoryScope.Scope.ALL:
        return []  # no branch has begun
    line = line_of(character)
    return [_of_chat(file, line) if file.chat else _of_character(file, line) for file in files]


def of_chat(user: User, character: Character, chat: Chat) -> InForce | None:
    """Where the text of the chat's own file reaches prompts; None when it has none that is in use."""
    if share_of(character) is not None or not has_own_file(scope_of(character), character, chat):
        return None
    rows = MemoryFile.objects.for_user(user).filter(character=character, chat=chat)
    file = rows.select_related("owner", "chat", "attachment").first()
    return None if file is None else _of_chat(file, line_of(character))


def _of_character(file: MemoryFile, line: MemoryLine | None) -> InForce:
    attachment = file.attachment
    if line is not None:
        return InForce(file, "off", _("It comes back into the Data Bank when a chat of its own line is opened."))
    if attachment is None or not attachment.is_registered or not file.version:
        return InForce(file, "off", _("It is in no prompt yet."))
    if _follows(file):
        text = _("It stands in the character’s Data Bank until a branch is opened in SillyTavern.")
        return InForce(file, "ok", text)
    text = _(
        "It stands in the character’s Data Bank, so it is in force in all chats, those with a memory of their own too."
    )
    return InForce(file, "warn", text)


def _follows(file: MemoryFile) -> bool:
    """Whether the Data Bank file changes with the open chat (memories/lines.py)."""
    return scope_of(file.character).scope == MemoryScope.Scope.ALL


def _of_chat(file: MemoryFile, line: MemoryLine | None) -> InForce:
    attachment, chat = file.attachment, file.chat
    if line is not None and line.file_id == file.pk:
        text = _("This chat is open in SillyTavern, so it stands in the character’s Data Bank now, alone.")
        return InForce(file, "ok", text, chat)
    if attachment is not None and attachment.is_registered:
        if attachment.scope == Attachment.Scope.CHAT:
            return InForce(file, "ok", _in_this_chat(chat), chat)
        text = _(
            "This file is in force in all chats of the character: not isolated. "
            "Remove it from the character’s Data Bank."
        )
        return InForce(file, "warn", text, chat)
    namesakes = Attachment.objects.for_user(file.owner).filter(
        character=file.character_id, name=file.name, is_registered=True
    )
    if namesakes.exists():
        text = _(
            "A file of this name stands in the character’s Data Bank: in force in all chats, not isolated, "
            "and not kept up to date. Remove it there."
        )
    elif chat is not None and chat.group_id is None and _follows(file):
        text = _("It comes into the character’s Data Bank when this chat is opened in SillyTavern.")
        return InForce(file, "off", text, chat)
    else:
        text = _("Its text is kept here and not yet in any prompt.")
    pasted = registration.paste_line(file.name, canonical(file), Attachment.Scope.CHAT) if file.version else ""
    return InForce(file, "warn" if namesakes else "off", text, chat, paste_line=pasted)


def _in_this_chat(chat: Chat | None) -> str:
    if chat is not None and chat.group_id is not None:
        return _("In force in this group chat only, for every member who speaks there.")
    return _("In force in this chat only.")


def copies(user: User, character: Character) -> list[InForce]:
    """Where a shared memory lies: one line for each character."""
    share = share_of(character)
    file = share.file if share is not None else next((one.file for one in sharers(user, character)), None)
    if file is None:
        return []
    return [_copy(file, one) for one in mirrored.copies_of(file)]


def _copy(file: MemoryFile, copy: mirrored.Copy) -> InForce:
    attachment, character = copy.attachment, copy.character
    if mirrored.open_conflict(copy) is not None:
        return InForce(
            file, "warn", _("Its copy was changed in SillyTavern too; a decision is needed."), None, character
        )
    if attachment is None or not attachment.file_present:
        return InForce(file, "off", _("It is written within seconds."), None, character)
    if not attachment.is_registered:
        line = registration.paste_line(attachment.name, canonical(file))
        return InForce(file, "warn", _("Written, and not in the Data Bank’s list yet."), None, character, line)
    if copy.written_version != file.version:
        return InForce(file, "warn", _("The newest memories are not written yet."), None, character)
    return InForce(file, "ok", _("In force in all of its chats."), None, character)
