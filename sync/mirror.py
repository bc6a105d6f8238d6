"""A pass over one SillyTavern folder: scan → diff → upsert (architecture, Rooms).

unchanged: one walk, one query, one small write. Anything else goes through the steps in this order, because each
looks up what the one before brought: settings, characters, groups, lorebooks, chats, Data Bank.

NEW ──first pass──▶ OK ◀──▶ PAUSED (everything seems gone)
                     ▲
                     └────▶ UNREACHABLE (the folder cannot be opened)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from sync.events import (
    CharacterChanged,
    ChatsChanged,
    PassFinished,
    character_changed,
    chats_changed,
    pass_finished,
)
from sync.mirror_characters import CharacterNews, mirror_characters
from sync.mirror_chats import ChatNews, mirror_chats
from sync.mirror_files import mirror_files
from sync.mirror_groups import mirror_groups
from sync.mirror_issues import Issues
from sync.mirror_lore import mirror_lorebooks
from sync.mirror_pass import Interrupted, Pass, PassReport
from sync.mirror_scan import Scan, walk
from sync.mirror_settings import mirror_entries, mirror_settings
from sync.models import Tavern
from sync.tavern.folder import Folder

State = Tavern.State


def mirror(
    tavern: Tavern,
    *,
    note: Callable[..., None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> PassReport:
    """Read what is new in the tavern's folder.

    `note(step=, total=, doing=)` hears how far it is. When `should_stop()` turns true the pass ends with
    `finished=False`; what it wrote stays, and the next pass goes on from there. Never raises for the folder's sake.
    """
    started = time.monotonic()
    with unscoped("mirroring a SillyTavern folder"):
        try:
            folder = Folder(tavern.folder)
        except OSError as error:
            report = _unreachable(tavern, error)
        else:
            with folder:
                report = _pass(tavern, folder, note or _quiet, should_stop or _never)
        report.seconds = time.monotonic() - started
        _remember(tavern, report)
        pass_finished.send(PassFinished(tavern.pk, report.changed))
    return report


def _pass(tavern: Tavern, folder: Folder, note: Callable[..., None], should_stop: Callable[[], bool]) -> PassReport:
    scan = walk(folder)
    known = {
        path: (size, mtime_ns, inode)
        for path, size, mtime_ns, inode in tavern.scanned_files.values_list("path", "size", "mtime_ns", "inode")
    }
    if scan.files == known and tavern.state == State.OK and not tavern.compare_only:
        return PassReport(state=State.OK)
    if reason := _everything_gone(tavern, scan):
        return PassReport(state=State.PAUSED, reason=reason, changed=tavern.state != State.PAUSED)
    one = Pass(tavern, folder, scan, known, note, should_stop, Issues(tavern))
    one.report.changed = bool(one.changed or one.vanished or tavern.state != State.OK)
    one.report.state = State.OK
    people, chats = CharacterNews(), ChatNews()
    try:
        _steps(one, people, chats)
    except Interrupted:
        one.report.finished = False
        one.report.state = tavern.state
    one.flush()
    _tell(one, people, chats)
    return one.report


def _steps(one: Pass, people: CharacterNews, chats: ChatNews) -> None:
    one.report_aside()
    settings_read = mirror_settings(one)
    mirror_characters(one, people)
    mirror_groups(one)
    mirror_lorebooks(one)
    try:
        mirror_chats(one, chats)
    finally:
        touched = mirror_entries(one, settings_read=settings_read, in_chats=chats.attachments)
    mirror_files(one, touched)
    one.forget(path for path in one.vanished if not path.startswith("user/files/"))


def _everything_gone(tavern: Tavern, scan: Scan) -> str:
    """A folder without characters where there were some is a missing disk, not a deletion (spec/problem-reports D3)."""
    if any(path.startswith("characters/") for path in scan.files):
        return ""
    before = tavern.characters.filter(gone_at=None).count()
    if before > 1 or (before and "settings.json" not in scan.files):
        return _(
            "%(folder)s had %(count)d characters and has none now. Most often a disk is not mounted, or a container "
            "was started without it. Everything read before is kept and nothing was marked as deleted."
        ) % {"folder": tavern.folder, "count": before}
    return ""


def _unreachable(tavern: Tavern, error: OSError) -> PassReport:
    if isinstance(error, FileNotFoundError):
        what = _("%(folder)s is not there.")
    elif isinstance(error, PermissionError):
        what = _("CharMem may not open %(folder)s.")
    else:
        what = _("%(folder)s cannot be opened as a folder.")
    kept = _("Everything read before is kept.")
    reason = f"{what % {'folder': tavern.folder}} {kept}"
    return PassReport(state=State.UNREACHABLE, reason=reason, changed=tavern.state != State.UNREACHABLE)


def _tell(one: Pass, people: CharacterNews, chats: ChatNews) -> None:
    for character in dict.fromkeys([*people.renamed, *people.changed]):
        character_changed.send(CharacterChanged(one.tavern.pk, character))
    if chats.changed and not one.tavern.compare_only:
        chats_changed.send(ChatsChanged(one.tavern.pk, chats.changed))


def _remember(tavern: Tavern, report: PassReport) -> None:
    now = timezone.now()
    fields: dict[str, Any] = {"last_pass_at": now, "last_pass_ms": int(report.seconds * 1000)}
    fields |= {"state": report.state, "state_reason": report.reason}
    if report.changed:
        fields["last_change_at"] = now
    if report.finished and report.state == State.OK:
        fields["compare_only"] = False
    for name, value in fields.items():
        setattr(tavern, name, value)
    Tavern.objects.filter(pk=tavern.pk).update(**fields)


def _quiet(**_progress: object) -> None:
    return None


def _never() -> bool:
    return False
