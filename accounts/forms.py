"""Forms of the accounts app. They check; the verbs in first_run, invitations, sign_ins and people write."""

from __future__ import annotations

import zoneinfo
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import Invitation, User

CONTINENTS = (
    "Africa/",
    "America/",
    "Antarctica/",
    "Arctic/",
    "Asia/",
    "Atlantic/",
    "Australia/",
    "Europe/",
    "Indian/",
    "Pacific/",
)
PASSWORD_HINT = _("10 characters or more. Four words are easier to keep than one odd one.")


def _input(**attrs: Any) -> dict[str, Any]:
    return {"class": "input", **attrs}


class LoginForm(forms.Form):
    """Name and password."""

    username = forms.CharField(
        label=_("Name"), max_length=80, widget=forms.TextInput(_input(autocomplete="username", autofocus="autofocus"))
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(_input(autocomplete="current-password")),
    )
    stay = forms.BooleanField(required=False, initial=True)


class NewPersonForm(forms.ModelForm):
    """A new account, by the first-run link or by invitation. `fields_for_create()` feeds the verb that makes it."""

    password = forms.CharField(
        label=_("Password"),
        max_length=1000,
        strip=False,
        help_text=PASSWORD_HINT,
        widget=forms.PasswordInput(_input(autocomplete="new-password")),
    )

    class Meta:
        model = User
        fields = ("display_name", "username")
        labels = {"display_name": _("Your name"), "username": _("Sign in as")}
        help_texts = {"display_name": _("Others on this server see it in the list of people."), "username": ""}
        widgets = {
            "display_name": forms.TextInput(_input(autocomplete="name", autofocus="autofocus")),
            "username": forms.TextInput(_input(autocomplete="username", autocapitalize="none")),
        }

    def clean_username(self) -> str:
        """Two people whose names differ only in case would be one at the door."""
        name = str(self.cleaned_data["username"])
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(_("Somebody here has that name already."))
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        password = cleaned.get("password")
        if password:
            try:
                password_validation.validate_password(password, User(username=cleaned.get("username", "")))
            except ValidationError as error:
                self.add_error("password", error)
        return cleaned


class ProfileForm(forms.ModelForm):
    """What a person may say about themselves, and how pages look to them."""

    class Meta:
        model = User
        fields = ("display_name", "time_zone", "theme", "density")
        labels = {"display_name": _("Your name"), "time_zone": _("Time zone"), "theme": _("Theme")}
        help_texts = {"time_zone": _("Type a city to find it: Vienna, Sao Paulo, Auckland.")}
        widgets = {
            "display_name": forms.TextInput(_input(autocomplete="name")),
            "time_zone": forms.TextInput(_input(list="time-zones", autocomplete="off", spellcheck="false")),
            "theme": forms.RadioSelect({"class": "radio"}),
            "density": forms.RadioSelect({"class": "radio"}),
        }

    def clean_time_zone(self) -> str:
        """The exact name of a zone; a city alone is enough when only one zone ends with it."""
        typed = str(self.cleaned_data["time_zone"]).strip()
        wanted = typed.replace(" ", "_").casefold()
        names = zone_names()
        found = [name for name in names if name.casefold() == wanted]
        found = found or [name for name in names if name.casefold().rsplit("/", 1)[-1] == wanted]
        if len(found) != 1:
            raise ValidationError(
                _("There is no time zone “%(name)s”. Choose one from the list."), params={"name": typed}
            )
        return found[0]


class NewPasswordForm(forms.Form):
    """A new password."""

    new = forms.CharField(
        label=_("New password"),
        strip=False,
        max_length=1000,
        help_text=PASSWORD_HINT,
        widget=forms.PasswordInput(_input(autocomplete="new-password")),
    )

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person

    def clean_new(self) -> str:
        new = str(self.cleaned_data["new"])
        password_validation.validate_password(new, self.person)
        return new


class PasswordForm(NewPasswordForm):
    """The old password and a new one."""

    field_order = ("old", "new")
    old = forms.CharField(
        label=_("Password now"), strip=False, widget=forms.PasswordInput(_input(autocomplete="current-password"))
    )

    def clean_old(self) -> str:
        old = str(self.cleaned_data["old"])
        if not self.person.check_password(old):
            raise ValidationError(_("That is not your password now. The old one stays."))
        return old


class InviteForm(forms.ModelForm):
    """For whom, and as what."""

    class Meta:
        model = Invitation
        fields = ("note", "role")
        labels = {"note": _("For whom"), "role": _("Role")}
        widgets = {
            "note": forms.TextInput(_input(autocomplete="off", autofocus="autofocus", placeholder=_("Ingrid"))),
            "role": forms.Select({"class": "input"}),
        }


def zone_names() -> list[str]:
    """The time zones that people choose from: those of places, and UTC."""
    return sorted(n for n in zoneinfo.available_timezones() if n == "UTC" or n.startswith(CONTINENTS))
