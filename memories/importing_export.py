"""Taking over an export of another installation: what it would add, and adding exactly that, in one step.

Characters are found by their card's file name, else by their name, else a person chooses. Chats are linked again by
their integrity, else by name. Importing twice adds nothing. One revision a file with a shared batch, all or none.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.ownership import unscoped
from memories import file_state, memory_file, own_prompts
from memories.importing_export_merge import Merged, State, all_ids, merge
from memories.importing_export_read import BadExport, CharacterIn, ExportIn, FileIn, Link
from memories.models import Ancestor, Memory, MemoryBlock, MemoryFile
from sync.models import Character, Chat

LEAVE_OUT = "-"
AT_ONCE = 500
CHAT_FIELDS = ("pk", "name", "integrity", "character", "tavern")


@dataclass(frozen=True)
class FilePlan:
    """One file of the export, and the file here (of `chat` or of the character) with what would come into it."""

    source: FileIn
    chat: Chat | None
    merged: Merged


@dataclass
class CharacterPlan:
    """One character of the export. `target` is None when nobody fits or the person leaves it out."""

    source: CharacterIn
    target: Character | None
    choice: str  # what the form says: the id of a character, or LEAVE_OUT
    files: list[FilePlan] = field(default_factory=list)

    @property
    def new(self) -> int:
        return sum(one.merged.memories for one in self.files)

    @property
    def known(self) -> int:
        return sum(one.merged.known for one in self.files)

    @property
    def new_blocks(self) -> int:
        return sum(one.merged.blocks for one in self.files)


@dataclass(frozen=True)
class Taken:
    """What an import did; `batch` undoes it."""

    memories: int
    files: int
    prompts: int
    batch: uuid.UUID


def plan(user: User, export: ExportIn, choices: Mapping[int, str] | None = None) -> list[CharacterPlan]:
    """What the import would do. `choices` are the person's, by the place of the character in the export."""
    people = list(Character.objects.for_user(user).select_related("tavern").order_by("name", "pk"))
    by_id = {str(one.pk): one for one in people}
    found = []
    for number, source in enumerate(export.characters):
        choice = (choices or {}).get(number, "") or _usual(people, source)
        target = by_id.get(choice)
        found.append(CharacterPlan(source, target, choice if target else LEAVE_OUT))
    here = _here(user, found)
    claimed: dict[str, str] = {}  # which file an id goes to: a damaged export may name it twice
    for made in found:
        if made.target is not None:
            made.files = _files(here, made.target, made.source.files, claimed)
    return found


def take(user: User, export: ExportIn, choices: Mapping[int, str], *, with_prompts: bool = False) -> Taken:
    """Bring it in as planned from the choices."""
    batch = uuid.uuid4()
    reason = _("Import of an export by %(name)s") % {"name": export.by or _("somebody")}
    with transaction.atomic():
        plans = plan(user, export, choices)
        memories = sum(one.new for one in plans)
        files = sum(
            _take_file(user, one.target, made, reason, batch) for one in plans if one.target for made in one.files
        )
    prompts = _take_prompts(user, export, plans) if with_prompts else 0
    return Taken(memories, files, prompts, batch)


def sentence(bad: BadExport) -> str:
    """Why a file was not taken, for people."""
    sentences = {
        "not-json": _("This file is not JSON. Choose the .json file of an export, not the .zip or the .html."),
        "too-deep": _("This file is nested too deeply to be an export."),
        "not-export": _(
            "This is JSON, but no export of CharMem. Other notes come in with Import on a character’s page."
        ),
        "other-version": _("This export has version %(path)s, which is not known here. Update CharMem and try again."),
        "too-big": _("This export is larger than 64 MB. Export single characters and import them one by one."),
        "wrong-field": _("This export is damaged: the field %(path)s is missing or not what it should be."),
    }
    return f"{sentences[bad.reason] % {'path': bad.path}} {_('Nothing was imported.')}"


def _usual(people: list[Character], source: CharacterIn) -> str:
    """By the card's file name, else by a name that only one has."""
    for fits in (
        [one for one in people if source.avatar and one.avatar == source.avatar and one.name == source.name],
        [one for one in people if source.avatar and one.avatar == source.avatar],
        [one for one in people if one.name == source.name],
    ):
        if len(fits) == 1:
            return str(fits[0].pk)
    return LEAVE_OUT


@dataclass(frozen=True)
class _Here:
    """What an export is compared with, read at once. `owners`: the files that have a row of an id."""

    chats: Mapping[Any, list[Chat]]  # of each tavern
    files: Mapping[tuple[Any, Any], MemoryFile]  # by character and chat
    states: Mapping[Any, State]
    owners: Mapping[str, set[Any]]


def _here(user: User, plans: list[CharacterPlan]) -> _Here:
    targets = [one.target for one in plans if one.target is not None]
    chats: dict[Any, list[Chat]] = {}
    for chat in Chat.objects.for_user(user).filter(tavern__in={one.tavern_id for one in targets}).only(*CHAT_FIELDS):
        chats.setdefault(chat.tavern_id, []).append(chat)
    files: list[MemoryFile] = []
    for ids in _parts(list({one.pk for one in targets})):
        files += MemoryFile.objects.for_user(user).filter(character__in=ids).order_by("-pk")
    states = [file.state for one in plans if one.target is not None for file in one.source.files]
    by_place = {(file.character_id, file.chat_id): file for file in files}
    return _Here(chats, by_place, file_state.dump_all(user, files), _owners(states))


