"""The job that downloads a model into the models folder, for admins: a chunk is half a minute of it.

What has arrived lies in `.unfinished` under the checksum it must have, so that another try, also one with another
address, goes on behind it. It is moved into the folder whole, or not at all.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.wording import size
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import MORE, JobFailed, JobPaused, JobRun, Outcome, Stopped, done
from providers import downloads, model_files, network
from providers.builtin import BuiltinProblem
from providers.downloads import DownloadError, Wanted
from providers.file_lock import try_lock

KIND = "model_download"
CHUNK_SECONDS = 30.0
PAUSE = timedelta(seconds=30)
MOST_TRIES = 5  # in a row that bring nothing
LEFT_ALONE = timedelta(days=14)
POINTLESS = ("address", "redirect", "magic", "sum", "too_large")  # the same wish would end the same way
MB = 10**6


def start_download(user: User, url: str, sha256: str, name: str = "") -> Job:
    """Download a GGUF file; `name` "" takes that of the address. Raises BuiltinProblem."""
    if not settings.MODEL_DOWNLOAD_BYTES:
        raise BuiltinProblem("url", _("Downloads are switched off here (CHARMEM_MODEL_DOWNLOAD_GB=0)."))
    url, sha256 = url.strip().partition("#")[0], sha256.strip().lower()
    if problem := downloads.address_problem(url):
        raise BuiltinProblem("url", problem)
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise BuiltinProblem("sha256", _("A SHA-256 has 64 digits and letters from a to f."))
    name = name.strip() or unquote(urlsplit(url).path.rpartition("/")[2])
    if not model_files.is_name(name):
        raise BuiltinProblem("name", _("Give the file a plain name that ends in .gguf."))
    if model_files.find(name) is not None:
        raise BuiltinProblem("name", _("There is a file of this name already; remove it first, or take another name."))
    label = _("Download %(name)s") % {"name": name}
    params = {"url": url, "sha256": sha256, "name": name, "tries": 0}
    return enqueue(user, KIND, key=f"model:{sha256}", label=label, params=params)[0]


def newest(user: User) -> Job | None:
    """The last download of this person, as long as anything is left of it."""
    rows = Job.objects.for_user(user).filter(kind=KIND, updated_at__gt=timezone.now() - LEFT_ALONE)
    return rows.order_by("-created_at").first()


def run(run: JobRun) -> Outcome:
    """Half a minute of the download; the last chunk checks the file and puts it into the folder."""
    if not run.owner.is_admin:
        raise JobFailed(_("Only an admin may download models."), error_type="forbidden", retry=False)
    name, sha256 = str(run.params["name"]), str(run.params["sha256"])
    unfinished = _unfinished()
    with _alone(unfinished / f"{sha256}.lock"):
        part = unfinished / f"{sha256}.part"
        before = _size(part)
        try:
            is_whole = _fetched(run, part)
        except DownloadError as error:
            raise _ending(run, error, has_moved=_size(part) > before) from error
        if not is_whole:
            run.keep(tries=0)
            return MORE
        _put_in(part, model_files.folder() / name)
    (unfinished / f"{sha256}.lock").unlink(missing_ok=True)
    return done({"text": _("%(name)s is in the models folder.") % {"name": name}, "name": name})


def job_kind() -> JobKind:
    """For the registry."""
    return JobKind(KIND, _("Download a model"), run, lambda job: reverse("providers:builtin"), "megabytes")


def _fetched(run: JobRun, part: Path) -> bool:
    wanted = Wanted(
        str(run.params["url"]),
        str(run.params["sha256"]),
        settings.MODEL_DOWNLOAD_BYTES,
        network.policy_for(run.owner),
    )
    until = time.monotonic() + CHUNK_SECONDS

    def tell(have: int, total: int | None) -> None:
        run.progress(
            step=have // MB, total=(total or 0) // MB, doing=_("%(size)s have arrived.") % {"size": size(have)}
        )

    return downloads.fetch(wanted, part, stop=run.should_stop, enough=lambda: time.monotonic() > until, tell=tell)


def _ending(run: JobRun, error: DownloadError, *, has_moved: bool) -> Stopped | JobPaused | JobFailed:
    if error.kind == "stopped":
        run.check()
        return Stopped()
    tries = 1 if has_moved else int(run.params.get("tries", 0)) + 1
    if error.retryable and tries < MOST_TRIES:
        run.keep(tries=tries)
        run.log(error.message, "warn")
        return JobPaused(timezone.now() + PAUSE, _("%(why)s It is tried again soon.") % {"why": error.message})
    run.keep(tries=0)
    return JobFailed(error.message, hint=error.hint, error_type=error.kind, retry=error.kind not in POINTLESS)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two people may want the same file: the second one waits."""
    lock = try_lock(path)
    if lock is None:
        raise JobPaused(timezone.now() + PAUSE, _("Somebody else downloads this file just now."))
    try:
        yield
    finally:
        lock.close()


def _put_in(part: Path, target: Path) -> None:
    """Whole and under its name at once. A file that was put there meanwhile stays."""
    if target.exists() or target.is_symlink():
        text = _("A file called %(name)s was put into the models folder meanwhile; it stays as it is.")
        hint = _("Remove it and press Retry: what was downloaded is kept.")
        raise JobFailed(text % {"name": target.name}, hint=hint, error_type="exists")
    part.replace(target)


def _unfinished() -> Path:
    """The folder of unfinished downloads, without what nobody went on with for two weeks."""
    folder = model_files.folder() / model_files.UNFINISHED
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.glob("*.part"):
        if time.time() - old.lstat().st_mtime > LEFT_ALONE.total_seconds():
            old.unlink(missing_ok=True)
    return folder


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
