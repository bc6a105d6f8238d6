"""Linking a SillyTavern user folder to the one person it belongs to, and letting go of it again.

An admin picks inside the allowed places and may assign folders to people (FolderGrant). A member links what was
assigned, or proves the folder by logging in to its account (sync/proof.py). One folder belongs to one account.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from sync.inspection import FolderReport, LinkError, inspect_folder, resolved
from sync.models import FolderGrant, Tavern
from sync.places import is_inside_roots, is_user_folder, roots
from sync.watch import start_import

__all__ = [
    "FolderReport",
    "LinkError",
    "grant",
    "inspect_folder",
    "link_folder",
    "link_sample",
    "may_link",
    "resolved",
    "unlink",
]

# Only these are written here, so that a pass that goes on meanwhile keeps its lease and what it found.
LINK_FIELDS = [
    "folder",
    "name",
    "url",
    "version",
    "is_writable",
    "write_problem",
    "state",
    "state_reason",
    "unlinked_at",
]
SAMPLE = Path(__file__).parent / "sample_story" / "tavern"


def link_folder(user: User, path: str | Path, url: str = "", name: str = "", *, by_operator: bool = False) -> Tavern:
    """Link a user folder to `user` and start reading it. Raises LinkError with a sentence.

    `by_operator`: said on the server's own command line, where any folder may be named.
    """
    real = resolved(path)
    if not (by_operator or may_link(user, real)):
        raise LinkError(_("This folder is not assigned to you. Ask an admin of CharMem, or log in to its account."))
    if not by_operator and not is_inside_roots(real):
        raise LinkError(_outside(real))
    with unscoped("whose folder this is"):
        taken = Tavern.objects.filter(folder=str(real)).first()
        granted = FolderGrant.objects.filter(folder=str(real)).exclude(user=user).exists()
    if (taken and taken.owner_id != user.pk) or (granted and not taken):
        raise LinkError(_("%(folder)s belongs to another account here.") % {"folder": real})
    report = inspect_folder(real)
    if not report.is_user_folder:
        handles = ", ".join(choice.handle for choice in report.choices)
        raise LinkError(
            _("%(folder)s holds the folders of several people. Choose one of them: %(handles)s.")
            % {"folder": real, "handles": handles}
        )
    tavern = taken or _again(user, str(real)) or Tavern(owner=user)
    return _linked(tavern, report, url, name)


def link_sample(user: User) -> Tavern:
    """Copy the sample story into the data folder on first use and link it; the linked one is given back later."""
    target = Path(settings.DATA_DIR) / "sample" / str(user.pk)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        shutil.copytree(SAMPLE, unfinished, copy_function=shutil.copyfile)
        (unfinished / "user" / "files").mkdir(parents=True, exist_ok=True)
        unfinished.rename(target)
    real = os.path.realpath(target)
    taken = Tavern.objects.for_user(user).filter(folder=real).first()
    tavern = taken or _again(user, real) or Tavern(owner=user, is_sample=True)
    return _linked(tavern, inspect_folder(real), "", _("Sample story"))


def unlink(tavern: Tavern, *, forget: bool = False) -> None:
    """Let go of a folder. Its files stay as they are.

    Characters, chats and memories stay here too and come back to life when the same folder is linked again;
    with `forget` everything that CharMem knows from this folder is removed.
    """
    if forget:
        with unscoped("a person forgets a folder"):
            tavern.delete()
        return
    tavern.folder = f"unlinked:{tavern.pk}:{tavern.folder}"[:1000]
    tavern.unlinked_at = timezone.now()
    tavern.state, tavern.state_reason = Tavern.State.PAUSED, _("This folder is not linked any more.")
    tavern.save(update_fields=LINK_FIELDS)


def may_link(user: User, real: Path) -> bool:
    """Whether this person may link this folder: an admin any allowed one, a member those assigned."""
    return user.is_admin or FolderGrant.objects.filter(folder=str(real), user=user).exists()


def grant(folder: str | Path, user: User) -> FolderGrant:
    """Assign a folder to a person; assigning it to somebody else moves it. Raises LinkError."""
    real = resolved(folder)
    if not is_inside_roots(real):
        raise LinkError(_outside(real))
    if not is_user_folder(real):
        raise LinkError(_("%(folder)s is not a SillyTavern user folder.") % {"folder": real})
    with unscoped("whose folder this is"):
        if Tavern.objects.filter(folder=str(real)).exclude(owner=user).exists():
            raise LinkError(_("%(folder)s is linked by another account already.") % {"folder": real})
    row, _is_new = FolderGrant.objects.update_or_create(folder=str(real), defaults={"user": user})
    return row


def _linked(tavern: Tavern, report: FolderReport, url: str, name: str) -> Tavern:
    tavern.folder, tavern.version = report.folder, report.version
    tavern.name = (name or tavern.name or "/".join(Path(report.folder).parts[-2:]))[:120]
    tavern.url = url or tavern.url
    if tavern.unlinked_at or tavern._state.adding:
        tavern.state, tavern.state_reason, tavern.unlinked_at = Tavern.State.NEW, "", None
    tavern.is_writable = report.abilities.can_write and report.abilities.can_rename
    tavern.write_problem = report.abilities.problem
    try:
        with transaction.atomic():
            tavern.save(update_fields=None if tavern._state.adding else LINK_FIELDS)
    except IntegrityError:
        raise LinkError(_("%(folder)s belongs to another account here.") % {"folder": report.folder}) from None
    if tavern.state == Tavern.State.NEW:
        start_import(tavern)
    return tavern


def _again(user: User, folder: str) -> Tavern | None:
    """The tavern this person had of the same folder before unlinking it."""
    rows = Tavern.objects.for_user(user).exclude(unlinked_at=None).order_by("-unlinked_at")
    return next((row for row in rows if row.folder.split(":", 2)[-1] == folder), None)


def _outside(path: Path) -> str:
    allowed = ", ".join(str(root) for root in roots())
    return _("%(folder)s is outside the places that may be linked: %(roots)s.") % {"folder": path, "roots": allowed}
