"""What somebody asks to be read, checked: whose chats, which messages of them."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from accounts.models import User
from memories import queries
from memories.members import readers
from memories.reading_limits import Ranges, spans_of
from memories.wanted import Wanted
from providers.models import Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Character, Chat


def need_model(user: User) -> Connection:
    """The model that will read. ValueError when none is connected."""
    connection = connection_for(user, EXTRACTION)
    if connection is None:
        raise ValueError(_("No model is connected yet. Choose one under Settings, Models; nothing was read."))
    return connection


def wish(
    user: User,
    character: Character,
    chats: Sequence[Chat] | None,
    ranges: Ranges | None,
    *,
    is_automatic: bool,
) -> Wanted:
    """What a job keeps of it. `chats` are checked already; None: all of the character's own."""
    if chats is None:
        careful = [str(one.pk) for one in queries.chats_to_read(user, character)] if is_automatic else []
        return Wanted(None, (), spans_of(user, ranges), frozenset(careful))
    own = tuple(str(one.pk) for one in chats if not one.group_id)
    of_groups = tuple(str(one.pk) for one in chats if one.group_id)
    names = {*own, *of_groups}
    spans = {chat: found for chat, found in spans_of(user, ranges).items() if chat in names}
    return Wanted(own, of_groups, spans, frozenset(names if is_automatic else ()))


def check_reader(user: User, character: Character, chat: Chat) -> None:
    """ValueError with a finished sentence when the character does not remember a chat."""
    if chat.group_id is None and chat.character_id != character.pk:
        raise ValueError(_("This chat is not one of %(name)s’s own chats.") % {"name": character.name})
    if chat.group_id is not None and character not in readers(user, chat):
        raise ValueError(
            _("%(name)s neither sits nor speaks in the group of this chat; nothing was read.")
            % {"name": character.name}
        )
