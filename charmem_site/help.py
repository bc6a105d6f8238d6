"""Help (the guide, rendered and searched) and About."""

from __future__ import annotations

import shutil
import tomllib
from functools import cache
from importlib.metadata import version as installed_version
from pathlib import Path

import django
from django.conf import settings
from django.db import connection
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest
from charmem_site.guide import read_guide, search
from memories.last_backup import last_backup

GUIDE = Path(settings.BASE_DIR) / "docs" / "guide"


@cache
def product_version() -> str:
    """The version in pyproject.toml."""
    with (Path(settings.BASE_DIR) / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


@require_safe
def contents(request: PersonRequest) -> HttpResponse:
    """All chapters, or what a search found in them."""
    query = request.GET.get("q", "").strip()[:200]
    chapters = read_guide(GUIDE)
    hits = search(chapters, query) if query else []
    return render(request, "help/contents.html", {"chapters": chapters, "query": query, "hits": hits})


@require_safe
def chapter(request: PersonRequest, topic: str) -> HttpResponse:
    """One chapter of the guide."""
    chapters = read_guide(GUIDE)
    at = next((n for n, one in enumerate(chapters) if one.slug == topic), None)
    if at is None:
        raise Http404(_("There is no such chapter."))
    context = {
        "chapters": chapters,
        "chapter": chapters[at],
        "earlier": chapters[at - 1] if at else None,
        "later": chapters[at + 1] if at + 1 < len(chapters) else None,
    }
    return render(request, "help/chapter.html", context)


@require_safe
def about(request: PersonRequest) -> HttpResponse:
    """Version, licences, the last backup; the data folder for admins only."""
    context = {
        "version": product_version(),
        "django_version": django.get_version(),
        "htmx_version": installed_version("django-htmx"),
        "backup": last_backup(),
        "facts": _folder_facts() if request.user.is_admin else None,
    }
    return render(request, "help/about.html", context)


def _folder_facts() -> dict[str, object]:
    folder = Path(settings.DATA_DIR)
    usage = shutil.disk_usage(folder)
    database = folder / "charmem.sqlite3"
    return {
        "folder": folder,
        "engine": connection.vendor,
        "database_size": database.stat().st_size if database.is_file() else None,
        "free": usage.free,
        "backups": folder / "backups",
        "roots": settings.SILLYTAVERN_ROOTS,
    }
