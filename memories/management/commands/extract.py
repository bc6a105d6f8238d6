"""`manage.py extract`: read what is unread and keep what is worth keeping."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from accounts.commands import CommandFailed, ProductCommand, WrongUsage
from accounts.models import User
from jobs.drain import run_until_ended
from jobs.models import Job
from memories import write_back
from memories.extraction import start_extraction
from sync.models import Character, Chat


class Command(ProductCommand):
    help = "Read the unread messages of a character (or of all) and write down memories."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--character", metavar="NAME", help="Name of the character.")
        whose.add_argument("--avatar", metavar="FILE", help="File name of the card, for names that occur twice.")
        whose.add_argument("--all", action="store_true", help="All characters.")
        parser.add_argument("--chat", metavar="FILE", help="Only this chat (file name, with or without .jsonl).")
        parser.add_argument("--wait", action="store_true", help="Wait for the end; without a worker, do the work here.")

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        if options["all"] and options["chat"]:
            raise WrongUsage("--chat needs --character or --avatar, not --all.")
        characters = _characters(person, options)
        chat = _chat(person, characters[0], options["chat"]) if options["chat"] else None
        try:
            jobs = [start_extraction(person, character=one, chat=chat) for one in characters]
        except ValueError as refusal:
            raise CommandFailed(str(refusal)) from refusal
        if options["wait"]:
            jobs = [run_until_ended(job) for job in jobs]
            _fail_if_any_failed(jobs)
        written = [run_until_ended(job) for one in characters for job in write_back.under_way(one) if options["wait"]]
        lines = [*(_line(job) for job in jobs), *(_trouble(job) for job in written if job.error)]
        self.say("\n".join(lines), {"jobs": [_facts(job) for job in jobs], "files": [_file(job) for job in written]})


def _characters(person: User, options: dict[str, Any]) -> list[Character]:
    present = Character.objects.for_user(person).filter(gone_at=None).select_related("tavern__owner").order_by("name")
    if options["all"]:
        return _some(present, "There is no character yet; link a SillyTavern folder first.")
    if options["avatar"]:
        return _some(present.filter(avatar=options["avatar"]), f"No character has the card “{options['avatar']}”.")
    name = options["character"]
    found = _some(present.filter(name=name), f"There is no character named “{name}”.")
    if len(found) > 1:
        cards = ", ".join(one.avatar for one in found)
        raise CommandFailed(f"Several characters are named “{name}”: choose one by --avatar ({cards}).")
    return found


def _some(rows: QuerySet[Character], nobody: str) -> list[Character]:
    found = list(rows)
    if not found:
        raise CommandFailed(nobody)
    return found


def _chat(person: User, character: Character, name: str) -> Chat:
    rows = Chat.objects.for_user(person).filter(character=character, gone_at=None, name=name.removesuffix(".jsonl"))
    chat = rows.first()
    if chat is None:
        raise CommandFailed(f"{character.name} has no chat named “{name}”.")
    return chat


def _fail_if_any_failed(jobs: list[Job]) -> None:
    bad = [job for job in jobs if job.state != Job.State.DONE]
    if bad:
        reasons = [f"{job.label}: {job.error or job.get_state_display()} {job.hint}".strip() for job in bad]
        raise CommandFailed(" ".join(reasons))


def _line(job: Job) -> str:
    return f"{job.label}: {job.result.get('text') or job.get_state_display()}"


def _trouble(job: Job) -> str:
    """Why the memories, which are kept, are not in the Data Bank yet."""
    return f"{job.error} {job.hint}".strip()


def _file(job: Job) -> dict[str, Any]:
    return {"name": job.label, "state": job.state, "error": job.error, **job.result}


def _facts(job: Job) -> dict[str, Any]:
    counts = {name: job.result.get(name, 0) for name in ("memories", "messages", "chunks")}
    return {"id": str(job.pk), "character": job.label, "state": job.state, **counts}
