"""One small row of each kind, for stories in tests. Every maker takes its owner or its parent first.

Names and texts may carry a `mark` (a canary) that must never be seen by anybody else.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import uuid
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts.models import Invitation, SignIn, User
from accounts.ownership import unscoped
from jobs.models import Job, JobEvent
from memories import activity, activity_texts
from memories.file_state import dump, text_of
from memories.meaning import mark_of
from memories.meaning_space import packed
from memories.models import (
    Activity,
    ActivityText,
    Ancestor,
    Draft,
    DraftStep,
    HeldMemory,
    MemberChoice,
    Memory,
    MemoryBlock,
    MemoryFile,
    MemoryScope,
    MemoryVector,
    PromptOverride,
    Proposal,
    ProposalPart,
    ReviewPair,
    Revision,
    RevisionText,
    TrashItem,
)
from providers.models import Call, Connection, Duty
from sync.models import (
    Attachment,
    Character,
    Chat,
    FileConflict,
    FileIssue,
    FolderGrant,
    Group,
    GroupMember,
    Lorebook,
    LorebookEntry,
    Message,
    Registration,
    Tavern,
)

STORY_START = datetime(2026, 3, 1, 18, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def make_tavern(owner: User, **fields: Any) -> Tavern:
    """A linked folder that was just read. The folder does not exist on disk unless `folder` names one."""
    values: dict[str, Any] = {
        "name": owner.username,
        "folder": f"/tavern/data/{owner.username}-{next(_numbers)}",
        "state": Tavern.State.OK,
        "version": "1.19.0",
        "is_writable": True,
        "last_pass_at": timezone.now(),
    }
    return Tavern.objects.create(owner=owner, **{**values, **fields})


def make_character(tavern: Tavern, name: str = "Seraphine", **fields: Any) -> Character:
    """A card."""
    values = {"avatar": f"{name}.png", "description": f"{name} keeps the drowned library.", "spec": "chara_card_v3"}
    return Character.objects.create(tavern=tavern, name=name, **{**values, **fields})


def make_group(tavern: Tavern, *members: Character, name: str = "The wardens", **fields: Any) -> Group:
    """A group with its seats."""
    group = Group.objects.create(tavern=tavern, name=name, **{"file_id": f"group-{next(_numbers)}", **fields})
    for position, member in enumerate(members):
        GroupMember.objects.create(group=group, avatar=member.avatar, character=member, position=position)
    return group


def make_choice(group: Group, character: Character, speaker: str = "name:Archivist") -> MemberChoice:
    """What a person said about who a speaker is."""
    return MemberChoice.objects.create(group=group, speaker=speaker, kind=MemberChoice.Kind.CARD, character=character)


def make_chat(
    whose: Character | Group, texts: list[str] | int = 6, *, name: str = "", user: str = "Wren", **fields: Any
) -> Chat:
    """A chat with messages, the person first, then turn by turn. `texts` may be a number."""
    lines = [f"Line {n} of the story." for n in range(texts)] if isinstance(texts, int) else texts
    name = name or f"{whose.name} - story {next(_numbers)}"
    is_group = isinstance(whose, Group)
    folder = "group chats" if is_group else f"chats/{whose.name}"
    values = {
        "tavern": whose.tavern,
        "path": f"{folder}/{name}.jsonl",
        "integrity": str(uuid.uuid4()),
        "message_count": len(lines),
        "first_at": STORY_START,
        "last_at": STORY_START + timedelta(minutes=len(lines)),
        ("group" if is_group else "character"): whose,
    }
    chat = Chat.objects.create(name=name, **{**values, **fields})
    speakers = [user, whose.name]
    Message.objects.bulk_create(_message(chat, index, text, speakers) for index, text in enumerate(lines))
    return chat


def _message(chat: Chat, index: int, text: str, speakers: list[str]) -> Message:
    role = Message.Role.CHARACTER if index % 2 else Message.Role.USER
    sent = STORY_START + timedelta(minutes=index)
    return Message(
        chat=chat,
        index=index,
        role=role,
        name=speakers[index % 2],
        text=text,
        raw_date=sent.isoformat(),
        sent_at=sent,
        line=index + 2,
        identity=_digest(f"{chat.pk} {role} {sent} {index}")[:32],
        content=_digest(text)[:32],
    )


def make_memory_file(
    character: Character, blocks: list[tuple[str, list[str]]] | None = None, *, chat: Chat | None = None, **fields: Any
) -> MemoryFile:
    """A memory file with blocks (label, bullets) and a first revision; nothing is written to disk."""
    values = {"owner": character.tavern.owner, "name": f"{character.name}-memories.md", "version": 1}
    file = MemoryFile.objects.create(character=character, chat=chat, **{**values, **fields})
    given = [("First meeting", ["Met at the well.", "Keeps a lantern."])] if blocks is None else blocks
    for order, (label, bullets) in enumerate(given):
        make_block(file, label, bullets, order=order, chat=chat)
    make_revision(file)
    return file


def make_block(file: MemoryFile, label: str, bullets: list[str], **fields: Any) -> MemoryBlock:
    """A block with its bullets."""
    block = MemoryBlock.objects.create(file=file, label=label, **{"date": "2026-03-01 18:00", **fields})
    Memory.objects.bulk_create(Memory(block=block, text=text, order=n) for n, text in enumerate(bullets))
    return block


def make_revision(file: MemoryFile, number: int = 0, text: str = "", **fields: Any) -> Revision:
    """The state of the file as it is now; `text` stands in for its text."""
    now = dump(file)
    kept = _revision_text(file.owner, text or text_of(now))
    state = _revision_text(file.owner, json.dumps(now))
    values = {"reason": "made for a test", "text": kept, "state": state}
    return Revision.objects.create(file=file, number=number, **{**values, **fields})


def make_draft(
    file: MemoryFile, memory: Memory | None = None, text: str = "Keeps two lanterns.", **fields: Any
) -> Draft:
    """An open edit of a file; with `memory`, one step that rewords it."""
    values = {"owner": file.owner, "base_version": file.version, "pointer": 1 if memory else 0}
    draft = Draft.objects.create(file=file, **{**values, **fields})
    if memory is not None:
        change = {
            "row": "memory",
            "id": str(memory.pk),
            "before": {"text": memory.text},
            "after": {"text": text},
        }
        DraftStep.objects.create(draft=draft, number=1, label=f"Edit “{text}”", changes=[change])
    return draft


def make_proposal(file: MemoryFile, draft: Draft | None = None, text: str = "a source", **fields: Any) -> Proposal:
    """A consolidation that waits to be reviewed, with one part."""
    values = {
        "owner": file.owner,
        "kind": Proposal.Kind.CONSOLIDATION,
        "state": Proposal.State.READY,
        "base_version": file.version,
        "source_name": text,
        "source": _revision_text(file.owner, text),
        "draft": draft,
        "params": {"strategy": "consolidation_balanced", "prompt": text, "blocks": [], "sources": []},
        "report": {
            "sources": {},
            "new": {},
            "tokens": {"before": 0, "after": 0},
            "result": {"before": 0, "after": 0},
            "calls": 1,
            "warnings": [text],
        },
    }
    proposal = Proposal.objects.create(file=file, **{**values, **fields})
    ProposalPart.objects.create(proposal=proposal, number="0001", state="done", answer={"text": text})
    return proposal


def make_ancestor(file: MemoryFile, text: str = "An older wording.", **fields: Any) -> Ancestor:
    """A bullet that others replaced."""
    values = {"owner": file.owner, "memory": uuid.uuid4(), "digest": _digest(text), "text": text}
    return Ancestor.objects.create(file=file, **{**values, **fields})


def make_trash(file: MemoryFile, title: str = "First meeting", **fields: Any) -> TrashItem:
    """A block in the trash, with its content as the file has it now."""
    state = _revision_text(file.owner, json.dumps(dump(file)))
    values = {"owner": file.owner, "kind": TrashItem.Kind.BLOCK, "title": title, "state": state, "memories": 1}
    return TrashItem.objects.create(file=file, **{**values, **fields})


def make_pair(older: Memory, newer: Memory, **fields: Any) -> ReviewPair:
    """Two bullets that somebody should look at."""
    values = {"kind": ReviewPair.Kind.DUPLICATE, "digest": _digest(older.text + newer.text), "score": 0.9}
    file = older.block.file
    return ReviewPair.objects.create(file=file, older=older.pk, newer=newer.pk, **{**values, **fields})


def make_held(file: MemoryFile, text: str = "Heard a bell.", **fields: Any) -> HeldMemory:
    """A bullet that a check held back."""
    values = {"owner": file.owner, "doubts": [{"check": "temporary", "detail": ""}]}
    return HeldMemory.objects.create(file=file, text=text, **{**values, **fields})


def make_override(owner: User, text: str = "Write memories.", **fields: Any) -> PromptOverride:
    """A prompt of one's own."""
    values = {"name": "extraction", "base_version": "1.0", "base_text": text}
    return PromptOverride.objects.create(owner=owner, text=text, **{**values, **fields})


