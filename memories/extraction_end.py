"""The end of an extraction: blocks put together, the Data Bank brought up to date, counts and news."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.run import JobRun
from memories import extraction_merge, queries, write_back
from memories.events import ReadingEnded, reading_ended
from memories.models import ExtractedChunk, MemoryFile
from memories.reading_limits import Limits
from memories.wanted import Wanted
from sync.models import Character, Chat, Message


def finish(run: JobRun, characters: Sequence[Character], wanted: Wanted) -> dict[str, Any]:
    """Everything that happens once for a whole job; its result. Doing it twice changes nothing."""
    files = _files(run, characters)
    for file in files:
        extraction_merge.merge_blocks(run, file)
    _write_back(files)
    result = result_of(run)
    for character in characters:
        _tell(run, character, wanted)
    return result


def _files(run: JobRun, characters: Sequence[Character]) -> list[MemoryFile]:
    """The files of these characters and whatever else the job wrote into (a shared file)."""
    rows = MemoryFile.objects.for_user(run.owner)
    return list(rows.filter(Q(character__in=characters) | Q(blocks__job=run.job)).distinct().order_by("created_at"))


def _write_back(files: Sequence[MemoryFile]) -> None:
    """Once for the whole job: until then, and when it fails, the pass that looks for files behind takes care."""
    for file in files:
        if file.version != file.written_version and file.version > 0:
            write_back.schedule(file)


def result_of(run: JobRun) -> dict[str, Any]:
    """Counts for the job's row and their sentence. Messages that several members read count once."""
    chunks = ExtractedChunk.objects.for_user(run.owner).filter(job=run.job)
    rows = list(chunks.values_list("chat", "first_index", "messages", "memories", "outcome"))
    memories = sum(row[3] for row in rows)
    read = {row[:2]: row[2] for row in rows if row[4] != "absent"}
    absent = {row[:2]: row[2] for row in rows if row[4] == "absent" and row[:2] not in read}
    messages = sum(read.values())
    return {
        "memories": memories,
        "messages": messages,
        "absent": sum(absent.values()),
        "chunks": len(rows),
        "text": _sentence(memories, messages, sum(absent.values())),
    }


def _sentence(memories: int, messages: int, absent: int) -> str:
    if not messages and not absent:
        return _("There was nothing new to read.")
    text = ngettext(
        "%(memories)d new memory from %(messages)d messages.",
        "%(memories)d new memories from %(messages)d messages.",
        memories,
    ) % {"memories": memories, "messages": messages}
    if not absent:
        return text
    passed = ngettext(
        "%(n)d message without this character was passed over.",
        "%(n)d messages without this character were passed over.",
        absent,
    ) % {"n": absent}
    return f"{text} {passed}"


def _tell(run: JobRun, character: Character, wanted: Wanted) -> None:
    chunks = ExtractedChunk.objects.for_user(run.owner).filter(job=run.job, character=character)
    rows = list(chunks.values_list("chat", "memories"))
    chats = list(dict.fromkeys([*(row[0] for row in rows), *map(UUID, wanted.named)]))
    memories = sum(row[1] for row in rows)
    reading_ended.send(ReadingEnded(run.owner.pk, character.pk, chats, memories, _left_over(run, character, wanted)))


def _left_over(run: JobRun, character: Character, wanted: Wanted) -> dict[UUID, int]:
    """By chat: character messages that stay unread because the reading was limited."""
    limits = Limits(run.owner, character, wanted)
    names = {*wanted.spans, *wanted.careful}
    found = {}
    for chat in Chat.objects.for_user(run.owner).filter(pk__in=names, gone_at=None):
        if (ends := limits.of(chat)) is None:
            continue
        reading = queries.reading_of(run.owner, chat, character)
        left = {reading.indices[one] for one in {*reading.fresh} - {*reading.fresh_in(ends)}}
        rows = Message.objects.for_user(run.owner).filter(chat=chat, role=Message.Role.CHARACTER)
        if count := sum(number in left for number in rows.values_list("index", flat=True)):
            found[chat.pk] = count
    return found
