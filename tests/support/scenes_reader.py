"""A chat with all its marks, a group's chat with three readers, branches of branches, a stretch that was read again."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from memories import again_result, memory_file
from memories.again_range import memories_from, range_of
from memories.file_editor import NewMemory
from memories.models import Proposal, Snapshot
from memories.reading import Mark
from sync.models import Character, Chat, Group, Message
from tests.support.builders import make_block, make_chat, make_group, make_job
from tests.support.reading import read

SAID = ("Two hands, then.", "The lantern leans toward the wall.", "Up. Little tide, up.", "I take the last flight.")
AGAIN = (
    "Seraphine swore on the brass lantern never again to read a book aloud below the waterline.",
    "Wren carried the lantern up the last flight, the first time anyone but a warden has held it lit.",
)
INJECTED = {
    "memories": [{"text": "Calls Wren “little tide”, but only when she is frightened."}],
    "lore": [{"comment": "The Brass Lantern", "keys": ["lantern", "warden"], "content": "Lit only by wardens."}],
    "prompts": [{"label": "Author’s note", "content": "Write quietly.", "depth": 4}],
    "tokens": {"memories": 1118, "lorebook": 612, "chat": 9846},
    "at": "12 November, 23:31",
}


def add_reader(alice: User, character: Character, chat: Chat) -> dict[str, Any]:
    """Rows around `chat`, which has 860 messages, and around a group of three."""
    rows = Message.objects.for_user(alice).filter(chat=chat)
    rows.filter(index__in=(842, 844)).update(content="edited since")
    rows.filter(index__in=(845, 848)).update(is_hidden=True, is_tagged=True)
    for message in rows.filter(index__in=(841, 843, 853)):
        values = {"identity": message.identity, "index": message.index, "source": "charmemory", "data": INJECTED}
        Snapshot.objects.create(owner=alice, chat=chat, **values)
    deeper: dict[str, Any] = {"parent": chat, "parent_name": chat.name, "fork_index": 402}
    branch = make_chat(character, 640, name="The stair that was not there", **deeper)
    made = make_chat(
        character, 700, name="Checkpoint before the tide", parent=branch, parent_name=branch.name, fork_index=610
    )
    read(branch, character, 0, 520)
    read(made, character, 0, 699)
    return {"branch": made, **_group(alice, character), "reread": _reread(alice, character, chat)}


def _group(alice: User, character: Character) -> dict[str, Any]:
    others = Character.objects.for_user(alice).filter(tavern=character.tavern).exclude(pk=character.pk)
    members = [character, *others.order_by("avatar")[:2]]
    group: Group = make_group(character.tavern, *members, name="By the fire")
    chat = make_chat(group, [SAID[n % 4] for n in range(60)], name="Whose turn is it to keep the lantern lit")
    for number, message in enumerate(chat.messages.order_by("index")):
        if number % 3:
            member = members[number % 2 + number % 4 // 3]
            chat.messages.filter(pk=message.pk).update(role="character", name=member.name, sender_avatar=member.avatar)
    read(chat, members[0], 0, 50)
    read(chat, members[1], 0, 20)
    read(chat, members[1], 21, 30, outcome="absent")
    read(chat, members[2], 0, 40)
    return {"fire": chat, "fire_member": members[1]}


def _reread(alice: User, character: Character, chat: Chat) -> Proposal:
    """What a model made of #8 to #27, waiting to be looked at."""
    file = memory_file.file_for(character)
    stretch = range_of(alice, chat, 8, 27)
    job = make_job(alice, kind="reread", label=f"Read “{chat.name}” again", state="done")
    params = {
        "chat": str(chat.pk),
        "character": str(character.pk),
        "first": 8,
        "last": 27,
        "messages": stretch.speaking,
        "identities": stretch.identities,
    }
    proposal = Proposal.objects.create(
        owner=alice,
        file=file,
        kind=Proposal.Kind.REREAD,
        params=params,
        report={"mode": "replace"},
        base_version=file.version,
        source_name=chat.name,
        model="deepseek-v3.1",
        job=job,
    )
    if not memories_from(alice, file, stretch):
        make_block(file, chat.name, list(AGAIN), chat=chat, first_index=8, last_index=27)
    marks = [list(Mark(one.identity, one.content[:12])) for one in chat.messages.filter(index__gte=8, index__lte=27)]
    blocks = [[_plain("[Seraphine, Wren — The lantern]"), *(_plain(text) for text in AGAIN)]]
    answer = {"blocks": blocks, "memories": 2, "left_out": 1, "first": 8, "last": 27, "marks": marks, "messages": 20}
    proposal.parts.create(number="0001", state="done", answer=answer)
    again_result.publish(proposal, again_result.make_draft(proposal))
    job.params = {"proposal": str(proposal.pk)}
    job.save(update_fields=["params"])
    return proposal


def _plain(text: str) -> dict[str, Any]:
    return vars(NewMemory(text)) | {"duplicate_of": None}


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """The pages of these rows, by the names of their pictures."""
    chat, fire = f"/chats/{scene['chat'].pk}", f"/chats/{scene['fire'].pk}"
    return {
        "reader": f"{chat}/?at=840#m840",
        "reader-find": f"{chat}/?find=flame&at=820",
        "reader-group": f"{fire}/?whose={scene['fire_member'].pk}",
        "reader-injected": f"{chat}/messages/853/injected/",
        "range": f"{chat}/range/?from=8&to=40",
        "range-review": f"/proposals/{scene['reread'].pk}/",
        "point": f"{chat}/messages/820/point/",
        "reset-chat": f"{chat}/reset/",
        "reset-character": f"/characters/{scene['character'].pk}/reset/",
        "branches": f"/chats/{scene['branch'].pk}/branches/",
    }