def _revision_text(owner: User, text: str) -> RevisionText:
    data = zlib.compress(text.encode())
    with unscoped("a test keeps each text once"):
        return RevisionText.objects.get_or_create(owner=owner, digest=_digest(text), defaults={"data": data})[0]


def make_attachment(character: Character, name: str = "", **fields: Any) -> Attachment:
    """A Data Bank file of a character."""
    name = name or f"{character.name}-memories.md"
    values = {
        "scope": Attachment.Scope.CHARACTER,
        "avatar": character.avatar,
        "url": f"/user/files/{next(_numbers)}.txt",
        "is_ours": True,
        "is_registered": True,
        "file_present": True,
    }
    return Attachment.objects.create(tavern=character.tavern, character=character, name=name, **{**values, **fields})


def make_conflict(attachment: Attachment, ours: str = "ours", theirs: str = "theirs") -> FileConflict:
    """Two texts of one file."""
    return FileConflict.objects.create(attachment=attachment, ours=ours, theirs=theirs)


def make_registration(attachment: Attachment) -> Registration:
    """A file that waits to be registered in SillyTavern."""
    return Registration.objects.create(attachment=attachment, size=100)


def make_issue(tavern: Tavern, path: str = "chats/broken.jsonl", **fields: Any) -> FileIssue:
    """A file that could not be read in full."""
    values = {"line": 3, "code": "bad_line", "text": "Line 3 is not JSON.", "kept": "All other lines are kept."}
    return FileIssue.objects.create(tavern=tavern, path=path, **{**values, **fields})


