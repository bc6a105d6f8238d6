"""What a model made of notes or of memories that get topics, checked: nothing added, nothing dropped.

The sources of such a run are the bullets that reading by rules finds (so each line of the notes is accounted for
before the model sees it), or the memories of the file. memories/conservation.py says which of them no new memory holds
and which new memories hold none; what no part could read is taken over as the rules read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memories import conversion_result, conversion_source, formats
from memories.blocks import is_topic
from memories.conservation import Conservation
from memories.consolidation_parts import Tree
from memories.consolidation_plan import Item, in_blocks
from memories.consolidation_result import call_of
from memories.conversion_result import Findings, NewBlock, NewBullet
from memories.models import Memory, Proposal
from providers.models import Call


def write(proposal: Proposal, tree: Tree) -> dict[str, Any]:
    """Make the draft and the report, inside the job's transaction; what the job keeps as its result."""
    if proposal.kind == Proposal.Kind.REFORMAT:
        return conversion_result.write(proposal, _reformatted(proposal, tree), [])
    lines = formats.lines_of(conversion_source.text_of(proposal), proposal.params["format"])
    return conversion_result.write(proposal, converted(proposal, tree), lines)


def converted(proposal: Proposal, tree: Tree) -> Findings:
    found = tree.check("conversion")
    numbers: dict[str, list[int]] = proposal.params["lines"]
    missing = _missing(found)
    left = [(numbers[one][0], tree.sources[one].text, why) for one, why in missing if numbers[one]]
    left += [(one["line"], one["text"], one["why"]) for one in proposal.params["left"]]
    params = proposal.params
    return Findings(
        _blocks(tree, found, numbers),
        sorted(left),
        total=params["total"],
        first=params["first"],
        last=params["last"],
        next=params["next"],
        warnings=[code for code in params["warnings"] if code not in ("freeform", "already")],
    )


def _bullet(text: str, sources: Sequence[str], numbers: dict[str, list[int]]) -> NewBullet:
    lines = tuple(line for one in sources for line in numbers[one])
    return NewBullet(text, lines, is_invented=not sources and not is_topic(text))


def _blocks(tree: Tree, found: Conservation, numbers: dict[str, list[int]]) -> list[NewBlock]:
    """All blocks: those that the model made with the call that made them, then those that it could not read."""
    held = dict(zip((item.id for item in tree.made(tree.height)), found.sources, strict=True))
    made = [_block(items, held, numbers, call_of(tree, items[0])) for items in in_blocks(tree.made(tree.height))]
    rest = [tree.sources[one] for one in tree.untouched()]
    as_read = [_block(items, {item.id: [item.id] for item in items}, numbers) for items in in_blocks(rest)]
    return [*made, *as_read]


def _block(
    items: Sequence[Item], held: dict[str, list[str]], numbers: dict[str, list[int]], call: Call | None = None
) -> NewBlock:
    first = items[0]
    topic = [_bullet(first.topic, [], numbers)] if first.topic else []
    label = first.label or first.topic.strip("[]").partition("—")[2].strip()
    bullets = [*topic, *(_bullet(item.text, held[item.id], numbers) for item in items)]
    return NewBlock(label, first.date, bullets, facts={"call": call})


def _missing(found: Conservation) -> list[tuple[str, str]]:
    """Sources that no new memory holds, each with why; a reason that the model gave is quoted."""
    return [
        (one, fate.reason if fate.fate == "dropped" and fate.reason else "missing")
        for one, fate in found.fates.items()
        if fate.fate in ("missing", "dropped")
    ]


def _reformatted(proposal: Proposal, tree: Tree) -> Findings:
    found = tree.check("conversion")
    rows = Memory.objects.for_user(proposal.owner).filter(block__file=proposal.file, pk__in=tree.sources)
    known = {str(row.pk): row for row in rows.select_related("block__chat")}
    free = {one: row for one, row in known.items() if not (row.is_locked or row.block.is_locked)}
    same = {one for one, row in free.items() if row.text == tree.sources[one].text}
    untouched = set(tree.untouched())
    lost = dict(_missing(found))
    # What the new blocks do not hold, or what was changed or locked meanwhile, stays where it is.
    gone = [one for one in tree.sources if one in same and one not in untouched and one not in lost]
    held = dict(zip((item.id for item in tree.made(tree.height)), found.sources, strict=True))
    blocks = [_new_block(items, held, known, call_of(tree, items[0])) for items in in_blocks(tree.made(tree.height))]
    sources = {one: _source(item, lost.get(one), is_gone=one in gone) for one, item in tree.sources.items()}
    left = [(0, tree.sources[one].text, why) for one, why in lost.items()]
    return Findings(blocks, left, total=len(tree.sources), gone=gone, sources=sources)


def _new_block(
    items: Sequence[Item], held: dict[str, list[str]], known: dict[str, Memory], call: Call | None
) -> NewBlock:
    """A block keeps the chat and the messages of its sources when they are all of one."""
    first = items[0]
    rows = [known[one] for item in items for one in held[item.id] if one in known]
    chats = {row.block.chat_id for row in rows}
    facts: dict[str, Any] = {"chat": None, "call": call}
    if len(chats) == 1 and rows:
        starts = [row.block.first_index for row in rows if row.block.first_index is not None]
        ends = [row.block.last_index for row in rows if row.block.last_index is not None]
        facts |= {
            "chat": rows[0].block.chat,
            "first_index": min(starts, default=None),
            "last_index": max(ends, default=None),
        }
    topic = [NewBullet(first.topic)] if first.topic else []
    return NewBlock(
        first.label, first.date, [*topic, *(_kept(item, held[item.id], known) for item in items)], facts=facts
    )


def _kept(item: Item, sources: Sequence[str], known: dict[str, Memory]) -> NewBullet:
    evidence = [one for source in sources if source in known for one in known[source].evidence]
    unique = {str(one): one for one in evidence}
    return NewBullet(item.text, (), tuple(sources), not sources and not is_topic(item.text), tuple(unique.values()))


def _source(item: Item, lost: str | None, *, is_gone: bool) -> dict[str, Any]:
    fate = "missing" if lost == "missing" else "dropped" if lost else "merged" if is_gone else "kept"
    return {
        "text": item.text,
        "label": item.label,
        "date": item.date,
        "block": item.block,
        "fate": fate,
        "reason": "" if lost in (None, "missing") else lost,
        "nearest": None,
    }
