"""Forms of Settings → Models. They check and clean; the verbs in connecting.py write."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from providers import addresses, extra_body, through, transport
from providers.abilities import abilities_of
from providers.catalogue import LOCAL_PORTS, Preset
from providers.connecting import Wish
from providers.models import Connection

MORE = ("temperature", "context_tokens", "max_parallel", "price_in", "price_out", "system_prompt")
LONGEST_JSON = 8000


def _input(**attrs: str) -> dict[str, str]:
    return {"class": "input", **attrs}


class ConnectionForm(forms.ModelForm):  # type: ignore[type-arg]
    """One connection. The key field is always empty: what was stored is never sent to a page."""

    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=4000,
        widget=forms.PasswordInput(_input(autocomplete="off", spellcheck="false")),
    )
    headers = forms.CharField(
        label=gettext_lazy("Extra headers"),
        required=False,
        max_length=LONGEST_JSON,
        help_text=gettext_lazy("One on each line: Name: value"),
        widget=forms.Textarea(_input(rows="2", spellcheck="false")),
    )
    body = forms.CharField(
        label=gettext_lazy("Extra JSON body"),
        required=False,
        max_length=LONGEST_JSON,
        help_text=gettext_lazy(
            "Fields that this model understands, such as {"
            '"reasoning_effort": "low"}. Model, messages and token limits stay CharMem’s.'
        ),
        widget=forms.Textarea(_input(rows="2", spellcheck="false")),
    )

    class Meta:
        model = Connection
        fields = ("name", "base_url", "model", *MORE)
        labels = {
            "temperature": gettext_lazy("Temperature"),
            "max_parallel": gettext_lazy("Calls at once"),
            "price_in": gettext_lazy("Price of a million tokens in, $"),
            "price_out": gettext_lazy("Price of a million tokens out, $"),
        }
        help_texts = {
            "context_tokens": gettext_lazy("Tokens. Chunks are made to fit."),
            "system_prompt": gettext_lazy("Replaces CharMem’s own for this model. Usually empty."),
        }
        widgets = {
            "name": forms.TextInput(_input(autocomplete="off")),
            "base_url": forms.TextInput(_input(autocomplete="off", spellcheck="false", inputmode="url")),
            "model": forms.TextInput(_input(autocomplete="off", spellcheck="false", list="models")),
            "temperature": forms.NumberInput(_input(step="0.1", min="0", max="2")),
            "context_tokens": forms.NumberInput(_input(min="512")),
            "max_parallel": forms.NumberInput(_input(min="1", max="64")),
            "price_in": forms.NumberInput(_input(step="any", min="0")),
            "price_out": forms.NumberInput(_input(step="any", min="0")),
            "system_prompt": forms.Textarea(_input(rows="3")),
        }

    def __init__(self, preset: Preset, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.preset = preset
        self.fields["name"].required = False
        self.fields["base_url"].required = preset.address_is_typed
        self._fill()
        if preset.reach == "builtin":
            del self.fields["model"]
        if preset.reach == through.REACH:
            self._offer_places()
        elif not preset.address_is_typed:
            del self.fields["base_url"]
        if preset.key_use == "none":
            del self.fields["key"]

    def _fill(self) -> None:
        row: Connection = self.instance
        self.initial["name"] = self.initial.get("name") or row.name or str(self.preset.label)
        if not self.initial.get("base_url"):
            self.initial["base_url"] = self.preset.base_url if self.preset.reach == "local" else ""
        if row._state.adding and not self.initial.get("model"):
            self.initial["model"] = self.preset.default_model
        if self.preset.reach == "local":
            ports = ", ".join(f"{port.label} {port.port}" for port in LOCAL_PORTS)
            self.fields["base_url"].help_text = _("Usual ports: %(ports)s.") % {"ports": ports}
            self.fields["model"].help_text = "" if row.model else _("Left empty, the first that the server offers.")
        self.initial["headers"] = "\n".join(f"{name}: {value}" for name, value in (row.extra_headers or {}).items())
        self.initial["body"] = json.dumps(row.extra_body, ensure_ascii=False) if row.extra_body else ""
        if row.model and not abilities_of(self.preset.key, row.model, row.learned.get(row.model)).temperature:
            self.fields["temperature"].help_text = _("%(model)s takes none, so none is sent.") % {"model": row.model}
        if row.key_hint:
            self.fields["key"].widget.attrs["placeholder"] = f"•••• {row.key_hint}"
            self.fields["key"].help_text = _("Kept sealed. Type a new one to replace it; another address forgets it.")
        else:
            sealed = _("Kept sealed on this server and never shown again.")
            is_rare = self.preset.reach == "local"
            self.fields["key"].help_text = _("Usually none is needed.") + " " + sealed if is_rare else sealed

    def _offer_places(self) -> None:
        """The servers to choose from; nothing to decide where there is only one."""
        row: Connection = self.instance
        del self.fields["headers"]  # they would go to the server in between
        self.fields["model"].help_text = _("“Main LLM” is what SillyTavern itself is set to, at each moment.")
        self.initial["model"] = self.initial.get("model") or self.preset.default_model
        found = through.usable(through.places(row.owner, self.preset))
        if len(found) < 2:
            del self.fields["base_url"]
            return
        choices = [(place.key, place.label) for place in found]
        self.fields["base_url"] = forms.ChoiceField(label=_("Server"), choices=choices, widget=forms.Select(_input()))

    def clean_headers(self) -> dict[str, str]:
        """Lines of “Name: value”; those that CharMem sets itself are refused."""
        found: dict[str, str] = {}
        for line in str(self.cleaned_data["headers"]).splitlines():
            if line.strip():
                name, _colon, value = line.partition(":")
                problem = transport.header_problem(name.strip(), value.strip())
                if problem:
                    raise ValidationError(problem)
                found[name.strip()] = value.strip()
        return found

    def clean_body(self) -> dict[str, Any]:
        """A JSON object without the fields that make up the question."""
        text = str(self.cleaned_data["body"]).strip()
        try:
            data = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            raise ValidationError(_("This is not JSON.")) from error
        if not isinstance(data, dict):
            raise ValidationError(_("A JSON object in { } is needed here."))
        clash = extra_body.clashes(data)
        if clash:
            raise ValidationError(_("%(names)s cannot be replaced here.") % {"names": ", ".join(clash)})
        return data

    def clean_max_parallel(self) -> int:
        return min(64, max(1, int(self.cleaned_data["max_parallel"])))

    def clean_temperature(self) -> float | None:
        value = self.cleaned_data["temperature"]
        return None if value is None else min(2.0, max(0.0, float(value)))

    def _post_clean(self) -> None:
        """The row is written by connecting.py alone; the form leaves it as it is."""

    def wish(self) -> Wish:
        """What was typed, for the verbs."""
        data = self.cleaned_data
        more = {name: data[name] for name in MORE}
        more |= {"extra_headers": data.get("headers", {}), "extra_body": data["body"]}
        return Wish(
            preset=self.preset.key,
            name=data["name"],
            base_url=data.get("base_url", ""),
            key=data.get("key", ""),
            model=data.get("model", ""),
            more=more,
        )


class NetworkForm(forms.Form):
    """A local network to open, for everybody or for one person."""

    network = forms.CharField(
        label=gettext_lazy("Network"),
        max_length=64,
        help_text=gettext_lazy("For example 192.168.1.0/24, one address, or loopback (this computer)."),
        widget=forms.TextInput(_input(autocomplete="off", spellcheck="false")),
    )
    person = forms.ModelChoiceField(
        label=gettext_lazy("Who"),
        queryset=User.objects.none(),
        required=False,
        empty_label=gettext_lazy("everybody here"),
        widget=forms.Select(_input()),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["person"].queryset = User.objects.order_by("username")  # type: ignore[attr-defined]

    def clean_network(self) -> str:
        """A private network in its usual spelling."""
        try:
            network = addresses.parse_network(str(self.cleaned_data["network"]))
        except ValueError as error:
            raise ValidationError(_("This is not a network. Write it like 192.168.1.0/24.")) from error
        if not any(network.version == local.version and network.subnet_of(local) for local in addresses.LOCAL):  # type: ignore[arg-type]
            raise ValidationError(_("Only private networks are opened here; public https addresses always are."))
        return str(network)
