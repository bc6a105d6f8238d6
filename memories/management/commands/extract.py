"""`manage.py extract`: read what is unread and keep what is worth keeping."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from accounts.commands import CommandFailed, ProductCommand
from jobs.drain import run_until_ended
from jobs.models import Job
from memories import write_back
from memories.extract_choice import Reader, chosen
from memories.models import MemoryFile
from memories.reset_cost import Cost
from sync.models import Group

Work = list[tuple[Reader, Job]]


class Command(ProductCommand):
    help = "Read the unread messages of a character, a group, or all of them, and write down memories."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--character", metavar="NAME", help="Name of the character.")
        whose.add_argument("--avatar", metavar="FILE", help="File name of the card, for names that occur twice.")
        whose.add_argument("--group", metavar="NAME", help="Name of the group, or of its file.")
        whose.add_argument("--all", action="store_true", help="All characters and groups.")
        parser.add_argument("--chat", metavar="FILE", help="Only this chat (file name, with or without .jsonl).")
        parser.add_argument(
            "--from", dest="first", type=int, metavar="N", help="Only from this message of the chat on."
        )
        parser.add_argument("--to", dest="last", type=int, metavar="N", help="Only up to this message of the chat.")
        parser.add_argument("--again", action="store_true", help="Also what was read before; it is paid for again.")
        parser.add_argument("--yes", action="store_true", help="With --again: yes, pay for it again.")
        parser.add_argument("--estimate", action="store_true", help="Only say what it would take; nothing is started.")
        parser.add_argument("--wait", action="store_true", help="Wait for the end; without a worker, do the work here.")

    def handle(self, *args: Any, **options: Any) -> None:
        readers = chosen(self.person(options), options)
        if options["estimate"]:
            return self._estimate(readers, again=options["again"])
        again = [_open_again(one, is_sure=options["yes"]) for one in readers] if options["again"] else []
        begin = timezone.now()
        try:
            work = [(one, one.start()) for one in readers]
        except ValueError as refusal:
            raise CommandFailed(str(refusal)) from refusal
        written: list[Job] = []
        if options["wait"]:
            work = [(one, run_until_ended(job, note=self.stderr.write)) for one, job in work]
            _fail_if_any_failed(work)
            under_way = {
                job for one, _job in work for who in one.characters for job in write_back.jobs_since(who, begin)
            }
            written = [run_until_ended(job) for job in sorted(under_way, key=lambda job: job.created_at)]
        lines = [*(_line(*one) for one in work), *(_trouble(job) for job in written if job.error)]
        data = {"jobs": [_facts(*one) for one in work], "files": [_file(job) for job in written]}
        self.say("\n".join(lines), data | ({"again": sum(again)} if options["again"] else {}))

    def _estimate(self, readers: list[Reader], *, again: bool) -> None:
        costs = [(one, one.cost(again=again)) for one in readers]
        lines = [f"{one.name}: {_counted(cost)}." for one, cost in costs]
        self.say("\n".join(lines), {"estimates": [_estimate(one, cost) for one, cost in costs]})


def _open_again(reader: Reader, *, is_sure: bool) -> int:
    """Have it read again, when that was said to be meant; how many messages that are, for each who remembers."""
    everything, fresh = reader.cost(again=True), reader.cost(again=False)
    if everything.calls > fresh.calls or everything.messages > fresh.messages:
        if not is_sure:
            raise CommandFailed(f"{reader.name}: {_price(everything)} Nothing was started. Add --yes to do that.")
        return reader.reopen()
    return 0


def _price(cost: Cost) -> str:
    return f"reading again means {_counted(cost)}."


def _counted(cost: Cost) -> str:
    most = "at most" if cost.is_most else "about"
    money = "at an unknown price"
    if cost.price is not None:
        money = f"for {most} ${cost.price:.4f}" if cost.price else "for free"
    return f"{_many(cost.messages, 'message')} in {most} {_many(cost.calls, 'call')} {money}"


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _estimate(reader: Reader, cost: Cost) -> dict[str, Any]:
    return _named(reader) | {
        "messages": cost.messages,
        "calls": cost.calls,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
        "price": None if cost.price is None else str(cost.price),
        "is_most": cost.is_most,
    }


def _named(reader: Reader) -> dict[str, Any]:
    return {"group" if isinstance(reader.whose, Group) else "character": reader.name}


def _fail_if_any_failed(work: Work) -> None:
    bad = [(one, job) for one, job in work if job.state != Job.State.DONE]
    if bad:
        reasons = [f"{one.name}: {_reason(job)}" for one, job in bad]
        raise CommandFailed(" ".join(reasons))


def _reason(job: Job) -> str:
    """Why it did not end well; of a group, why which member did not."""
    bad = job.children.filter(state=Job.State.FAILED).order_by("created_at")
    told = [f"{part.label}: {part.error} {part.hint}".strip() for part in bad]
    return " ".join([f"{job.error or job.get_state_display()} {job.hint}".strip(), *told])


def _line(reader: Reader, job: Job) -> str:
    if job.is_batch and not job.is_active:
        parts = [f"{part.label}: {_outcome(part)}" for part in job.children.order_by("label")]
        return "\n".join([f"{reader.name}:", *(f"  {part}" for part in parts)])
    return f"{reader.name}: {_outcome(job)}"


def _outcome(job: Job) -> str:
    return str(job.result.get("text") or job.get_state_display())


def _trouble(job: Job) -> str:
    """Why the memories, which are kept, are not in the Data Bank yet."""
    return f"{job.error} {job.hint}".strip()


def _file(job: Job) -> dict[str, Any]:
    file = MemoryFile.objects.for_user(job.owner).filter(pk=job.params["file"]).first()
    return {"name": file.name if file else "", "state": job.state, "error": job.error, **job.result}


def _facts(reader: Reader, job: Job) -> dict[str, Any]:
    facts = {"id": str(job.pk), **_named(reader), "state": job.state}
    if not job.is_batch:
        return facts | _counts([job])
    parts = list(job.children.order_by("label"))
    members = [{"id": str(one.pk), "label": one.label, "state": one.state, **_counts([one])} for one in parts]
    return facts | _counts(parts) | {"members": members}


def _counts(jobs: Iterable[Job]) -> dict[str, int]:
    jobs = list(jobs)
    return {name: sum(job.result.get(name, 0) for job in jobs) for name in ("memories", "messages", "chunks")}
