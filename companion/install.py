"""Putting the companion into a person's SillyTavern, seeing whether it is still as it was put there, taking it out.

It lies in `extensions/charmem/` of their own user folder and works after the next reload of the page. A file that
somebody changed by hand is shown and not overwritten unless asked.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.wording import ago
from companion import pairing as pairings
from companion.models import Pairing
from sync.models import Tavern
from sync.tavern.folder import Folder
from sync.tavern.paths import PathRefused
from sync.ways import Way

SOURCE = Path(__file__).parent / "extension"
PLACE = "extensions/charmem"
ADDRESS_FILE = "charmem.json"
EXTENSION = "third-party/charmem"


class InstallRefused(Exception):
    """Nothing was changed. The message is a finished sentence."""


@dataclass(frozen=True)
class Status:
    """What stands in SillyTavern. `changed` and `missing` are names of files."""

    pairing: Pairing | None
    version: str
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    problem: str = ""
    is_disabled: bool = False

    @property
    def is_whole(self) -> bool:
        """Installed as we put it there."""
        return self.pairing is not None and not (self.changed or self.missing or self.problem)

    @property
    def is_outdated(self) -> bool:
        """Another version of CharMem installed it."""
        return self.pairing is not None and self.pairing.version != self.version


def status(tavern: Tavern) -> Status:
    """Compare the installed files with what we wrote."""
    pairing, packaged = _pairing(tavern), packaged_files()
    wrote = pairing.files if pairing else {name: _hash(data) for name, data in packaged.items()}
    try:
        with Folder(tavern.folder) as folder:
            there = {name: _hash_there(folder, name) for name in wrote}
    except (OSError, PathRefused) as error:
        return Status(pairing, version(), problem=_reason(error))
    changed = [name for name, digest in there.items() if digest and digest != wrote[name]]
    missing = [name for name, digest in there.items() if not digest]
    is_disabled = EXTENSION in tavern.disabled_extensions
    return Status(pairing, version(), changed, missing if pairing else [], is_disabled=is_disabled)


def way(tavern: Tavern) -> Way:
    """The companion's line on the SillyTavern page."""
    now, page = status(tavern), reverse("companion:tavern", args=[tavern.pk])
    if now.pairing is None:
        text = _("New memory files wait for it, or for a line that you paste")
        return Way("plug", _("No companion in SillyTavern"), text, "warn", page, _("Install…"))
    if not now.is_whole or now.is_disabled:
        text = now.problem or _("Changed, missing or switched off in SillyTavern")
        return Way("plug", _("The companion needs a look"), text, "warn", page, _("Look"))
    if now.pairing.seen_at is None:
        text = _("Not heard yet: reload the SillyTavern page")
        return Way("plug", _("Companion installed"), text, "warn", page, _("Change"))
    title = _("Companion %(version)s in SillyTavern") % {"version": now.pairing.version}
    text = _("Heard %(when)s") % {"when": ago(now.pairing.seen_at)}
    return Way("plug", title, text, "warn" if now.is_outdated else "ok", page, _("Change"))


def install(tavern: Tavern, api: str, *, replace: bool = False) -> Pairing:
    """Write the extension with a new token; `api` is the address of this tavern's API, with a slash at its end.

    Raises InstallRefused when a file was changed by hand (unless `replace`) or cannot be written.
    """
    changed = status(tavern).changed
    if changed and not replace:
        raise InstallRefused(
            _("%(names)s in SillyTavern's extension folder was changed by hand. Nothing was overwritten.")
            % {"names": ", ".join(changed)}
        )
    token = pairings.new_token()
    files = {**packaged_files(), ADDRESS_FILE: json.dumps({"api": api, "token": token}, indent=2).encode()}
    try:
        with Folder(tavern.folder) as folder:
            folder.make_folder(PLACE)
            for name, data in files.items():
                folder.write_atomic(f"{PLACE}/{name}", data)
    except (OSError, PathRefused) as error:
        raise InstallRefused(
            _("The companion could not be written into SillyTavern's folder: %(reason)s.") % {"reason": _reason(error)}
        ) from error
    digests = {name: _hash(data) for name, data in files.items()}
    return pairings.pair(tavern, token=token, address=api, version=version(), files=digests)


def remove(tavern: Tavern) -> list[str]:
    """Take the companion out and end its token; gives the names of files that were changed by hand and stay."""
    now = status(tavern)
    if now.pairing is None:
        return []
    own = [name for name in now.pairing.files if name not in (*now.changed, *now.missing)]
    try:
        with Folder(tavern.folder) as folder:
            for name in own:
                folder.remove(f"{PLACE}/{name}")
    except (OSError, PathRefused) as error:
        raise InstallRefused(
            _("The companion could not be removed: %(reason)s.") % {"reason": _reason(error)}
        ) from error
    now.pairing.delete()
    return now.changed


def packaged_files() -> dict[str, bytes]:
    """The extension as it comes with CharMem."""
    return {path.name: path.read_bytes() for path in sorted(SOURCE.iterdir()) if path.suffix in {".js", ".json"}}


def version() -> str:
    """The version in the packaged manifest."""
    return str(json.loads((SOURCE / "manifest.json").read_bytes())["version"])


def _pairing(tavern: Tavern) -> Pairing | None:
    return Pairing.objects.for_user(tavern.owner).filter(tavern=tavern).first()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_there(folder: Folder, name: str) -> str:
    try:
        return _hash(folder.read(f"{PLACE}/{name}"))
    except FileNotFoundError:
        return ""


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", "") or str(error)
