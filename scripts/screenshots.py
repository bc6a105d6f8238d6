"""Take pictures of the pages in both themes and three widths into build/shots: `python scripts/screenshots.py [name…]`.

Words beside names of pages: desktop, tablet, phone, dark, light, whole (to the end of the page), setup (alone).

Everything happens in a folder of its own with an invented person; nothing of a real installation is touched.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"desktop": (1440, 900), "tablet": (820, 1180), "phone": (390, 844)}


def prepare() -> None:
    """Settings, database and a server of their own."""
    sys.path.insert(0, str(ROOT))
    os.environ["CHARMEM_DATA_DIR"] = tempfile.mkdtemp(prefix="charmem-shots-")
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    os.environ["CHARMEM_SILLYTAVERN_ROOTS"] = str(ROOT / "tests" / "data")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


def serve() -> str:
    """The pages on a free port; returns the address."""
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIServer

    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.wsgi import get_wsgi_application

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    server = make_server("127.0.0.1", 0, StaticFilesHandler(get_wsgi_application()), Server, Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def pages() -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """({name: (path, person)}, {person: session key}) after making four lives: full, new, just begun, in trouble."""
    from django.test import Client

    from accounts.ownership import unscoped
    from search import index
    from tests.support import (
        scenes_activity,
        scenes_automatic,
        scenes_builtin,
        scenes_consolidation,
        scenes_conversion,
        scenes_editor,
        scenes_groups,
        scenes_migration,
        scenes_models,
        scenes_prompts,
        scenes_quality,
        scenes_reader,
        scenes_review,
        scenes_scopes,
        scenes_through,
    )
    from tests.support import scenes_rest as rest
    from tests.support.people import make_person
    from tests.support.scenes import just_begun, lived_in
    from tests.support.scenes_time import a_year

    people = {name: make_person(name) for name in ("beginner", "unlucky", "mira")}
    people |= {name: make_person(name, role="admin") for name in ("alice", "newcomer")}
    alice = people["alice"]
    with unscoped("pictures of an invented life"):
        scene = lived_in(alice)
        scene["thistle"] = a_year(alice, scene["character"].tavern)
        scene |= rest.add_jobs(alice) | rest.add_people(alice)
        scene |= scenes_editor.add_edits(alice, scene["character"], scene["failed"])
        scene |= scenes_prompts.add_prompts(alice, scene["character"], scene["chat"])
        scene |= scenes_review.add_reviews(alice, scene["character"], scene["chat"])
        scene |= scenes_consolidation.add_consolidations(alice, scene["character"].tavern)
        scene |= scenes_conversion.add_imports(alice, scene["character"].tavern)
        scene |= scenes_migration.add_extension(alice)
        scene |= scenes_models.add_tests(alice)
        scene |= scenes_groups.add_groups(alice, scene["character"].tavern)
        scene |= scenes_scopes.add_scopes(alice, scene["character"].tavern)
        scene |= scenes_automatic.add_news(alice, scene["character"], scene["chat"])
        scene |= scenes_quality.add_quality(alice, scene["character"], scene["chat"])
        scene |= scenes_reader.add_reader(alice, scene["character"], scene["chat"])
        scene |= scenes_activity.add_activity(alice, scene["character"], scene["chat"])
        scene |= scenes_builtin.add_models(alice)
        just_begun(people["beginner"])
        scene |= scenes_through.add_through(people["mira"])
        scene["attic"] = rest.add_trouble(people["unlucky"])
    index.step(seconds=60)
    made = {
        name: (path, "alice") for name, path in (_field(scene) | _frame(scene) | scenes_editor.paths(scene)).items()
    }
    made |= {name: (path, "alice") for name, path in scenes_prompts.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_review.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_consolidation.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_conversion.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_migration.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_models.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_groups.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_automatic.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_scopes.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_quality.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_reader.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_activity.paths(scene).items()}
    made |= {name: (path, "alice") for name, path in scenes_builtin.paths().items()}
    made |= {name: (path, "mira") for name, path in scenes_through.paths(scene).items()}
    made |= _beginnings()
    made |= {name: (path, "") for name, path in {"login": "/login/", "join": f"/join/{scene['token']}/"}.items()}
    sessions = {"": ""}
    for person in people.values():
        client = Client()
        client.force_login(person)
        sessions[person.username] = client.cookies["charmem"].value
    return made, sessions


def _field(scene: dict[str, Any]) -> dict[str, str]:
    """Characters, chats, memories."""
    pk, failed, empty = (scene[name].pk for name in ("character", "failed", "empty"))
    return {
        "home": "/",
        "search": "/search/?q=lantern",
        "search-in": "/search/?q=little+tide&in=messages&when=year",
        "search-empty": "/search/",
        "search-none": "/search/?q=unicorn",
        "characters": "/characters/",
        "choosing": "/characters/?choose=1",
        "character": f"/characters/{pk}/",
        "drawer": f"/characters/{pk}/#open",
        "character-flag": f"/characters/{pk}/?flag=unverified",
        "character-empty": f"/characters/{empty}/",
        "character-failed": f"/characters/{failed}/",
        "chats": f"/characters/{pk}/chats/",
        "health": f"/characters/{failed}/health/",
        "history": f"/characters/{pk}/history/",
        "revision": f"/revisions/{scene['revision'].pk}/",
        "settings": f"/characters/{pk}/settings/",
        "write": f"/characters/{pk}/write/",
        "timeline": f"/characters/{scene['thistle'].pk}/timeline/",
        "timeline-story": f"/characters/{scene['thistle'].pk}/timeline/?by=story",
        "replace": f"/replace/?character={scene['thistle'].pk}&find=the+user&replace=Wren",
        "replace-bad": "/replace/?find=(a&pattern=on",
        "export": f"/characters/{pk}/export/",
        "export-all": "/export/",
        "import-export": "/import/",
        "chat": f"/chats/{scene['chat'].pk}/?at=846#watermark",
        "evidence": f"/memories/{scene['memory'].pk}/",
        "edit": f"/memories/{scene['memory'].pk}/edit/",
        "block": f"/blocks/{scene['block'].pk}/",
        "conflict": f"/conflicts/{scene['conflict'].pk}/",
    }


def _frame(scene: dict[str, Any]) -> dict[str, str]:
    """Jobs, settings, people, help."""
    tavern = f"/settings/sillytavern/{scene['character'].tavern_id}"
    return {
        "jobs": "/jobs/",
        "batch": "/batch/",
        **{f"job-{state}": f"/jobs/{scene[state].pk}/" for state in ("running", "paused")},
        "job-failed": f"/jobs/{scene['failed-job'].pk}/",
        "you": "/settings/you/",
        "tavern": "/settings/sillytavern/",
        "issues": "/settings/sillytavern/issues/",
        "link": "/settings/sillytavern/link/",
        "databank": f"{tavern}/databank/",
        "server": f"{tavern}/server/",
        "unlink": f"{tavern}/unlink/",
        "companion": f"{tavern}/companion/",
        "folders": "/settings/sillytavern/folders/",
        "models": "/settings/models/",
        "model-kinds": "/settings/models/new/",
        "model-new": "/settings/models/new/openrouter/",
        "model": f"/settings/models/{scene['paid'].pk}/",
        "model-choose": f"/settings/models/{scene['paid'].pk}/choose/",
        "model-bad": f"/settings/models/{scene['free'].pk}/",
        "model-delete": f"/settings/models/{scene['paid'].pk}/delete/",
        "networks": "/settings/models/networks/",
        "budgets-person": f"/settings/budgets/{scene['bob'].pk}/",
        "people": "/people/",
        "invite": "/people/invite/",
        "person": f"/people/{scene['bob'].pk}/",
        "person-remove": f"/people/{scene['bob'].pk}/remove/",
        "more": "/more/",
        "help": "/help/",
        "help-search": "/help/?q=enable+files",
        "help-chapter": "/help/extraction/",
        "about": "/about/",
        "404": "/there-is-no-such-page/",
    }


def _beginnings() -> dict[str, tuple[str, str]]:
    """What somebody sees who has nothing yet, or lost sight of it."""
    folder = ROOT / "tests" / "data" / "st-data" / "default-user"
    return {
        "wizard-folder": ("/wizard/folder/", "newcomer"),
        "wizard-found": (f"/wizard/folder/?folder={folder}", "newcomer"),
        "wizard-wrong": ("/wizard/folder/?folder=/srv/nothing-here", "newcomer"),
        "wizard-sample": ("/wizard/folder/?folder=sample", "newcomer"),
        "wizard-model": ("/wizard/model/", "newcomer"),
        "wizard-tested": ("/wizard/model/", "beginner"),
        "model-kinds-first": ("/settings/models/new/", "newcomer"),
        "model-local": ("/settings/models/new/local/", "newcomer"),
        "model-builtin": ("/settings/models/new/builtin/", "newcomer"),
        "wizard-first": ("/wizard/first/", "beginner"),
        "first-day": ("/", "beginner"),
        "characters-none": ("/characters/", "newcomer"),
        "jobs-none": ("/jobs/", "newcomer"),
        "models-none": ("/settings/models/", "newcomer"),
        "builtin-get": ("/settings/models/built-in/", "newcomer"),
        "through-none": ("/settings/models/new/sillytavern/", "newcomer"),
        "spending-none": ("/settings/spending/", "newcomer"),
        "tavern-none": ("/settings/sillytavern/", "newcomer"),
        "people-member": ("/people/", "unlucky"),
        "away": ("/settings/sillytavern/", "unlucky"),
        "home-away": ("/", "unlucky"),
    }


def main(wanted: list[str]) -> None:
    prepare()
    from accounts import first_run

    link = first_run.setup_link("") if "setup" in wanted else None
    found, sessions = ({"setup": ("/setup/" + link.partition("/setup/")[2], "")}, {"": ""}) if link else pages()
    base = serve()
    from playwright.sync_api import sync_playwright

    from tests.support.services import require

    out = ROOT / "build" / "shots"
    out.mkdir(parents=True, exist_ok=True)
    only_sizes = [size for size in SIZES if size in wanted] or list(SIZES)
    themes = [theme for theme in ("dark", "light") if theme in wanted] or ["dark", "light"]
    names = [name for name in found if name in wanted] or list(found)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=require("browser"), args=["--no-sandbox"])
        for size in only_sizes:
            width, height = SIZES[size]
            context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
            page = context.new_page()
            for name in names:
                path, person = found[name]
                context.add_cookies([{"name": "charmem", "value": sessions[person] or "-", "url": base}])
                page.goto(base + path, wait_until="load")
                if name == "drawer":
                    page.locator("li.bullet a.icon-btn").nth(1).click()
                    page.locator("dialog.drawer[open] h2").wait_for()
                for theme in themes:
                    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
                    page.screenshot(path=str(out / f"{name}-{size}-{theme}.png"), full_page="whole" in wanted)
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                print(f"{name} {size}{f' is {wide} px too wide' if wide > 0 else ''}", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
