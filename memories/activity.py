"""The activity log: what CharMem did, step by step, in words. Never a word of a chat, a key or a prompt in its lines.

A chunk of work gathers its lines in memory and writes them in its own commit, with one insert; a chunk that ends
without one writes them afterwards, with the sentence that says why. Prompts and answers are kept beside a line only
for people who asked for that (activity_texts.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

from django.db import DatabaseError, OperationalError

from accounts.models import User
from jobs.run import JobFailed, JobRun, LeaseLost, Outcome, Stopped
from memories import activity_texts, activity_words
from memories.activity_texts import Full
from memories.extraction_verdict import Findings
from memories.models import Activity
from memories.transcript import Chunk
from providers import complete as models
from providers import fallback
from providers.base import Completion, ProviderError, Request
from providers.models import Connection
from sync.models import Character, Chat

TRACE, ALONE = "activity", "alone"  # in JobRun.carried


def note(user: User, step: str, text: str, *, level: str = "info", **about: Any) -> Activity:
    """One line of the log. `about` names the rows it concerns: character, group, chat, job, call."""
    return Activity.objects.create(owner=user, step=step, text=text, level=level, **about)


@dataclass
class Trace:
    """The lines of one chunk of work that are not written yet, and what they are about."""

    run: JobRun
    about: dict[str, Any] = field(default_factory=dict)
    lines: list[Activity] = field(default_factory=list)
    texts: dict[int, Full] = field(default_factory=dict)  # place of a line → what was sent and answered
    asked: Full | None = None

    def concerns(self, character: Character | None, chat: Chat | None = None) -> Trace:
        """Whom the following lines are about."""
        self.about = {
            "character_id": character.pk if character else None,
            "chat_id": chat.pk if chat else None,
            "group_id": chat.group_id if chat else None,
        }
        return self

    def line(self, step: str, text: str, level: str = "info", **about: Any) -> None:
        """Add a line; it carries the time of now. `about` holds ids: character_id, chat_id, group_id, call_id."""
        fields = {**(self.about or _of_subject(self.run.job.subject)), **about}
        owner, job = self.run.owner.pk, self.run.job.pk
        self.lines.append(Activity(owner_id=owner, job_id=job, step=step, text=text, level=level, **fields))

    def collected(self, chunk: Chunk) -> None:
        self.line("collected", activity_words.collected(len(chunk.lines), chunk.first_index, chunk.last_index))

    def sent(self, connection: Connection, request: Request) -> None:
        self.asked = Full(request.system, request.user)
        self.line("sent", activity_words.sent(connection, request))

    def answered(self, done: Completion) -> None:
        self.line("answered", activity_words.answered(done), call_id=done.call.pk)
        self._keep_asked(done.text, done.reasoning)

    def failed(self, error: ProviderError, seconds: float) -> None:
        self.line("answered", activity_words.no_answer(error, seconds), "warn")
        self._keep_asked("", "")

    def judged(self, character: Character, findings: Findings) -> None:
        """What became of the memories of an answer, and how many were saved."""
        level = "warn" if findings.held or findings.flagged else "info"
        self.line("judged", activity_words.judged(findings), level, character_id=character.pk)
        text = activity_words.saved(character.name, findings.memories)
        self.line("saved", text, "good" if findings.memories else "info", character_id=character.pk)

    def skipped(self, character: Character, chunk: Chunk, outcome: str) -> None:
        """Messages that count as read without a call."""
        text = activity_words.skipped(outcome, character.name, chunk.first_index, chunk.last_index)
        self.line("skipped", text, character_id=character.pk)

    def ended(self, news: Exception) -> None:
        """Why the chunk ended before it could write anything."""
        step, level, text = activity_words.ended(news)
        self.line(step, text, level)

    def forget_whom(self) -> None:
        """Whom the lines are about went away meanwhile."""
        for line in self.lines:
            line.character_id = line.group_id = line.chat_id = None

    def keep(self) -> None:
        """Write the lines: one insert, and one more for texts that the person wants kept."""
        lines, texts = self.lines, self.texts
        self.lines, self.texts = [], {}
        if lines:
            activity_texts.keep(self.run.owner, Activity.objects.bulk_create(lines), texts)

    def _keep_asked(self, answer: str, reasoning: str) -> None:
        if self.asked is not None:
            self.texts[len(self.lines) - 1] = self.asked.answered(answer, reasoning)
            self.asked = None


def trace(run: JobRun) -> Trace:
    """The lines of this chunk of work, kept with the chunk."""
    found: Trace = run.carried.setdefault(TRACE, Trace(run))
    return found


def alone(run: JobRun) -> None:
    """From now on only the named connection is asked: what is tried is tried with this one."""
    run.carried[ALONE] = True


def complete(run: JobRun, connection: Connection, request: Request, may_ask: fallback.May | None = None) -> Completion:
    """An answer for a chunk of work, of this connection or of one that steps in for it, if that one `may_ask`."""
    ask = partial(_asked, run, request)
    if ALONE in run.carried:
        return ask(connection)

    def stepping_in(text: str) -> None:
        run.check()
        run.log(text, "warn")

    return fallback.complete(connection, request, ask, note=stepping_in, may_ask=may_ask)


def _asked(run: JobRun, request: Request, connection: Connection) -> Completion:
    """providers.complete with its lines: sent, answered or not answered."""
    lines, began = trace(run), time.monotonic()
    lines.sent(connection, request)
    try:
        done = models.complete(connection, request, stop=run.should_stop, note=run.log)
    except ProviderError as error:
        lines.failed(error, time.monotonic() - began)
        raise
    lines.answered(done)
    return done


def telling(work: Callable[[JobRun], Outcome]) -> Callable[[JobRun], Outcome]:
    """A kind's `run` that leaves its lines behind however it ends."""

    @wraps(work)
    def told(run: JobRun) -> Outcome:
        try:
            outcome = work(run)
        except LeaseLost:
            raise
        except Exception as news:
            _keep_quietly(run, news)
            raise
        _keep_quietly(run)
        return outcome

    return told


def _keep_quietly(run: JobRun, news: Exception | None = None) -> None:
    """The log never changes how work ends."""
    lines = trace(run)
    if news is not None and not isinstance(news, Stopped | OperationalError):  # a busy database is tried again
        lines.ended(news)
    if isinstance(news, JobFailed) and news.error_type == "gone":
        lines.forget_whom()
    with suppress(DatabaseError):
        lines.keep()


def _of_subject(subject: str) -> dict[str, Any]:
    """What a job's subject says about its lines."""
    kind, _colon, key = subject.partition("/")[0].partition(":")
    return {f"{kind}_id": key} if kind in ("character", "group", "chat") and key else {}
