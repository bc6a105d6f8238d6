#!/usr/bin/env python
"""Entry point of every command; `manage.py serve` runs the whole product."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "charmem_site.settings")
    os.umask(0o077)  # chats and sessions are nobody else's on this computer; SillyTavern's files get its own modes
    if sys.argv[1:2] == ["serve"]:
        from charmem_site.serve.__main__ import main as serve  # the supervisor stays small: no Django in it

        sys.exit(serve(sys.argv[2:]))
    from django.core.management import execute_from_command_line

    from charmem_site.env import EnvError

    try:
        execute_from_command_line(sys.argv)
    except EnvError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
