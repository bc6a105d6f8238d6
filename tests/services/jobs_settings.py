"""The product's settings plus the kinds of job that count their effects (tests/support/kinds.py)."""

from __future__ import annotations

from charmem_site.settings import *

INSTALLED_APPS = [*INSTALLED_APPS, "tests.services.counting"]
