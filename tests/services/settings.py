"""The product's settings plus a small app whose only kind of job counts (tests/services/tally)."""

from __future__ import annotations

from charmem_site.settings import *

INSTALLED_APPS = [*INSTALLED_APPS, "tests.services.tally"]
