"""The forms of extraction: a person's choices, and what one character or group has of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.forms.boundfield import BoundField
from django.utils.functional import Promise
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from accounts.wording import number
from memories.choices import CLOCK, EACH, LIMITS, TOGETHER, USUAL, Choices
from memories.models import ExtractionSettings

Text = str | Promise
LONGEST_KEPT = 90  # days


@dataclass(frozen=True)
class Wording:
    """How a choice is asked: its name, what it means, and what its number counts."""

    label: Text
    what: Text
    unit: Text = ""


@dataclass(frozen=True)
class Section:
    """Choices that belong together."""

    key: str
    title: Text
    names: tuple[str, ...]


MESSAGES, MINUTES, TOKENS, DOLLARS = _("messages"), _("minutes"), _("tokens"), _("$ a day")
WORDINGS: dict[str, Wording] = {
    "is_automatic": Wording(
        _("Read by itself"),
        _("New messages become memories without a click, also while no page of CharMem is open."),
    ),
    "interval": Wording(
        _("Extract after every"),
        _("Replies of characters in one chat. More of them give the model more to judge by, fewer come sooner."),
        MESSAGES,
    ),
    "lag": Wording(
        _("Then wait for so many more"),
        _("Waits for further replies on top, so that a scene may come to its end."),
        MESSAGES,
    ),
    "cooldown_minutes": Wording(
        _("At least between two readings"),
        _("Of one chat. Messages pile up meanwhile and are read together. What you start yourself never waits."),
        MINUTES,
    ),
    "leaves_newest": Wording(
        _("Leave the newest messages alone"),
        _("They may still be swiped or edited. Extract, pressed by you, reads them all the same."),
    ),
    "newest": Wording(_("How many of them"), _("Counted from the end of the chat."), MESSAGES),
    "reads_backlog": Wording(
        _("Begin long chats unasked too"),
        _("Otherwise a chat with more than 200 unread messages waits for your first Extract, because it costs more."),
    ),
    "idle_minutes": Wording(
        _("Only when nobody has written for"),
        _("In any chat, so that one graphics card can serve chat and extraction in turn. 0 reads at once."),
        MINUTES,
    ),
    "quiet_from": Wording(_("Quiet from"), _("By your clock. Nothing is read by itself until the hour below.")),
    "quiet_until": Wording(_("Quiet until"), _("On the next morning when it is earlier than the hour above.")),
    "daily_budget": Wording(
        _("Daily budget"),
        _("For what is read by itself; it goes on the next day. Empty: no limit here."),
        DOLLARS,
    ),
    "messages_per_call": Wording(
        _("Messages in one call"),
        _("More than that is read in several calls. It matters only when messages have piled up."),
        MESSAGES,
    ),
    "response_tokens": Wording(
        _("Length of an answer"),
        _("At most, for each call. Models that think aloud need 2,000 or more."),
        TOKENS,
    ),
    "merge_chunks": Wording(
        _("One block for all calls of a reading"),
        _("Otherwise each call keeps a block of its own, which stays small enough to be consolidated."),
    ),
    "asks_present_only": Wording(
        _("Ask a member only about scenes it took part in"),
        _("Stretches of a group’s chat in which it neither spoke nor was spoken of are left out for it."),
    ),
    "group_calls": Wording(
        _("Calls for a group"),
        _("One for each member judges best. One for all of them costs less."),
    ),
    "is_verbose": Wording(
        _("Keep prompts and answers"),
        _("The activity log then shows what was sent and what came back, word for word."),
    ),
    "keep_days": Wording(_("Keep them for"), _("After that they are erased; the log itself stays."), _("days")),
}
SECTIONS = (
    Section("when", _("When a chat is read"), ("is_automatic", "interval", "lag", "cooldown_minutes")),
    Section("alone", _("What is left alone"), ("leaves_newest", "newest", "reads_backlog")),
    Section("rest", _("When it rests"), ("idle_minutes", "quiet_from", "quiet_until", "daily_budget")),
    Section("how", _("How it is read"), ("messages_per_call", "response_tokens", "merge_chunks")),
    Section("groups", _("Groups"), ("asks_present_only", "group_calls")),
)
LOG = Section("log", _("The activity log"), ("is_verbose", "keep_days"))
GROUP_CALLS = ((EACH, _("One for each member")), (TOGETHER, _("One for all together")))


@dataclass(frozen=True)
class Row:
    """One choice on a page. `own` is the tick for a value of one's own, `general` the person's value in words."""

    name: str
    field: BoundField
    wording: Wording
    own: BoundField | None = None
    general: str = ""
    is_own: bool = False

    @property
    def limits(self) -> tuple[int, int] | None:
        """The smallest and the largest number."""
        return (1, LONGEST_KEPT) if self.name == "keep_days" else LIMITS.get(self.name)


class SettingsForm(forms.Form):
    """Everything that a person chooses for all characters and groups."""

    sections = (*SECTIONS, LOG)

    def __init__(self, data: Any = None, *, found: ExtractionSettings) -> None:
        self.names = tuple(name for section in self.sections for name in section.names)
        super().__init__(data, initial={name: getattr(found, name) for name in self.names})
        for name in self.names:
            self.fields[name] = field_for(name)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        _check_quiet_hours(self, found)
        return found

    def rows(self) -> Iterator[tuple[Section, list[Row]]]:
        for section in self.sections:
            yield section, [Row(name, self[name], WORDINGS[name]) for name in section.names]


class OwnForm(forms.Form):
    """What one character or group has of its own: a value counts only when its tick is set."""

    def __init__(
        self, data: Any = None, *, general: Choices, own: Mapping[str, Any], in_force: Choices, is_group: bool
    ) -> None:
        self.sections = SECTIONS if is_group else tuple(one for one in SECTIONS if one.key != "groups")
        self.names = tuple(name for section in self.sections for name in section.names)
        self.general, self.own = general, own
        initial = {name: getattr(in_force, name) for name in self.names}
        super().__init__(data, initial=initial | {f"own_{name}": name in own for name in self.names})
        for name in self.names:
            self.fields[name] = field_for(name)
            self.fields[name].required = False
            self.fields[f"own_{name}"] = forms.BooleanField(
                required=False,
                label=_("own value"),
                widget=forms.CheckboxInput({"class": "check", "aria-describedby": f"id_{name}_label"}),
            )

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        for name in self.names:
            if not found.get(f"own_{name}"):
                self.errors.pop(name, None)  # nobody asked for this value
            elif found.get(name) is None and name not in self.errors and name != "daily_budget":
                self.add_error(name, _now("Type a value, or take the tick away."))
        in_force = {name: getattr(self.general, name) for name in self.names} | self.values
        _check_quiet_hours(self, in_force)
        return found

    @property
    def values(self) -> dict[str, Any]:
        """What is to be its own: {name: value}."""
        found = self.cleaned_data
        return {name: found.get(name) for name in self.names if found.get(f"own_{name}")}

    def rows(self) -> Iterator[tuple[Section, list[Row]]]:
        for section in self.sections:
            yield section, [self._row(name) for name in section.names]

    def _row(self, name: str) -> Row:
        general = in_words(name, getattr(self.general, name))
        return Row(name, self[name], WORDINGS[name], self[f"own_{name}"], general, name in self.own)


def field_for(name: str) -> forms.Field:
    """The field that fits a choice: a tick, a number within its limits, an hour, an amount or one of several."""
    usual = getattr(USUAL, name, None)
    aria = {"aria-labelledby": f"id_{name}_label"}
    if name == "keep_days":
        return _number(1, LONGEST_KEPT, aria)
    if name == "is_verbose" or isinstance(usual, bool):
        return forms.BooleanField(required=False, widget=forms.CheckboxInput({"role": "switch", **aria}))
    if isinstance(usual, int):
        return _number(*LIMITS[name], aria)
    if name == "group_calls":
        return forms.ChoiceField(choices=GROUP_CALLS, widget=forms.Select({"class": "input", **aria}))
    if name == "daily_budget":
        amount = forms.NumberInput({"class": "input num", "step": "0.01", "min": "0", "inputmode": "decimal", **aria})
        return forms.DecimalField(required=False, min_value=0, max_digits=12, decimal_places=4, widget=amount)
    is_hour = RegexValidator(rf"^(?:{CLOCK.pattern})$", _("An hour looks like 23:00."))
    clock = forms.TextInput({"class": "input num", "type": "time", **aria})
    return forms.CharField(required=False, max_length=5, validators=[is_hour], widget=clock)


def _number(low: int, high: int, aria: Mapping[str, str]) -> forms.IntegerField:
    widget = forms.NumberInput({"class": "input num", "inputmode": "numeric", **aria})
    return forms.IntegerField(min_value=low, max_value=high, widget=widget)


def _check_quiet_hours(form: forms.Form, found: Mapping[str, Any]) -> None:
    begin, end = found.get("quiet_from"), found.get("quiet_until")
    if bool(begin) == bool(end) or {"quiet_from", "quiet_until"} & form.errors.keys():
        return
    missing = "quiet_until" if begin else "quiet_from"
    form.add_error(missing, ValidationError(_now("Quiet hours need both hours, or neither.")))


def in_words(name: str, value: Any) -> str:
    """A value as a page says it beside another one."""
    if isinstance(value, bool):
        return _now("on") if value else _now("off")
    if value in (None, ""):
        return _now("none")
    if name == "group_calls":
        return str(dict(GROUP_CALLS)[value])
    unit = WORDINGS[name].unit
    shown = number(value) if isinstance(value, int) else str(value)
    return f"{shown} {unit}" if unit else shown
