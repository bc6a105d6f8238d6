"""Reads around a consolidation: what goes in, what it will cost, what is undecided, two results side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from uuid import UUID

from accounts.models import User
from memories import drafts
from memories.consolidation_parts import fates_of
from memories.consolidation_plan import Item, estimate_size, is_chat_name, pieces
from memories.consolidation_prompt import Strategy, material, room_for
from memories.drafts import DraftView
from memories.file_state import ORDER
from memories.grouping import Group, suggest
from memories.models import MemoryBlock, MemoryFile, Proposal
from memories.own_prompts import NoSuchPrompt, text_in_force
from memories.prompts import BALANCED
from providers import prices
from providers.models import Connection
from providers.tokens import estimate_tokens

# How long an answer usually is, beside its input.
OUTPUT = {"consolidation_conservative": 0.95, "consolidation_balanced": 0.7, "consolidation_aggressive": 0.4}
STANDING = ("kept", "merged", "put_back")


@dataclass(frozen=True)
class Estimate:
    """What a run will take, roughly. `price` in dollars, None when the connection has none. `maybe_done`: blocks from
    elsewhere whose label is no chat's name, so that they may be the work of an earlier consolidation."""

    memories: int
    calls: int
    tokens_in: int
    tokens_out: int
    price: Decimal | None
    maybe_done: int


@dataclass(frozen=True)
class Side:
    """One result in a comparison: memories before and after, tokens afterwards, calls and what they cost (dollars, None
    when no call had a price), how many old memories had which fate, and how many new ones were made up.
    """

    proposal: Proposal
    strategy: str
    model: str
    before: int
    after: int
    tokens_after: int
    calls: int
    cost: Decimal | None
    fates: dict[str, int]
    invented: int


@dataclass(frozen=True)
class Difference:
    """What became of one old memory on either side: its fate, and the texts of the new memories that hold it."""

    id: str
    text: str
    fates: tuple[str, str]
    texts: tuple[list[str], list[str]]


@dataclass(frozen=True)
class Comparison:
    """Two results over the same choice; `differences` are old memories with another fate or other words."""

    a: Side
    b: Side
    differences: list[Difference]


def items_of(user: User, file: MemoryFile, block_ids: Iterable[object]) -> list[Item]:
    """The memories of these blocks that may be replaced, in file order: nothing locked, topic tags aside."""
    wanted = {str(one) for one in block_ids}
    blocks = MemoryBlock.objects.for_user(user).filter(file=file, is_locked=False).order_by(*ORDER)
    chosen = [block for block in blocks.prefetch_related("memories") if str(block.pk) in wanted]
    return [
        Item(str(memory.pk), memory.text, str(block.pk), block.label, block.date, _topic(block))
        for block in chosen
        for memory in block.memories.all()
        if not memory.is_topic and not memory.is_locked
    ]


def suggestions(user: User, file: MemoryFile, block_ids: Iterable[object]) -> list[Group]:
    """Groups among these blocks that belong together, by similarity and without a model."""
    texts: dict[str, list[str]] = {}
    for item in items_of(user, file, block_ids):
        texts.setdefault(item.block, []).append(item.text)
    return suggest({block: " ".join(found) for block, found in texts.items()})


