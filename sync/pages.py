"""What the SillyTavern pages show, as one object for page and fragment alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from accounts.ownership import unscoped
from accounts.wording import ago
from jobs.models import Job
from sync import queries
from sync.models import Character, FileIssue, FolderGrant, Tavern
from sync.places import UserFolder, guesses
from sync.renames import renamed
from sync.watch import KIND
from sync.ways import Way, ways_to

MOST_ISSUES = 20
MOST_RENAMES = 5
BUSY, QUIET = 2, 10


class SettingsPage:
    """All folders of a person, live."""

    def __init__(self, user: User) -> None:
        self.user = user

    @cached_property
    def folders(self) -> list[LinkedFolder]:
        return [LinkedFolder(self.user, tavern) for tavern in queries.taverns(self.user)]

    @cached_property
    def pace(self) -> int:
        """Seconds until the page asks again: quickly while a folder is read."""
        return BUSY if any(folder.job for folder in self.folders) else QUIET


class LinkedFolder:
    """One folder with its state, numbers and problems."""

    def __init__(self, user: User, tavern: Tavern) -> None:
        self.user, self.tavern = user, tavern

    @cached_property
    def counts(self) -> queries.Counts:
        return queries.counts(self.user, self.tavern)

    @cached_property
    def job(self) -> Job | None:
        """The first import, while it runs or waits."""
        rows = Job.objects.for_user(self.user).filter(kind=KIND, subject=str(self.tavern.pk), state__in=Job.ACTIVE)
        return rows.first()

    @cached_property
    def issues(self) -> list[FileIssue]:
        return list(queries.issues(self.user, self.tavern)[:MOST_ISSUES])

    @cached_property
    def renamed(self) -> list[Character]:
        """Characters that go by another avatar now, to say so and to offer Undo."""
        return list(renamed(self.user, self.tavern)[:MOST_RENAMES])

    @property
    def shown(self) -> str:
        """The end of the path: "data/wren"."""
        return "/".join(Path(self.tavern.folder).parts[-2:])

    @property
    def title(self) -> str:
        states = Tavern.State
        if self.tavern.state == states.OK:
            return _("In step with SillyTavern")
        if self.tavern.state == states.PAUSED:
            return _("SillyTavern’s folder looks empty")
        if self.tavern.state == states.UNREACHABLE:
            return _("SillyTavern’s folder is away")
        return _("Reading SillyTavern’s folder")

    @property
    def status(self) -> str:
        """Name of the status colour."""
        return {"ok": "ok", "paused": "warn", "unreachable": "bad"}.get(self.tavern.state, "live")

    @property
    def looked(self) -> str:
        if not self.tavern.last_pass_at:
            return _("Not looked at yet")
        return _("Looked %(when)s") % {"when": ago(self.tavern.last_pass_at)}

    @property
    def server(self) -> str:
        """One line about the server's address."""
        if not self.tavern.url:
            return _("Memory files are written; their index is not kept up to date")
        return (
            _("Signed in as %(login)s") % {"login": self.tavern.login} if self.tavern.login else _("No account needed")
        )

    @cached_property
    def ways(self) -> list[Way]:
        """Lines that apps above add: the companion."""
        return [] if self.tavern.is_sample else ways_to(self.tavern)

    @property
    def unreadable(self) -> str:
        count = self.counts.issues
        return ngettext("%(n)d thing cannot be read", "%(n)d things cannot be read", count) % {"n": count}


@dataclass(frozen=True)
class Choice:
    """A folder that may be picked, and why not when it may not."""

    folder: UserFolder
    hint: str
    is_free: bool


def choices(user: User) -> list[Choice]:
    """Folders to pick from: for an admin those in the usual places, for a member those assigned."""
    assigned = [UserFolder(Path(row.folder), None) for row in queries.grants(user)]
    folders = guesses() if user.is_admin else assigned
    with unscoped("which folders are taken; only owners' names are shown, to admins"):
        owners = {tavern.folder: tavern.owner for tavern in Tavern.objects.select_related("owner")}
    granted = {row.folder: row.user for row in FolderGrant.objects.select_related("user")}
    return [_choice(user, folder, owners.get(str(folder.path)), granted.get(str(folder.path))) for folder in folders]


def _choice(user: User, folder: UserFolder, owner: User | None, granted: User | None) -> Choice:
    if owner == user:
        return Choice(folder, _("Linked by you"), False)
    if owner:
        return Choice(folder, _("Linked by %(name)s") % {"name": owner.name}, False)
    if granted and granted != user:
        return Choice(folder, _("Assigned to %(name)s") % {"name": granted.name}, False)
    used = _("Used %(when)s") % {"when": ago(folder.used_at)} if folder.used_at else _("Assigned to you")
    return Choice(folder, used, True)
