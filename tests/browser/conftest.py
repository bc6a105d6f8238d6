"""Browser tests touch the database from the thread of Playwright's loop, and wait long for what they expect."""

from __future__ import annotations

import os

from playwright.sync_api import expect

expect.set_options(timeout=30_000)  # milliseconds: a busy machine is slow to start a worker or to paint
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
