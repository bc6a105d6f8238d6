"""`manage.py backup [--to FILE] [--with-keys]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import CommandFailed, ProductCommand
from charmem_site.backup import daily
from charmem_site.backup.archive import BackupError, write


class Command(ProductCommand):
    """Write one file with everything; works while the server runs."""

    help = "Writes a backup of everything (without the keys, unless asked)."
    needs_user = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--to", metavar="FILE", help="Where to write it; the backup folder when left out.")
        parser.add_argument("--with-keys", action="store_true", help="Include the keys that open stored API keys.")

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(options["to"]).absolute() if options["to"] else daily.default_path()
        try:
            made = write(path, with_keys=options["with_keys"])
        except BackupError as error:
            raise CommandFailed(str(error)) from error
        keys = "with keys" if options["with_keys"] else "without keys: keep the file vault-key in a safe place too"
        self.say(
            f"Backup written to {made.path}: {made.rows} rows, {made.files} files, {made.size} bytes, {keys}.",
            {
                "path": str(made.path),
                "rows": made.rows,
                "files": made.files,
                "bytes": made.size,
                "with_keys": options["with_keys"],
            },
        )