def _files(here: _Here, target: Character, sources: list[FileIn], claimed: dict[str, str]) -> list[FilePlan]:
    """A chat's file goes to that chat's file; when the chat is not here, to the character's own."""
    chats = here.chats.get(target.tavern_id, [])
    states: dict[Any, State] = {}
    found = []
    for source in sources:
        chat = _chat(chats, source.chat)
        key = chat.pk if chat else None
        file = here.files.get((target.pk, key))
        if key not in states:
            states[key] = here.states[file.pk] if file else _empty()
        linked = _linked(source.state, chats)
        namespace = uuid.uuid5(target.pk, str(key))
        elsewhere = {one for one in all_ids(linked) if claimed.get(one, str(namespace)) != str(namespace)}
        mine = {file.pk} if file else set()
        taken = {one for one in all_ids(linked) if here.owners.get(one, set()) - mine}
        merged = merge(states[key], linked, namespace=namespace, taken=elsewhere | taken)
        states[key] = merged.state
        claimed |= dict.fromkeys(all_ids(merged.state), str(namespace))
        found.append(FilePlan(source, chat, merged))
    return found


def _empty() -> State:
    return {"layout": "block", "separator": "\n\n", "with_metadata": False, "loose_text": [], "blocks": []}


def _chat(chats: list[Chat], link: Link | None) -> Chat | None:
    if link is None:
        return None
    by_integrity = (one for one in chats if link["integrity"] and one.integrity == link["integrity"])
    return next(by_integrity, None) or next((one for one in chats if link["name"] and one.name == link["name"]), None)


def _linked(state: State, chats: list[Chat]) -> State:
    """The state with the chats of this installation instead of links."""
    known: dict[tuple[str, ...], str | None] = {}
    blocks = []
    for block in state["blocks"]:
        link = block["chat"]
        key = (link["name"], link["integrity"]) if link else ()
        if key not in known:
            chat = _chat(chats, link)
            known[key] = str(chat.pk) if chat else None
        blocks.append({**block, "chat": known[key]})
    return {**state, "blocks": blocks}


def _owners(states: list[State]) -> dict[str, set[Any]]:
    """The files that have a row of one of these ids, of whomever: a row never moves because of an import."""
    blocks = [block["id"] for state in states for block in state["blocks"]]
    memories = [memory["id"] for state in states for block in state["blocks"] for memory in block["memories"]]
    owners: dict[str, set[Any]] = {}
    with unscoped("an id is free or not, whoever has it"):
        for part in _parts(blocks):
            for pk, file in MemoryBlock.objects.filter(pk__in=part).values_list("pk", "file"):
                owners.setdefault(str(pk), set()).add(file)
        for part in _parts(memories):
            for pk, file in Memory.objects.filter(pk__in=part).values_list("pk", "block__file"):
                owners.setdefault(str(pk), set()).add(file)
    return owners


def _parts(ids: list[Any]) -> Iterator[list[Any]]:
    """As many as a query may name at once."""
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]


def _take_file(user: User, target: Character, made: FilePlan, reason: str, batch: uuid.UUID) -> bool:
    file = memory_file.file_for(target, made.chat)
    with memory_file.change(file, reason=reason, author=user, batch=batch) as editor:
        now = file_state.dump(file)
        if now == made.merged.state:
            return False
        touched = file_state.load(file, made.merged.state, now)
        editor.touch(touched, added=made.merged.memories)
        _take_ancestors(user, file, made)
    return True


def _take_ancestors(user: User, file: MemoryFile, made: FilePlan) -> None:
    ids = made.merged.ids
    chats = list(Chat.objects.for_user(user).filter(tavern=file.character.tavern_id).only("pk", "name", "integrity"))
    rows = []
    for data in made.source.ancestors:
        fields = {name: data[name] for name in ("digest", "text", "evidence", "facts")}
        parents = [ids.get(one, one) for one in data["parents"]]
        chat, memory = _chat(chats, data["chat"]), ids.get(data["memory"], data["memory"])
        rows.append(Ancestor(owner=user, file=file, memory=memory, parents=parents, chat=chat, **fields))
    Ancestor.objects.bulk_create(rows, batch_size=AT_ONCE, ignore_conflicts=True)
    pairs = zip(rows, made.source.ancestors, strict=True)
    _restore_times(file, {(str(row.memory), row.digest): one["replaced_at"] for row, one in pairs})


def _restore_times(file: MemoryFile, times: dict[tuple[str, str], str]) -> None:
    """When they were replaced: rows get the time of their insert by themselves."""
    changed = []
    for row in file.ancestors.all():
        if (replaced := times.get((str(row.memory), row.digest))) is not None:
            row.replaced_at = datetime.fromisoformat(replaced)
            changed.append(row)
    file.ancestors.all().bulk_update(changed, ["replaced_at"], batch_size=AT_ONCE)


def _take_prompts(user: User, export: ExportIn, plans: list[CharacterPlan]) -> int:
    """Own prompts of the export where the person has none: theirs are never replaced."""
    by_avatar = {one.source.avatar: one.target for one in plans if one.target is not None}
    taken = 0
    for prompt in export.prompts:
        character = by_avatar.get(prompt["avatar"])
        is_for_nobody = bool(prompt["avatar"]) and character is None
        if is_for_nobody or not own_prompts.exists(user, prompt["name"]):
            continue
        if own_prompts.own_of(user, prompt["name"], character) is None and prompt["text"].strip():
            own_prompts.save_text(user, prompt["name"], prompt["text"], character)
            taken += 1
    return taken
