"""`manage.py sync`: look at a person's linked folders now."""

from __future__ import annotations

from typing import Any

from accounts.commands import CommandFailed, ProductCommand
from sync import queries
from sync.mirror_pass import PassReport
from sync.models import FileIssue, Tavern
from sync.watch import look


class Command(ProductCommand):
    help = "Read what is new in the linked SillyTavern folders of an account."

    def handle(self, *args: Any, **options: Any) -> None:
        person = self.person(options)
        taverns = list(queries.taverns(person))
        if not taverns:
            raise CommandFailed(f"No SillyTavern folder is linked to “{person.username}”.")
        found = []
        for tavern in taverns:
            report = look(tavern)
            if report is None:
                raise CommandFailed(f"A pass over {tavern.folder} is under way already; try again in a moment.")
            if report.reason:
                raise CommandFailed(report.reason)
            found.append((tavern, report))
        issues = list(queries.issues(person))
        self.say(
            _text(found, issues), {"folders": [_facts(*one) for one in found], "issues": [_issue(i) for i in issues]}
        )


def _text(found: list[tuple[Tavern, PassReport]], issues: list[FileIssue]) -> str:
    lines = [
        f"{tavern.name}: {len(report.chats)} chats changed, {report.messages_written} messages written, "
        f"{report.files_read} files read in {report.seconds:.1f} s."
        for tavern, report in found
    ]
    return "\n".join([*lines, *(issue_line(issue) for issue in issues)])


def issue_line(issue: FileIssue) -> str:
    """File, line, what is wrong and what was kept, in one line."""
    place = f"{issue.path}:{issue.line}" if issue.line else issue.path
    return " ".join(part for part in (f"{place}:", issue.text, issue.kept) if part)


def _facts(tavern: Tavern, report: PassReport) -> dict[str, Any]:
    return {
        "id": str(tavern.pk),
        "name": tavern.name,
        "state": str(report.state),
        "changed": report.changed,
        "chats": len(report.chats),
        "messages_written": report.messages_written,
        "files_read": report.files_read,
        "gone": report.gone,
        "renamed": report.renamed,
        "seconds": round(report.seconds, 3),
    }


def _issue(issue: FileIssue) -> dict[str, Any]:
    return {"path": issue.path, "line": issue.line, "code": issue.code, "text": issue.text, "kept": issue.kept}
