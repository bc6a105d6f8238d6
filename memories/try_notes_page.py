"""What can be chosen on the page that tries the prompt of imports: a character, pasted notes or a Data Bank file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from memories.conversion_databank import Found, files_of
from memories.try_it_page import newest_character, picked
from memories.try_parts import NotesTrial
from providers.models import Connection
from providers.purposes import CONVERSION
from providers.queries import connection_for, connections
from sync.models import Character


@dataclass(frozen=True)
class NotesChoice:
    """What the form shows as chosen. `source` is the id of a Data Bank file, "" for pasted notes. `trial` is None when
    nothing can be tried; `error` says why, and is "" while nothing was pasted yet."""

    characters: list[Character]
    files: list[Found]
    connections: list[Connection]
    character: Character | None
    source: str
    notes: str
    connection: Connection | None
    text: str
    trial: NotesTrial | None
    error: str = ""


def choose(user: User, name: str, given: Mapping[str, Any]) -> NotesChoice:
    """The form's state from `given` (a query, a form or a job's params); what is missing is filled in sensibly."""
    rows = Character.objects.for_user(user).filter(gone_at=None).select_related("tavern")
    characters = list(rows.order_by("name", "pk"))
    character = picked(characters, given.get("character")) or newest_character(user, characters)
    files = [one for one in files_of(character) if not one.problem] if character else []
    notes = str(given.get("notes") or "").replace("\r\n", "\n")
    source = _source(files, given)
    places = list(connections(user))
    connection = picked(places, given.get("connection")) or connection_for(user, CONVERSION)
    text = str(given.get("text") or "").replace("\r\n", "\n").strip()
    parts = (characters, files, places, character, source, notes, connection, text)
    if character is None:
        return NotesChoice(
            *parts, None, _("No character was found yet. Link SillyTavern’s folder under Settings first.")
        )
    if connection is None:
        return NotesChoice(*parts, None, _("No model is connected yet. Choose one under Settings, Models."))
    if not source and not notes.strip():
        return NotesChoice(*parts, None)
    connection.owner = user
    return NotesChoice(*parts, NotesTrial(name, character, connection, notes, source, text))


def _source(files: list[Found], given: Mapping[str, Any]) -> str:
    """The file that is named; without a word about it the first that is no memory file."""
    ids = {str(one.attachment.pk): one for one in files}
    if "source" in given:
        return str(given["source"]) if str(given["source"]) in ids else ""
    return next((pk for pk, one in ids.items() if not one.is_memory_file), "")
