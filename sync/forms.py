"""What people type about their SillyTavern."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from sync.models import Tavern
from sync.server_address import Address


class FolderForm(forms.Form):
    """A folder on this server."""

    folder = forms.CharField(
        label=_("Folder on this server"),
        max_length=900,
        help_text=_("The whole path of a SillyTavern user folder, such as /home/wren/SillyTavern/data/default-user."),
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off", "spellcheck": "false"}),
    )


class AddressForm(forms.Form):
    """Address and login of a SillyTavern server."""

    url = forms.CharField(
        label=_("Address of SillyTavern"),
        max_length=500,
        required=False,
        help_text=_("For example http://127.0.0.1:8000. Without it the memory file is written, its index is not."),
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "url", "autocomplete": "off"}),
    )
    login = forms.CharField(
        label=_("Account in SillyTavern"),
        max_length=200,
        required=False,
        help_text=_("Only when SillyTavern asks for one (accounts mode)."),
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
    )
    password = forms.CharField(
        label=_("Password of that account"),
        max_length=500,
        required=False,
        help_text=_("Kept sealed, never shown again. Leave empty to keep the stored one."),
        widget=forms.PasswordInput(attrs={"class": "input", "autocomplete": "off"}),
    )
    basic_name = forms.CharField(
        label=_("Name for basic auth"),
        max_length=200,
        required=False,
        help_text=_("Only when the browser itself asks for a name before SillyTavern appears."),
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
    )
    basic_password = forms.CharField(
        label=_("Password for basic auth"),
        max_length=500,
        required=False,
        widget=forms.PasswordInput(attrs={"class": "input", "autocomplete": "off"}),
    )

    @classmethod
    def of(cls, tavern: Tavern) -> AddressForm:
        """The form as it stands now, without passwords."""
        initial = {"url": tavern.url, "login": tavern.login, "basic_name": tavern.basic_auth_name}
        return cls(initial=initial)

    def address(self) -> Address:
        """What was typed, for `set_address`."""
        return Address(**self.cleaned_data)


class ProofForm(forms.Form):
    """A login to SillyTavern that shows whose folder it is."""

    url = forms.CharField(
        label=_("Address of SillyTavern"),
        max_length=500,
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "url", "autocomplete": "off"}),
    )
    login = forms.CharField(
        label=_("Account"), max_length=200, widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"})
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=500,
        required=False,
        strip=False,
        help_text=_("Used once, to log in; not kept."),
        widget=forms.PasswordInput(attrs={"class": "input", "autocomplete": "off"}),
    )


class GrantForm(FolderForm):
    """A folder and the person it is assigned to."""

    person = forms.ModelChoiceField(
        label=_("Person"), queryset=User.objects.none(), widget=forms.Select(attrs={"class": "input"})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["person"].queryset = User.objects.filter(is_active=True).order_by("username")  # type: ignore[attr-defined]
