"""The result of an import or a reformat: a draft with the new blocks, and the report of what is left over.

`Proposal.report` of these kinds: {"format", "total": lines of the source that are not blank, "first", "last", "next",
"memories", "blocks", "ok": [[first, last]] lines that are in a memory, "heads": those that became labels and dates,
"lines": [{"n", "text", "why", "state": "" | "added" | "left_out", "memory": id in the draft}], "known": [{"text",
"label", "lines", "state"}] that the destination has word for word, "new": {id in the draft: {"from", "is_invented"}}
of invented ones, "sources": what became of memories that a reformat replaces, "warnings", "calls", "cost", "result"}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memories import conversion_source, drafts
from memories.blocks import is_topic, timestamp
from memories.conversion_words import warning
from memories.drafts import DraftEditor
from memories.file_editor import NewMemory
from memories.local_time import local_now
from memories.models import Draft, Memory, MemoryBlock, MemoryFile, Proposal
from memories.similarity import normalise
from providers.models import Call
from sync.models import Chat


@dataclass(frozen=True)
class NewBullet:
    """One bullet of the result. `lines` are those of the source, `parents` the memories that it replaces."""

    text: str
    lines: tuple[int, ...] = ()
    parents: tuple[str, ...] = ()
    is_invented: bool = False
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class NewBlock:
    """One block of the result; `facts` are further fields of a block (call, chat, message numbers)."""

    label: str
    date: str
    bullets: Sequence[NewBullet]
    heads: tuple[int, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Findings:
    """What the draft was made of. `left` are (line, text, why); `gone` are memories that a reformat takes out."""

    blocks: Sequence[NewBlock]
    left: Sequence[tuple[int, str, str]] = ()
    total: int = 0
    first: int = 1
    last: int = 0
    next: int | None = None
    warnings: Sequence[str] = ()
    gone: Sequence[str] = ()
    sources: dict[str, Any] = field(default_factory=dict)


def write(proposal: Proposal, findings: Findings, lines: Sequence[str]) -> dict[str, Any]:
    """Make the draft and the report; what a job keeps as its result. Call inside a transaction."""
    is_import = proposal.kind == Proposal.Kind.CONVERSION
    kind = Draft.Kind.CONVERSION if is_import else Draft.Kind.REFORMAT
    draft = drafts.start(proposal.owner, proposal.file, kind=kind, title=_title(proposal))
    builder = _Builder(proposal, lines, known_in(proposal.file) if is_import else {})
    with drafts.step(draft, _("Import") if is_import else _("Sort into topics")) as editor:
        for block in findings.blocks:
            builder.add(editor, block)
        editor.delete_memories(findings.gone)
        _drop_lone_topics(editor, proposal.file, findings.gone)
    proposal.report = _report(proposal, findings, builder)
    proposal.draft, proposal.state, proposal.base_version = draft, Proposal.State.READY, draft.base_version
    proposal.save(update_fields=["report", "draft", "state", "base_version", "updated_at"])
    result: dict[str, Any] = proposal.report["result"]
    return result


class _Builder:
    """Puts blocks into the draft and notes what became of the lines."""

    def __init__(self, proposal: Proposal, lines: Sequence[str], known: dict[str, str]) -> None:
        self.proposal = proposal
        self.lines = lines
        self.known_texts = known
        self.known: list[dict[str, Any]] = []
        self.new: dict[str, Any] = {}
        self.into: dict[str, list[str]] = {}  # replaced memory: the new ones in the draft
        self.made: list[NewBullet] = []
        self.blocks = 0
        self.today = timestamp(local_now(proposal.owner, timezone.now()))
        self.chats = {chat.name: chat for chat in Chat.objects.for_user(proposal.owner).filter(
            character=proposal.file.character
        )}  # fmt: skip
        self.is_model = bool(proposal.model)

    def add(self, editor: DraftEditor, block: NewBlock) -> None:
        wanted = [one for one in block.bullets if not self._has(one, block)]
        if not any(not is_topic(one.text) for one in wanted) and any(not is_topic(one.text) for one in block.bullets):
            return  # the destination has all of it
        facts: dict[str, Any] = {"chat": self.chats.get(block.label), "job": self.proposal.job, **block.facts}
        if self.is_model:
            facts["prompt_version"] = self.proposal.prompt_version
        origin = MemoryBlock.Origin.CONVERTED if self.is_model else MemoryBlock.Origin.IMPORTED
        new = [self._memory(one) for one in wanted]
        made = editor.add_block(
            block.label, new, date=block.date or self.today, origin=facts.pop("origin", origin), **facts
        )
        if made is None:
            return
        self.blocks += 1
        self.made += wanted
        if any(one.parents or one.is_invented for one in wanted):
            self._note_ids([place[2] for place in editor.rows.bullet_places(made)], wanted)

    def _note_ids(self, ids: Sequence[str], bullets: Sequence[NewBullet]) -> None:
        """Which new bullets replace what, and which have no source."""
        for one, bullet in zip(ids, bullets, strict=True):
            for parent in bullet.parents:
                self.into.setdefault(parent, []).append(one)
            if bullet.is_invented:
                self.new[one] = {"from": list(bullet.lines), "is_invented": True}

    def _has(self, bullet: NewBullet, block: NewBlock) -> bool:
        """Whether the destination has the very same memory; it is left out and told."""
        if is_topic(bullet.text) or normalise(bullet.text) not in self.known_texts:
            return False
        self.known.append({"text": bullet.text, "label": block.label, "lines": list(bullet.lines), "state": ""})
        return True

    def _memory(self, bullet: NewBullet) -> NewMemory:
        own = conversion_source.quotes(self.proposal.source_name, self.lines, bullet.lines)
        return NewMemory(
            bullet.text,
            evidence=[*bullet.evidence, *own],
            parents=list(bullet.parents),
            is_unverified=bullet.is_invented,
        )


def known_in(file: MemoryFile) -> dict[str, str]:
    """The memories of the destination by their plain words."""
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, is_topic=False)
    return {normalise(text): str(pk) for pk, text in rows.values_list("pk", "text")}


def _drop_lone_topics(editor: DraftEditor, file: MemoryFile, gone: Sequence[str]) -> None:
    """With the last memory of a block goes its topic tag."""
    if not gone:
        return
    rows = Memory.objects.for_user(file.owner).filter(block__file=file, block__memories__in=list(gone), is_topic=True)
    for tag in rows.distinct().select_related("block"):
        left = [place[2] for place in editor.rows.bullet_places(str(tag.block_id))]
        kept = editor.rows.memories(left)
        if kept and all(row["is_topic"] and not row["is_locked"] for row in kept.values()):
            editor.delete_memories(kept)


def _title(proposal: Proposal) -> str:
    if proposal.kind == Proposal.Kind.CONVERSION:
        return _("Imported %(name)s") % {"name": proposal.source_name}
    return _("Sorted into topics")


def _report(proposal: Proposal, findings: Findings, builder: _Builder) -> dict[str, Any]:
    memories = sum(not is_topic(one.text) for one in builder.made)
    calls = Call.objects.for_user(proposal.owner).filter(job=proposal.job) if proposal.job_id else None
    spent = calls.aggregate(calls=Count("pk"), cost=Sum("cost")) if calls is not None else {"calls": 0, "cost": None}
    used = [line for one in builder.made for line in one.lines]
    used += [line for one in builder.known for line in one["lines"]]
    left = [{"n": n, "text": text, "why": why, "state": "", "memory": ""} for n, text, why in findings.left]
    return {
        "format": proposal.params.get("format", ""),
        "total": findings.total,
        "first": findings.first,
        "last": findings.last,
        "next": findings.next,
        "memories": memories,
        "blocks": builder.blocks,
        "ok": conversion_source.ranges(used),
        "heads": conversion_source.ranges(line for block in findings.blocks for line in block.heads),
        "lines": left,
        "known": builder.known,
        "new": builder.new,
        "sources": {key: {**facts, "into": builder.into.get(key, [])} for key, facts in findings.sources.items()},
        "warnings": _warnings(findings, builder),
        "calls": spent["calls"],
        "cost": None if spent["cost"] is None else str(spent["cost"]),
        "result": {"text": _result(findings, memories, len(left)), "memories": memories, "left": len(left)},
    }


def _warnings(findings: Findings, builder: _Builder) -> list[str]:
    found = [text for code in findings.warnings if (text := warning(code) or ("" if code.isidentifier() else code))]
    if builder.new:
        text = ngettext(
            "%(n)d memory says something that no line of the source says. It is marked as unverified.",
            "%(n)d memories say something that no line of the source says. They are marked as unverified.",
            len(builder.new),
        )
        found.append(text % {"n": len(builder.new)})
    return found


def _result(findings: Findings, memories: int, left: int) -> str:
    text = ngettext("%(total)d lines became %(n)d memory.", "%(total)d lines became %(n)d memories.", memories)
    said = text % {"total": findings.total, "n": memories}
    if not left:
        return said
    more = ngettext("%(n)d line is left over.", "%(n)d lines are left over.", left)
    return f"{said} {more % {'n': left}}"
