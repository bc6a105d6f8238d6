"""What the first steps offer: folders, models in their order, and the first chat to read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from accounts.wording import ago
from jobs.models import Job
from memories.health import Reach, reach
from memories.memory_list import Card, Filters, block_ids, cards
from memories.page_queries import memories_of, price_of
from memories.unread import Unread, unread_by_chat
from providers import through
from providers.catalogue import PRESETS, Preset
from providers.discover import discover_local
from providers.models import Connection
from providers.purposes import EXTRACTION
from providers.queries import connection_for, default_connection
from sync.models import Character, Chat, FolderGrant, Tavern
from sync.places import guesses, user_folders

CARDS_SHOWN = 6
FOLDERS_SHOWN = 12
FIRST = ("openrouter", "anthropic", "local")  # then the others in the catalogue's order


def next_step(user: User) -> str:
    """The url name of the step that is not done yet."""
    if not Tavern.objects.for_user(user).filter(unlinked_at=None).exists():
        return "memories:wizard_folder"
    return "memories:wizard_first" if default_connection(user) else "memories:wizard_model"


@dataclass(frozen=True)
class Candidate:
    """A folder that step 1 offers; one that somebody else has linked is shown and cannot be chosen."""

    path: str
    label: str
    hint: str
    is_free: bool


def candidates(user: User) -> list[Candidate]:
    """For an admin the usual places, last used first; for a member the folders assigned to them."""
    if user.is_admin:
        found = guesses()
    else:
        granted = FolderGrant.objects.filter(user=user).values_list("folder", flat=True)
        found = [folder for path in granted for folder in user_folders(Path(path))]
    with unscoped("which folders are linked already"):
        taken = set(Tavern.objects.values_list("folder", flat=True))
    return [
        Candidate(
            str(folder.path),
            folder.shown,
            _("linked already") if str(folder.path) in taken else _("used %(when)s") % {"when": ago(folder.used_at)},
            str(folder.path) not in taken,
        )
        for folder in found[:FOLDERS_SHOWN]
    ]


@dataclass(frozen=True)
class ModelChoice:
    """One entry of step 2. `key` names it in the address; `models` is what a server on this computer offered."""

    key: str
    preset: Preset
    name: str
    hint: str
    base_url: str = ""
    models: tuple[str, ...] = ()


def model_choices(user: User) -> list[ModelChoice]:
    """What answers on this computer first, then the recommended kinds, the others by name, and Built-in last."""
    found = [
        ModelChoice(f"local-{n}", PRESETS["local"], row.label, row.base_url, row.base_url, tuple(row.models))
        for n, row in enumerate(discover_local(user))
    ]
    keys = [*FIRST, *(key for key in PRESETS if key not in FIRST)]
    rest = [PRESETS[key] for key in keys if not (found and key == "local") and _is_ready(user, PRESETS[key])]
    return [*found, *(_choice(user, row) for row in rest)]


def _choice(user: User, preset: Preset) -> ModelChoice:
    known = through.models_before(user, preset, through.places(user, preset))
    return ModelChoice(preset.key, preset, str(preset.label), str(preset.hint), models=tuple(known))


def _is_ready(user: User, preset: Preset) -> bool:
    """Nothing else has to be entered elsewhere before it can work."""
    return preset.reach != through.REACH or bool(through.usable(through.places(user, preset)))


def offered(choices: list[ModelChoice], wanted: str, present: Connection | None) -> ModelChoice:
    """The choice the page opens: the wanted one, what the person has, or the first."""
    by_key = {choice.key: choice for choice in choices}
    if wanted in by_key:
        return by_key[wanted]
    mine = next((choice for choice in choices if present and choice.preset.key == present.preset), None)
    return mine or choices[0]


@dataclass(frozen=True)
class FirstReading:
    """The character and chat of step 3, the job that reads it, and what came out so far."""

    character: Character
    chat: Chat | None
    waiting: Unread
    job: Job | None
    cards: list[Card]
    memories: int
    connection: Connection | None
    price: object
    reach: Reach | None

    @property
    def is_over(self) -> bool:
        return self.job is not None and not self.job.is_active

    @property
    def pace(self) -> int:
        """Seconds until the page looks again."""
        return 2 if self.job and self.job.is_active else 5


def reading(user: User) -> FirstReading | None:
    """The chat that is being read or was read last, else the one that was written in last; None without any chat."""
    jobs = Job.objects.for_user(user).filter(kind="extract").order_by("-created_at")
    job = jobs.first()
    chat = _chat_of(user, job) or _best_chat(user)
    if chat is None or chat.character is None:
        return None
    character = chat.character
    ids = [pk for pk, _bullets in block_ids(user, character, Filters())][:CARDS_SHOWN]
    waiting = unread_by_chat(user, character).get(chat.pk, Unread())
    memories = memories_of(user, character).count()
    return FirstReading(
        character=character,
        chat=chat,
        waiting=waiting,
        job=job,
        cards=cards(user, ids, Filters()),
        memories=memories,
        connection=connection_for(user, EXTRACTION),
        price=price_of(user, waiting),
        reach=reach(character) if memories else None,
    )


def _chats(user: User) -> QuerySet[Chat]:
    rows = Chat.objects.for_user(user).filter(character__isnull=False, gone_at=None, character__gone_at=None)
    return rows.select_related("character__tavern__owner")


def _chat_of(user: User, job: Job | None) -> Chat | None:
    """The chat an extraction job is about, from its parameters."""
    if job is None:
        return None
    if job.params.get("chats"):
        return _chats(user).filter(pk__in=job.params["chats"]).order_by("-last_at").first()
    return _chats(user).filter(character=job.params.get("character")).order_by("-last_at").first()


def _best_chat(user: User) -> Chat | None:
    """A chat of the tavern linked last that is long enough to hold something, and short enough to watch."""
    rows = _chats(user).order_by("-last_at")
    return rows.filter(message_count__gte=8, message_count__lte=400).first() or rows.first()
