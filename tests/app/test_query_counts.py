"""Pages with lists ask the database as often for fifty rows as for five."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from jobs.drain import run_until_idle
from memories import consolidation, conversion, drafts, memory_file, own_prompts
from memories import importing_export_upload as uploads
from memories.export_data import as_json, characters_with_memories
from memories.models import Memory, MemoryFile, ReviewPair
from providers.models import Connection
from search import index
from sync.models import Character, Chat
from tests.support.builders import (
    make_call,
    make_character,
    make_chat,
    make_group,
    make_job,
    make_pair,
    make_tavern,
    make_trash,
)
from tests.support.consolidating import Merger
from tests.support.wire import connect

FEW, MANY = 5, 50
# Pages that show one thing, or the first few; all others grow with what there is.
SAME_LENGTH = {
    *("/", "/settings/models/", "chat", "clear/", "consolidate/groups/?how=chat", "export/", "health/", "import/"),
    *("memory", "search", "search memories", "settings/", "sources", "timeline/?by=story"),
}


@dataclass
class Life:
    """What one person has: `size` of everything that a page lists."""

    person: User
    client: Client
    character: Character
    file: MemoryFile
    ids: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def fake() -> Iterator[Merger]:
    with Merger() as server:
        yield server


@pytest.fixture
def lives(alice: User, bob: User, fake: Merger, tmp_path: Path, settings: Any) -> tuple[Life, Life]:
    settings.DATA_DIR = tmp_path
    User.objects.filter(pk=bob.pk).update(role="admin")  # whom the model on this machine is open to
    bob.refresh_from_db()
    return live(alice, FEW, fake), live(bob, MANY, fake)


def live(person: User, size: int, fake: Merger) -> Life:
    client = Client()
    client.force_login(person)
    tavern = make_tavern(person)
    paid = connect(person, fake, is_default=True)
    characters = [make_character(tavern, f"Guest {n}") for n in range(size)]
    character = make_character(tavern, "Seraphine")
    chats = [make_chat(character, 4, name=f"Night {n}") for n in range(size)]
    file = memory_file.file_for(character)
    write(file, chats, paid)
    for guest in characters:
        with memory_file.change(memory_file.file_for(guest), reason="written", author=person) as editor:
            editor.add_block("Lantern", ["Keeps a lantern."], origin="written")
    life = Life(person, client, character, file)
    for number in range(size):
        make_chat(make_group(tavern, *characters[:3], name=f"Group {number}"), 4)
    life.ids = {"chat": chats[0].pk, "memory": memories(file)[0].pk, "revision": file.revisions.all()[0].pk}
    review(file)
    ask(life, size)
    prompts(person, size)
    for _n in range(size):
        make_trash(file)
        make_job(person, subject=f"character:{character.pk}")
    export = "".join(as_json(person, characters_with_memories(person), made_at=timezone.now()))
    life.ids["upload"] = uploads.keep(person, SimpleUploadedFile("export.json", export.encode()))
    while not index.step():
        pass
    return life


def write(file: MemoryFile, chats: list[Chat], paid: Connection) -> None:
    """A block for each chat, with its evidence and its price, each in a revision of its own."""
    for number, chat in enumerate(chats):
        source = chat.messages.get(index=1)
        item = {"identity": source.identity, "index": 1, "quote": source.text, "content": source.content}
        job = make_job(file.owner, state="done", subject=f"character:{file.character_id}")
        call = make_call(file.owner, paid, job=job)
        place = {"chat": chat, "first_index": 0, "last_index": 3, "job": job, "call": call}
        with memory_file.change(file, reason="extracted", author=file.owner, job=job) as editor:
            texts = [f"Lantern {number} burns in Harrow.", f"Lantern {number} burned in Harrow."]
            news = [memory_file.NewMemory(text, evidence=[item], is_unverified=True) for text in texts]
            editor.add_block(f"Night {number}", news, date=f"2026-01-01 1{number % 10}:00", origin="extracted", **place)


def memories(file: MemoryFile) -> list[Memory]:
    return list(Memory.objects.for_user(file.owner).filter(block__file=file).order_by("block__order", "order"))


def review(file: MemoryFile) -> None:
    rows = memories(file)
    for older, newer in zip(rows[::2], rows[1::2], strict=True):
        make_pair(older, newer)
        make_pair(older, newer, kind=ReviewPair.Kind.SUPERSEDED)
    Memory.objects.for_user(file.owner).filter(pk__in=[row.pk for row in rows]).update(is_source_changed=True)


def ask(life: Life, size: int) -> None:
    """A consolidation and an import to look at, and an edit with many steps."""
    blocks = [block.pk for block in life.file.blocks.all()]
    merged = consolidation.start_consolidation(life.person, life.file, block_ids=blocks)
    notes = "\n".join(f"# Door {n}\n* Door {n} is of oak.\n* Lantern {n} burns in Harrow.\n" for n in range(size))
    imported = conversion.start_conversion(life.person, life.file, source_name="notes.md", text=notes)
    run_until_idle(life.person)
    draft = drafts.open_edit(life.person, life.file)
    for memory in memories(life.file)[: size * 2 : 2]:
        with drafts.step(draft, "Edit") as editor:
            editor.set_text(str(memory.pk), f"{memory.text} Still.")
    life.ids |= {"merged": merged.pk, "imported": imported.pk, "draft": draft.pk}


def prompts(person: User, size: int) -> None:
    for number in range(size):
        own_prompts.save_text(person, "extraction", f"{own_prompts.text_in_force(person, 'extraction').text}\n{number}")
        own_prompts.create_strategy(person, f"Strategy {number}")


def pages(life: Life) -> dict[str, str]:
    """Addresses by a name that both lives share."""
    here = f"/characters/{life.character.pk}/"
    of_character = [
        *(
            "",
            "?flag=unverified",
            "chats/",
            "history/",
            "health/",
            "timeline/",
            "timeline/?by=story",
            "trash/",
            "clear/",
        ),
        *("consolidate/", "import/", "reformat/", "copy/", "layout/", "export/", "settings/", "review/unverified/"),
        *("review/duplicates/", "review/superseded/", "review/changed/", "consolidate/groups/?how=chat"),
    ]
    ids = life.ids
    others = {
        "draft": f"/drafts/{ids['draft']}/",
        "consolidated": f"/proposals/{ids['merged']}/",
        "imported": f"/proposals/{ids['imported']}/",
        "memory": f"/memories/{ids['memory']}/",
        "sources": f"/memories/{ids['memory']}/sources/",
        "chat": f"/chats/{ids['chat']}/",
        "revision": f"/revisions/{ids['revision']}/",
        "import an export": f"/import/?upload={ids['upload']}",
        "replace": "/replace/?find=lantern&replace=lamp",
        "replace here": f"/replace/?character={life.character.pk}&find=lantern&replace=lamp",
        "search": "/search/?q=lantern",
        "search memories": "/search/?q=lantern&in=memories",
    }
    alike = ["/groups/", "/", "/characters/", "/characters/?choose=1", "/export/", "/jobs/", "/settings/prompts/"]
    alike += ["/settings/prompts/extraction/", "/settings/prompts/extraction/versions/"]
    alike += ["/settings/prompts/extraction/try/", "/settings/models/", "/pin/"]
    return {**{one: here + one for one in of_character}, **others, **{one: one for one in alike}}


def asked(life: Life, path: str) -> tuple[int, int]:
    """How many queries a page takes, and its length."""
    life.client.get(path)  # what is remembered from now on does not count
    with CaptureQueriesContext(connection) as queries:
        answer = life.client.get(path)
    assert answer.status_code == 200, path
    return len(queries), len(answer.content)


def test_many_rows_cost_no_more_queries_than_few(lives: tuple[Life, Life]) -> None:
    few, many = lives
    more: dict[str, tuple[int, int]] = {}
    as_long: set[str] = set()
    for name, path in pages(few).items():
        (before, short), (after, long) = asked(few, path), asked(many, pages(many)[name])
        more |= {name: (before, after)} if after > before else {}
        as_long |= {name} if long < 1.5 * short else set()
    assert more == {}
    assert as_long == SAME_LENGTH
