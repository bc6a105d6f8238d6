"""`manage.py extract`: read what is unread and keep what is worth keeping."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet
from django.utils import timezone

from accounts.commands import CommandFailed, ProductCommand, WrongUsage
from accounts.models import User
from jobs.drain import run_until_ended
from jobs.models import Job
from memories import write_back
from memories.extraction import start_extraction
from memories.models import MemoryFile
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
        begin = timezone.now()
        try:
            work = [(one, start_extraction(person, character=one, chat=chat)) for one in characters]
        except ValueError as refusal:
            raise CommandFailed(str(refusal)) from refusal
        written: list[Job] = []
        if options["wait"]:
            work = [(one, run_until_ended(job, note=self.stderr.write)) for one, job in work]
            _fail_if_any_failed(work)
            under_way = [job for one in characters for job in write_back.jobs_since(one, begin)]
            written = [run_until_ended(job) for job in under_way]
        lines = [*(_line(*one) for one in work), *(_trouble(job) for job in written if job.error)]
        self.say("\n".join(lines), {"jobs": [_facts(*one) for one in work], "files": [_file(job) for job in written]})


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


def _fail_if_any_failed(work: list[tuple[Character, Job]]) -> None:
    bad = [(one, job) for one, job in work if job.state != Job.State.DONE]
    if bad:
        reasons = [f"{one.name}: {job.error or job.get_state_display()} {job.hint}".strip() for one, job in bad]
        raise CommandFailed(" ".join(reasons))


def _line(character: Character, job: Job) -> str:
    return f"{character.name}: {job.result.get('text') or job.get_state_display()}"


def _trouble(job: Job) -> str:
    """Why the memories, which are kept, are not in the Data Bank yet."""
    return f"{job.error} {job.hint}".strip()


def _file(job: Job) -> dict[str, Any]:
    file = MemoryFile.objects.for_user(job.owner).filter(pk=job.params["file"]).first()
    return {"name": file.name if file else "", "state": job.state, "error": job.error, **job.result}


def _facts(character: Character, job: Job) -> dict[str, Any]:
    counts = {name: job.result.get(name, 0) for name in ("memories", "messages", "chunks")}
    return {"id": str(job.pk), "character": character.name, "state": job.state, **counts}
