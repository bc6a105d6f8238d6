"""How the ledger's subjects are called: characters, groups, and chats that lie under one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from memories.memory_filters import is_uuid
from providers.subjects import Named, register
from sync.models import Character, Chat, Group


def register_all() -> None:
    """Called once when Django is ready."""
    register("character", _characters, below=_chats_of_character)
    register("group", _groups, below=_chats_of_group)
    register("chat", _chats)


def _characters(user: User, ids: Sequence[str]) -> Mapping[str, Named]:
    rows = Character.objects.for_user(user).filter(pk__in=_real(ids)).values_list("pk", "name")
    return {str(pk): Named(name or _("No name"), reverse("memories:character", args=[pk])) for pk, name in rows}


def _groups(user: User, ids: Sequence[str]) -> Mapping[str, Named]:
    rows = Group.objects.for_user(user).filter(pk__in=_real(ids)).values_list("pk", "name")
    return {str(pk): Named(name or _("A group"), reverse("memories:group", args=[pk])) for pk, name in rows}


def _chats(user: User, ids: Sequence[str]) -> Mapping[str, Named]:
    rows = Chat.objects.for_user(user).filter(pk__in=_real(ids))
    return {
        str(pk): Named(name, reverse("memories:chat", args=[pk]), under=_whose(character, group))
        for pk, name, character, group in rows.values_list("pk", "name", "character", "group")
    }


def _whose(character: UUID | None, group: UUID | None) -> str:
    return f"character:{character}" if character else f"group:{group}" if group else ""


def _chats_of_character(user: User, pk: str) -> Iterable[str]:
    return _heads(user, character=pk)


def _chats_of_group(user: User, pk: str) -> Iterable[str]:
    return _heads(user, group=pk, character=None)


def _heads(user: User, **where: object) -> Iterable[str]:
    if not _real([str(where.get("group") or where.get("character"))]):
        return []
    return [f"chat:{pk}" for pk in Chat.objects.for_user(user).filter(**where).values_list("pk", flat=True)]


def _real(ids: Iterable[str]) -> list[str]:
    """Those that can be ids at all: subjects come from addresses too."""
    return [one for one in ids if is_uuid(one)]
