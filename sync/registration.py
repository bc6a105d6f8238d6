"""Getting a memory file into SillyTavern's own list of Data Bank entries (architecture, rule 6).

Only the page can do that lastingly: every tab writes settings.json as a whole, so an entry that is added from outside
is gone after the next save. The companion asks `offer()`; without it a person pastes `paste_line()`, and the URL that
appears is adopted (sync/databank.py). The mirror's next pass says whether it worked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from sync.models import Attachment, Registration, Tavern
from sync.tavern.chunks import ChunkSettings
from sync.vector_settings import chunk_settings

OFFER_AGAIN = timedelta(seconds=60)  # a page that said "done" saves within a second or two


@dataclass(frozen=True)
class Wanted:
    """One entry that the page should have: SillyTavern's own four fields and the character's avatar."""

    avatar: str
    url: str
    name: str
    size: int
    created: int

    def as_entry(self) -> dict[str, object]:
        return {"avatar": self.avatar, "url": self.url, "name": self.name, "size": self.size, "created": self.created}


def ask(attachment: Attachment, *, name: str, size: int) -> bool:
    """Note what should be registered for `attachment`; False when SillyTavern's entry already says so.

    A size that leaves the file on the same side of the chunking threshold is not worth a save of the settings.
    """
    rows = Registration.objects.for_user(attachment.tavern.owner)
    attachment._state.fields_cache.pop("registration", None)
    if _is_same(attachment, name, size, chunk_settings(attachment.tavern.vectors)):
        rows.filter(attachment=attachment).delete()
        return False
    rows.update_or_create(attachment=attachment, defaults={"name": name, "size": size, "done_at": None})
    return True


def wanted_size(attachment: Attachment) -> int:
    """The size that decides the chunks: what is being registered, else what is."""
    registration: Registration | None = getattr(attachment, "registration", None)
    return registration.size if registration else attachment.registered_size


def offer(tavern: Tavern) -> list[Wanted]:
    """What the page should register now. A file that is not on the disk is never offered (spec/sillytavern §0.8)."""
    waiting = _waiting(tavern)
    new = [row.pk for row in waiting if row.offered_at is None]
    if new:
        Registration.objects.for_user(tavern.owner).filter(pk__in=new).update(offered_at=timezone.now())
    return [_wanted(row) for row in waiting]


def mark_done(tavern: Tavern, urls: list[str]) -> int:
    """The page says that it registered these; the next pass of the mirror proves it. Gives how many were known."""
    rows = Registration.objects.for_user(tavern.owner).filter(attachment__tavern=tavern, attachment__url__in=urls)
    return int(rows.update(done_at=timezone.now()))


def settle(tavern: Tavern) -> None:
    """After a pass: forget what settings.json now shows."""
    settings = chunk_settings(tavern.vectors)
    rows = Registration.objects.for_user(tavern.owner).filter(attachment__tavern=tavern).select_related("attachment")
    settled = [row.pk for row in rows if _is_same(row.attachment, row.name, row.size, settings)]
    if settled:
        Registration.objects.for_user(tavern.owner).filter(pk__in=settled).delete()


def file_states(tavern: Tavern, avatar: str) -> list[dict[str, str]]:
    """Our files of a character and the hash of each, so that a browser can renew a copy it kept too long."""
    rows = tavern.attachments.filter(is_ours=True, avatar=avatar, file_present=True).exclude(file_hash="")
    return [{"url": row.url, "hash": row.file_hash} for row in rows]


def paste_line(name: str, text: str, scope: str = Attachment.Scope.CHARACTER) -> str:
    """A slash command that adds the file by hand: to be pasted into the chat box with the character open.

    With scope "chat" it goes into the Data Bank of the chat that is open, where no other chat sees it.
    """
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    escaped = text.replace("|", "\\|")
    return f'/db-add source={scope} name="{quoted}" {escaped}'


def _waiting(tavern: Tavern) -> list[Registration]:
    old = timezone.now() - OFFER_AGAIN
    rows = Registration.objects.for_user(tavern.owner).filter(
        Q(done_at__isnull=True) | Q(done_at__lt=old),
        attachment__tavern=tavern,
        attachment__is_ours=True,
        attachment__file_present=True,
        attachment__scope=Attachment.Scope.CHARACTER,
    )
    return list(rows.select_related("attachment")[:200])


def _wanted(row: Registration) -> Wanted:
    attachment = row.attachment
    return Wanted(attachment.avatar, attachment.url, row.name, row.size, attachment.created_ms)


def _is_same(attachment: Attachment, name: str, size: int, settings: ChunkSettings) -> bool:
    is_same_side = settings.size_for(attachment.registered_size) == settings.size_for(size)
    return attachment.is_registered and attachment.name == name and is_same_side
