"""One question of a consolidation to the model, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from jobs.run import JobFailed, JobRun
from memories import activity
from memories.consolidation_answer import Made, read
from memories.extraction_call import interruption
from memories.extraction_prompt import Prompt
from providers.base import Completion, ProviderError, Request
from providers.models import Call, Connection


class CutOff(Exception):
    """The answer reached its token limit before it was complete: the piece has to be smaller."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call


class NoUse(Exception):
    """The call brought nothing that can be used. `sentence` says why; `is_model` tells an answer without memories
    from a connection that failed."""

    def __init__(self, sentence: str, *, is_model: bool, hint: str = "", error_type: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.is_model = is_model
        self.hint = hint
        self.error_type = error_type


@dataclass(frozen=True)
class Read:
    """What the model made of the memories, and the call that said it."""

    made: Made
    completion: Completion


def ask(
    run: JobRun,
    connection: Connection,
    prompt: Prompt,
    *,
    refs: list[str],
    answer_tokens: int,
    subject: str,
    purpose: str = "consolidation",
) -> Read:
    """One call. Raises TooLong, CutOff, NoUse, JobPaused, JobFailed (the connection needs a person) or Stopped."""
    run.check()
    request = Request(
        system=prompt.system,
        user=prompt.user,
        max_tokens=answer_tokens,
        purpose=purpose,
        subject=subject,
        job=run.job,
    )
    try:
        done = activity.complete(run, connection, request)
    except ProviderError as error:
        raise _translated(run, error) from error
    made = read(done.text, refs, is_truncated=done.is_truncated, ignore=prompt.examples)
    if done.is_truncated or (made.is_cut and made.kind == "memories"):
        raise CutOff(done.call)
    if made.kind != "memories":
        raise NoUse(_why(made.kind), is_model=True, error_type=f"answer_{made.kind}")
    return Read(made, done)


def _translated(run: JobRun, error: ProviderError) -> Exception:
    if error.error_type in ("reasoning_only", "empty"):
        return NoUse(error.message, is_model=True, hint=error.hint, error_type=error.error_type)
    if (met := interruption(run, error)) is not None:
        return met
    if error.retryable:
        return NoUse(error.message, is_model=False, hint=error.hint, error_type=error.error_type)
    message = f"{error.message} {_('The parts that were answered are kept.')}"
    return JobFailed(message, hint=error.hint, error_type=error.error_type, retry=True)


def _why(kind: str) -> str:
    return {
        "empty": _("The model sent an empty answer."),
        "refusal": _("The model declined to read these memories."),
        "unreadable": _("The model answered, but not with memories."),
    }[kind]
