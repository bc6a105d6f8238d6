"""Linking a SillyTavern user folder to the one person it belongs to, and letting go of it again.

An admin picks inside the allowed places and may assign folders to people (FolderGrant). A member links what was
assigned, or proves the folder by logging in to its account (sync/proof.py). One folder belongs to one account.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from providers.network import policy_for, refusal, url_problem
from sync import leftovers
from sync.inspection import FolderReport, LinkError, inspect_folder, real_path, resolved
from sync.leftovers import sample_folder
from sync.models import FolderGrant, Tavern
from sync.places import is_inside_roots, is_user_folder, roots
from sync.watch import start_import

__all__ = [
    "FolderReport",
    "LinkError",
    "checked_url",
    "grant",
    "inspect_folder",
    "inspect_for",
    "is_linked_by_another",
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
    "password_sealed",
    "basic_auth_sealed",
    "version",
    "is_writable",
    "write_problem",
    "state",
    "state_reason",
    "unlinked_at",
]
LONGEST_URL = 500
SAMPLE = Path(__file__).parent / "sample_story" / "tavern"


def link_folder(user: User, path: str | Path, url: str = "", name: str = "", *, by_operator: bool = False) -> Tavern:
    """Link a user folder to `user` and start reading it. Raises LinkError with a sentence.

    `by_operator`: said on the server's own command line, where any folder may be named.
    """
    real = resolved(path) if by_operator else _allowed(user, path)
    place = checked_url(url, None if by_operator else user)
    taken = Tavern.objects.for_user(user).filter(folder=str(real)).first()
    if taken is None and (is_linked_by_another(user, real) or _is_granted_to_another(user, real)):
        raise LinkError(_("%(folder)s belongs to another account here.") % {"folder": real})
    report = inspect_folder(real)
    if not report.is_user_folder:
        handles = ", ".join(choice.handle for choice in report.choices)
        raise LinkError(
            _("%(folder)s holds the folders of several people. Choose one of them: %(handles)s.")
            % {"folder": real, "handles": handles}
        )
    tavern = taken or _again(user, str(real)) or Tavern(owner=user)
    return _linked(tavern, report, place, name)


def inspect_for(user: User, path: str | Path) -> FolderReport:
    """`inspect_folder` for a person who may link that folder. Raises LinkError.

    Members learn nothing about other folders, not even which there are.
    """
    return inspect_folder(_allowed(user, path))


def checked_url(url: str, user: User | None) -> str:
    """The cleaned address of a SillyTavern server; "" stays empty. Raises LinkError with what is wrong.

    Without `user`, on the server's own command line, only its form counts; what may be reached is vetted at each call.
    """
    clean = url.strip().rstrip("/")
    if not clean:
        return ""
    problem = refusal(clean, policy_for(user)) if user else url_problem(clean)
    if problem or len(clean) > LONGEST_URL:
        raise LinkError(problem or _("This is not a web address."))
    return clean


def link_sample(user: User) -> Tavern:
    """Copy the sample story into the data folder on first use and link it; the linked one is given back later."""
    target = sample_folder(user.pk)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        shutil.copytree(SAMPLE, unfinished, copy_function=shutil.copyfile)
        (unfinished / "user" / "files").mkdir(parents=True, exist_ok=True)
        _put_in_place(unfinished, target)
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
            leftovers.forget(tavern)
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
    if is_linked_by_another(user, real):
        raise LinkError(_("%(folder)s is linked by another account already.") % {"folder": real})
    row, _is_new = FolderGrant.objects.update_or_create(folder=str(real), defaults={"user": user})
    return row


def _linked(tavern: Tavern, report: FolderReport, url: str, name: str) -> Tavern:
    tavern.folder, tavern.version = report.folder, report.version
    tavern.name = (name or tavern.name or "/".join(Path(report.folder).parts[-2:]))[:120]
    if url and url != tavern.url:
        tavern.url, tavern.password_sealed, tavern.basic_auth_sealed = url, "", ""
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


def _allowed(user: User, path: str | Path) -> Path:
    """The real path of a folder that this person may link. Whether it exists is said only after that."""
    real = real_path(path)
    if not may_link(user, real):
        raise LinkError(_("This folder is not assigned to you. Ask an admin of CharMem, or log in to its account."))
    if not is_inside_roots(real):
        raise LinkError(_outside(real))
    return resolved(real)


def is_linked_by_another(user: User, real: Path) -> bool:
    """Whether this folder, one around it or one inside it is somebody else's already."""
    with unscoped("whose folder this is"):
        rows = Tavern.objects.filter(unlinked_at=None).exclude(owner=user)
        return any(_overlaps(real, Path(folder)) for folder in rows.values_list("folder", flat=True))


def _is_granted_to_another(user: User, real: Path) -> bool:
    rows = FolderGrant.objects.exclude(user=user)
    return any(_overlaps(real, Path(folder)) for folder in rows.values_list("folder", flat=True))


def _overlaps(one: Path, other: Path) -> bool:
    """The same folder, also by another spelling or a second mount, or one inside the other."""
    if one.is_relative_to(other) or other.is_relative_to(one):
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def _put_in_place(unfinished: Path, target: Path) -> None:
    """Give a copied folder its name; when somebody was quicker, theirs stays."""
    try:
        unfinished.rename(target)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)
        if not target.is_dir():
            raise


def _again(user: User, folder: str) -> Tavern | None:
    """The tavern this person had of the same folder before unlinking it."""
    rows = Tavern.objects.for_user(user).exclude(unlinked_at=None).order_by("-unlinked_at")
    return next((row for row in rows if row.folder.split(":", 2)[-1] == folder), None)


def _outside(path: Path) -> str:
    allowed = ", ".join(str(root) for root in roots())
    return _(
        "%(folder)s is outside the places that may be linked: %(roots)s. "
        "CHARMEM_SILLYTAVERN_ROOTS names further ones when CharMem starts."
    ) % {"folder": path, "roots": allowed}
