"""Exports: three forms of a character, everything in one archive, and the way back in."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from memories import importing_export, memory_file, own_prompts
from memories.export_data import as_json
from memories.importing_export_read import read
from memories.models import Ancestor, Memory, MemoryBlock, MemoryFile, Revision
from sync.models import Character
from tests.support.builders import (
    make_ancestor,
    make_block,
    make_call,
    make_character,
    make_chat,
    make_memory_file,
    make_tavern,
)
from tests.support.pages import soup, toast, words

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NASTY = "</li><script>alert('ü')</script> & \"quotes\" 'and' 海边"


@pytest.fixture
def file(alice: User) -> MemoryFile:
    character = make_character(make_tavern(alice), "Seraphine")
    chat = make_chat(character, 6, name="First night")
    file = make_memory_file(character, [("Old notes", ["Met at the well."])])
    evidence = [{"identity": "abc", "index": 3, "quote": "She swore.", "content": "def"}]
    block = make_block(
        file, "First night", ["[Seraphine — The oath]", "Swore an oath.", NASTY], order=1, chat=chat, first_index=0,
        last_index=3, origin="consolidated", prompt_version="yours 3", call=make_call(alice), is_locked=True,
    )  # fmt: skip
    block.memories.filter(text__startswith="[").update(is_topic=True)
    parent = str(uuid.uuid4())
    oath = block.memories.get(text="Swore an oath.")
    oath.evidence, oath.parents, oath.is_locked, oath.is_unverified, oath.unverified_names = (
        evidence,
        [parent],
        True,
        True,
        ["Ilse"],
    )
    oath.save()
    make_ancestor(file, "Swore.", memory=parent, evidence=evidence)
    file.loose_text = [{"before": str(block.pk), "text": "\n\n# Notes by hand\n\n"}]
    file.save()
    return file


def exported(user: User, characters: list[Character], **options: Any) -> str:
    return "".join(as_json(user, characters, made_at=NOW, **options))


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def forget_everything(user: User) -> None:
    MemoryFile.objects.for_user(user).all().delete()


def test_wiped_and_imported_again_it_is_the_same_to_the_byte(alice: User, file: MemoryFile) -> None:
    before, text = exported(alice, [file.character]), memory_file.render(file)
    forget_everything(alice)
    importing_export.take(alice, read(before.encode()), {})
    again = MemoryFile.objects.for_user(alice).get()
    assert memory_file.render(again) == text
    after = exported(alice, [again.character])
    assert after.replace(str(again.pk), str(file.pk)) == before


def test_importing_twice_adds_nothing(alice: User, file: MemoryFile) -> None:
    export = read(exported(alice, [file.character]).encode())
    assert importing_export.take(alice, export, {}).files == 0
    forget_everything(alice)
    first, second = (importing_export.take(alice, export, {}) for _n in range(2))
    assert (first.memories, first.files, second.memories, second.files) == (3, 1, 0, 0)
    assert Revision.objects.for_user(alice).filter(batch=first.batch).count() == 1


def test_another_person_gets_rows_of_their_own(alice: User, bob: User, file: MemoryFile) -> None:
    his = make_character(make_tavern(bob), "Seraphine")
    chat = make_chat(his, 6, name="First night")
    export = read(exported(alice, [file.character]).encode())
    before = memory_file.render(file)
    for _n in range(2):
        importing_export.take(bob, export, {})
    made = MemoryFile.objects.for_user(bob).get()
    assert memory_file.render(made) == before == memory_file.render(file)
    assert set(Memory.objects.for_user(bob).values_list("pk")).isdisjoint(
        Memory.objects.for_user(alice).values_list("pk")
    )
    block = MemoryBlock.objects.for_user(bob).get(label="First night")
    assert (block.chat, block.origin, block.prompt_version, block.call, block.is_locked) == (
        chat,
        "consolidated",
        "yours 3",
        None,
        True,
    )
    oath = block.memories.get(text="Swore an oath.")
    ancestor = Ancestor.objects.for_user(bob).get()
    assert oath.parents == [str(ancestor.memory)]
    assert oath.evidence[0]["quote"] == "She swore."
    assert (oath.is_locked, oath.unverified_names) == (True, ["Ilse"])


def test_what_is_there_is_merged_and_not_doubled(alice: User, file: MemoryFile) -> None:
    export = read(exported(alice, [file.character]).encode())
    block = file.blocks.get(label="First night")
    with memory_file.change(file, reason="meanwhile", author=alice) as editor:
        editor.delete_memory(block.memories.get(text=NASTY).pk)
        editor.set_text(block.memories.get(text="Swore an oath.").pk, "Swore a great oath.")
    plans = importing_export.plan(alice, export)
    assert (plans[0].new, plans[0].known, plans[0].new_blocks) == (1, 2, 0)
    importing_export.take(alice, export, {})
    assert list(block.memories.values_list("text", flat=True)) == [
        "[Seraphine — The oath]",
        "Swore a great oath.",
        NASTY,
    ]


def test_a_person_chooses_who_is_who(alice: User, alice_client: Client, file: MemoryFile) -> None:
    other = make_character(file.character.tavern, "Flux", avatar="flux-2.png")
    data = exported(alice, [file.character]).replace('"Seraphine.png"', '"other.png"').replace('"Seraphine"', '"Sera"')
    forget_everything(alice)
    page = soup(upload(alice_client, data.encode()))
    token = page.select_one("[name=upload]")["value"]
    assert "Nothing would be added" in words(page.select_one("h1"))
    page = soup(alice_client.post("/import/", {"upload": token, "c0": str(other.pk), "look": "1"}))
    assert "3 memories would be added" in words(page.select_one("h1"))
    alice_client.post("/import/", {"upload": token, "c0": str(other.pk), "take": "1"})
    assert MemoryFile.objects.for_user(alice).get().character == other
    assert "3 memories imported." in words(toast(alice_client))
    assert "not here any more" in words(
        soup(alice_client.get(f"/import/?upload={token}"), 422).select_one("[role=alert]")
    )


def upload(client: Client, data: bytes, status: int = 302) -> Any:
    answer = client.post("/import/", {"file": SimpleUploadedFile("export.json", data)})
    assert answer.status_code == status, answer.content[:300]
    return client.get(answer.headers["Location"]) if status == 302 else answer


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"# notes", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"format": "charmem-export", "version": NaN}', "is not JSON"),
        (b"[]", "no export of CharMem"),
        (b'{"format": "charmem-export", "version": 2}', "has version 2"),
        (b'{"format": "charmem-export", "version": 1}', "field characters"),
        (
            b'{"format": "charmem-export", "version": 1, "characters": [{"name": 3, "files": []}]}',
            "field characters[0].name",
        ),
    ],
)
def test_bad_input_gets_a_sentence(alice_client: Client, data: bytes, sentence: str) -> None:
    said = words(soup(upload(alice_client, data, 422), 422).select_one("[role=alert]"))
    assert sentence in said
    assert "Nothing was imported." in said


def test_a_wrong_field_is_named_with_its_path(alice: User, alice_client: Client, file: MemoryFile) -> None:
    data = json.loads(exported(alice, [file.character]))
    data["characters"][0]["files"][0]["blocks"][1]["memories"][0]["id"] = "no-id"
    said = words(soup(upload(alice_client, json.dumps(data).encode(), 422), 422).select_one("[role=alert]"))
    assert "characters[0].files[0].blocks[1].memories[0].id" in said


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_a_day_that_no_page_could_show_is_a_wrong_field(
    alice: User, alice_client: Client, file: MemoryFile, moment: str
) -> None:
    data = json.loads(exported(alice, [file.character]))
    data["characters"][0]["files"][0]["blocks"][0]["created_at"] = moment
    said = words(soup(upload(alice_client, json.dumps(data).encode(), 422), 422).select_one("[role=alert]"))
    assert "characters[0].files[0].blocks[0].created_at" in said


def test_numbers_without_end_come_in_as_words(alice: User, bob: User, file: MemoryFile) -> None:
    data = json.loads(exported(alice, [file.character]))
    data["characters"][0]["files"][0]["ancestors"][0]["facts"] = {"cost": 0}
    whole = json.dumps(data).replace('"facts": {"cost": 0}', '"facts": {"cost": 1e999, "seconds": 1.5, "is": true}')
    character = make_character(make_tavern(bob), "Seraphine")
    importing_export.take(bob, read(whole.encode()), {0: str(character.pk)})
    facts = Ancestor.objects.for_user(bob).get().facts
    assert facts == {"cost": "inf", "seconds": 1.5, "is": True}


def test_a_failure_in_the_middle_leaves_nothing_behind(
    alice: User, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_memory_file(make_character(file.character.tavern, "Flux"), [("Owl", ["Owes a feather."])])
    export = read(exported(alice, [file.character, other.character]).encode())
    forget_everything(alice)
    take = importing_export._take_ancestors
    seen: list[MemoryFile] = []

    def breaks(user: User, target: MemoryFile, made: Any) -> None:
        seen.append(target)
        if len(seen) == 2:
            raise RuntimeError("power is off")
        take(user, target, made)

    monkeypatch.setattr(importing_export, "_take_ancestors", breaks)
    with pytest.raises(RuntimeError):
        importing_export.take(alice, export, {})
    assert not MemoryFile.objects.for_user(alice).exists()


def test_ids_that_occur_twice_belong_to_the_first(alice: User, bob: User, file: MemoryFile) -> None:
    data = json.loads(exported(alice, [file.character]))
    blocks = data["characters"][0]["files"][0]["blocks"]
    blocks[1]["id"] = blocks[0]["id"]
    blocks[1]["memories"][1]["id"] = blocks[0]["memories"][0]["id"]
    data["characters"].append({**data["characters"][0], "name": "Twin", "avatar": "twin.png"})
    tavern = make_tavern(bob)
    make_character(tavern, "Seraphine"), make_character(tavern, "Twin", avatar="twin.png")
    export = read(json.dumps(data).encode())
    assert importing_export.take(bob, export, {}).memories == 6
    assert importing_export.take(bob, export, {}).memories == 0


def test_an_id_that_is_a_memory_here_and_a_block_elsewhere_is_not_taken(
    alice: User, bob: User, file: MemoryFile
) -> None:
    """Rows of two kinds may share an id: having the one is no right to the other."""
    hers = file.blocks.all()[0]
    his = memory_file.file_for(make_character(make_tavern(bob), "Seraphine"))
    with memory_file.change(his, reason="written", author=bob) as editor:
        editor.add_block("Mine", ["Keeps a key."], origin="written")
    Memory.objects.for_user(bob).update(id=hers.pk)
    before = memory_file.render(file)
    importing_export.take(bob, read(exported(alice, [file.character]).encode()), {})
    assert memory_file.render(file) == before
    assert MemoryBlock.objects.for_user(alice).get(pk=hers.pk).file_id == file.pk


def test_the_book_is_text_without_scripts(alice_client: Client, file: MemoryFile) -> None:
    answer = alice_client.get(f"/characters/{file.character_id}/export/?as=book")
    page = body(answer).decode()
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    read_back = soup(type("Answer", (), {"status_code": 200, "content": page})())
    assert NASTY in [item.get_text() for item in read_back.select("li")]
    assert not read_back.select("script, [onclick], link, img, iframe")
    assert "@media print" in page
    assert "# Notes by hand" in read_back.select_one("pre").get_text()


def test_markdown_is_the_file_of_the_data_bank(alice_client: Client, file: MemoryFile) -> None:
    answer = alice_client.get(f"/characters/{file.character_id}/export/?as=markdown&file={file.pk}")
    assert body(answer).decode() == memory_file.render(file)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="Seraphine-memories.md"'


def test_everything_comes_as_one_archive(alice: User, alice_client: Client, file: MemoryFile) -> None:
    evil = make_character(file.character.tavern, "../../etc/passwd\u202e", avatar="evil.png")
    make_memory_file(evil, [("Night", ["Was here."])], name="..\\con.md")
    make_memory_file(make_character(file.character.tavern, "SERAPHINE", avatar="x.png"), [("a", ["b"])])
    own_prompts.save_text(alice, "extraction", "Remember {{char}}. {{text}}")
    with zipfile.ZipFile(io.BytesIO(body(alice_client.get("/export/?as=archive&history=on")))) as packed:
        names = packed.namelist()
        assert packed.testzip() is None
        data = json.loads(packed.read("charmem-export.json"))
        assert packed.read("Seraphine 2/Seraphine-memories.md").decode() == memory_file.render(file)
    assert not any(".." in name.split("/") or "\\" in name or name.startswith("/") for name in names)
    assert {name.split("/")[0].casefold() for name in names if "/" in name} >= {"seraphine", "seraphine 2"}
    assert [one["name"] for one in data["characters"]] == ["../../etc/passwd\u202e", "SERAPHINE", "Seraphine"]
    assert data["prompts"][0]["text"].startswith("Remember")
    assert data["characters"][2]["files"][0]["revisions"][0]["number"] == 0


def test_own_prompts_are_taken_over_only_where_there_are_none(alice: User, bob: User) -> None:
    make_tavern(bob)
    own_prompts.save_text(alice, "extraction", "Hers.")
    own_prompts.save_text(alice, "extraction_group", "Hers for groups.")
    own_prompts.save_text(bob, "extraction", "His.")
    export = read(exported(alice, []).encode())
    assert importing_export.take(bob, export, {}).prompts == 0
    assert importing_export.take(bob, export, {}, with_prompts=True).prompts == 1
    assert own_prompts.text_in_force(bob, "extraction").text == "His."
    assert own_prompts.text_in_force(bob, "extraction_group").text == "Hers for groups."


def test_an_upload_is_its_owners_alone(
    alice: User, alice_client: Client, charlie_client: Client, file: MemoryFile
) -> None:
    page = soup(upload(alice_client, exported(alice, [file.character]).encode()))
    token = page.select_one("[name=upload]")["value"]
    assert charlie_client.get(f"/import/?upload={token}").status_code == 422
    charlie_client.post("/import/", {"upload": token, "cancel": "1"})
    assert alice_client.get(f"/import/?upload={token}").status_code == 200
    assert alice_client.get("/import/?upload=../../charmem.sqlite3").status_code == 422
    assert charlie_client.get(f"/characters/{file.character_id}/export/?as=json").status_code == 404


def test_too_much_is_refused_before_it_is_kept(alice_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.importing_export_upload.MAX_BYTES", 10)
    assert "larger than 64 MB" in words(soup(upload(alice_client, b"[" * 11, 422), 422).select_one("[role=alert]"))


def test_pages_of_somebody_without_memories(alice: User, alice_client: Client) -> None:
    character = make_character(make_tavern(alice), "Seraphine")
    assert "Nothing to export yet" in words(soup(alice_client.get("/export/")).select_one("main"))
    assert "Nothing to export yet" in words(
        soup(alice_client.get(f"/characters/{character.pk}/export/")).select_one("main")
    )
    assert alice_client.get(f"/characters/{character.pk}/export/?as=markdown").status_code == 404
