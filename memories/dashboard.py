"""What Home shows: is everything in step, what runs, what needs the person, what waits, what is new, what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, Q, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from jobs.models import Job
from memories.chosen import settings_of
from memories.last_backup import Backup, last_backup
from memories.memory_list import Card, Filters, cards
from memories.migration import is_reading
from memories.models import Memory, MemoryBlock
from memories.page_queries import Tile, price_of, tiles, total_unread
from memories.unread import Unread
from providers.models import Call, Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for, start_of_today
from sync.models import Character, Chat, FileConflict, FileIssue, Tavern

NEWS_CHARACTERS = 4


@dataclass(frozen=True)
class Need:
    """One thing that waits for a decision: about whom, what, why, and where to go."""

    title: str
    url: str
    kind: str
    word: str
    text: str
    action: str
    character: Character | None = None


@dataclass(frozen=True)
class News:
    """The newest block of one character, and how many memories came today."""

    character: Character
    card: Card
    today: int


@dataclass
class Home:
    """Everything on the page, read once; the whole page and its live parts show the same object."""

    taverns: list[Tavern]
    chats: int
    tiles: list[Tile]
    running: list[Job]
    waiting: int
    failed: list[Job]
    needs: list[Need]
    no_hurry: int
    unread: Unread
    price: Decimal | None
    connection: Connection | None
    news: list[News]
    today: int
    week: int
    spent_today: Decimal
    spent_month: Decimal
    calls_today: int
    backup: Backup | None
    waits: list[Tile] = field(default_factory=list)

    @property
    def memories(self) -> int:
        return sum(tile.memories for tile in self.tiles)

    @property
    def remembering(self) -> int:
        return sum(1 for tile in self.tiles if tile.memories)

    @property
    def tavern(self) -> Tavern | None:
        return self.taverns[0] if self.taverns else None

    @property
    def pace(self) -> int:
        """Seconds until the page asks again: the server sets it by what is going on."""
        return 2 if self.running else 20


def spent(user: User, since: datetime) -> tuple[Decimal, int]:
    """(dollars, calls) since a moment."""
    row = Call.objects.for_user(user).filter(started_at__gte=since).aggregate(sum=Sum("cost"), n=Count("pk"))
    return row["sum"] or Decimal(0), row["n"]


def recent_failures(user: User) -> list[Job]:
    """Failed jobs of the last three days that nobody has started again since."""
    since = timezone.now() - timedelta(days=3)
    rows = Job.objects.for_user(user).filter(parent=None, updated_at__gte=since).order_by("-created_at")
    latest: dict[tuple[str, str], Job] = {}
    for job in rows[:200]:
        latest.setdefault((job.kind, job.subject or str(job.pk)), job)
    return [job for job in latest.values() if job.state == Job.State.FAILED]


def home(user: User) -> Home:
    """Read the dashboard of one person; the number of queries does not grow with the rows."""
    all_tiles = tiles(user)
    waits = sorted((tile for tile in all_tiles if tile.unread.messages), key=lambda tile: -tile.unread.messages)
    for tile in waits[:5]:
        tile.price = price_of(user, tile.unread)
    unread = total_unread(tile.unread for tile in waits)
    jobs = list(Job.objects.for_user(user).filter(parent=None, state__in=Job.ACTIVE).order_by("created_at")[:50])
    running = [job for job in jobs if job.state == Job.State.RUNNING]
    failed = recent_failures(user)
    day = start_of_today()
    spent_today, calls = spent(user, day)
    news, today, week = newest(user, all_tiles, day)
    taverns = list(Tavern.objects.for_user(user).order_by("created_at"))
    return Home(
        taverns=taverns,
        chats=Chat.objects.for_user(user).filter(gone_at=None).count(),
        tiles=all_tiles,
        running=running,
        waiting=len(jobs) - len(running),
        failed=failed,
        needs=needs(user, taverns, all_tiles, failed),
        no_hurry=sum(tile.review.total for tile in all_tiles),
        unread=unread,
        price=price_of(user, unread),
        connection=connection_for(user, EXTRACTION),
        news=news,
        today=today,
        week=week,
        spent_today=spent_today,
        spent_month=spent(user, day.replace(day=1))[0],
        calls_today=calls,
        backup=last_backup(),
        waits=waits,
    )


def newest(user: User, all_tiles: list[Tile], day: datetime) -> tuple[list[News], int, int]:
    """The newest block of each of the last few characters, and memories made today and this week."""
    by_character = {tile.character.pk: tile.character for tile in all_tiles}
    blocks = MemoryBlock.objects.for_user(user).filter(file__character__in=by_character)
    latest: dict[UUID, UUID] = {}
    for pk, owner in blocks.order_by("-created_at", "-order").values_list("pk", "file__character")[:400]:
        latest.setdefault(owner, pk)
        if len(latest) == NEWS_CHARACTERS:
            break
    made = Memory.objects.for_user(user).filter(is_topic=False, created_at__gte=day - timedelta(days=6))
    counts = {
        row["block__file__character"]: row["n"]
        for row in made.filter(created_at__gte=day).order_by().values("block__file__character").annotate(n=Count("pk"))
    }
    shown = cards(user, list(latest.values()), Filters())
    news = [
        News(by_character[card.block.file.character_id], card, counts.get(card.block.file.character_id, 0))
        for card in shown
    ]
    return news, sum(counts.values()), made.count()


def needs(user: User, taverns: list[Tavern], all_tiles: list[Tile], failed: list[Job]) -> list[Need]:
    """Everything that waits for the person, worst first."""
    return [
        *_tavern_needs(taverns),
        *_other_readers(taverns, is_automatic=settings_of(user).is_automatic),
        *_failed_needs(failed),
        *_reach_needs(all_tiles),
        *_conflict_needs(user),
        *_unreadable_needs(user),
    ]


def _tavern_needs(taverns: list[Tavern]) -> list[Need]:
    states = {"paused": "warn", "unreachable": "bad"}
    return [
        Need(
            row.name, reverse("sync:settings"), states[row.state], row.get_state_display(), row.state_reason, _("Look")
        )
        for row in taverns
        if row.state in states
    ]


def _other_readers(taverns: list[Tavern], *, is_automatic: bool) -> list[Need]:
    """Folders in which the CharMemory extension reads chats by itself as well."""
    return [
        Need(
            row.name,
            reverse("memories:take_over_from", args=[row.pk]),
            "warn",
            _("read twice"),
            _("The CharMemory extension reads chats by itself too, so messages are paid for twice."),
            _("Take over"),
        )
        for row in taverns
        if is_automatic and is_reading(row)
    ]


def _failed_needs(failed: list[Job]) -> list[Need]:
    return [
        Need(
            job.label or job.kind,
            reverse("jobs:detail", args=[job.pk]),
            "bad",
            _("stopped at %(clock)s")
            % {"clock": timezone.localtime(job.finished_at or job.updated_at).strftime("%H:%M")},
            " ".join(part for part in (job.error, job.hint) if part),
            _("See why"),
        )
        for job in failed
    ]


def _reach_needs(all_tiles: list[Tile]) -> list[Need]:
    return [
        Need(
            tile.character.name,
            reverse("memories:health", args=[tile.character.pk]),
            tile.health.kind,
            tile.health.text,
            ngettext(
                "%(n)s memory is kept here, but the next answer will not know it.",
                "%(n)s memories are kept here, but the next answer will not know them.",
                tile.memories,
            )
            % {"n": tile.memories},
            _("See what is off"),
            tile.character,
        )
        for tile in all_tiles
        if tile.needs_attention and tile.memories
    ]


def _conflict_needs(user: User) -> list[Need]:
    rows = FileConflict.objects.for_user(user).filter(decided_at=None).select_related("attachment__character")
    return [
        Need(
            row.attachment.character.name if row.attachment.character else row.attachment.name,
            reverse("memories:conflict", args=[row.pk]),
            "warn",
            _("changed outside"),
            _("The memory file was edited in SillyTavern while CharMem was writing. Both texts are kept."),
            _("Decide"),
            row.attachment.character,
        )
        for row in rows
    ]


def _unreadable_needs(user: User) -> list[Need]:
    found = FileIssue.objects.for_user(user).aggregate(
        n=Count("pk"), files=Count("path", distinct=True, filter=~Q(path=""))
    )
    if not found["n"]:
        return []
    text = ngettext("%(n)s place could not be read", "%(n)s places could not be read", found["n"]) % {"n": found["n"]}
    files = ngettext("In %(n)s file.", "In %(n)s files.", found["files"]) % {"n": found["files"]}
    kept = _("Nothing was changed there, everything else was read.")
    return [Need(_("SillyTavern’s files"), reverse("sync:issues"), "warn", text, f"{files} {kept}", _("See them"))]
