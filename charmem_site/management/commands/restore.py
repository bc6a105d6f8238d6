"""`manage.py restore FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.commands import CommandFailed, ProductCommand
from charmem_site.backup.archive import BackupError
from charmem_site.backup.restoring import restore
from charmem_site.serve.lock import AlreadyRunning, DataFolderLock


class Command(ProductCommand):
    """Replace everything by a backup; refuses while the server runs."""

    help = "Puts a backup back. The state before is kept in the data folder."
    needs_user = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", help="A backup made by `manage.py backup`.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with DataFolderLock(settings.DATA_DIR):
                done = restore(Path(options["file"]).absolute())
        except AlreadyRunning as error:
            raise CommandFailed(f"Stop the server first: {error} Nothing was changed.") from error
        except BackupError as error:
            raise CommandFailed(str(error)) from error
        self.say(
            f"Restored the backup of {done.made_at}: {done.rows} rows, {done.files} files. The state before is in "
            f"{done.kept_aside}. The first pass over SillyTavern only compares.",
            {"made_at": done.made_at, "rows": done.rows, "files": done.files, "kept_aside": str(done.kept_aside)},
        )
