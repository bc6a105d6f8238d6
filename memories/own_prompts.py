"""Which text a prompt has for a person: a character's own before the person's own before the shipped one.

"Use the default" is stored as the absence of an active row, so an improved default arrives by itself. Versions are
counted per prompt, over all characters, so that "yours 3" on a block names one text.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Max, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from memories.blocks import clean_loose
from memories.models import PromptOverride
from memories.prompts import BALANCED, VERSIONS, PromptText, prompt_text
from sync.models import Character

CUSTOM = "consolidation:"  # a strategy of a person's own: this and an id
LONGEST = 100_000  # characters of one prompt


class NoSuchPrompt(LookupError):
    """No prompt has this name. The message is a finished sentence."""

    def __init__(self, name: str) -> None:
        super().__init__(_("There is no prompt called %(name)s any more.") % {"name": name})


@dataclass(frozen=True)
class PromptInForce:
    """The text that goes to a model. `version` is what a block remembers: "extraction 1.0" or "yours 3"."""

    name: str
    version: str
    text: str
    is_own: bool
    override: PromptOverride | None = None

    @property
    def template(self) -> PromptText:
        """As memories/extraction_prompt.py takes it."""
        name, _space, number = self.version.rpartition(" ")
        return PromptText(name, number, self.text)


@dataclass(frozen=True)
class Strategy:
    """A consolidation strategy that a person made."""

    name: str
    title: str


def text_in_force(user: User, name: str, character: Character | None = None) -> PromptInForce:
    """The text of the prompt `name`, for one character or for everything. NoSuchPrompt for an unknown name."""
    found = active(user, name, character)
    if found is not None:
        return PromptInForce(name, f"yours {found.number}", found.text, True, found)
    default = default_of(name)
    if default is None:
        raise NoSuchPrompt(name)
    return PromptInForce(name, f"{default.name} {default.version}", default.text, False)


def active(user: User, name: str, character: Character | None = None) -> PromptOverride | None:
    """The person's own text in force: the character's when there is one, else the general one, else None."""
    rows = _rows(user, name).filter(is_active=True).filter(Q(character=None) | Q(character=character))
    return min(rows, key=lambda row: row.character_id is None, default=None)


def own_of(user: User, name: str, character: Character | None) -> PromptOverride | None:
    """The active own text of exactly this place (one character, or everything)."""
    return _rows(user, name).filter(is_active=True, character=character).first()


def default_of(name: str) -> PromptText | None:
    """The shipped text; None for a person's own strategy and for a prompt that is not there yet."""
    return prompt_text(name) if name in VERSIONS else None


def exists(user: User, name: str) -> bool:
    """Whether the person can use a prompt of this name."""
    return name in VERSIONS or (name.startswith(CUSTOM) and own_of(user, name, None) is not None)


def versions(user: User, name: str, character: Character | None = None) -> QuerySet[PromptOverride]:
    """All texts that the person saved in this place, newest first."""
    return _rows(user, name).filter(character=character)


def own_texts(user: User) -> list[PromptOverride]:
    """All active own texts of a person, with their characters: one query for a list of prompts."""
    return list(PromptOverride.objects.for_user(user).filter(is_active=True).select_related("character"))


def has_changed_default(row: PromptOverride) -> bool:
    """Whether the shipped text differs from the one that the person began from, and they did not decide yet."""
    default = default_of(row.name)
    if default is None or default.version in (row.base_version, row.settled_version):
        return False
    return default.text != row.base_text


def save_text(
    user: User, name: str, text: str, character: Character | None = None, *, is_merged: bool = False
) -> PromptOverride:
    """Keep `text` as a new version and put it in force; the same text again makes no version.

    `is_merged`: the newest default was looked at while writing, so the text rests on that one from now on.
    ValueError for an empty or endless text, NoSuchPrompt for an unknown name.
    """
    text = _checked(text)
    if not exists(user, name):
        raise NoSuchPrompt(name)
    before = own_of(user, name, character)
    if before is not None and before.text == text and not is_merged:
        return before
    default = default_of(name)
    fields = {"base_version": default.version, "base_text": default.text} if default else {}
    if before is not None and not is_merged:
        fields = {key: getattr(before, key) for key in ("base_version", "base_text", "settled_version")}
    return _put(user, name, text, character, title=_title_of(user, name), **fields)


