"""Dividing a character's memories among its chats and branches, and putting them together again: shown first, then done
in one go that can be taken back.

What comes apart is moved: a memory goes into the file of the line that told it. What comes together is copied, without
repetitions, and the files of single chats stay as they are; they are used again when the choice is taken back.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from memories import activity, editing, file_state, lines, scope_files, scope_sources, scope_state
from memories.memory_file import file_for
from memories.models import MemoryFile, MemoryScope, MemoryShare
from memories.scope_branches import Family, Source
from memories.scopes import check_not_read, has_own_file, is_divided, scope_of, share_of
from sync.models import Character, Chat

State = dict[str, Any]
Key = UUID | None  # a chat; None is the character's own file
EMPTY: State = {"layout": "block", "separator": "\n\n", "with_metadata": False, "loose_text": [], "blocks": []}


@dataclass
class Row:
    """What happens to one file: memories that come in, of them `inherited` ones from before a fork, that go out, and
    how many it holds in the end."""

    chat: Chat | None
    gets: int = 0
    inherited: int = 0
    loses: int = 0
    holds: int = 0

    @property
    def is_changed(self) -> bool:
        return bool(self.gets or self.inherited or self.loses)


@dataclass
class Plan:
    """What a choice would do. `mixed` memories were made of several lines and stay where they are; `doubled` ones are
    in the common file already."""

    chosen: MemoryScope
    rows: list[Row] = field(default_factory=list)
    mixed: int = 0
    doubled: int = 0
    before: dict[Key, State] = field(default_factory=dict)
    after: dict[Key, State] = field(default_factory=dict)
    versions: dict[Key, int] = field(default_factory=dict)
    chats: dict[UUID, Chat] = field(default_factory=dict)

    @property
    def changed(self) -> list[Row]:
        return [row for row in self.rows if row.is_changed]


@dataclass(frozen=True)
class Done:
    """What was chosen before, and the batch of revisions that moved memories (None: none moved)."""

    batch: uuid.UUID | None
    scope: str
    timeline: str


def plan(user: User, character: Character, scope: str, timeline: str) -> Plan:
    """What this choice would move or copy, by file."""
    return _Planner(user, character, MemoryScope(character=character, scope=scope, timeline=timeline)).plan()


def choose(user: User, character: Character, scope: str, timeline: str, *, divides: bool = True) -> Done:
    """Make this choice; with `divides` what is there already moves along. ValueError with a finished sentence."""
    new = MemoryScope(character=character, scope=scope, timeline=timeline)
    new.clean_fields(exclude=["character"])
    _check(user, character, new)
    old = scope_of(character)
    if (old.scope, old.timeline) == (scope, timeline):
        return Done(None, scope, timeline)
    batch = uuid.uuid4()
    with transaction.atomic():
        changed = _write(user, character, plan(user, character, scope, timeline), batch) if divides else 0
        _save(user, character, scope, timeline)
        activity.note(user, "changed", _words(new, changed), character=character)
    _show_line(user, character)
    return Done(batch if changed else None, old.scope, old.timeline)


def undo(user: User, character: Character, done: Done) -> None:
    """Take the choice back, and what it moved. ValueError while chats are read, or when a file was changed in other
    ways since."""
    check_not_read(user, character)
    with transaction.atomic():
        if done.batch is not None:
            editing.undo_batch(user, done.batch)
        _save(user, character, done.scope, done.timeline)
        activity.note(user, "changed", _("The choice of a memory was taken back."), character=character)
    _show_line(user, character)


def _show_line(user: User, character: Character) -> None:
    """The Data Bank file holds the line of the open chat by the new choice; the character in hand may know the old."""
    fresh = Character.objects.for_user(user).select_related("tavern__owner").get(pk=character.pk)
    lines.settle(user, fresh)


def _words(new: MemoryScope, changed: int) -> str:
    """What was chosen, for the log."""
    files = ngettext("%(n)d file changed.", "%(n)d files changed.", changed) % {"n": changed}
    if new.scope == MemoryScope.Scope.CHAT:
        return _("Chosen: one memory for each chat. %(files)s") % {"files": files}
    if is_divided(new):
        return _("Chosen: one memory, and each branch its own past. %(files)s") % {"files": files}
    return _("Chosen: one memory for all chats. %(files)s") % {"files": files}


def _save(user: User, character: Character, scope: str, timeline: str) -> None:
    rows = MemoryScope.objects.for_user(user)
    rows.update_or_create(character=character, defaults={"scope": scope, "timeline": timeline})


def _check(user: User, character: Character, new: MemoryScope) -> None:
    if share_of(character) is not None:
        raise ValueError(_("It remembers in another character’s file. End the sharing first; nothing was changed."))
    shares = MemoryShare.objects.for_user(user).filter(file__character=character)
    if is_divided(new) and shares.exists():
        raise ValueError(_("Others share this memory, so it cannot be divided. End the sharing first."))
    check_not_read(user, character)


def _write(user: User, character: Character, plan: Plan, batch: uuid.UUID) -> int:
    changed = 0
    for row in plan.changed:
        key = row.chat.pk if row.chat else None
        file = file_for(character, row.chat)
        reason = _reason(character, row, plan)
        before = plan.before.get(key) or file_state.dump(file)
        version = plan.versions.get(key, 0)
        after = plan.after[key]
        scope_files.write(file, before, after, reason=reason, author=user, batch=batch, expected_version=version)
        changed += 1
    return changed


def _reason(character: Character, row: Row, plan: Plan) -> str:
    if not is_divided(plan.chosen):
        return _("Memories of single chats put together")
    if row.chat is None:
        return _("Memories divided among chats and branches")
    return _("Memories of this chat taken over from %(name)s") % {"name": character.name}


class _Planner:
    """One look at all files of a character."""

    def __init__(self, user: User, character: Character, new: MemoryScope) -> None:
        self.user, self.character, self.new = user, character, new
        self.old = scope_of(character)
        files = list(MemoryFile.objects.for_user(user).filter(character=character))
        states = file_state.dump_all(user, files)
        self.states: dict[Key, State] = {file.chat_id: states[file.pk] for file in files}
        self.versions: dict[Key, int] = {file.chat_id: file.version for file in files}
        rows = scope_sources.chats_of(user, character).select_related("parent")
        self.chats: dict[UUID, Chat] = {chat.pk: chat for chat in rows}
        self.family: Family = scope_sources.family_of(user, character)
        self.sources: Mapping[str, Source] = scope_sources.sources_of(user, self.states.values())
        self.mixed = self.doubled = 0

    def plan(self) -> Plan:
        after = {key: dict(state) for key, state in self.states.items()}
        rows: dict[Key, Row] = {None: Row(None)}
        for source_key, target_key, ids in self._ways():
            known = scope_state.keys(after.get(target_key, EMPTY))
            blocks = scope_state.copied(self.states[source_key], ids, known)
            count = sum(1 for _one in scope_state.facts({"blocks": blocks}))
            self.doubled += len(ids) - count
            after[target_key] = scope_state.with_blocks(after.get(target_key, self._empty()), blocks)
            self._row(rows, target_key).gets += count
            if source_key is None:
                after[None] = scope_state.without(after[None], ids)
                rows[None].loses += len(ids)
        self._inherit(after, rows)
        for key in after:
            row = self._row(rows, key)
            row.holds = sum(1 for _one in scope_state.facts(after[key]))
        in_order = sorted(rows.values(), key=lambda row: (row.chat is not None, row.chat.name if row.chat else ""))
        used = [row for row in in_order if row.chat is None or row.is_changed or self._is_used(row.chat.pk)]
        return Plan(self.new, used, self.mixed, self.doubled, self.states, after, self.versions, self.chats)

    def _row(self, rows: dict[Key, Row], key: Key) -> Row:
        return rows.setdefault(key, Row(self._chat(key) if key else None))

    def _chat(self, key: UUID) -> Chat:
        return self.chats[key]

    def _empty(self) -> State:
        """A new file is written as the character's is."""
        form = {name: self.states.get(None, EMPTY)[name] for name in scope_files.FORM}
        return {**EMPTY, **form}

    def _ways(self) -> Iterator[tuple[Key, Key, set[str]]]:
        """(from, to, bullets): what leaves the character's file, and what is fetched from files no longer in use."""
        for key, state in self.states.items():
            is_fetched = key is not None and self._was_used(key) and not self._is_used(key)
            if key is not None and not is_fetched:
                continue
            ways: dict[Key, set[str]] = {}
            for memory in scope_state.facts(state):
                ways.setdefault(self._target(self.sources[memory["id"]], count=key is None), set()).add(memory["id"])
            yield from ((key, target, ids) for target, ids in ways.items() if target != key)

    def _target(self, source: Source, *, count: bool) -> Key:
        """The file in which a memory belongs by the new choice."""
        if not is_divided(self.new) or not source.parts:
            return None
        home = self.family.home(source)
        if home is None and count and any(self._is_used(part.chat) for part in source.parts):
            self.mixed += 1
        return home if home is not None and self._is_used(home) else None

    def _inherit(self, after: dict[Key, State], rows: dict[Key, Row]) -> None:
        """Branches that have a memory now know what came before their fork."""
        if not is_divided(self.new):
            return
        for key in [key for key in after if key and key in self.family.forks and self._is_used(key)]:
            for source_key, state in self.states.items():
                if source_key is not None and not self._was_used(source_key):
                    continue
                ids = {memory["id"] for memory in scope_state.facts(state) if self._is_inherited(key, memory["id"])}
                blocks = scope_state.copied(state, ids, scope_state.keys(after[key]))
                after[key] = scope_state.with_blocks(after[key], blocks)
                self._row(rows, key).inherited += sum(1 for _one in scope_state.facts({"blocks": blocks}))

    def _is_inherited(self, key: UUID, memory: str) -> bool:
        source = self.sources[memory]
        if not self.family.knows(key, source):
            return False
        line = self.family.line(key)
        is_of_line = bool(source.parts) and all(part.chat in line for part in source.parts)
        return self.new.scope == MemoryScope.Scope.ALL or is_of_line

    def _is_used(self, key: UUID) -> bool:
        return key in self.chats and has_own_file(self.new, self.character, self.chats[key])

    def _was_used(self, key: UUID) -> bool:
        return key in self.chats and has_own_file(self.old, self.character, self.chats[key])
