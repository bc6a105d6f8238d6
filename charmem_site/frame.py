"""The frame of every page: where one can go, whether SillyTavern is in step, what runs. Lazy, two queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from jobs.models import Job
from providers import budgets
from providers.budget_sums import Standing
from sync.models import Tavern


@dataclass(frozen=True)
class Target:
    """One place in the rail: its url name, its words, its icon, and the paths on which it is "here"."""

    name: str
    label: Any
    icon: str
    prefixes: tuple[str, ...] = ()
    key: str = ""  # g, then this letter
    admin: bool = False


FIELD = (
    "/characters/",
    "/chats/",
    "/memories/",
    "/blocks/",
    "/revisions/",
    "/conflicts/",
    "/drafts/",
    "/proposals/",
    "/replace/",
)
MAIN = (
    Target("memories:home", gettext_lazy("Home"), "house", key="h"),
    Target("memories:characters", gettext_lazy("Characters"), "contact-round", FIELD, "c"),
    Target("memories:groups", gettext_lazy("Groups"), "users-round", ("/groups/",)),
    Target("memories:search", gettext_lazy("Search"), "search", ("/search/",)),
    Target("jobs:list", gettext_lazy("Jobs"), "list-checks", ("/jobs/", "/batch/"), "j"),
    Target("memories:lorebooks", gettext_lazy("Lorebooks"), "book-open", ("/lorebooks/",)),
)
OF_SILLYTAVERN = ("/settings/sillytavern/", "/settings/charmemory/")
SETTINGS = (
    Target("accounts:you", gettext_lazy("You"), "contact-round", ("/settings/you/",)),
    Target("sync:settings", gettext_lazy("SillyTavern"), "folder", OF_SILLYTAVERN),
    Target("providers:list", gettext_lazy("Models"), "brain", ("/settings/models/",)),
    Target("providers:spending", gettext_lazy("Spending"), "database", ("/settings/spending/", "/settings/budgets/")),
    Target("memories:extraction_settings", gettext_lazy("Extraction"), "brain", ("/settings/extraction/",)),
    Target("memories:quality", gettext_lazy("Quality"), "circle-check", ("/settings/quality/",)),
    Target("memories:storage_settings", gettext_lazy("Storage"), "database", ("/settings/storage/",)),
    Target("memories:prompts", gettext_lazy("Prompts"), "pencil", ("/settings/prompts/",)),
    Target("memories:export_all", gettext_lazy("Export and import"), "download", ("/export/", "/import/")),
    Target("memories:activity", gettext_lazy("Activity"), "list-checks", ("/activity/",)),
    Target("accounts:people", gettext_lazy("People"), "users-round", ("/people/",), admin=True),
)
HELP = Target("charmem_site:help", gettext_lazy("Help"), "circle-question-mark", ("/help/", "/about/"), "i")
WARNED = ("/", "/settings/spending/")
ON_THE_PHONE = ("memories:home", "memories:characters", "jobs:list")


@dataclass(frozen=True)
class Place:
    """A target that exists, as the templates need it."""

    url: str
    label: Any
    icon: str
    is_here: bool
    key: str
    name: str


class Frame:
    """Everything templates/base.html shows around a page, for one person and path. Nothing for anonymous visitors."""

    def __init__(self, request: HttpRequest) -> None:
        self.path = request.path
        self.user = getattr(request, "user", None)

    @cached_property
    def person(self) -> User | None:
        return self.user if isinstance(self.user, User) or getattr(self.user, "is_authenticated", False) else None

    @property
    def theme(self) -> str:
        return getattr(self.person, "theme", "dark")

    @property
    def density(self) -> str:
        return getattr(self.person, "density", "comfortable")

    @cached_property
    def places(self) -> list[Place]:
        """The upper part of the rail."""
        return self._existing(MAIN)

    @cached_property
    def settings_places(self) -> list[Place]:
        """The list beside every settings page."""
        return self._existing(SETTINGS)

    @cached_property
    def lower_places(self) -> list[Place]:
        """The lower part of the rail: Settings and Help."""
        below: list[Place] = []
        if self.settings_places:
            here = any(place.is_here for place in self.settings_places)
            first = self.settings_places[0].url
            below.append(Place(first, _("Settings"), "settings", here, "s", "settings"))
        return below + self._existing((HELP,))

    @cached_property
    def phone_places(self) -> list[Place]:
        """Home, Characters and Jobs; everything else is behind More."""
        return [place for place in self.places if place.name in ON_THE_PHONE]

    @property
    def on_the_phone(self) -> tuple[str, ...]:
        """Url names in the bar of a phone. A page that its path does not place says `rail_place`, one of the names."""
        return ON_THE_PHONE

    @property
    def is_more(self) -> bool:
        """Whether the page is one that More leads to."""
        return not any(place.is_here for place in self.phone_places)

    @property
    def search_url(self) -> str:
        return address("memories:search")

    @cached_property
    def sync_url(self) -> str:
        return address("sync:settings")

    @cached_property
    def jobs_url(self) -> str:
        return address("jobs:list")

    @cached_property
    def jobs(self) -> dict[str, int]:
        """Running and waiting jobs of this person and how far the running ones are, in chunks."""
        running = Q(state=Job.State.RUNNING)
        active = Job.objects.for_user(self._person()).filter(state__in=Job.ACTIVE, parent=None)
        found = active.aggregate(
            running=Count("pk", filter=running),
            waiting=Count("pk", filter=~running),
            step=Sum("step", filter=running),
            total=Sum("total", filter=running),
        )
        return {name: value or 0 for name, value in found.items()}

    @cached_property
    def budget_warnings(self) -> list[Standing]:
        """Limits that are nearly used up, on the pages where one decides about spending."""
        is_asked = self.path in WARNED or self.path.startswith("/jobs/")
        return budgets.warnings_of(self.person) if self.person and is_asked else []

    @cached_property
    def tavern(self) -> Tavern | None:
        """The SillyTavern folder that is furthest from being in step."""
        rows = Tavern.objects.for_user(self._person()).only("name", "state", "last_pass_at", "is_sample")
        order = [Tavern.State.UNREACHABLE, Tavern.State.PAUSED, Tavern.State.NEW, Tavern.State.OK]
        return min(rows, key=lambda row: order.index(Tavern.State(row.state)), default=None)

    def _person(self) -> User:
        assert self.person is not None, "the frame of an anonymous visitor has no jobs and no folder"  # noqa: S101
        return self.person

    def _existing(self, targets: tuple[Target, ...]) -> list[Place]:
        if self.person is None:
            return []
        rows = [(target, address(target.name)) for target in targets if not target.admin or self.person.is_admin]
        return [
            Place(url, target.label, target.icon, self._is_here(target, url), target.key, target.name)
            for target, url in rows
            if url
        ]

    def _is_here(self, target: Target, url: str) -> bool:
        return self.path == url or self.path.startswith(target.prefixes or ("\0",))


def address(name: str) -> str:
    """The address of a page without arguments, or "" while the page does not exist."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
