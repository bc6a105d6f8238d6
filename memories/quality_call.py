"""A further question about an answer: bullets and the messages they came from, numbered lines back.

It is asked when the memories are already there, so it may fail in any way: then the log says so and None comes back.
"""

from __future__ import annotations

import regex
from django.utils.translation import gettext as _

from jobs.run import JobRun
from memories import day_budget
from memories.answer import without_reasoning
from memories.extraction_plan import Question, seed_of
from memories.extraction_prompt import marker
from memories.extraction_verdict import Bench
from memories.prompts import system_text
from memories.templating import pieces
from memories.transcript import join_lines
from providers.base import ProviderError, Request

PURPOSE = "checking"
LEAST = 300  # tokens of an answer: some models think first
# Bounded, so that a line of nothing but spaces is read in a time that grows with its length only.
NUMBERED = regex.compile(r"^[-*#(\[]*\s{0,9}(\d{1,3})\s{0,9}[\])]?\s{0,9}[.:)\-–—]+\s*(\S.*)$")


def ask(run: JobRun, question: Question, bench: Bench, text: str, bullets: str, *, tokens: int) -> str | None:
    """One call with the connection of `question`; None when it brought nothing, or when the job should end."""
    if run.should_stop():
        return None
    chunk = bench.chunk
    values = {"recentMessages": join_lines(chunk.lines), "bullets": bullets}
    seed = seed_of(run.owner, bench.character, chunk.first_index, chunk.last_index)
    values["mark"] = marker(f"{seed}/{PURPOSE}", "\n".join(values.values()))
    request = Request(
        system=system_text(),
        user="".join(words for _name, words in pieces(text, values)),
        max_tokens=max(LEAST, tokens),
        purpose=PURPOSE,
        subject=question.subject,
        job=run.job,
        is_automatic=question.is_automatic,
    )
    try:
        done = day_budget.complete(run, question, request)
    except day_budget.DayIsSpentError:
        run.log(_("A further check of the new memories was left out: today’s budget would not hold it."), "warn")
        return None
    except ProviderError as error:
        text = _("A further check of the new memories brought nothing, so they were kept with their marks: %(why)s")
        run.log(text % {"why": error.message}, "warn")
        return None
    return without_reasoning(done.text, is_truncated=done.is_truncated)


def numbered(text: str) -> dict[int, str]:
    """What an answer says to each number, the first time it names it."""
    found: dict[int, str] = {}
    for line in text.replace("**", "").splitlines():
        match = NUMBERED.match(line.strip())
        if match and match[1].isdecimal():  # not in a script that Python's tables do not know yet
            found.setdefault(int(match[1]), match[2].strip())
    return found
