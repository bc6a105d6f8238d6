"""What the options of `manage.py extract` choose: whose chats, which of them, which messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.commands import CommandFailed, WrongUsage
from accounts.models import User
from jobs.models import Job
from memories import members, queries, watermark
from memories.extraction import start_extraction
from memories.extraction_group import start_group
from memories.reading_limits import Ranges
from memories.reset_cost import Cost, cost_of_reading
from sync.models import Character, Chat, Group


@dataclass(frozen=True)
class Reader:
    """A character or a group whose chats are read, all or one of them, whole or from message to message."""

    user: User
    whose: Character | Group
    chat: Chat | None = None
    first: int | None = None
    last: int | None = None

    @property
    def name(self) -> str:
        return self.whose.name

    @property
    def characters(self) -> list[Character]:
        """Who remembers."""
        if isinstance(self.whose, Group):
            return members.roster(self.user, self.whose).characters
        return [self.whose]

    @property
    def chats(self) -> list[Chat]:
        if self.chat is not None:
            return [self.chat]
        if isinstance(self.whose, Group):
            return list(Chat.objects.for_user(self.user).filter(group=self.whose, gone_at=None))
        return queries.chats_to_read(self.user, self.whose)

    @property
    def ranges(self) -> Ranges | None:
        if self.chat is None or (self.first is None and self.last is None):
            return None
        return {str(self.chat.pk): [self.first, self.last]}

    def cost(self, *, again: bool) -> Cost:
        """What reading it will cost."""
        whose = {"group": self.whose} if isinstance(self.whose, Group) else {"character": self.whose}
        chats = None if self.chat is None else [self.chat]
        return cost_of_reading(self.user, **whose, chats=chats, ranges=self.ranges, again=again)

    def reopen(self) -> int:
        """Have what was read of it read again; how many messages, counted for each who remembers."""
        return sum(
            watermark.reopen(self.user, chat, character, self.first, self.last)
            for chat in self.chats
            for character in self.characters
        )

    def start(self) -> Job:
        """Queue it. ValueError with a finished sentence when it cannot start."""
        chats = None if self.chat is None else [self.chat]
        if isinstance(self.whose, Group):
            return start_group(self.user, self.whose, chats=chats, ranges=self.ranges)
        return start_extraction(self.user, character=self.whose, chats=chats, ranges=self.ranges)


def chosen(user: User, options: dict[str, Any]) -> list[Reader]:
    """The readers that the options name. WrongUsage for options that do not fit, CommandFailed for unknown names."""
    _check(options)
    # Groups first: a member's own job that is under way already would take its part of the group's along.
    everybody: list[Character | Group] = [*_groups(user, options), *_characters(user, options)]
    if options["all"]:
        _some(everybody, "There is no character yet; link a SillyTavern folder first.")
    first, last = options["first"], options["last"]
    if not options["chat"]:
        return [Reader(user, one) for one in everybody]
    return [Reader(user, everybody[0], _chat(user, everybody[0], options["chat"]), first, last)]


def _check(options: dict[str, Any]) -> None:
    if options["all"] and options["chat"]:
        raise WrongUsage("--chat needs --character, --avatar or --group, not --all.")
    if options["all"] and options["again"]:
        raise WrongUsage("--again needs --character, --avatar or --group, not --all.")
    if (options["first"] is not None or options["last"] is not None) and not options["chat"]:
        raise WrongUsage("--from and --to are message numbers of one chat: name it by --chat.")


def _characters(user: User, options: dict[str, Any]) -> list[Character]:
    present = Character.objects.for_user(user).filter(gone_at=None).select_related("tavern__owner").order_by("name")
    if options["all"]:
        return list(present)
    if options["avatar"]:
        return _some(
            list(present.filter(avatar=options["avatar"])), f"No character has the card “{options['avatar']}”."
        )
    if not options["character"]:
        return []
    name = options["character"]
    found = _some(list(present.filter(name=name)), f"There is no character named “{name}”.")
    if len(found) > 1:
        cards = ", ".join(one.avatar for one in found)
        raise CommandFailed(f"Several characters are named “{name}”: choose one by --avatar ({cards}).")
    return found


def _groups(user: User, options: dict[str, Any]) -> list[Group]:
    present: QuerySet[Group] = Group.objects.for_user(user).filter(gone_at=None).order_by("name", "pk")
    if options["all"]:
        rosters = members.rosters(user, list(present))
        return [one for one in present if rosters[one.pk].members]
    if not options["group"]:
        return []
    name = options["group"]
    found = list(present.filter(name=name)) or list(present.filter(file_id=name))
    _some(found, f"There is no group named “{name}”.")
    if len(found) > 1:
        ids = ", ".join(one.file_id for one in found)
        raise CommandFailed(f"Several groups are named “{name}”: choose one by the name of its file ({ids}).")
    return found


def _some(found: Sequence[Any], nobody: str) -> Any:
    if not found:
        raise CommandFailed(nobody)
    return found


def _chat(user: User, whose: Character | Group, name: str) -> Chat:
    field = "group" if isinstance(whose, Group) else "character"
    rows = Chat.objects.for_user(user).filter(**{field: whose}, gone_at=None, name=name.removesuffix(".jsonl"))
    chat = rows.first()
    if chat is None:
        raise CommandFailed(f"{whose.name} has no chat named “{name}”.")
    return chat
