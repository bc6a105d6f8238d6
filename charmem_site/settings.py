"""All settings; what a person may change comes from `CHARMEM_*` variables (docs/configuration.md)."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from cryptography.fernet import Fernet

from charmem_site.env import (
    env_address,
    env_bool,
    env_choice,
    env_count,
    env_folder,
    env_list,
    env_secret,
    env_str,
    env_zone,
)
from charmem_site.local_addresses import own_hosts
from charmem_site.secret_files import read_or_create

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env_folder("CHARMEM_DATA_DIR", BASE_DIR / "data")

DEBUG = env_bool("CHARMEM_DEBUG")
SECRET_KEY = env_secret("CHARMEM_SECRET_KEY") or read_or_create(
    DATA_DIR / "secret-key", lambda: secrets.token_urlsafe(48)
)
VAULT_KEY_FILE = DATA_DIR / "vault-key"
VAULT_KEYS = (
    env_secret("CHARMEM_VAULT_KEY") or read_or_create(VAULT_KEY_FILE, lambda: Fernet.generate_key().decode())
).split()
VAULT_KEY_IN_FILE = not env_secret("CHARMEM_VAULT_KEY")

BIND = env_str("CHARMEM_BIND", "127.0.0.1:8420")
SITE_URL = env_str("CHARMEM_SITE_URL")
LAN = env_bool("CHARMEM_LAN")
TRUSTED_PROXIES = env_list("CHARMEM_TRUSTED_PROXIES")
SILLYTAVERN_ROOTS = env_list("CHARMEM_SILLYTAVERN_ROOTS", ":")
LOCAL_NETWORKS = env_list("CHARMEM_LOCAL_NETWORKS")
MODEL_FILE = env_str("CHARMEM_MODEL_FILE")
MODEL_DOWNLOAD_BYTES = env_count("CHARMEM_MODEL_DOWNLOAD_GB", 20) * 10**9

_site = urlsplit(SITE_URL)
ALLOWED_HOSTS = own_hosts(lan=LAN or not BIND.startswith(("127.", "localhost", "[::1]")))
if _site.hostname:
    ALLOWED_HOSTS.append(_site.hostname)
CSRF_TRUSTED_ORIGINS = [f"{_site.scheme}://{_site.netloc}"] if _site.hostname else []

INSTALLED_APPS = [
    "charmem_site",
    "companion",
    "compaction",
    "memories",
    "sync",
    "providers",
    "search",
    "jobs",
    "accounts",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "charmem_site.middleware.security_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "charmem_site.middleware.bounded_requests",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.SignInFirst",
    "accounts.middleware.personal_time_zone",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "charmem_site.urls"
WSGI_APPLICATION = "charmem_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "charmem_site.context_processors.frame",
            ],
        },
    },
]

SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY; "
        "PRAGMA mmap_size=134217728; PRAGMA journal_size_limit=67108864;"
    ),
}


ENGINES = ("postgres", "postgresql", "sqlite")


def _database() -> dict[str, object]:
    """SQLite in the data folder unless `CHARMEM_DATABASE_URL` names another engine (stack-notes §5)."""
    url = env_address("CHARMEM_DATABASE_URL", ENGINES, "postgres://charmem:password@127.0.0.1:5432/charmem")
    if url:
        config = dict(dj_database_url.parse(url, conn_health_checks=True))
    else:
        config = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "charmem.sqlite3")}
    config["CONN_MAX_AGE"] = None
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = SQLITE_OPTIONS
    return config


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "accounts:login"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

_https = _site.scheme == "https"
SESSION_COOKIE_NAME = "__Host-charmem" if _https else "charmem"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_AGE = 60 * 60 * 24 * 60
SESSION_ENGINE = "django.contrib.sessions.backends.db"
CSRF_COOKIE_NAME = "charmem-csrf"
CSRF_COOKIE_HTTPONLY = True  # pages carry the token; scripts of SillyTavern on the same host name need not see it
CSRF_FAILURE_VIEW = "charmem_site.views.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 50
UPLOAD_MAX_SIZE = 66 * 1024 * 1024  # bytes of a request with a file, on the import pages

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = env_zone("TZ", "UTC")
LOCALE_PATHS = [BASE_DIR / "locale"]

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = False

BROKER_URL = env_address("CHARMEM_BROKER_URL", ("redis", "rediss"), "redis://:password@127.0.0.1:6379/0")

LOG_LEVEL = env_choice("CHARMEM_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"redact": {"()": "jobs.redaction.RedactSecrets"}},
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["redact"]},
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},
    },
}
