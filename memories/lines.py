"""Which line of a story that branched stands in a character's Data Bank file: the line of the chat that is open.

Each branch remembers in a file of its own (memories/scopes.py), and SillyTavern shows one file of the character in all
its chats. The card says which chat is open (spec/sillytavern §4), so the text of that chat's line is put there: a
branch's while it is open, the character's own otherwise. Memories for each chat are not moved in and out like this:
there every change of chat would cost an index.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q

from accounts.models import User
from accounts.ownership import unscoped
from memories import mirrored, write_back
from memories.memory_file import file_for
from memories.models import MemoryFile, MemoryLine, MemoryScope
from memories.scopes import ONES, file_of_reading, has_own_file, scope_of, share_of
from sync.events import PassFinished
from sync.models import Character, Chat, Tavern


def hear(news: PassFinished) -> None:
    """After a pass of the mirror that found something new: every Data Bank file follows the chat that is open."""
    if not news.changed:
        return
    with unscoped("the Data Bank files of a tavern follow its open chats"):
        tavern = Tavern.objects.select_related("owner").filter(pk=news.tavern_id).first()
    if tavern is not None and write_back.may_write(tavern):
        for character in _concerned(tavern):
            settle(tavern.owner, character)


def settle(user: User, character: Character) -> None:
    """Have the line of the chat that is open stand in the character's Data Bank file. Nothing happens when it does."""
    line = line_of(character)
    file = _file_of_open_branch(user, character)
    if (line.file_id if line else None) == (file.pk if file else None):
        return
    own = file_for(character)
    with transaction.atomic():
        MemoryLine.objects.for_user(user).filter(character=character).delete()
        if file is not None:
            MemoryLine.objects.create(file=file, character=character, attachment=own.attachment)
        mirrored.note_written(own, -1, forward=False)
    write_back.schedule(file or own)


def line_of(character: Character) -> MemoryLine | None:
    """The branch that stands in the character's Data Bank file, if one does."""
    rows = MemoryLine.objects.for_user(character.tavern.owner).filter(character=character)
    return rows.select_related("file__chat", "attachment").first()


def _concerned(tavern: Tavern) -> list[Character]:
    """Characters that remember something and have a branch open or a line of one in their Data Bank file."""
    rows = Character.objects.for_user(tavern.owner).filter(tavern=tavern, gone_at__isnull=True)
    is_branch = Q(chats__parent__isnull=False, chats__gone_at__isnull=True, chats__name=F("current_chat"))
    rows = rows.filter(Q(memory_line__isnull=False) | (is_branch & Q(memory_files__version__gt=0)))
    return list(rows.select_related(*ONES, "tavern__owner").distinct())


def _file_of_open_branch(user: User, character: Character) -> MemoryFile | None:
    """The file of the branch that is open, begun with what was known at the fork; None where it has none, or it holds
    nothing yet, or the chat is no branch."""
    chosen = scope_of(character)
    if share_of(character) is not None or chosen.scope == MemoryScope.Scope.CHAT:
        return None
    rows = Chat.objects.for_user(user).filter(character=character, name=character.current_chat, gone_at__isnull=True)
    chat = rows.filter(parent__isnull=False).select_related("parent").first()
    if chat is None or not has_own_file(chosen, character, chat):
        return None
    file = file_of_reading(character, chat)
    return file if file.version else None
