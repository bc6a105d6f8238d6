"""Forms of the memory pages."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memories.draft_editor import DraftEditor
from memories.draft_view import DraftBlock, DraftMemory
from memories.memory_filters import topic_parts
from memories.models import MemoryFile

MAX_BULLET = 4_000
MOMENT = r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?"
_NO_BRACKETS = str.maketrans("[]", "()")


class BulletForm(forms.Form):
    """The wording of one memory: one line, however long."""

    text = forms.CharField(
        label=_("Memory"),
        max_length=MAX_BULLET,
        widget=forms.Textarea(attrs={"rows": 3, "class": "edit-text", "autofocus": True, "data-enter-saves": ""}),
    )

    def clean_text(self) -> str:
        return " ".join(str(self.cleaned_data["text"]).split())


class BlockForm(forms.Form):
    """A new block written by hand: a topic, and one memory a line."""

    topic = forms.CharField(label=_("Topic"), max_length=200, widget=forms.TextInput(attrs={"class": "input"}))
    bullets = forms.CharField(
        label=_("Memories, one a line"),
        max_length=40_000,
        widget=forms.Textarea(attrs={"rows": 6, "class": "input"}),
        help_text=_("Facts in the third person work best: “Flux has promised Alex not to climb the clock tower.”"),
    )

    def clean_bullets(self) -> list[str]:
        lines = (line.strip().lstrip("-*•").strip() for line in str(self.cleaned_data["bullets"]).splitlines())
        found = [line for line in lines if line]
        if not found:
            raise forms.ValidationError(_("Write at least one memory."))
        return found

    def lines(self, name: str) -> list[str]:
        """The bullets of the block, its topic tag first ("[Flux — The clock tower]", spec/charmemory §2.1)."""
        topic = str(self.cleaned_data["topic"]).translate(_NO_BRACKETS)
        return [f"[{name.translate(_NO_BRACKETS)} — {topic}]", *self.cleaned_data["bullets"]]


class LabelForm(forms.Form):
    """Headline and facts of a block: its topic tag ("[Wren, Flux — The tower]"), the label of its chat, its date."""

    topic = forms.CharField(label=_("Topic"), max_length=200, required=False)
    people = forms.CharField(
        label=_("Who takes part"), max_length=200, required=False, help_text=_("Names with commas, for the topic tag.")
    )
    label = forms.CharField(
        label=_("Label"), max_length=500, help_text=_("Usually the name of the chat that the block came from.")
    )
    date = forms.CharField(
        label=_("Date"), max_length=40, required=False, help_text=_("For example 2026-03-01 18:00, or empty.")
    )

    def __init__(self, data: Any, *, block: DraftBlock, topic: DraftMemory | None, name: str) -> None:
        who, what = topic_parts(topic.text) if topic else (name, "")
        initial = {"topic": what, "people": who, "label": block.label, "date": block.date}
        super().__init__(data, initial=initial)
        self.block, self.tag, self.name = block, topic, name
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    def clean_date(self) -> str:
        date = " ".join(str(self.cleaned_data["date"]).split())
        if date and not re.fullmatch(rf"{MOMENT}( to {MOMENT})?", date):
            raise forms.ValidationError(_("Write the date as 2026-03-01 18:00, or two of them with “to” between them."))
        return date

    def brief(self) -> str:
        """The headline, for the label of the step."""
        return str(self.cleaned_data["topic"] or self.cleaned_data["label"])[:80]

    def write(self, editor: DraftEditor) -> None:
        """Bring the block of a draft to what the form says."""
        words = self.cleaned_data
        editor.set_block(self.block.id, label=words["label"], date=words["date"])
        topic, people = (str(words[name]).translate(_NO_BRACKETS).strip() for name in ("topic", "people"))
        tag = f"[{people or self.name.translate(_NO_BRACKETS)} — {topic}]"
        if self.tag is None and topic:
            editor.add_memory(self.block.id, tag, 0)
        elif self.tag is not None and not topic:
            editor.delete_memories([self.tag.id])
        elif self.tag is not None and topic_parts(self.tag.text) != topic_parts(tag):
            editor.set_text(self.tag.id, tag)


class FileForm(forms.ModelForm):
    """The name of a character's memory file."""

    class Meta:
        model = MemoryFile
        fields = ("name",)
        labels = {"name": _("File name")}
        widgets = {"name": forms.TextInput(attrs={"class": "input mono"})}

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).strip()
        if not name or "/" in name or "\\" in name or name.startswith("."):
            raise forms.ValidationError(_("A file name has no slashes and does not begin with a dot."))
        return name
