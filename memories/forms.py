"""Forms of the memory pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memories.models import MemoryFile

MAX_BULLET = 4_000
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


class FileForm(forms.ModelForm):
    """Name and layout of a character's memory file. The separator stands on a line of its own between blocks."""

    separator = forms.CharField(
        label=_("Own separator"),
        required=False,
        max_length=70,
        widget=forms.TextInput(attrs={"class": "input mono", "placeholder": "---"}),
        help_text=_("Only for the last layout: the custom chunk boundary that is set in Vector Storage."),
    )

    class Meta:
        model = MemoryFile
        fields = ("name", "layout", "separator")
        labels = {"name": _("File name"), "layout": _("How it is written")}
        widgets = {
            "name": forms.TextInput(attrs={"class": "input mono"}),
            "layout": forms.Select(attrs={"class": "input"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.found = self.instance.separator
        self.initial["separator"] = self.found.strip()

    def clean_separator(self) -> str:
        """As it was found when its words are the same; else on a line of its own."""
        text = str(self.cleaned_data["separator"]).strip()
        if "<" in text:
            raise forms.ValidationError(_("A separator cannot hold “<”: that is how blocks begin."))
        if self.data.get("layout") == MemoryFile.Layout.CUSTOM and not text:
            raise forms.ValidationError(_("Type the separator, for example ---."))
        if text == self.found.strip():
            return self.found
        return f"\n\n{text}\n\n" if text else "\n\n"

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).strip()
        if not name or "/" in name or "\\" in name or name.startswith("."):
            raise forms.ValidationError(_("A file name has no slashes and does not begin with a dot."))
        return name
