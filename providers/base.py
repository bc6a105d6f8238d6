"""What goes to a language model and what comes back: the same shapes for every wire format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.models import Job
    from providers.models import Call

Stop = Callable[[], bool]
Note = Callable[[str], None]


class ProviderError(Exception):
    """A call that brought no usable answer. `message` is a finished sentence for people, `hint` says what to do.

    `retryable`: the same request may succeed later. `retry_after`: seconds that the other side asked us to wait, or
    that are left of an earlier request to wait; a job turns it into a pause. `error_type` is a short stable word for
    the ledger: address, connect, timeout, stopped, key, payment, forbidden, not_found, rate, context, server, html,
    content_type, json, empty, reasoning_only, tool, too_large, redirect, protocol, setup, budget, price, down (it
    failed for others a moment ago, and was not asked).
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool,
        status: int | None = None,
        hint: str = "",
        retry_after: float | None = None,
        error_type: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.status = status
        self.hint = hint
        self.retry_after = retry_after
        self.error_type = error_type
        self.usage = Usage()
        self.said = ""  # the server's own words, code and parameter, for programs

    @property
    def sentence(self) -> str:
        """Message and hint in one line, for commands and logs."""
        return f"{self.message} {self.hint}".strip()


@dataclass(frozen=True)
class Usage:
    """Tokens as the server counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True)
class Request:
    """One question to a model. `grammar` (GBNF) goes only to servers that are known to obey it."""

    system: str
    user: str
    max_tokens: int
    temperature: float | None = None
    purpose: str = "extraction"
    subject: str = ""
    grammar: str | None = None
    job: Job | None = None
    is_automatic: bool = False  # nobody pressed a button for it


@dataclass(frozen=True)
class Reply:
    """An adapter's reading of one answer. `reasoning` is what the model thought aloud: never a memory."""

    text: str
    reasoning: str = ""
    finish_reason: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Completion:
    """A finished call. Tokens are the server's own numbers, or estimates where `call.is_estimate`."""

    text: str
    reasoning: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    model: str
    seconds: float
    call: Call

    @property
    def is_truncated(self) -> bool:
        """The answer ended because the token limit was reached, not because the model had finished."""
        return self.finish_reason == "length"
