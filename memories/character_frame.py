"""The head of every page of one character: name, stats bar, tabs, what it would cost to read the rest."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.models import Job
from memories.automatic_state import AutoState, state_of
from memories.models import Draft, MemoryFile, MemoryShare, Revision, Watermark
from memories.outlines import Outline, outline_of
from memories.outside_text import open_conflict
from memories.page_queries import Word, health_word, price_of, total_unread
from memories.scopes import share_of
from memories.unread import Unread, unread_by_chat
from providers.models import Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat, FileConflict, Message


class CharacterFrame:
    """Facts in the head of a character's pages, each read when a page shows it."""

    def __init__(self, user: User, character: Character) -> None:
        self.user = user
        self.character = character

    @cached_property
    def share(self) -> MemoryShare | None:
        """By which it remembers in somebody else's file."""
        return share_of(self.character)

    @cached_property
    def shared_with(self) -> list[Character]:
        """Who else remembers in the same file."""
        file = self.file
        if file is None:
            return []
        others = [one.character for one in file.shares.select_related("character").order_by("created_at")]
        return [one for one in (file.character, *others) if one.pk != self.character.pk]

    @cached_property
    def files(self) -> list[MemoryFile]:
        """All memory files of the character, its own first, then those of single chats; the shared one while it
        remembers in somebody else's file."""
        if self.share is not None:
            return [self.share.file]
        rows = MemoryFile.objects.for_user(self.user).filter(character=self.character)
        found = list(rows.select_related("attachment", "chat"))
        for file in found:
            file.owner = self.user
        return sorted(found, key=lambda file: (file.chat_id is not None, file.name))

    @property
    def file(self) -> MemoryFile | None:
        """The character's own memory file, if there is one already."""
        return next((file for file in self.files if file.chat_id is None), None)

    @cached_property
    def outlines(self) -> list[Outline]:
        """What is known of each file without its bullets."""
        return [outline_of(file) for file in self.files]

    @property
    def memories(self) -> int:
        return sum(one.memories for one in self.outlines)

    @property
    def blocks(self) -> int:
        return sum(len(one.blocks) for one in self.outlines)

    @property
    def version(self) -> int:
        """Grows with every change of the file; pages compare it to know whether cards are new."""
        return self.file.version if self.file else 0

    @cached_property
    def unread(self) -> Unread:
        return total_unread(unread_by_chat(self.user, self.character).values())

    @cached_property
    def auto(self) -> AutoState:
        """Whether the character is read by itself, and what that waits for."""
        return state_of(self.user, self.character)

    @cached_property
    def chats(self) -> int:
        return self._chats.count()

    @cached_property
    def last_chat(self) -> Chat | None:
        return self._chats.order_by("-last_at").first()

    @property
    def _chats(self) -> QuerySet[Chat]:
        """The chats that are still there."""
        return Chat.objects.for_user(self.user).filter(character=self.character, gone_at=None)

    @cached_property
    def was_read(self) -> bool:
        """Whether something was read for it already, or counts as read."""
        return Watermark.objects.for_user(self.user).filter(character=self.character, index__gte=0).exists()

    @cached_property
    def hidden(self) -> int:
        """Messages that SillyTavern keeps from the model."""
        return Message.objects.for_user(self.user).filter(chat__in=self._chats, is_hidden=True).count()

    @cached_property
    def revisions(self) -> int:
        return Revision.objects.for_user(self.user).filter(file=self.file).count() if self.file else 0

    @property
    def health(self) -> Word:
        return health_word(self.share or self.file, self.character.tavern)

    @cached_property
    def _last_job(self) -> Job | None:
        jobs = Job.objects.for_user(self.user).filter(kind="extract", subject__contains=str(self.character.pk))
        return jobs.order_by("-created_at").first()

    @property
    def job(self) -> Job | None:
        """The extraction that waits or runs."""
        last = self._last_job
        return last if last and last.is_active else None

    @property
    def failed(self) -> Job | None:
        """The last extraction, when it failed."""
        last = self._last_job
        return last if last and last.state == Job.State.FAILED else None

    @cached_property
    def connection(self) -> Connection | None:
        return connection_for(self.user, EXTRACTION)

    @cached_property
    def price(self) -> Decimal | None:
        return price_of(self.user, self.unread)

    @cached_property
    def conflict(self) -> FileConflict | None:
        return open_conflict(self.file) if self.file else None

    @cached_property
    def edit_changes(self) -> int:
        """Steps of an edit that is not saved yet."""
        rows = Draft.objects.for_user(self.user).filter(file=self.file, kind=Draft.Kind.EDIT, state=Draft.State.OPEN)
        return next(iter(rows.values_list("pointer", flat=True)), 0) if self.file else 0

    @property
    def pace(self) -> int:
        """Seconds until the head asks again."""
        return 2 if self.job else 15

    @cached_property
    def state(self) -> Word:
        if self.job:
            return Word("live", _("reading"))
        if self.character.gone_at:
            return Word("warn", _("gone from SillyTavern, memories are kept"))
        if not self.connection:
            return Word("warn", _("no model yet"))
        if self.auto.is_put_off:
            return Word(self.auto.tone, self.auto.words)
        return Word("ok", _("Ready to extract")) if self.unread.messages else Word("ok", _("Everything is read"))


def character_frame(user: User, character: Character) -> CharacterFrame:
    """The head of this character's pages."""
    return CharacterFrame(user, character)
