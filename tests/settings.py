"""Settings of the test run: a data folder of its own and a quick password hasher, else those of the product."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

if "CHARMEM_DATA_DIR" not in os.environ:
    os.environ["CHARMEM_DATA_DIR"] = tempfile.mkdtemp(prefix="charmem-tests-")
    atexit.register(shutil.rmtree, os.environ["CHARMEM_DATA_DIR"], ignore_errors=True)

from charmem_site.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STATIC_ROOT.mkdir(exist_ok=True)
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: pages served in a thread of their own need a connection of their own (stack-notes §5).
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] += " PRAGMA synchronous=OFF;"