def activate(user: User, row: PromptOverride) -> PromptOverride:
    """Put an earlier version back in force, under its own number."""
    with transaction.atomic():
        versions(user, row.name, row.character).filter(is_active=True).exclude(pk=row.pk).update(is_active=False)
        _rows(user, row.name).filter(pk=row.pk).update(is_active=True)
    row.is_active = True
    return row


def use_default(user: User, name: str, character: Character | None = None) -> bool:
    """No own text in force in this place any more; the versions stay. False when there was none.

    ValueError for a strategy of the person's own, which has no default.
    """
    if character is None and default_of(name) is None:
        raise ValueError(_("This strategy is your own: there is no default for it. Delete it instead."))
    return bool(versions(user, name, character).filter(is_active=True).update(is_active=False))


def keep_mine(user: User, row: PromptOverride) -> None:
    """The person has seen the newest default and keeps their text."""
    default = default_of(row.name)
    if default is not None:
        _rows(user, row.name).filter(pk=row.pk).update(settled_version=default.version)


def strategies(user: User) -> list[Strategy]:
    """The person's own consolidation strategies by title."""
    rows = PromptOverride.objects.for_user(user).filter(name__startswith=CUSTOM, character=None, is_active=True)
    return [Strategy(*row) for row in rows.order_by("title", "name").values_list("name", "title")]


def create_strategy(user: User, title: str, text: str = "") -> Strategy:
    """A new strategy, which begins as the balanced one unless `text` is given. ValueError for a bad title or text."""
    title = _checked_title(user, title)
    start = text or text_in_force(user, BALANCED).text
    name = f"{CUSTOM}{uuid.uuid4().hex[:12]}"
    _put(user, name, _checked(start), None, title=title)
    return Strategy(name, title)


def rename_strategy(user: User, name: str, title: str) -> None:
    """Another title for a strategy. ValueError for a bad title."""
    if not name.startswith(CUSTOM):
        raise ValueError(_("This prompt comes with CharMem and keeps its name."))
    _rows(user, name).update(title=_checked_title(user, title, but=name))


def delete_strategy(user: User, name: str) -> None:
    """Offer a strategy no longer. Its texts are kept for `bring_back`, and what was made with it stays."""
    if not name.startswith(CUSTOM):
        raise ValueError(_("This prompt comes with CharMem and cannot be deleted."))
    _rows(user, name).filter(is_active=True).update(is_active=False)


def bring_back(user: User, name: str) -> PromptOverride:
    """Offer a deleted strategy again, with its newest text. NoSuchPrompt when there never was one."""
    newest = versions(user, name).first() if name.startswith(CUSTOM) else None
    if newest is None:
        raise NoSuchPrompt(name)
    return activate(user, newest)


def _rows(user: User, name: str) -> QuerySet[PromptOverride]:
    return PromptOverride.objects.for_user(user).filter(name=name)


def _put(user: User, name: str, text: str, character: Character | None, **fields: str) -> PromptOverride:
    """One more version, in force. Two tabs at once get numbers one after the other."""
    for attempt in range(5):
        try:
            with transaction.atomic():
                versions(user, name, character).filter(is_active=True).update(is_active=False)
                last = _rows(user, name).order_by().aggregate(last=Max("number"))["last"] or 0
                return PromptOverride.objects.create(
                    owner=user, name=name, text=text, character=character, number=last + 1, **fields
                )
        except IntegrityError:
            if attempt == 4:
                raise
    raise AssertionError


def _title_of(user: User, name: str) -> str:
    return next(iter(_rows(user, name).values_list("title", flat=True)[:1]), "") if name.startswith(CUSTOM) else ""


def _checked(text: str) -> str:
    text = clean_loose(text.replace("\r\n", "\n")).strip()
    if not text:
        raise ValueError(_("A prompt needs some text."))
    if len(text) > LONGEST:
        raise ValueError(_("This text is longer than %(n)d characters.") % {"n": LONGEST})
    return text


def _checked_title(user: User, title: str, but: str = "") -> str:
    title = " ".join(clean_loose(title).split())
    if not title or len(title) > 100:
        raise ValueError(_("A strategy needs a name of at most 100 characters."))
    if any(one.title.casefold() == title.casefold() and one.name != but for one in strategies(user)):
        raise ValueError(_("You have a strategy with this name already."))
    return title


def characters_with_own(rows: Iterable[PromptOverride], name: str) -> list[Character]:
    """The characters that have their own text of a prompt, by name."""
    found = [row.character for row in rows if row.name == name and row.character is not None]
    return sorted(found, key=lambda one: one.name.casefold())
