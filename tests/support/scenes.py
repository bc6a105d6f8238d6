"""A lived-in installation for looking at pages: long names, several scripts, 300 memories, things that went wrong."""

from __future__ import annotations

import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from PIL import Image, ImageDraw, ImageFilter

from accounts.models import User
from memories import editing, memory_file
from memories.memory_file import file_for
from memories.models import Memory, MemoryBlock, MemoryFile
from sync.link import link_sample
from sync.mirror import mirror
from sync.models import Attachment, Character, Chat, FileConflict, Message
from sync.portraits import make_portrait
from tests.support.builders import (
    make_attachment,
    make_block,
    make_call,
    make_character,
    make_chat,
    make_conflict,
    make_connection,
    make_issue,
    make_job,
    make_tavern,
)
from tests.support.reading import read
from tests.support.scenes_models import found

NAMES = (
    "Seraphine Vael, Warden of the Drowned Library",
    "白川ゆき",
    "Captain Ilse Morgenstern-Okonkwo",
    "Rook & Ember",
    "Şehrazad bint-Nâdir",
    "Flux the Cat",
    "The Archivist of Nothing in Particular",
    "مريم الياسمين",
    "Ólafur Þorvaldsson",
    "UNIT-7",
    "Mother Thistle",
    "Брат Григорий",
    "Hesper of the Fox Dance",
    "Tadeáš",
)
TOPICS = ("The lantern oath", "What she calls Wren", "Debts between the wardens", "The seventh stack", "Small habits")
FACTS = (
    "Swore on the brass lantern never again to read a book aloud below the waterline, after the index answered her in "
    "Wren’s voice.",
    "She let Wren carry the lantern up the last flight: the first time anyone but a warden has held it lit.",
    "Keeps a burned bookplate in her left glove and has not told Wren whose name is on it.",
    "Calls Wren “little tide”, but only when she is frightened. She would deny it.",
    "Owes Ólafur one crossing of the ice in return for the tide tables; he has asked for it twice.",
    "The seventh stack floods at spring tide; its doors open only from the inside.",
    "Drinks her tea cold, salted, and always offers the first cup to the empty chair.",
)
LINES = (
    "I stop on the landing. The flame leans toward the wall, as if something behind it were breathing in. "
    "“Is it meant to do that?”",
    "*She does not look at the wall.* “Nobody but a warden has carried it lit,” she says to your back. “Not once. "
    "**Not even Maren.**” Her hand hovers a finger’s width from your shoulder and does not land.",
    "“Two hands, then.”",
    "Below you the water closes over the seventh step, then the eighth, with the sound of a page being turned.\n\n"
    "“Up,” she says. “Little tide. Up.”",
)


def paint(character: Character, hue: int) -> None:
    """A small invented picture: a figure before a glow."""
    picture = Image.new("HSV", (240, 360), (hue, 120, 60)).convert("RGB")
    draw = ImageDraw.Draw(picture)
    glow = Image.new("HSV", (1, 1), ((hue + 40) % 256, 140, 210)).convert("RGB").getpixel((0, 0))
    draw.ellipse((40, 50, 200, 230), fill=glow)
    picture = picture.filter(ImageFilter.GaussianBlur(18))
    draw = ImageDraw.Draw(picture)
    dark = Image.new("HSV", (1, 1), (hue, 150, 26)).convert("RGB").getpixel((0, 0))
    draw.ellipse((84, 90, 156, 180), fill=dark)
    draw.pieslice((30, 180, 210, 520), 180, 360, fill=dark)
    data = io.BytesIO()
    picture.save(data, "PNG")
    character.portrait_hash = f"{hue:064d}"
    character.save(update_fields=["portrait_hash"])
    make_portrait(character.pk, character.portrait_hash, data.getvalue())


def _remember(alice: User, character: Character, chat: Chat, blocks: int, **fields: Any) -> MemoryFile:
    attachment = make_attachment(character, index_state=Attachment.Index.CURRENT, index_chunks=blocks, **fields)
    file = file_for(character)
    MemoryFile.objects.for_user(alice).filter(pk=file.pk).update(attachment=attachment)
    file.refresh_from_db()
    call = make_call(alice, model="deepseek-v3.1", connection_name="OpenRouter", cost=Decimal("0.0019"))
    job = make_job(alice, label=f"Extract {character.name}", subject=f"character:{character.pk}", state="done")
    messages = list(Message.objects.for_user(alice).filter(chat=chat).order_by("index")[:40])
    for n in range(blocks):
        facts = [FACTS[(n + k) % len(FACTS)] for k in range(1 + n % 5)]
        tag = f"[{character.name.replace('[', '(')}, Wren — {TOPICS[n % len(TOPICS)]}]"
        source = messages[n % len(messages)]
        where = {"chat": chat, "first_index": source.index, "last_index": source.index + 4, "job": job, "call": call}
        origin = list(MemoryBlock.Origin.values)[0 if n % 6 else n % 5]
        block = make_block(file, chat.name, [tag, *facts], order=n, origin=origin, prompt_version="1", **where)
        block.memories.filter(order=0).update(is_topic=True)
        evidence = [{"identity": source.identity, "index": source.index, "quote": source.text[:40]}]
        block.memories.filter(is_topic=False).update(evidence=evidence)
        if n % 7 == 0:
            block.memories.filter(order=1).update(is_unverified=True, unverified_names=["Maren"])
    topic = f"[{character.name} — {TOPICS[blocks % len(TOPICS)]}]"
    facts = [FACTS[blocks % len(FACTS)], FACTS[(blocks + 3) % len(FACTS)]]
    editing.add_block(alice, file, chat.name, [topic, *facts])
    rows = Memory.objects.for_user(alice).filter(block__file=file, text__contains="left glove")
    if newest := rows.order_by("-block__order").first():
        editing.edit_memory(alice, newest, newest.text.replace("left glove", "left leather glove"))
    MemoryFile.objects.for_user(alice).filter(pk=file.pk).update(written_version=99)
    return file


