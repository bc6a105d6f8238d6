"""Answers without text: why there is none, in one sentence, with what helps."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from providers.base import ProviderError, Reply, Usage

# error type → (sentence, hint, whether the same question may be answered later)
_WHY: dict[str, tuple[Promise, Promise, bool]] = {
    "forbidden": (
        _("%(name)s withheld the answer because of its content rules."),
        _("Choose another model for this chat."),
        False,
    ),
    "tool": (
        _("%(name)s wanted to use a tool instead of answering."),
        _("CharMem offers no tools: choose another model."),
        True,
    ),
    "reasoning_only": (
        _("The model used its whole answer for thinking and wrote nothing down."),
        _("Raise the longest answer (2,000 tokens or more), or choose a model that thinks less."),
        False,
    ),
    "empty": (_("%(name)s sent an empty answer."), _("It may be overloaded; try again."), True),
}


def nothing_said(reply: Reply | None, name: str, usage: Usage) -> ProviderError:
    """The error for an answer without text; its tokens are paid for all the same."""
    kind = _kind(reply)
    sentence, hint, retryable = _WHY[kind]
    message = str(sentence) % {"name": name}
    error = ProviderError(message, retryable=retryable, status=200, hint=str(hint), error_type=kind)
    error.usage = usage
    return error


def _kind(reply: Reply | None) -> str:
    if reply is None:
        return "empty"
    if reply.finish_reason == "content_filter":
        return "forbidden"
    if reply.finish_reason in ("tool_calls", "function_call"):
        return "tool"
    return "reasoning_only" if reply.reasoning or reply.finish_reason == "length" else "empty"
