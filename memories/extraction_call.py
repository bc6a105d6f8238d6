"""One question of an extraction to the model, and what can be done about an answer that is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.run import JobFailed, JobPaused, JobRun, Stopped
from memories import day_budget
from memories.answer import Answer
from memories.extraction_plan import Question
from providers.base import Completion, ProviderError

MOST_ANSWER = 8_000  # tokens that a second try may ask for at most
ASKED_TOO_OFTEN = 60.0  # seconds of a pause when the other side wants one and does not say how long


class TooLong(Exception):
    """The prompt does not fit into the model's context window."""


@dataclass(frozen=True)
class Read:
    """What the model said, and the call that said it."""

    answer: Answer
    completion: Completion


def ask(run: JobRun, question: Question) -> Read:
    """Ask, and ask once more when the answer was cut off, empty, or held no memory at all.

    Raises TooLong, JobPaused, JobFailed or Stopped; after any of them nothing has been written.
    """
    answer_tokens = question.answer_tokens
    first = ask_once(run, question, answer_tokens)
    if first is not None and first.answer.kind in ("memories", "nothing") and not first.answer.is_cut:
        return first
    _say_why_again(run, first)
    larger = min(answer_tokens * 2, MOST_ANSWER) if first is None or first.answer.is_cut else answer_tokens
    second = ask_once(run, question, max(larger, answer_tokens))
    best = _better(first, second)
    if best is None or best.answer.kind not in ("memories", "nothing"):
        raise _failure(best)
    if best.answer.is_cut:
        run.log(_("The answer was cut off by its token limit; the complete memories in it were kept."), "warn")
    return best


def ask_once(run: JobRun, question: Question, answer_tokens: int) -> Read | None:
    """One call; None when the model used up its answer with thinking. DayIsSpentError before a call that nobody asked
    for and that could pass its budget."""
    run.check()
    request = question.request(answer_tokens, run.job)
    try:
        done = day_budget.complete(run, question, request)
    except ProviderError as error:
        if error.error_type == "reasoning_only":
            return None
        raise (interruption(run, error) or _failed(error)) from error
    return Read(question.read(done.text, is_truncated=done.is_truncated), done)


def interruption(run: JobRun, error: ProviderError) -> Exception | None:
    """What a call met that says nothing about the answer: the job was stopped, the prompt is too long, or wait."""
    if error.error_type == "stopped":
        run.check()
        return Stopped()
    if error.error_type == "context":
        return TooLong()
    pause = ASKED_TOO_OFTEN if error.retry_after is None and error.error_type == "rate" else error.retry_after
    if pause is not None:
        until = timezone.now() + timedelta(seconds=pause)
        return JobPaused(until, error.message, cause=error.error_type)
    return None


def _failed(error: ProviderError) -> JobFailed:
    message = f"{error.message} {_kept()}"
    is_passing = error.retryable and error.error_type == "server"
    hint = _("CharMem asked several times. Press Retry in a while.") if is_passing else error.hint
    return JobFailed(message, hint=hint, error_type=error.error_type, retry=True)


def _kept() -> str:
    return _("Everything read before is kept, and these messages stay unread.")


def _say_why_again(run: JobRun, first: Read | None) -> None:
    if first is None:
        run.log(_("The model used up its answer with thinking; asked again with more room."), "warn")
    elif first.answer.is_cut:
        run.log(_("The answer was cut off by its token limit; asked again with more room."), "warn")
    else:
        run.log(_("The answer held no memories in a readable form; asked once more."), "warn")


def _better(first: Read | None, second: Read | None) -> Read | None:
    """The answer to use: a whole one before a cut one, a usable one before none, otherwise the later one."""
    usable = [one for one in (second, first) if one is not None and one.answer.kind in ("memories", "nothing")]
    whole = [one for one in usable if not one.answer.is_cut]
    return next(iter((*whole, *usable)), second or first)


def _failure(read: Read | None) -> JobFailed:
    """Why these messages stay unread."""
    kind = "reasoning" if read is None else "cut" if read.answer.is_cut else read.answer.kind
    sentences = {
        "reasoning": _("The model only thought aloud and never answered."),
        "cut": _("The answer was cut off before the first memory was complete."),
        "refusal": _("The model declined to read these messages."),
        "empty": _("The model sent an empty answer."),
        "unreadable": _("The model answered, but not with memories."),
    }
    hints = {
        "reasoning": _("Allow longer answers, or choose a model that thinks less, then press Retry."),
        "cut": _("Allow longer answers in the extraction settings, then press Retry."),
        "refusal": _("Choose another model, or mark these messages as read."),
    }
    fallback = _("Press Retry, or choose another model.")
    return JobFailed(f"{sentences[kind]} {_kept()}", hint=hints.get(kind, fallback), error_type=f"answer_{kind}")
