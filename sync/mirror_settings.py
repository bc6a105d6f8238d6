"""settings.json: the named keys onto the tavern, and its Data Bank entries (with those in chats) as Attachment rows.

Never touches what belongs to writing: is_ours, written_hash and the index fields (sync/databank.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sync.mirror_pass import Pass
from sync.models import Attachment
from sync.tavern.problem import Problem
from sync.tavern.settings_file import AttachmentEntry, SettingsError, TavernSettings, read_settings

PATH = "settings.json"
KEPT = "The settings as they were read before are kept."
KEPT_FIELDS = [
    "version",
    "vectors",
    "personas",
    "persona_name",
    "global_lorebooks",
    "character_lorebooks",
    "server_urls",
    "disabled_extensions",
    "charmemory",
]


@dataclass(frozen=True)
class Place:
    """Where a Data Bank entry is registered."""

    scope: str
    avatar: str = ""
    chat_id: UUID | None = None


def mirror_settings(one: Pass) -> bool:
    """Read settings.json when it changed; True when it was read."""
    if PATH not in one.changed:
        return False
    settings = load_settings(one)
    if settings is None:
        return False
    tavern = one.tavern
    tavern.version, tavern.persona_name = settings.version, settings.persona_name
    tavern.personas, tavern.vectors = settings.personas, settings.vectors
    tavern.global_lorebooks, tavern.server_urls = settings.global_lorebooks, settings.server_urls
    tavern.character_lorebooks = settings.character_lorebooks
    tavern.disabled_extensions = settings.disabled_extensions
    tavern.charmemory = settings.charmemory
    tavern.save(update_fields=KEPT_FIELDS)
    one.issues.put(PATH, [])
    one.done(PATH)
    return True


def load_settings(one: Pass) -> TavernSettings | None:
    """The settings, read at most once in a pass."""
    if one.settings is None and PATH in one.scan.files:
        data = one.read(PATH, KEPT)
        if data is None:
            return None
        try:
            one.settings = read_settings(data)
        except SettingsError as error:
            one.issues.put(PATH, [Problem("bad-settings", str(error), KEPT)])
            one.done(PATH)
    return one.settings


def mirror_entries(one: Pass, *, settings_read: bool, in_chats: dict[UUID, list[AttachmentEntry]]) -> set[UUID]:
    """Bring the Attachment rows in step; the ids of rows that are new or have another URL now."""
    rows = list(one.tavern.attachments.all()) if settings_read or in_chats else []
    touched: set[UUID] = set()
    if settings_read and one.settings:
        touched |= _sync_places(one, [row for row in rows if row.chat_id is None], _settings_places(one.settings))
    held = {row.chat_id for row in rows}
    in_chats = {chat: entries for chat, entries in in_chats.items() if entries or chat in held}
    if in_chats:
        places = {Place("chat", "", chat): entries for chat, entries in in_chats.items()}
        touched |= _sync_places(one, [row for row in rows if row.chat_id in in_chats], places)
    if settings_read or in_chats:
        _mark_disabled(one)
    if settings_read or one.new_characters:
        touched |= _find_characters(one)
    return touched


def _settings_places(settings: TavernSettings) -> dict[Place, list[AttachmentEntry]]:
    places = {Place("global"): settings.attachments}
    places |= {Place("character", avatar): entries for avatar, entries in settings.character_attachments.items()}
    return places


def _sync_places(one: Pass, rows: list[Attachment], places: dict[Place, list[AttachmentEntry]]) -> set[UUID]:
    """Match rows to entries: by place and URL, then by URL (a renamed character), then by name (a new URL)."""
    entries = {(place, entry.url): entry for place, listed in places.items() for entry in listed}
    by_place = {(_place(row), row.url): row for row in rows}
    matched = {key: by_place[key] for key in entries if key in by_place}
    free = [row for row in rows if row.pk not in {found.pk for found in matched.values()}]
    for key, entry in entries.items():
        if key not in matched and (row := _moved(key[0], entry, free)):
            matched[key] = row
            free.remove(row)
    touched: set[UUID] = set()
    with transaction.atomic():
        for (place, _url), entry in entries.items():
            _register(one, matched.get((place, entry.url)), place, entry, touched)
        for row in free:
            _unregister(row)
            touched.add(row.pk)
    return touched


def _moved(place: Place, entry: AttachmentEntry, free: list[Attachment]) -> Attachment | None:
    """SillyTavern gives an edited file a new URL, and a renamed character a new avatar (spec/sillytavern §5)."""
    for row in free:
        if row.scope == place.scope == "character" and row.url == entry.url and row.character_id:
            return row
    for row in free:
        is_awaited = row.is_ours and not row.is_registered  # sync/databank.py takes over what was pasted
        if _place(row) == place and row.name == entry.name and not is_awaited:
            return row
    return None


def _register(one: Pass, row: Attachment | None, place: Place, entry: AttachmentEntry, touched: set[UUID]) -> None:
    is_new = row is None or row.url != entry.url
    if row is None:
        row = Attachment(tavern=one.tavern, scope=place.scope, chat_id=place.chat_id)
    before = (row.avatar, row.url, row.name, row.registered_size, row.created_ms, row.is_registered, row.gone_at)
    row.avatar, row.url, row.name = place.avatar, entry.url, entry.name
    row.registered_size, row.created_ms, row.is_registered, row.gone_at = entry.size, entry.created_ms, True, None
    if is_new:
        row.file_hash = ""
        touched.add(row.pk)
    if before != (row.avatar, row.url, row.name, row.registered_size, row.created_ms, True, None) or is_new:
        _save(row)


def _unregister(row: Attachment) -> None:
    """An entry that is gone. A file of ours waits to be registered again; others are marked gone."""
    if row.is_registered or (row.gone_at is None and not row.is_ours):
        row.is_registered = False
        row.gone_at = row.gone_at if row.is_ours else timezone.now()
        _save(row)


def _save(row: Attachment) -> None:
    """Store only what this module may say, so that a file being written meanwhile keeps its own fields."""
    if row._state.adding:
        row.save()
    else:
        row.save(
            update_fields=[
                "avatar", "url", "name", "registered_size", "created_ms", "is_registered", "gone_at", "file_hash",
            ]
        )  # fmt: skip


def _mark_disabled(one: Pass) -> None:
    settings = load_settings(one)
    if settings is None:
        return
    disabled = set(settings.disabled_attachments)
    for row in one.tavern.attachments.only("url", "is_disabled"):
        if row.is_disabled != (row.url in disabled):
            row.is_disabled = not row.is_disabled
            row.save(update_fields=["is_disabled"])


def _find_characters(one: Pass) -> set[UUID]:
    """Tie entries to the characters that their avatars belong to; the ids of entries that found theirs now."""
    owners = dict(one.tavern.characters.values_list("avatar", "pk"))
    found: set[UUID] = set()
    for row in one.tavern.attachments.filter(scope="character").only("avatar", "character_id"):
        owner = owners.get(row.avatar)
        if owner and owner != row.character_id:
            row.character_id = owner
            row.save(update_fields=["character"])
            found.add(row.pk)
    return found


def _place(row: Attachment) -> Place:
    return Place(row.scope, row.avatar, row.chat_id)
