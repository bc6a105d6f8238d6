"""Where one memory came from: the messages, the model, the prompt, the job and what it cost; what it replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q
from rapidfuzz import fuzz, process

from accounts.models import User
from memories.ancestry import Ancestry, Source, ancestry
from memories.models import Ancestor, Memory, ReviewPair
from memories.wordings import Wording, earlier_wordings
from sync.models import Message

SHOWN_LETTERS = 600
SHOWN_QUOTES = 20
SHOWN_SOURCES = 10
SIMILAR = 5
ALIKE = 62.0  # rapidfuzz token_sort_ratio
COMPARED = 5_000


@dataclass(frozen=True)
class Quote:
    """One message that a memory came from. `before`, `marked`, `after` together are the shown text."""

    message: Message
    before: str
    marked: str
    after: str


@dataclass(frozen=True)
class SourceRow:
    """Something that the memory replaced, with its messages or the lines of a file that it was made from."""

    source: Source
    quotes: list[Quote]
    missing: int

    @property
    def lines(self) -> list[dict[str, Any]]:
        """As Evidence.lines."""
        return _lines(self.source.evidence)


@dataclass(frozen=True)
class Evidence:
    """All that is known about the origin of one memory. `sources` are the first of `ancestry.sources`."""

    memory: Memory
    quotes: list[Quote]
    missing: int
    is_forgotten: bool
    similar: list[Memory]
    wordings: list[Wording]
    ancestry: Ancestry
    sources: list[SourceRow] = field(default_factory=list)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of imported files that the memory was made from: {"source", "line", "quote"}."""
        return _lines(self.memory.evidence)

    @property
    def more(self) -> int:
        """How many of the replaced memories are on the page of their own only."""
        return len(self.ancestry.sources) - len(self.sources)


def evidence(user: User, memory: Memory) -> Evidence:
    """Read it for a memory whose block, chat, job and call are loaded."""
    chat = memory.block.chat
    quotes, missing = quotes_of(user, [(memory.block.chat_id, memory.evidence)])[0]
    before = ancestry(user, memory) if memory.parents else Ancestry()
    return Evidence(
        memory,
        quotes,
        missing,
        bool(chat and chat.forgotten_at),
        _similar(user, memory),
        earlier_wordings(memory),
        before,
        source_rows(user, before.sources[:SHOWN_SOURCES]),
    )


def source_rows(user: User, sources: Sequence[Source]) -> list[SourceRow]:
    """Replaced memories with the messages they came from; one query for each chat."""
    found = quotes_of(user, [(source.chat_id, source.evidence) for source in sources])
    return [SourceRow(source, *quoted) for source, quoted in zip(sources, found, strict=True)]


def quotes_to_mark(user: User, memory_id: UUID, chat: UUID) -> dict[str, str]:
    """{identity of a message: quote} of one memory, or of one that was replaced, for the reader of `chat`."""
    rows = Memory.objects.for_user(user).filter(pk=memory_id).values_list("evidence", flat=True)
    old = Ancestor.objects.for_user(user).filter(memory=memory_id, chat=chat).values_list("evidence", flat=True)
    return {one: quote for items in (*old, *rows) for one, quote in _named(items).items()}


def _lines(items: Any) -> list[dict[str, Any]]:
    return [one for one in items if isinstance(one, dict) and "source" in one]


def _named(items: Any) -> dict[str, str]:
    """{identity: quote} of stored evidence."""
    found = (item for item in items if isinstance(item, dict) and "source" not in item)
    return {str(item.get("identity", "")): str(item.get("quote", "")) for item in found}


def quotes_of(user: User, wanted: list[tuple[UUID | None, Any]]) -> list[tuple[list[Quote], int]]:
    """For each pair of chat and stored evidence: its messages, and how many are not there any more."""
    by_chat: dict[UUID, set[str]] = {}
    for chat, items in wanted:
        if chat is not None:
            by_chat.setdefault(chat, set()).update(list(_named(items))[:SHOWN_QUOTES])
    messages = {
        (chat, row.identity): row
        for chat, identities in by_chat.items()
        for row in Message.objects.for_user(user).filter(chat=chat, identity__in=sorted(identities))
    }
    found = []
    for chat, items in wanted:
        named = _named(items)
        rows = [(messages[chat, one], quote) for one, quote in named.items() if chat and (chat, one) in messages]
        rows.sort(key=lambda row: row[0].index)
        found.append(([_quote(row, quote) for row, quote in rows], max(0, len(named) - len(rows))))
    return found


def _similar(user: User, memory: Memory) -> list[Memory]:
    """Memories of the same file that say nearly the same: those suggested as pairs, then the most alike."""
    pairs = ReviewPair.objects.for_user(user).filter(Q(older=memory.pk) | Q(newer=memory.pk), kind="duplicate")
    ids = {one for pair in pairs.values_list("older", "newer") for one in pair} | {memory.duplicate_of_id}
    rows = Memory.objects.for_user(user).filter(block__file=memory.block.file_id, is_topic=False).exclude(pk=memory.pk)
    known = dict(rows.order_by("-created_at").values_list("pk", "text")[:COMPARED])
    alike = process.extract(memory.text, known, scorer=fuzz.token_sort_ratio, score_cutoff=ALIKE, limit=SIMILAR)
    wanted = [*(one for one in ids if one in known), *(pk for _text, _score, pk in alike)]
    found = rows.select_related("block").in_bulk(list(dict.fromkeys(wanted))[:SIMILAR])
    return [found[pk] for pk in dict.fromkeys(wanted) if pk in found]


def _quote(message: Message, quote: str) -> Quote:
    at = message.text.find(quote) if quote else -1
    if at < 0:
        text = message.text[:SHOWN_LETTERS]
        return Quote(message, text + ("…" if len(message.text) > SHOWN_LETTERS else ""), "", "")
    start = max(0, at - SHOWN_LETTERS // 2)
    end = at + len(quote)
    before = ("…" if start else "") + message.text[start:at]
    after = message.text[end : end + SHOWN_LETTERS // 2]
    return Quote(message, before, quote, after + ("…" if end + len(after) < len(message.text) else ""))