def estimate(
    user: User, file: MemoryFile, block_ids: Iterable[object], strategy: str, connection: Connection
) -> Estimate:
    """Calls, tokens and price of a run: the map over all pieces, and one reduce over what comes of them.

    ValueError for a strategy that is not there.
    """
    try:
        prompt = text_in_force(user, strategy, file.character)
    except NoSuchPrompt as unknown:
        raise ValueError(str(unknown)) from unknown
    size = partial(estimate_tokens, bytes_per_token=connection.bytes_per_token)
    wanted = list(block_ids)
    items = items_of(user, file, wanted)
    room = room_for(Strategy(strategy, prompt.version, prompt.text), connection.context_tokens, size)

    def tokens(some: Iterable[Item]) -> int:
        return size(material(list(some)))

    sizes = [tokens(piece) for piece in pieces(items, room.material, tokens)]
    ratio = OUTPUT.get(strategy, OUTPUT[BALANCED])
    first = estimate_size(sizes, prompt=room.fixed * len(sizes), output_ratio=ratio)
    again = -(-first.answer // room.material) if len(sizes) > 1 else 0
    second = estimate_size([first.answer] if again else [], prompt=room.fixed * again, output_ratio=ratio)
    tokens_in, tokens_out = first.prompt + second.prompt, first.answer + second.answer
    price = _price(connection, tokens_in, tokens_out)
    return Estimate(len(items), len(sizes) + again, tokens_in, tokens_out, price, _maybe_done(user, file, wanted))


def undecided(proposal: Proposal, view: DraftView | None = None) -> list[str]:
    """The old memories that are not accounted for and about which nobody decided, in file order.

    Also those whose new memory was taken out of the draft by hand, or whose putting back was undone.
    """
    sources = fates_of(proposal)
    missing = [one for one, found in sources.items() if found["fate"] == "missing"]
    if proposal.draft is None:
        return missing
    held = _held_now(view or view_of(proposal), sources)
    gone = {one for one, found in sources.items() if found["fate"] in STANDING and one not in held}
    return [one for one in sources if one in gone or one in missing]


def view_of(proposal: Proposal) -> DraftView:
    """The draft of a proposal as it stands. ValueError when it has none."""
    draft = proposal.draft
    if draft is None:
        raise ValueError("no draft yet")
    draft.file, draft.owner = proposal.file, proposal.owner
    return drafts.view(draft)


def stack(proposal: Proposal) -> list[Proposal]:
    """All results over the same choice, newest first: those before and those after."""
    rows = Proposal.objects.for_user(proposal.owner).filter(file=proposal.file_id, kind=proposal.kind)
    links = dict(rows.order_by().values_list("pk", "previous"))
    root = _root(links, proposal.pk)
    same = [pk for pk in links if _root(links, pk) == root]
    found = list(rows.filter(pk__in=same).select_related("job", "draft", "file__character", "connection"))
    for one in found:
        one.owner = one.file.owner = proposal.owner
    return found


def compare(user: User, a: Proposal, b: Proposal) -> Comparison:
    """Two results of `user` side by side, as their drafts stand now; one that is not ready yet has no figures."""
    if {a.owner_id, b.owner_id} != {user.pk}:
        raise PermissionError("results are compared by their owner only")
    left, right = _new_texts(a), _new_texts(b)
    one, other = fates_of(a), fates_of(b)
    differences = []
    for source in dict.fromkeys([*one, *other]):
        sides = one.get(source, {}), other.get(source, {})
        fates = (sides[0].get("fate", ""), sides[1].get("fate", ""))
        texts = _held(sides[0].get("into", ()), left), _held(sides[1].get("into", ()), right)
        if fates[0] != fates[1] or texts[0] != texts[1]:
            differences.append(Difference(source, (sides[0] or sides[1])["text"], fates, texts))
    return Comparison(_side(a), _side(b), differences)


def _topic(block: MemoryBlock) -> str:
    return next((memory.text for memory in block.memories.all() if memory.is_topic), "")


def _maybe_done(user: User, file: MemoryFile, block_ids: list[object]) -> int:
    rows = MemoryBlock.objects.for_user(user).filter(file=file, origin=MemoryBlock.Origin.IMPORTED)
    wanted = {str(one) for one in block_ids}
    return sum(str(pk) in wanted and not is_chat_name(label) for pk, label in rows.values_list("pk", "label"))


def _price(connection: Connection, tokens_in: int, tokens_out: int) -> Decimal | None:
    return prices.price_of(connection).cost(tokens_in, tokens_out)


def _held_now(view: DraftView, sources: Mapping[str, dict[str, list[str]]]) -> set[str]:
    """Sources that a memory of the draft stands for: the one they went into, or one that was made of that by hand."""
    wanted = {made for found in sources.values() for made in found["into"]}
    standing = view.rows.memories([*wanted, *view.overlay.memories])
    parents = {parent for row in standing.values() for parent in row["parents"]}
    return {one for one, found in sources.items() if one in parents or any(made in standing for made in found["into"])}


def _root(links: Mapping[UUID, UUID | None], pk: UUID) -> UUID:
    """The first run of a stack."""
    seen: set[UUID] = set()
    while (before := links.get(pk)) is not None and pk not in seen:
        seen.add(pk)
        pk = before
    return pk


def _new_texts(proposal: Proposal) -> dict[str, str]:
    """The new memories of a result by their id in the draft."""
    if proposal.draft is None:
        return {}
    rows = view_of(proposal).rows.memories(proposal.report["new"])
    return {one: row["text"] for one, row in rows.items()}


def _held(into: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    return [texts[one] for one in into if one in texts]


def _side(proposal: Proposal) -> Side:
    report = proposal.report
    return Side(
        proposal=proposal,
        strategy=proposal.params["strategy"],
        model=proposal.model,
        before=len(report.get("sources", {})),
        after=len(_new_texts(proposal)),
        tokens_after=report.get("tokens", {}).get("after", 0),
        calls=report.get("calls", 0),
        cost=Decimal(report["cost"]) if report.get("cost") else None,
        fates=_fates(proposal),
        invented=sum(one["is_invented"] for one in report.get("new", {}).values()),
    )


def _fates(proposal: Proposal) -> dict[str, int]:
    """How many old memories have which fate now; "missing" are all about which a person still has to decide."""
    lost = set(undecided(proposal))
    sources = proposal.report.get("sources", {}).items()
    return dict(Counter("missing" if one in lost else found["fate"] for one, found in sources))
