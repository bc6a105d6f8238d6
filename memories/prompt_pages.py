"""What the pages about prompts show; the person comes first."""

from __future__ import annotations

from dataclasses import dataclass, field

from accounts.models import User
from memories import own_prompts, prompt_check, prompt_words
from memories.models import PromptOverride
from memories.own_prompts import PromptInForce, default_of, text_in_force
from memories.prompt_check import Problem, braced
from memories.prompt_merge import Merge, merge
from memories.prompts import BALANCED, STRATEGIES, PromptText
from memories.word_diff import Piece, Row, line_rows, word_diff
from sync.models import Character

CAN_TRY = ("extraction", "extraction_small", "extraction_group", *STRATEGIES, "conversion")


@dataclass(frozen=True)
class Entry:
    """A prompt in a list: `state` is default, yours or changed (the default is another one by now)."""

    name: str
    label: str
    state: str
    what_for: str = ""
    characters: list[Character] = field(default_factory=list)

    @property
    def is_custom(self) -> bool:
        return self.name.startswith(own_prompts.CUSTOM)


@dataclass(frozen=True)
class Group:
    """Prompts for one purpose."""

    label: str
    entries: list[Entry]


@dataclass(frozen=True)
class Variable:
    """One line of the palette."""

    name: str
    meaning: str
    example: str
    uses: int

    @property
    def code(self) -> str:
        return braced(self.name)


@dataclass(frozen=True)
class PromptPage:
    """One prompt, for everything or for one character. `own` is the active own text of exactly this place."""

    name: str
    title: str
    character: Character | None
    in_force: PromptInForce
    own: PromptOverride | None
    default: PromptText | None
    groups: list[Group]
    versions: int
    next_number: int

    @property
    def is_custom(self) -> bool:
        return self.default is None

    @property
    def has_changed(self) -> bool:
        return self.own is not None and own_prompts.has_changed_default(self.own)

    @property
    def can_try(self) -> bool:
        return self.name in CAN_TRY or self.is_custom

    @property
    def what_for(self) -> str:
        return str(prompt_words.WHAT_FOR.get(self.name, ""))

    @property
    def merge(self) -> Merge | None:
        """Where the person began, their text, and the default of today; None while there is nothing to compare."""
        if self.own is None or self.default is None:
            return None
        return merge(self.own.base_text, self.own.text, self.default.text)

    @property
    def query(self) -> str:
        """What keeps the chosen character in an address."""
        return f"?character={self.character.pk}" if self.character else ""

    @property
    def users(self) -> list[Character]:
        """Characters with their own text of this prompt."""
        return next((e.characters for group in self.groups for e in group.entries if e.name == self.name), [])


def reference_of(name: str) -> str:
    """The shipped text; that of the balanced strategy for a person's own."""
    default = default_of(name) or default_of(BALANCED)
    return default.text if default else ""


def groups(user: User) -> list[Group]:
    """All prompts by purpose, each with its state: two queries."""
    rows = own_prompts.own_texts(user)
    custom = own_prompts.strategies(user)
    found = []
    for label, names in prompt_words.GROUPS:
        entries = [_entry(name, "", rows) for name in names if default_of(name)]
        if BALANCED in names:
            entries += [_entry(one.name, one.title, rows) for one in custom]
        found.append(Group(str(label), entries))
    return [group for group in found if group.entries]


def _entry(name: str, title: str, rows: list[PromptOverride]) -> Entry:
    own = [row for row in rows if row.name == name]
    state = "yours" if any(row.character_id is None for row in own) else "default"
    if any(own_prompts.has_changed_default(row) for row in own):
        state = "changed"
    characters = own_prompts.characters_with_own(own, name)
    what_for = str(prompt_words.WHAT_FOR.get(name, ""))
    return Entry(name, prompt_words.short_name(name, title), state, what_for, characters)


def prompt_page(user: User, name: str, character: Character | None) -> PromptPage:
    """Everything around one prompt. NoSuchPrompt for an unknown name."""
    in_force = text_in_force(user, name, character)
    title = next((one.title for one in own_prompts.strategies(user) if one.name == name), "")
    newest = PromptOverride.objects.for_user(user).filter(name=name).order_by("-number").first()
    return PromptPage(
        name=name,
        title=prompt_words.long_name(name, title),
        character=character,
        in_force=in_force,
        own=own_prompts.own_of(user, name, character),
        default=default_of(name),
        groups=groups(user),
        versions=own_prompts.versions(user, name, character).count(),
        next_number=newest.number + 1 if newest else 1,
    )


def palette(name: str, text: str) -> list[Variable]:
    """The variables that can stand in this prompt, and how often they do in `text`."""
    names = prompt_check.variables(name, reference_of(name))
    uses = prompt_check.counts(text, names)
    words = {one: prompt_words.MEANING.get(one, ("", "")) for one in names}
    return [Variable(one, str(meaning), str(example), uses[one]) for one, (meaning, example) in words.items()]


def problems(name: str, text: str) -> list[Problem]:
    """What is wrong with a text for this prompt."""
    return prompt_check.check(name, text, reference_of(name))


def needs(name: str) -> int:
    """How many variables this prompt cannot do without."""
    return len(prompt_check.needed(name, reference_of(name)))


def compared(old: str, new: str) -> list[Row]:
    """Two texts line by line, the words that differ marked."""
    return line_rows(old.split("\n"), new.split("\n"))


def pieces_of(base: str, text: str) -> list[Piece]:
    """A place's text with the words marked that `base` did not have."""
    return word_diff(base.strip("\n"), text.strip("\n"))[1] if text.strip() else []


def lost_pieces(base: str, *texts: str) -> list[Piece]:
    """The text where a person began, with the words marked that one of `texts` no longer has."""
    base = base.strip("\n")
    if not base:
        return []
    kept = next((text for text in texts if text.strip("\n") != base), base)
    return word_diff(base, kept.strip("\n"))[0]


def characters(user: User) -> list[Character]:
    """Whom a text can be for, by name."""
    rows = Character.objects.for_user(user).filter(gone_at=None)
    return sorted(rows.only("pk", "name", "avatar", "portrait_hash"), key=lambda one: one.name.casefold())