def make_lorebook(tavern: Tavern, name: str = "Pellhaven", content: str = "A harbour town.") -> Lorebook:
    """A lorebook with one entry."""
    book = Lorebook.objects.create(tavern=tavern, name=name, path=f"worlds/{name}.json")
    LorebookEntry.objects.create(book=book, uid="0", title=name, keys=[name], content=content)
    return book


def make_job(owner: User, kind: str = "extract", **fields: Any) -> Job:
    """A job, waiting unless `state` says otherwise; with one line of log."""
    job = Job.objects.create(owner=owner, kind=kind, **{"label": "Extract Seraphine", "total": 5, **fields})
    JobEvent.objects.create(job=job, text="5 chunks to read.")
    return job


def make_connection(owner: User, **fields: Any) -> Connection:
    """A way to a model; nothing listens there."""
    values = {
        "name": "Kitchen box",
        "preset": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "small",
        "is_default": True,
    }
    return Connection.objects.create(owner=owner, **{**values, **fields})


def make_vector(memory: Memory) -> MemoryVector:
    """What some embedding model made of a memory's words."""
    fields = {"model": "some-model 00000000", "mark": mark_of(memory.text), "data": packed([0.5, -0.25, 1.0])}
    return MemoryVector.objects.create(owner=memory.block.file.owner, memory=memory, seen=timezone.now(), **fields)


def make_call(owner: User, connection: Connection | None = None, **fields: Any) -> Call:
    """A finished call in the ledger."""
    values = {
        "connection": connection,
        "connection_name": connection.name if connection else "",
        "purpose": "extraction",
        "model": "small",
        "prompt_tokens": 900,
        "completion_tokens": 80,
        "cost": "0.0021",
        "finish_reason": "stop",
        "seconds": 1.2,
    }
    return Call.objects.create(owner=owner, **{**values, **fields})


def make_sign_in(person: User, **fields: Any) -> SignIn:
    """A row of the list of sessions, without a session behind it."""
    values = {"session_key": f"session-{next(_numbers)}", "agent": "Mozilla/5.0 (X11; Linux) Firefox/140.0"}
    return SignIn.objects.create(user=person, **{**values, **fields})


def make_invitation(admin: User, **fields: Any) -> Invitation:
    """An open invitation whose token nobody knows."""
    values = {"token_hash": _digest(str(next(_numbers))), "expires_at": timezone.now() + timedelta(days=7)}
    return Invitation.objects.create(invited_by=admin, **{**values, **fields})


def make_grant(person: User, folder: str = "") -> FolderGrant:
    """An admin's word that this person may link a folder."""
    return FolderGrant.objects.create(user=person, folder=folder or f"/tavern/data/{person.username}")


