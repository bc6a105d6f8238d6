"""Groups as they grow in a long story: six members, one muted, one name without a card, one whose call failed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from memories import watermark
from memories.memory_file import change, file_for
from memories.models import MemberChoice
from sync.models import Character, Chat, Group, GroupMember, Message, Tavern
from tests.support.builders import make_attachment, make_chat, make_group, make_job
from tests.support.scenes import FACTS, LINES, NAMES, TOPICS, paint

SEATED = (0, 8, 1, 2, 10)  # positions in NAMES
# Who speaks in ten turns of the table, and in which tenths of the chat each seat is there at all.
TURNS = (0, 1, 2, 0, 3, 1, 0, 4, 2, 0)
THERE = (range(10), range(9), range(2, 9), range(3, 9), range(4, 7))


def add_groups(owner: User, tavern: Tavern) -> dict[str, Any]:
    """Keys: group (one failed), group_running, group_lost (nobody has a card)."""
    cards = {one.name: one for one in Character.objects.for_user(owner).filter(tavern=tavern)}
    members = [cards[NAMES[n]] for n in SEATED]
    narrator = Character.objects.create(tavern=tavern, name="Narrator", avatar="narrator.png")
    paint(narrator, 170)
    group = make_group(tavern, *members, name="The Wardens’ Table")
    GroupMember.objects.create(group=group, avatar=narrator.avatar, character=narrator, position=9, is_disabled=True)
    chat = _told(owner, group, members, 420, name="The Wardens’ Table, first winter", last_at=timezone.now())
    _told(owner, group, members, 96, name="If the ice had held", parent=chat, parent_name=chat.name, fork_index=60)
    MemberChoice.objects.create(group=group, speaker="narrator.png", kind=MemberChoice.Kind.LEFT_OUT)
    MemberChoice.objects.create(
        group=group, speaker="name:Mother T.", kind=MemberChoice.Kind.CARD, character=members[4]
    )
    for place, member in enumerate(members):
        _remember(owner, member, chat, 6 + 5 * place)
        read_to = 419 - 18 * (place == 2) - 119 * (place == 3)
        watermark.mark_read(owner, chat, member, read_to)
    _failed(owner, group, members)
    running = _running(owner, tavern, [cards[NAMES[n]] for n in (3, 4, 5, 7)])
    return {"group": group, "group_running": running, "group_lost": _lost(owner, tavern)}


def _told(owner: User, group: Group, members: list[Character], count: int, **fields: Any) -> Chat:
    values = {"last_at": timezone.now() - timedelta(days=3), **fields}
    chat = make_chat(group, [LINES[n % len(LINES)] for n in range(count)], **values)
    rows = list(Message.objects.for_user(owner).filter(chat=chat, role=Message.Role.CHARACTER).order_by("index"))
    for n, row in enumerate(rows):
        seat = TURNS[n % len(TURNS)]
        who = members[seat if 10 * n // len(rows) in THERE[seat] else 0]
        row.name, row.sender_avatar = who.name, who.avatar
        if n % 23 == 7:
            row.name, row.sender_avatar = "Archivist", ""
        elif n % 41 == 9:
            row.name, row.sender_avatar = "Mother T.", ""
    Message.objects.for_user(owner).bulk_update(rows, ["name", "sender_avatar"])
    return chat


def _remember(owner: User, member: Character, chat: Chat, blocks: int) -> None:
    file = file_for(member)
    with change(file, reason="extracted", author=owner) as editor:
        for n in range(blocks):
            tag = f"[{member.name}, Wren — {TOPICS[n % len(TOPICS)]}]"
            bullets = [tag, *(FACTS[(n + k) % len(FACTS)] for k in range(1 + n % 3))]
            where = {"chat": chat, "first_index": 12 * n, "last_index": 12 * n + 11}
            editor.add_block(chat.name, bullets, origin="extracted", date="2026-11-14 18:00", **where)
    if file.attachment is None:
        file.attachment = make_attachment(member, index_state="current")
    file.written_version = file.version
    file.save(update_fields=["attachment", "written_version"])


def _failed(owner: User, group: Group, members: list[Character]) -> None:
    """The last reading: the fourth member's call failed twice, the others are done."""
    ended = {"finished_at": timezone.now(), "started_at": timezone.now()}
    parent = make_job(
        owner,
        "batch",
        subject=f"group:{group.pk}",
        label=f"Extract {group.name}",
        is_batch=True,
        state="failed",
        **ended,
    )
    for place, member in enumerate(members):
        is_bad = place == 3
        fields: dict[str, Any] = {"state": "failed" if is_bad else "done", **ended}
        if is_bad:
            fields |= {"error": "The model did not answer in time, twice.", "error_type": "timeout"}
        label = f"{member.name} ({place + 1} of {len(members)})"
        make_job(owner, subject=f"character:{member.pk}", label=label, parent=parent, **fields)


def _running(owner: User, tavern: Tavern, members: list[Character]) -> Group:
    """A group that is read right now, the second of four members."""
    group = make_group(tavern, *members, name="Night watch at the seventh stack, with everybody who could not sleep")
    _told(owner, group, [*members, members[0]], 64, name="Night watch")
    parent = make_job(
        owner, "batch", subject=f"group:{group.pk}", label=f"Extract {group.name}", is_batch=True, state="running",
        step=70, total=256, started_at=timezone.now(),
    )  # fmt: skip
    for place, (member, state) in enumerate(zip(members, ("done", "running", "queued", "queued"), strict=True)):
        label = f"{member.name} ({place + 1} of {len(members)})"
        make_job(owner, subject=f"character:{member.pk}", label=label, parent=parent, state=state, total=64)
    return group


def _lost(owner: User, tavern: Tavern) -> Group:
    """All its cards were deleted."""
    group = make_group(tavern, name="The ones who left")
    for position, avatar in enumerate(("Maren.png", "Tobias of the Lower Gate.png")):
        GroupMember.objects.create(group=group, avatar=avatar, position=position)
    chat = make_chat(group, 12, name="The last supper", last_at=timezone.now() - timedelta(days=90))
    chat.messages.filter(role=Message.Role.CHARACTER).update(name="Maren", sender_avatar="Maren.png")
    return group


def paths(scene: dict[str, Any]) -> dict[str, str]:
    """Pages by name."""
    pk = scene["group"].pk
    tabs = ("memories", "chats", "health", "settings", "members", "consolidate", "reset", "clear")
    return {
        "groups": "/groups/",
        "group": f"/groups/{pk}/",
        **{f"group-{tab}": f"/groups/{pk}/{tab}/" for tab in tabs},
        "group-running": f"/groups/{scene['group_running'].pk}/",
        "group-lost": f"/groups/{scene['group_lost'].pk}/",
        "group-pin": f"/pin/?group={pk}",
    }
