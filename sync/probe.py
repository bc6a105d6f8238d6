"""What can be done in a folder: write, rename, change modes. Found out by doing it, with files that go away again."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass

from django.utils.translation import gettext as _

from sync.tavern.folder import Folder

PLACE = "user/files"


@dataclass(frozen=True)
class Abilities:
    """What worked in `user/files`. `problem` is a sentence with uid and gid when something did not."""

    can_write: bool = False
    can_rename: bool = False
    can_change_mode: bool = False
    problem: str = ""


def probe(folder: Folder) -> Abilities:
    """Try to write, rename and change a mode where memory files are kept; nothing stays behind."""
    name = f"charmem-probe-{secrets.token_hex(6)}"
    first, second = f"{PLACE}/{name}.txt", f"{PLACE}/{name}-2.txt"
    wrote = renamed = changed = False
    try:
        if not _has_place(folder):
            folder.make_folder(PLACE)
        folder.write_atomic(first, b"CharMem tries whether it may write here.\n")
        wrote = True
        folder.rename(first, second)
        renamed = True
        with folder.open(second) as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            os.fchmod(file.fileno(), mode ^ 0o040)
            changed = (os.fstat(file.fileno()).st_mode & 0o777) != mode
    except OSError:
        pass
    finally:
        for path in (first, second):
            with suppress(OSError):
                folder.remove(path)
    return Abilities(wrote, renamed, changed, "" if wrote and renamed and changed else _problem(folder, wrote, renamed))


def _has_place(folder: Folder) -> bool:
    try:
        folder.stat(PLACE)
    except FileNotFoundError:
        return False
    return True


def _problem(folder: Folder, wrote: bool, renamed: bool) -> str:
    try:
        facts = folder.stat(PLACE)
        owner = _("user/files belongs to uid %(uid)d, gid %(gid)d, mode %(mode)o") % {
            "uid": facts.st_uid,
            "gid": facts.st_gid,
            "mode": facts.st_mode & 0o777,
        }
    except OSError:
        owner = _("user/files cannot be looked at")
    if not wrote:
        what = _("CharMem cannot write there")
    elif not renamed:
        what = _("CharMem can write there, but not rename")
    else:
        what = _("CharMem can write there, but not change modes")
    me = _("it runs as uid %(uid)d, gid %(gid)d") % {"uid": os.getuid(), "gid": os.getgid()}
    return f"{what}: {owner}; {me}."
