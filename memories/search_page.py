"""What the search page shows: the rows behind the hits, read through their owner, with what is marked in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _

from accounts.models import User
from memories.memory_list import Facet, is_uuid, topic_parts
from memories.models import Memory, MemoryBlock
from memories.search_rows import BLOCK, BULLET, MEMORIES
from memories.templatetags.memories import chat_title
from search.find import Found, Hit, find
from search.query import LONGEST, Query, parse
from search.registry import kinds
from search.snippets import Piece, snippet
from sync.models import Character, Chat, LorebookEntry, Message
from sync.search_rows import LORE, MESSAGES

FEW, A_PAGE = 5, 30
MOST_FACETS = 8
SPANS = {"week": 7, "month": 30, "year": 365}  # days


@dataclass(frozen=True)
class Filters:
    """What the address asks for; unknown values are ignored."""

    text: str = ""
    kind: str = ""
    character: UUID | None = None
    chat: UUID | None = None
    when: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def is_narrowed(self) -> bool:
        return any((self.kind, self.character, self.chat, self.when, self.since, self.until))

    @property
    def first_day(self) -> date | None:
        """Since when, from the chosen span or the date that was typed."""
        days = SPANS.get(self.when)
        return timezone.localdate() - timedelta(days=days - 1) if days else self.since


@dataclass
class Result:
    """One place as the page shows it. `url` leads there, `where_url` to the chat around it."""

    pieces: list[Piece]
    name: str = ""
    url: str = ""
    where: str = ""
    where_url: str = ""
    character: Character | None = None
    at: datetime | None = None
    keys: list[str] = field(default_factory=list)
    whole: str = ""  # the text in full, where no page shows it


@dataclass
class Group:
    """The results of one kind: how many there are and those of this page."""

    kind: str
    title: str
    count: int
    is_more: bool
    results: list[Result]
    page: Page[Hit] | None = None

    @property
    def rest(self) -> int:
        return self.count - len(self.results)


@dataclass
class Results:
    """Everything that was found, with what it can be narrowed to."""

    groups: list[Group]
    query: Query
    facets: dict[str, list[Facet]]
    total: int = 0

    @property
    def filled(self) -> list[Group]:
        """The kinds that have any."""
        return [group for group in self.groups if group.count]

    @property
    def is_more(self) -> bool:
        return any(group.is_more for group in self.groups)


def read_filters(query: QueryDict) -> Filters:
    """Filters from the address."""
    kind, when = query.get("in", ""), query.get("when", "")
    return Filters(
        query.get("q", "").strip()[:LONGEST],
        kind if kind in LOADERS else "",
        _id(query.get("character", "")),
        _id(query.get("chat", "")),
        when if when in SPANS else "",
        _day(query.get("since", "")),
        _day(query.get("until", "")),
    )


def results_of(user: User, filters: Filters, number: str | None) -> Results:
    """Search all kinds; with one kind chosen its pages are shown, else the best few of each."""
    query = parse(filters.text)
    found = find(
        user,
        filters.text,
        wanted=tuple(LOADERS),
        character=filters.character,
        chat=filters.chat,
        since=filters.first_day,
        until=filters.until,
    )
    groups = [_group(user, query, one, filters, number) for one in found if filters.kind in ("", one.kind)]
    facets = {
        "kinds": [
            Facet(one.kind, str(kinds[one.kind].title), one.count, one.kind == filters.kind)
            for one in found
            if one.count or one.kind == filters.kind
        ],
        "characters": _characters(user, found, filters),
        "chats": _chats(user, found, filters),
    }
    return Results(groups, query, facets, sum(group.count for group in groups))


def _id(text: str) -> UUID | None:
    return UUID(text) if is_uuid(text) else None


def _day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:  # the 31st of February
        return None


def _group(user: User, query: Query, found: Found, filters: Filters, number: str | None) -> Group:
    page = Paginator(found.hits, A_PAGE).get_page(number) if filters.kind else None
    shown = list(page.object_list) if page else found.hits[:FEW]
    loaded = LOADERS[found.kind](user, query, [hit.key for hit in shown])
    results = [loaded[hit.key] for hit in shown if hit.key in loaded]
    return Group(found.kind, str(kinds[found.kind].title), found.count, found.is_more, results, page)


def _characters(user: User, found: Sequence[Found], filters: Filters) -> list[Facet]:
    """Whose the hits are; counts are whole only while no kind has more than the newest ones."""
    counts = Counter(hit.character for one in found if filters.kind in ("", one.kind) for hit in one.hits)
    names = dict(Character.objects.for_user(user).filter(pk__in=filter(None, counts)).values_list("pk", "name"))
    return [
        Facet(str(pk), names[pk], count, pk == filters.character)
        for pk, count in counts.most_common()
        if pk is not None and pk in names
    ][:MOST_FACETS]


def _chats(user: User, found: Sequence[Found], filters: Filters) -> list[Facet]:
    """The chats whose messages were found."""
    counts = Counter(hit.chat for one in found if one.kind == MESSAGES for hit in one.hits)
    names = dict(Chat.objects.for_user(user).filter(pk__in=filter(None, counts)).values_list("pk", "name"))
    return [Facet(str(pk), names[pk], count, pk == filters.chat) for pk, count in counts.most_common() if pk in names][
        :MOST_FACETS
    ]


def _memories(user: User, query: Query, keys: Sequence[str]) -> dict[str, Result]:
    """Bullets and blocks, each leading to its card."""
    related = ("file__character", "chat")
    blocks = MemoryBlock.objects.for_user(user).filter(pk__in=[key[1:] for key in keys if key[0] == BLOCK])
    bullets = Memory.objects.for_user(user).filter(pk__in=[key[1:] for key in keys if key[0] == BULLET])
    found = {
        f"{BULLET}{row.pk}": _memory(query, row.text, row.block, reverse("memories:memory_place", args=[row.pk]))
        for row in bullets.select_related(*(f"block__{name}" for name in related))
    }
    for block in blocks.select_related(*related).prefetch_related("memories"):
        topics = [_topic(memory.text) for memory in block.memories.all() if memory.is_topic]
        url = reverse("memories:block_place", args=[block.pk])
        found[f"{BLOCK}{block.pk}"] = _memory(query, " · ".join([*topics, chat_title(block.label)]), block, url)
    return found


def _topic(text: str) -> str:
    """A topic tag as people read it: "[Wren, Seraphine — The oath]" → "The oath · Wren, Seraphine"."""
    return " · ".join(part for part in reversed(topic_parts(text)) if part)


def _memory(query: Query, text: str, block: MemoryBlock, url: str) -> Result:
    character = block.file.character
    result = Result(snippet(text, query), character.name, url, character=character, at=block.created_at)
    if block.chat is not None:
        result.where, result.where_url = chat_title(block.chat.name), _place(block.chat_id, block.first_index)
    if block.first_index is not None:
        result.where += f" · #{block.first_index}"
    return result


def _messages(user: User, query: Query, keys: Sequence[str]) -> dict[str, Result]:
    """Messages, each leading into the chat reader."""
    rows = Message.objects.for_user(user).filter(pk__in=keys).select_related("chat__character")
    found = {}
    for row in rows:
        url = _place(row.chat_id, row.index)
        name = row.name or _("System")
        where = f"{chat_title(row.chat.name)} · #{row.index}"
        character = row.chat.character if row.role == Message.Role.CHARACTER else None
        found[str(row.pk)] = Result(snippet(row.text, query), name, url, where, url, character, row.sent_at)
    return found


def _lore(user: User, query: Query, keys: Sequence[str]) -> dict[str, Result]:
    """Entries of lorebooks. They are read in place: only SillyTavern edits them."""
    rows = LorebookEntry.objects.for_user(user).filter(pk__in=keys).select_related("book")
    found = {}
    for row in rows:
        result = Result(snippet(row.content, query), row.title or row.uid, where=row.book.name, whole=row.content)
        result.keys = [str(key) for key in row.keys][:6]
        found[str(row.pk)] = result
    return found


def _place(chat: UUID | None, index: int | None) -> str:
    url = reverse("memories:chat", args=[chat])
    return url if index is None else f"{url}?at={index}#m{index}"


LOADERS: Mapping[str, Callable[[User, Query, Sequence[str]], dict[str, Result]]] = {
    MEMORIES: _memories,
    MESSAGES: _messages,
    LORE: _lore,
}