def make_activity(owner: User, character: Character, chat: Chat, mark: str = "") -> Activity:
    """A line of the activity log with the prompt and the answer that belong to it."""
    line = activity.note(owner, "answered", f"Answered {mark}", character=character, chat=chat)
    full = activity_texts.Full("Be brief.", f"What happened {mark}?", f"This {mark}")
    until = timezone.now() + timedelta(days=7)
    ActivityText.objects.create(activity=line, data=activity_texts.pack(full), expires_at=until)
    return line


def make_world(owner: User, mark: str = "", *, admin: User | None = None) -> dict[str, Any]:
    """One of everything for `owner`; every text that a person wrote or owns carries `mark`.

    Keys: tavern, character, group, member_choice, chat, group_chat, file, block, memory, revision, attachment,
    conflict, registration, issue, lorebook, job, failed_job, connection, duty, call, sign_in, grant, draft,
    proposal_draft, proposal, ancestor, trash, pair, override, held, vector, activity, invitation (when `admin` is
    given).
    """
    tavern = make_tavern(owner)
    character = make_character(tavern, f"Seraphine{mark}", description=f"A warden {mark}", first_message=f"Hi {mark}")
    group = make_group(tavern, character, name=f"The wardens{mark}")
    chat = make_chat(character, [f"Line {n} {mark}" for n in range(6)], name=f"First night{mark}", problem=mark)
    attachment = make_attachment(character, f"Seraphine{mark}-memories.md", url=f"/user/files/seraphine{mark}.txt")
    label = f"The lantern oath {mark}"
    file = make_memory_file(character, [(label, [f"Keeps a lantern {mark}."])], attachment=attachment)
    file.name = f"Seraphine{mark}-memories.md"
    file.save(update_fields=["name"])
    block = file.blocks.get()
    connection = make_connection(owner, system_prompt=f"You remember {mark}")
    job = make_job(owner, label=f"Extract Seraphine {mark}", subject=f"character:{character.pk}", doing=f"now {mark}")
    failure = {"error": f"failed at {mark}", "error_type": "Timeout", "hint": f"Try {mark}"}
    failed = make_job(owner, label=f"Extract {mark}", state=Job.State.FAILED, finished_at=timezone.now(), **failure)
    JobEvent.objects.create(job=job, text=f"A log line {mark}")
    world: dict[str, Any] = {
        "tavern": tavern,
        "character": character,
        "group": group,
        "member_choice": make_choice(group, character, f"name:Archivist{mark}"),
        "chat": chat,
        "group_chat": make_chat(group, [f"Group line {mark}"], name=f"By the fire{mark}"),
        "file": file,
        "block": block,
        "memory": block.memories.get(),
        "revision": file.revisions.get(),
        "attachment": attachment,
        "conflict": make_conflict(attachment, f"ours {mark}", f"theirs {mark}"),
        "registration": make_registration(attachment),
        "issue": make_issue(tavern, f"chats/broken{mark}.jsonl", text=f"Line 3 {mark}"),
        "lorebook": make_lorebook(tavern, f"Pellhaven{mark}", f"A harbour {mark}"),
        "job": job,
        "failed_job": failed,
        "connection": connection,
        "duty": Duty.objects.create(owner=owner, purpose="extraction", connection=connection, place=0),
        "call": make_call(owner, connection),
        "sign_in": make_sign_in(owner),
        "grant": make_grant(owner),
    }
    world["activity"] = make_activity(owner, character, chat, mark)
    world |= _manager_rows(owner, file, world["memory"], mark)
    if admin:
        world["invitation"] = make_invitation(admin)
    return world


def _manager_rows(owner: User, file: MemoryFile, memory: Memory, mark: str) -> dict[str, Any]:
    """The rows of edits in progress, proposals, review, trash and prompts."""
    other = Memory.objects.create(block=memory.block, text=f"Keeps a lamp {mark}.", order=1)
    proposal_draft = make_draft(file, kind=Draft.Kind.CONSOLIDATION, title=f"Consolidated {mark}")
    return {
        "draft": make_draft(file, memory, f"Keeps two lanterns {mark}.", title=mark),
        "proposal_draft": proposal_draft,
        "proposal": make_proposal(file, proposal_draft, f"notes {mark}"),
        "ancestor": make_ancestor(file, f"Had a candle {mark}."),
        "trash": make_trash(file, f"A deleted night {mark}"),
        "pair": make_pair(memory, other),
        "override": make_override(owner, f"Write about {mark}."),
        "held": make_held(file, f"Heard a bell {mark}.", label=mark),
        "scope": MemoryScope.objects.create(character=file.character),
        "vector": make_vector(memory),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
