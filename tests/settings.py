"""Settings of the test run: a data folder of its own and a quick password hasher, else those of the product."""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("CHARMEM_DATA_DIR", tempfile.mkdtemp(prefix="charmem-tests-"))

from charmem_site.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_ROOT.mkdir(exist_ok=True)
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
