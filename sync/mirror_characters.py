"""Characters: cards in, renames recognised, vanished ones marked gone. Their memories stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sync.mirror_lore import replace_entries
from sync.mirror_pass import Pass
from sync.models import Character, Chat, Lorebook
from sync.portraits import make_portrait
from sync.tavern.cards import Card, CardError, picture_hash, read_card
from sync.tavern.chats import read_header
from sync.tavern.paths import PathRefused, chats_folder
from sync.tavern.problem import Problem

PREFIX = "characters/"
KEPT = "The character as it was read before is kept."
LEFT_OUT = "It was left out; everything else was read."


@dataclass
class CharacterNews:
    """Who is new to the database, edited, renamed or gone after this step."""

    changed: list[UUID] = field(default_factory=list)
    renamed: list[UUID] = field(default_factory=list)


def mirror_characters(one: Pass, news: CharacterNews) -> None:
    """Bring the characters in step and fill `news`; call before groups and chats, which look them up."""
    paths = one.in_folder(PREFIX)
    lost = [path for path in one.vanished if path.startswith(PREFIX)]
    if not paths and not lost:
        return
    rows = {row.avatar: row for row in one.tavern.characters.all()}
    _follow_renames(one, rows, paths, lost, news)
    for number, path in enumerate(paths):
        one.check()
        one.note(step=number, total=len(paths), doing=path)
        _mirror_one(one, rows, path, news)
    _mark_gone(one, rows, lost, news)
    one.report.characters = len(news.changed)


def _mirror_one(one: Pass, rows: dict[str, Character], path: str, news: CharacterNews) -> None:
    avatar = path.removeprefix(PREFIX)
    row = rows.get(avatar)
    data = one.read(path, KEPT if row else LEFT_OUT)
    if data is None:
        return
    try:
        card = read_card(data)
    except CardError as error:
        one.issues.put(path, [Problem(error.code, str(error), KEPT if row else LEFT_OUT)])
        one.done(path)
        return
    if row is None:
        row = rows[avatar] = Character(tavern=one.tavern, avatar=avatar)
        one.new_characters.add(row.pk)
    if _take(row, card, avatar):
        news.changed.append(row.pk)
    _take_portrait(row, data)
    with transaction.atomic():
        row.save()
        _take_book(row, card)
    one.issues.put(path, card.problems)
    one.done(path)


def _take(row: Character, card: Card, avatar: str) -> bool:
    """Put the card into the row; True when something that people see is different."""
    is_new = row.content_hash != card.content_hash or row.gone_at is not None
    row.name = card.name or PurePosixPath(avatar).stem
    row.description, row.personality = card.description, card.personality
    row.scenario, row.first_message = card.scenario, card.first_message
    row.tags, row.spec = card.tags, card.spec
    row.bound_lorebook, row.current_chat = card.bound_lorebook, card.current_chat
    row.content_hash, row.gone_at = card.content_hash, None
    return is_new


def _take_portrait(row: Character, data: bytes) -> None:
    digest = picture_hash(data)
    if digest != row.portrait_hash:
        row.portrait_hash = digest if make_portrait(row.pk, digest, data) else ""


def _take_book(row: Character, card: Card) -> None:
    book = row.books.first()
    if card.book is None:
        if book:
            book.delete()
        return
    digest = sha256(repr(card.book).encode("utf-8", "replace")).hexdigest()
    if book is None:
        book = Lorebook(tavern=row.tavern, character=row)
    if book.content_hash != digest:
        book.name, book.content_hash = (card.book_name or row.name)[:300], digest
        book.save()
        replace_entries(book, card.book)


def _follow_renames(
    one: Pass, rows: dict[str, Character], paths: list[str], lost: list[str], news: CharacterNews
) -> None:
    """A vanished avatar whose chats' integrity slugs reappear under a new avatar is a rename: the row is kept."""
    vanished = {row.pk: row for avatar, row in rows.items() if f"{PREFIX}{avatar}" in lost}
    new = [path.removeprefix(PREFIX) for path in paths if path.removeprefix(PREFIX) not in rows]
    if not vanished or not new:
        return
    slugs = dict(
        Chat.objects.filter(character__in=vanished).exclude(integrity="").values_list("integrity", "character_id")
    )
    for avatar in new:
        owners = {slugs[slug] for slug in _slugs_of(one, avatar) if slug in slugs}
        if len(owners) != 1 or (row := vanished.pop(owners.pop(), None)) is None:
            continue
        old = row.avatar
        row.avatar, row.former_avatars = avatar, [*row.former_avatars, old][-20:]
        rows[avatar] = rows.pop(old)
        row.save(update_fields=["avatar", "former_avatars"])
        news.renamed.append(row.pk)
        one.new_characters.add(row.pk)
        one.report.renamed.append(f"{old} → {avatar}")


def _slugs_of(one: Pass, avatar: str) -> set[str]:
    prefix = chats_folder(avatar) + "/"
    found = set()
    for path in one.changed:
        if path.startswith(prefix):
            try:
                with one.folder.open(path) as file:
                    found.add(read_header(file).integrity)
            except (OSError, PathRefused):
                continue
    return found - {""}


def _mark_gone(one: Pass, rows: dict[str, Character], lost: list[str], news: CharacterNews) -> None:
    for path in lost:
        row = rows.get(path.removeprefix(PREFIX))
        if row and row.gone_at is None:
            row.gone_at = timezone.now()
            row.save(update_fields=["gone_at"])
            news.changed.append(row.pk)
            one.report.gone += 1
