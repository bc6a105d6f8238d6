"""Take pictures of the pages in both themes and three widths into build/shots: `python scripts/screenshots.py [name…]`.

Everything happens in a folder of its own with an invented person; nothing of a real installation is touched.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"desktop": (1440, 900), "tablet": (820, 1180), "phone": (390, 844)}


def prepare() -> None:
    """Settings, database and a server of their own."""
    sys.path.insert(0, str(ROOT))
    os.environ["CHARMEM_DATA_DIR"] = tempfile.mkdtemp(prefix="charmem-shots-")
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
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
    """({name: (path, person)}, {person: session key}) after making two lives: one full, one just begun."""
    from django.test import Client

    from accounts.ownership import unscoped
    from tests.support.people import make_person
    from tests.support.scenes import just_begun, lived_in

    alice, newcomer, beginner = (make_person(name) for name in ("alice", "newcomer", "beginner"))
    with unscoped("pictures of an invented life"):
        scene = lived_in(alice)
        just_begun(beginner)
    who, pk = scene["character"], scene["character"].pk
    found = {
        "home": "/",
        "characters": "/characters/",
        "choosing": "/characters/?choose=1",
        "character": f"/characters/{pk}/",
        "character-flag": f"/characters/{pk}/?flag=unverified",
        "character-empty": f"/characters/{scene['empty'].pk}/",
        "character-failed": f"/characters/{scene['failed'].pk}/",
        "chats": f"/characters/{pk}/chats/",
        "health": f"/characters/{scene['failed'].pk}/health/",
        "history": f"/characters/{pk}/history/",
        "settings": f"/characters/{pk}/settings/",
        "write": f"/characters/{pk}/write/",
        "chat": f"/chats/{scene['chat'].pk}/?at=846#watermark",
        "evidence": f"/memories/{scene['memory'].pk}/",
        "edit": f"/memories/{scene['memory'].pk}/edit/",
        "block": f"/blocks/{scene['block'].pk}/",
        "conflict": f"/conflicts/{scene['conflict'].pk}/",
        "help": "/help/",
        "help-search": "/help/?q=enable+files",
        "help-chapter": "/help/extraction/",
        "about": "/about/",
    }
    made = {name: (path, "alice") for name, path in found.items()}
    made["drawer"] = (f"/characters/{pk}/#open", "alice")
    made |= {f"wizard-{step}": (f"/wizard/{step}/", "newcomer") for step in ("folder", "model")}
    made["wizard-sample"] = ("/wizard/folder/?folder=sample", "newcomer")
    made |= {"wizard-first": ("/wizard/first/", "beginner"), "first-day": ("/", "beginner")}
    made["characters-none"] = ("/characters/", "newcomer")
    sessions = {}
    for person in (alice, newcomer, beginner):
        client = Client()
        client.force_login(person)
        sessions[person.username] = client.cookies["charmem"].value
    assert who.name
    return made, sessions


def main(wanted: list[str]) -> None:
    prepare()
    found, sessions = pages()
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
                context.add_cookies([{"name": "charmem", "value": sessions[person], "url": base}])
                page.goto(base + path, wait_until="load")
                if name == "drawer":
                    page.locator("li.bullet a.icon-btn").nth(1).click()
                    page.locator("dialog.drawer[open] h2").wait_for()
                for theme in themes:
                    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
                    page.screenshot(path=str(out / f"{name}-{size}-{theme}.png"))
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                print(f"{name} {size}{f' is {wide} px too wide' if wide > 0 else ''}", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
