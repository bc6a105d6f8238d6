"""The form of a file's layout."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from memories.blocks import Format
from memories.models import MemoryFile

ALL, ONLY_NEW = "all", "new"


class LayoutForm(forms.Form):
    """Layout, separator, prefix, and for which blocks. The separator stands on a line of its own between blocks."""

    layout = forms.ChoiceField(choices=MemoryFile.Layout.choices, widget=forms.RadioSelect)
    separator = forms.CharField(
        label=_("Own separator"),
        required=False,
        max_length=70,
        widget=forms.TextInput(attrs={"class": "input mono", "placeholder": "---"}),
        help_text=_("Only for the last layout: the custom chunk boundary that is set in Vector Storage."),
    )
    metadata = forms.BooleanField(required=False)
    scope = forms.ChoiceField(choices=[(ALL, ""), (ONLY_NEW, "")], required=False, widget=forms.RadioSelect)

    def __init__(self, data: Any = None, *, found: Format) -> None:
        initial = {
            "layout": found.layout,
            "separator": found.separator.strip(),
            "metadata": found.metadata,
            "scope": ALL,
        }
        super().__init__(data, initial=initial)
        self.found = found

    def clean_separator(self) -> str:
        """As it was found when its words are the same; else on a line of its own."""
        text = str(self.cleaned_data["separator"]).strip()
        if "<" in text:
            raise forms.ValidationError(_("A separator cannot hold “<”: that is how blocks begin."))
        if self.data.get("layout") == MemoryFile.Layout.CUSTOM and not text:
            raise forms.ValidationError(_("Type the separator, for example ---."))
        if text == self.found.separator.strip():
            return self.found.separator
        return f"\n\n{text}\n\n" if text else "\n\n"

    @property
    def chosen(self) -> Format:
        """The layout that the form asks for; the one that is in use while it is not filled in rightly."""
        if not self.is_bound or not self.is_valid():
            return self.found
        words = self.cleaned_data
        is_block = words["layout"] == MemoryFile.Layout.BLOCK
        return Format(words["layout"], words["separator"], bool(words["metadata"]) and not is_block)

    @property
    def only_new(self) -> bool:
        return self.is_bound and self.is_valid() and self.cleaned_data["scope"] == ONLY_NEW

    def value(self, name: str) -> Any:
        """What a field shows."""
        return self[name].value()
