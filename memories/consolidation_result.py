"""The result of a consolidation: a draft that puts new blocks in the place of the memories they were made from, and the
report of what became of each memory.

Nothing of it reaches the file before a person has looked at it and applies it (memories/consolidation.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories import drafts
from memories.conservation import Conservation
from memories.consolidation_parts import Tree
from memories.consolidation_plan import Item, in_blocks
from memories.date_span import merge
from memories.drafts import DraftEditor
from memories.extraction_prompt import Measure
from memories.file_editor import NewMemory
from memories.models import Draft, Memory, MemoryBlock, Proposal
from memories.names import SourceWords
from providers.models import Call

NO_BRACKETS = str.maketrans("[]", "()")


@dataclass
class Result:
    """What the writing needs, and what it finds. `rows` are the chosen memories that still stand as they were read,
    `changed` those that were reworded, locked or moved since."""

    proposal: Proposal
    tree: Tree
    rows: dict[str, Memory]
    changed: set[str]
    found: Conservation
    items: list[Item]
    tags: dict[UUID, list[str]]  # topic tags by block
    ids: list[str] = field(default_factory=list)  # of the new memories in the draft, beside `items`

    @property
    def replaced(self) -> list[str]:
        """The memories that the draft takes out: those that were read and stand as they were read."""
        untouched = set(self.tree.untouched())
        return [one for one in self.tree.sources if one in self.rows and one not in untouched]


def make_draft(proposal: Proposal, tree: Tree) -> Result:
    """The draft with the new blocks. A large file takes a while: call it outside of a transaction.

    What an earlier attempt left behind, which nobody has seen, is made anew.
    """
    if proposal.draft is not None:
        proposal.draft.delete()
    result = _collect(proposal, tree)
    title = reason(len(result.replaced), len(result.items))
    proposal.draft = drafts.start(proposal.owner, proposal.file, kind=Draft.Kind.CONSOLIDATION, title=title)
    proposal.save(update_fields=["draft", "updated_at"])
    with drafts.step(proposal.draft, _("Consolidation")) as editor:
        _build(editor, result)
    return result


def publish(result: Result, size: Measure) -> dict[str, Any]:
    """Write the report, and let the result wait for its review; what the job keeps of it."""
    proposal = result.proposal
    assert proposal.draft is not None  # noqa: S101  make_draft made it
    proposal.report = _report(result, size)
    proposal.state, proposal.base_version = Proposal.State.READY, proposal.draft.base_version
    proposal.save(update_fields=["report", "state", "base_version", "updated_at"])
    return _for_job(result)


def _collect(proposal: Proposal, tree: Tree) -> Result:
    rows = Memory.objects.for_user(proposal.owner).filter(block__file=proposal.file)
    present = {str(row.pk): row for row in rows.filter(is_topic=False).select_related("block")}
    tags: defaultdict[UUID, list[str]] = defaultdict(list)
    for block, pk in rows.filter(is_topic=True).values_list("block", "pk"):
        tags[block].append(str(pk))
    same = {one: present[one] for one, item in tree.sources.items() if one in present and _is_same(present[one], item)}
    changed = {one for one in tree.sources if one in present and one not in same}
    found = tree.check(proposal.params["strategy"])
    return Result(proposal, tree, same, changed, found, tree.made(tree.height), tags)


def _is_same(row: Memory, item: Item) -> bool:
    is_free = not row.is_locked and not row.block.is_locked
    return is_free and row.text == item.text and str(row.block_id) == item.block


def reason(before: int, after: int) -> str:
    """What History says of a consolidation."""
    text = ngettext("Consolidated %(before)d memories into %(n)d", "Consolidated %(before)d memories into %(n)d", after)
    return text % {"before": before, "n": after}


def _build(editor: DraftEditor, result: Result) -> None:
    """New blocks behind the block of their first source, then the sources out."""
    places = {one: place for place, one in enumerate(result.tree.sources)}
    held = dict(zip((item.id for item in result.items), result.found.sources, strict=True))
    blocks = [(_first(block, held, places), block) for block in in_blocks(result.items)]
    words = SourceWords(_words(result))
    made_of: dict[str, Sequence[Item]] = {}
    behind: dict[str, str] = {}
    for place, block in sorted(blocks, key=lambda one: one[0]):
        anchor = _anchor(result, place)
        made = _add(editor, result, block, held, words, behind.get(anchor, anchor) or None)
        behind[anchor] = made
        made_of[made] = block
    ids = _ids(editor, made_of)
    result.ids = [ids[item.id] for item in result.items]
    _take_out(editor, result)


def _ids(editor: DraftEditor, blocks: Mapping[str, Sequence[Item]]) -> dict[str, str]:
    """The id in the draft of each item, by the item's own."""
    bullets: defaultdict[str, list[str]] = defaultdict(list)
    for one, change in editor.rows.overlay.memories.items():
        if change.after is not None and not change.after["is_topic"]:
            bullets[change.after["block"]].append(one)
    return {item.id: one for made, block in blocks.items() for item, one in zip(block, bullets[made], strict=True)}


