"""What could not be read, kept as rows that go away when the file reads well again."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from django.db import transaction

from sync.models import FileIssue, Tavern
from sync.tavern.problem import Problem


class Issues:
    """The issues of one tavern during a pass. Rows are loaded only when somebody asks."""

    def __init__(self, tavern: Tavern) -> None:
        self.tavern = tavern

    def put(self, path: str, problems: list[Problem]) -> None:
        """Make `problems` the issues of this path; the same ones again change nothing."""
        if self._rows.get(path, []) == problems:
            return
        with transaction.atomic():
            self.tavern.issues.filter(path=path).delete()
            FileIssue.objects.bulk_create(
                FileIssue(
                    tavern=self.tavern,
                    path=path[:1000],
                    line=problem.line,
                    code=problem.code,
                    text=problem.text,
                    kept=problem.kept,
                )
                for problem in problems
            )
        self._rows[path] = list(problems)

    @cached_property
    def _rows(self) -> dict[str, list[Problem]]:
        found: defaultdict[str, list[Problem]] = defaultdict(list)
        for row in self.tavern.issues.order_by("pk"):
            found[row.path].append(Problem(row.code, row.text, row.kept, row.line))
        return dict(found)
