"""`manage.py link_sillytavern`: link a SillyTavern user folder to an account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import CommandFailed, ProductCommand
from sync.link import LinkError, link_folder
from sync.server_address import Address, set_address


class Command(ProductCommand):
    help = "Link a SillyTavern user folder (…/data/<handle>) to an account. It is read by serve, or by sync."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--folder", required=True, metavar="USER_FOLDER", help="Whole path of the user folder.")
        parser.add_argument("--url", default="", help="Address of that SillyTavern, such as http://127.0.0.1:8000.")

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        try:
            tavern = link_folder(person, options["folder"], by_operator=True)
            if options["url"]:
                set_address(tavern, Address(options["url"], tavern.login, basic_name=tavern.basic_auth_name))
        except LinkError as error:
            raise CommandFailed(str(error)) from error
        text = f"Linked {tavern.folder} to {person.username}."
        if tavern.write_problem:
            text = f"{text}\n{tavern.write_problem}"
        facts = {
            "id": str(tavern.pk),
            "folder": tavern.folder,
            "url": tavern.url,
            "version": tavern.version,
            "is_writable": tavern.is_writable,
            "write_problem": tavern.write_problem,
        }
        self.say(text, facts)