def _read(chat: Chat, character: Character, index: int) -> None:
    read(chat, character, 0, index)


def lived_in(alice: User) -> dict[str, Any]:
    """Everything at once; returns what the pictures are taken of."""
    tavern = make_tavern(alice, name="data/wren", vectors={"enabled_files": True}, url="http://127.0.0.1:8000")
    make_connection(
        alice, name="OpenRouter", preset="openrouter", model="deepseek-v3.1", price_in=Decimal("0.27"),
        price_out=Decimal("1.1"),
    )  # fmt: skip
    people = [make_character(tavern, name, avatar=f"{n}.png") for n, name in enumerate(NAMES)]
    for n, character in enumerate(people):
        if n not in (9, 13):
            paint(character, (n * 37) % 256)
    first = people[0]
    long = make_chat(
        first, [LINES[n % len(LINES)] for n in range(860)], name="The Drowned Library, third descent",
        last_at=timezone.now(),
    )  # fmt: skip
    Message.objects.for_user(alice).filter(chat=long, index=848).update(is_hidden=True, role="system", name="System")
    branch = make_chat(
        first, 120, name="What if she had said no", parent=long, parent_name=long.name, fork_index=771,
        last_at=timezone.now() - timedelta(days=2),
    )  # fmt: skip
    _read(branch, first, 110)
    file = _remember(alice, first, long, 100)
    _read(long, first, 845)
    for n, character in enumerate(people[1:8], 1):
        when = timezone.now() - timedelta(days=n)
        lines = [LINES[k % 4] for k in range(30 + 9 * n)]
        chat = make_chat(character, lines, name=f"Story {n} of a long night", last_at=when)
        _read(chat, character, 20 + 8 * n)
        _remember(alice, character, chat, 3 + n, is_registered=n != 3)
    make_chat(people[12], [LINES[k % 4] for k in range(604)], name="The fox dance", last_at=timezone.now())
    make_job(
        alice, label=f"Extract {people[5].name}", subject=f"character:{people[5].pk}", state="running", step=41,
        total=118, doing="messages 220 to 239", started_at=timezone.now(),
    )  # fmt: skip
    make_job(
        alice, label=f"Extract {people[3].name}", subject=f"character:{people[3].pk}", state="failed",
        finished_at=timezone.now(), error="The model refused 20 messages.",
        hint="15 memories are kept; try another model.",
    )  # fmt: skip
    other = MemoryFile.objects.for_user(alice).get(character=people[4])
    assert other.attachment is not None
    conflict = _met_outside(alice, other)
    make_issue(tavern, "chats/Night 412.jsonl", line=1208)
    return {
        "character": first,
        "failed": people[3],
        "empty": people[12],
        "chat": long,
        "file": file,
        "memory": Memory.objects.for_user(alice).filter(block__file=file, is_topic=False, is_unverified=True).first(),
        "block": file.blocks.first(),
        "revision": file.revisions.first(),
        "conflict": conflict,
    }


def _met_outside(alice: User, file: MemoryFile) -> FileConflict:
    """The file was edited in SillyTavern while the same memory was edited here; other blocks changed on one side."""
    MemoryFile.objects.for_user(alice).filter(pk=file.pk).update(written_version=file.version)
    file.refresh_from_db()
    written = memory_file.render(file)
    memory = memory_file.facts_of(file)[0]
    theirs = written.replace(memory[1], f"{memory[1]} He has asked for it three times.", 1)
    last = memory_file.facts_of(file)[-1][1]
    theirs = theirs[::-1].replace(last[::-1], f"{last} So they say."[::-1], 1)[::-1]
    row = Memory.objects.for_user(alice).select_related("block__file__owner").get(pk=memory[0])
    editing.edit_memory(alice, row, f"{memory[1]} He has asked for it twice.")
    file.refresh_from_db()
    assert file.attachment is not None
    return make_conflict(file.attachment, memory_file.render(file), theirs)


def just_begun(person: User) -> None:
    """The sample story was linked and one chat read."""
    tavern = link_sample(person)
    mirror(tavern)
    tested = found("ok", "Kitchen box works.", reached="0.1 s", key="none needed", answer="2.0 s", memory="1 memory")
    make_connection(
        person, name="Kitchen box", preset="local", model="qwen3:8b", tested_at=timezone.now(), test_result=tested
    )
    character = Character.objects.for_user(person).filter(tavern=tavern).order_by("name").first()
    assert character is not None
    chat = Chat.objects.for_user(person).filter(character=character).order_by("-last_at")[0]
    _remember(person, character, chat, 5, is_registered=False)
    params = {"character": str(character.pk), "chats": [str(chat.pk)]}
    make_job(person, subject=f"character:{character.pk}", params=params, state="done")
    _read(chat, character, chat.message_count - 1)