def _first(block: Sequence[Item], held: Mapping[str, list[str]], places: Mapping[str, int]) -> int:
    """The place of the block's first source; a block without any goes behind all others."""
    return min((places[one] for item in block for one in held[item.id]), default=len(places))


def _anchor(result: Result, place: int) -> str:
    """The block of the file that a new block follows; "" is the end of the file."""
    order = list(result.tree.sources.values())
    wanted = order[min(place, len(order) - 1)].id
    return str(result.rows[wanted].block_id) if wanted in result.rows else ""


def _add(
    editor: DraftEditor,
    result: Result,
    block: Sequence[Item],
    held: Mapping[str, list[str]],
    words: SourceWords,
    after: str | None,
) -> str:
    sources = list(dict.fromkeys(one for item in block for one in held[item.id]))
    rows = [result.rows[one] for one in sources if one in result.rows]
    chats = {row.block.chat_id for row in rows}
    chat = next(iter(chats)) if len(chats) == 1 else None
    bullets = [_new(result, item, held[item.id], words, with_evidence=chat is not None) for item in block]
    made = editor.add_block(
        _label(block[0]),
        [*_topic(result, block[0], rows), *bullets],
        date=merge(result.tree.sources[one].date for one in sources),
        origin=MemoryBlock.Origin.CONSOLIDATED,
        after=after,
        job=result.proposal.job,
        call=call_of(result.tree, block[0]),
        prompt_version=result.proposal.prompt_version,
        **_stretch(rows, chat),
    )
    assert made is not None  # noqa: S101  every block of an answer holds a bullet with text
    return made


def _new(result: Result, item: Item, sources: Sequence[str], words: SourceWords, *, with_evidence: bool) -> NewMemory:
    """A bullet that remembers what it was made from; of one chat also the messages, which are that chat's."""
    rows = [result.rows[one] for one in sources if one in result.rows]
    evidence = [link for row in rows for link in row.evidence] if with_evidence else []
    unknown = words.unknown(item.text)
    return NewMemory(
        item.text,
        evidence=[link for n, link in enumerate(evidence) if link not in evidence[:n]],
        unverified_names=unknown,
        is_unverified=bool(unknown),
        parents=[str(row.pk) for row in rows],
    )


def _topic(result: Result, first: Item, rows: Sequence[Memory]) -> list[NewMemory]:
    """The block's topic tag: the model's, else made of the character's name and the label."""
    label = _label(first)
    inside = f"{result.proposal.file.character.name} — {label}".translate(NO_BRACKETS)
    blocks = {row.block_id for row in rows}
    return [NewMemory(first.topic or f"[{inside}]", parents=[pk for one in blocks for pk in result.tags.get(one, ())])]


def _label(first: Item) -> str:
    return first.label or first.topic.strip("[]").partition("—")[2].strip() or _("Consolidated")


def _stretch(rows: Sequence[Memory], chat: object) -> dict[str, Any]:
    """The chat and the messages that a block of one chat's memories stands for."""
    if chat is None:
        return {}
    first = [row.block.first_index for row in rows if row.block.first_index is not None]
    last = [row.block.last_index for row in rows if row.block.last_index is not None]
    return {"chat": chat, "first_index": min(first, default=None), "last_index": max(last, default=None)}


def call_of(tree: Tree, item: Item) -> Call | None:
    """The call that made the item; None for one that no call made."""
    level, number = item.id.split("/")[:2] if "/" in item.id else ("", "")
    parts = (part for part in tree.parts if str(part.level) == level and part.number == number)
    return next((part.call for part in parts), None)


