"""The head of every page of one character: name, stats bar, tabs, what it would cost to read the rest."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories.memory_list import file_of
from memories.models import Draft, MemoryBlock, MemoryFile, Revision
from memories.outside_text import open_conflict
from memories.page_queries import Word, health_word, memories_of, price_of, total_unread
from memories.queries import extraction_settings
from memories.unread import Unread, unread_by_chat
from providers.models import Connection
from providers.queries import default_connection
from sync.models import Character, Chat, FileConflict, Message


@dataclass
class CharacterFrame:
    """Facts in the head of a character's pages."""

    character: Character
    file: MemoryFile | None
    memories: int
    blocks: int
    unread: Unread
    interval: int
    hidden: int
    chats: int
    last_chat: Chat | None
    revisions: int
    health: Word
    job: Job | None
    failed: Job | None
    price: Decimal | None
    connection: Connection | None
    conflict: FileConflict | None
    edit_changes: int = 0  # steps of an edit that is not saved yet

    @property
    def version(self) -> int:
        """Grows with every change of the file; pages compare it to know whether cards are new."""
        return self.file.version if self.file else 0

    @property
    def pace(self) -> int:
        """Seconds until the head asks again."""
        return 2 if self.job else 15

    @property
    def state(self) -> Word:
        if self.job:
            return Word("live", _("reading"))
        if self.character.gone_at:
            return Word("warn", _("gone from SillyTavern, memories are kept"))
        if not self.connection:
            return Word("warn", _("no model yet"))
        return Word("ok", _("Ready to extract")) if self.unread.messages else Word("ok", _("Everything is read"))


def character_frame(user: User, character: Character) -> CharacterFrame:
    """Read the head; a fixed number of queries."""
    file = file_of(user, character)
    unread = total_unread(unread_by_chat(user, character).values())
    jobs = Job.objects.for_user(user).filter(kind="extract", subject__contains=str(character.pk))
    last = jobs.order_by("-created_at").first()
    chats = Chat.objects.for_user(user).filter(character=character, gone_at=None)
    return CharacterFrame(
        character=character,
        file=file,
        memories=memories_of(user, character).count(),
        blocks=MemoryBlock.objects.for_user(user).filter(file__character=character).count(),
        unread=unread,
        interval=extraction_settings(user).interval,
        hidden=Message.objects.for_user(user).filter(chat__in=chats, is_hidden=True).count(),
        chats=chats.count(),
        last_chat=chats.order_by("-last_at").first(),
        revisions=Revision.objects.for_user(user).filter(file=file).count() if file else 0,
        health=health_word(file, character.tavern),
        job=last if last and last.is_active else None,
        failed=last if last and last.state == Job.State.FAILED else None,
        price=price_of(user, unread),
        connection=default_connection(user),
        conflict=open_conflict(file) if file else None,
        edit_changes=_unsaved(user, file) if file else 0,
    )


def _unsaved(user: User, file: MemoryFile) -> int:
    rows = Draft.objects.for_user(user).filter(file=file, kind=Draft.Kind.EDIT, state=Draft.State.OPEN)
    return next(iter(rows.values_list("pointer", flat=True)), 0)
