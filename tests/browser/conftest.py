"""Browser tests touch the database from the thread that also runs Playwright's loop."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
