"""Forms of Settings → Models → Built-in model. The verbs in builtin.py and model_download.py check and write."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers import builtin
from providers.builtin import LEAST_CONTEXT, MOST_CONTEXT, Wish
from providers.local_server import usual_threads
from providers.models import BuiltinModel

MOST_IDLE_MINUTES = 24 * 60


def _number(least: int, most: int) -> forms.NumberInput:
    return forms.NumberInput({"class": "input", "min": str(least), "max": str(most)})


def _text(**attrs: str) -> forms.TextInput:
    return forms.TextInput({"class": "input", "autocomplete": "off", "spellcheck": "false", **attrs})


class BuiltinForm(forms.Form):
    """Which file, and how it runs."""

    file_name = forms.CharField(required=False, max_length=200)
    context_tokens = forms.IntegerField(
        label=gettext_lazy("Context window"),
        help_text=gettext_lazy("Tokens. Chunks are made to fit; a larger window takes more memory."),
        widget=_number(LEAST_CONTEXT, MOST_CONTEXT),
    )
    threads = forms.IntegerField(
        label=gettext_lazy("Threads"), required=False, min_value=1, widget=_number(1, builtin.cores())
    )
    idle_minutes = forms.IntegerField(
        label=gettext_lazy("Leave memory after"),
        help_text=gettext_lazy("Minutes without a question. The next question loads it again."),
        min_value=1,
        max_value=MOST_IDLE_MINUTES,
        widget=_number(1, MOST_IDLE_MINUTES),
    )

    def __init__(self, row: BuiltinModel, data: Any = None) -> None:
        initial = {"file_name": row.file_name, "context_tokens": row.context_tokens, "threads": row.threads}
        super().__init__(data, initial={**initial, "idle_minutes": max(1, row.idle_seconds // 60)})
        usual = {"n": usual_threads(), "cores": builtin.cores()}
        self.fields["threads"].help_text = _("Of %(cores)d cores. Empty for the usual number, %(n)d.") % usual

    def wish(self) -> Wish:
        """What was chosen, for the verb."""
        data = self.cleaned_data
        return Wish(data["file_name"], data["threads"], data["context_tokens"], data["idle_minutes"] * 60)


class DownloadForm(forms.Form):
    """Where a model is, and the checksum by which it is known."""

    url = forms.CharField(
        label=gettext_lazy("Address of the file"),
        max_length=2000,
        help_text=gettext_lazy("https, of the .gguf file itself."),
        widget=_text(inputmode="url", placeholder="https://"),
    )
    sha256 = forms.CharField(
        label=gettext_lazy("SHA-256"),
        max_length=80,
        help_text=gettext_lazy("64 digits and letters, from the page about the file. Only exactly this file is taken."),
        widget=_text(),
    )
    name = forms.CharField(
        label=gettext_lazy("Name here"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Empty: the name in the address."),
        widget=_text(placeholder=".gguf"),
    )
