"""The first admin, for machines that nobody looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.commands import CommandFailed, ProductCommand
from accounts.forms import NewPersonForm
from accounts.models import User


class Command(ProductCommand):
    help = "Make the first account, an admin, without the setup link."
    needs_user = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--admin", required=True, metavar="NAME", help="Name to sign in with.")
        parser.add_argument(
            "--password-file", required=True, metavar="FILE", help="File whose first line is the password."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if User.objects.exists():
            raise CommandFailed(
                "Somebody has an account here already. Invite others on the People page; nothing was changed."
            )
        form = NewPersonForm({"username": options["admin"], "password": _password(options["password_file"])})
        if not form.is_valid():
            sentences = [str(sentence) for errors in form.errors.values() for sentence in errors]
            raise CommandFailed(" ".join(sentences) + " No account was made.")
        person = User.objects.create_person(
            form.cleaned_data["username"], form.cleaned_data["password"], role="admin", time_zone=settings.TIME_ZONE
        )
        self.say(
            f"{person.username} is the admin now.", {"id": str(person.pk), "username": person.username, "role": "admin"}
        )


def _password(name: str) -> str:
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CommandFailed(f"{name} cannot be read: {reason}. No account was made.") from error
    return lines[0] if lines else ""
