"""What pages and apps above read about SillyTavern's folders. The person comes first, always."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, QuerySet, Sum

from accounts.models import User
from sync.models import Attachment, Character, Chat, FileIssue, FolderGrant, Group, Lorebook, Message, Tavern

LIVING_FIRST = F("gone_at").asc(nulls_first=True)


@dataclass(frozen=True)
class Counts:
    """How much of a folder is mirrored, without what is gone."""

    characters: int
    groups: int
    chats: int
    messages: int
    lorebooks: int
    attachments: int
    issues: int


def taverns(user: User) -> QuerySet[Tavern]:
    """The folders that this person has linked now, oldest first."""
    return Tavern.objects.for_user(user).filter(unlinked_at=None).order_by("created_at")


def characters(user: User) -> QuerySet[Character]:
    """Characters with `chat_count` and `message_count`, by name; those gone last."""
    rows = Character.objects.for_user(user).annotate(
        chat_count=Count("chats"), message_count=Sum("chats__message_count", default=0)
    )
    return rows.order_by(LIVING_FIRST, "name")


def groups(user: User) -> QuerySet[Group]:
    """Groups with `chat_count`, by name."""
    return Group.objects.for_user(user).annotate(chat_count=Count("chats")).order_by(LIVING_FIRST, "name")


def chats(user: User, owner: Character | Group) -> QuerySet[Chat]:
    """Chats of a character or a group, the last used first."""
    by = {"character": owner} if isinstance(owner, Character) else {"group": owner}
    return (
        Chat.objects.for_user(user)
        .filter(**by)
        .select_related("parent")
        .order_by(F("last_at").desc(nulls_last=True), "name")
    )


def messages(user: User, chat: Chat, first: int = 0, count: int = 100) -> list[Message]:
    """`count` messages of a chat from number `first` on."""
    rows = Message.objects.for_user(user).filter(chat=chat, index__gte=first, index__lt=first + count)
    return list(rows.order_by("index"))


def issues(user: User, tavern: Tavern | None = None) -> QuerySet[FileIssue]:
    """What could not be read, by file and line."""
    rows = FileIssue.objects.for_user(user).filter(tavern__unlinked_at=None).select_related("tavern")
    return (rows.filter(tavern=tavern) if tavern else rows).order_by("tavern", "path", "line", "pk")


def attachments(user: User, tavern: Tavern) -> QuerySet[Attachment]:
    """Data Bank files of a folder, ours first."""
    rows = Attachment.objects.for_user(user).filter(tavern=tavern, gone_at=None)
    return rows.select_related("character", "chat").order_by("-is_ours", "scope", "name")


def lorebooks(user: User) -> QuerySet[Lorebook]:
    """Lorebooks with `entry_count`, by name."""
    rows = Lorebook.objects.for_user(user).filter(gone_at=None).annotate(entry_count=Count("entries"))
    return rows.select_related("character").order_by("name")


def counts(user: User, tavern: Tavern) -> Counts:
    """The numbers of one folder."""
    here = {"tavern": tavern, "gone_at": None}
    sums = Chat.objects.for_user(user).filter(**here).aggregate(chats=Count("pk"), messages=Sum("message_count"))
    return Counts(
        characters=Character.objects.for_user(user).filter(**here).count(),
        groups=Group.objects.for_user(user).filter(**here).count(),
        chats=sums["chats"],
        messages=sums["messages"] or 0,
        lorebooks=Lorebook.objects.for_user(user).filter(**here).count(),
        attachments=Attachment.objects.for_user(user).filter(**here).count(),
        issues=FileIssue.objects.for_user(user).filter(tavern=tavern).count(),
    )


def grants(user: User) -> list[FolderGrant]:
    """The folders that an admin assigned to this person."""
    return list(FolderGrant.objects.filter(user=user).order_by("folder"))