def _words(result: Result) -> list[str]:
    """Everything that a name in the result may come from."""
    sources = result.tree.sources.values()
    labels = {text for item in sources for text in (item.label, item.topic)}
    return [result.proposal.file.character.name, *labels, *(item.text for item in sources)]


def _take_out(editor: DraftEditor, result: Result) -> None:
    """Sources that stand as they were read go, and with the last memory of a block its topic tag."""
    gone = set(result.replaced)
    blocks = {result.rows[one].block_id for one in gone}
    rows = Memory.objects.for_user(result.proposal.owner).filter(block__in=blocks)
    facts = list(rows.values_list("pk", "block", "is_topic", "is_locked"))
    goes_on = {block for pk, block, is_topic, is_locked in facts if is_locked or (not is_topic and str(pk) not in gone)}
    tags = [str(pk) for pk, block, is_topic, _is_locked in facts if is_topic and block not in goes_on]
    editor.delete_memories([*result.replaced, *tags])


def _report(result: Result, size: Measure) -> dict[str, Any]:
    untouched = set(result.tree.untouched())
    sources = {one: _source(result, one, item, one in untouched) for one, item in result.tree.sources.items()}
    new = {
        made: {"from": held, "is_invented": not held}
        for made, held in zip(result.ids, result.found.sources, strict=True)
    }
    calls = Call.objects.for_user(result.proposal.owner).filter(job=result.proposal.job)
    spent = calls.aggregate(calls=Count("pk"), cost=Sum("cost"), tin=Sum("prompt_tokens"), out=Sum("completion_tokens"))
    before = sum(size(item.text) for item in result.tree.sources.values())
    return {
        "sources": sources,
        "new": new,
        "tokens": {"before": before, "after": sum(size(item.text) for item in result.items)},
        "spent": {"in": spent["tin"] or 0, "out": spent["out"] or 0},
        "calls": spent["calls"],
        "cost": None if spent["cost"] is None else str(spent["cost"]),
        "warnings": _warnings(result),
        "result": _for_job(result),
    }


def _source(result: Result, one: str, item: Item, is_untouched: bool) -> dict[str, Any]:
    facts = {"text": item.text, "label": item.label, "date": item.date, "block": item.block}
    blank: dict[str, Any] = {"into": [], "reason": "", "nearest": None}
    if is_untouched:
        why = _("The model could not read it; it stays as it is.")
        return {**facts, **blank, "fate": "kept", "into": [one], "reason": why}
    if one in result.changed:
        why = _("It was changed meanwhile and is left alone.")
        return {**facts, **blank, "fate": "kept", "into": [one], "reason": why}
    if one not in result.rows:
        return {**facts, **blank, "fate": "dropped", "reason": _("It was deleted from the file meanwhile.")}
    fate = result.found.fates[one]
    place, score = fate.nearest or (None, 0.0)
    nearest = None if place is None else {"text": result.items[place].text, "score": score}
    into = [result.ids[place] for place in fate.into]
    return {**facts, "fate": fate.fate, "into": into, "reason": fate.reason, "nearest": nearest}


def _warnings(result: Result) -> list[str]:
    untouched = len(result.tree.untouched())
    changed = len(result.changed)
    invented = len(result.found.invented)
    notes = [
        (
            untouched,
            ngettext(
                "%(n)d memory could not be read by the model and stays as it is.",
                "%(n)d memories could not be read by the model and stay as they are.",
                untouched,
            ),
        ),
        (
            changed,
            ngettext(
                "%(n)d memory was changed meanwhile and is left alone.",
                "%(n)d memories were changed meanwhile and are left alone.",
                changed,
            ),
        ),
        (
            invented,
            ngettext(
                "%(n)d new memory says something that none of the old ones says.",
                "%(n)d new memories say something that none of the old ones says.",
                invented,
            ),
        ),
    ]
    return [text % {"n": count} for count, text in notes if count]


def _for_job(result: Result) -> dict[str, Any]:
    missing = sum(one in result.rows for one in result.found.missing)
    numbers = {"before": len(result.replaced), "after": len(result.items), "missing": missing}
    text = _("%(before)d memories became %(after)d.") % numbers
    if missing:
        lost = ngettext("%(n)d is not accounted for.", "%(n)d are not accounted for.", missing) % {"n": missing}
        text = f"{text} {lost}"
    return {**numbers, "text": text}
