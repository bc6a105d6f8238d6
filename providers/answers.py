"""Reads an HTTP answer down to a JSON object, and says in one sentence what is wrong when it is not one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils.translation import gettext as _

from jobs.redaction import redact
from providers.abilities import named_in
from providers.base import ProviderError
from providers.event_stream import is_stream, joined_list, joined_stream
from providers.foreign_json import storable
from providers.pauses import asked_pause, pause_until_reset
from providers.transport import Answer

LONGEST_QUOTE = 500
_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|too many tokens|prompt is too long"
    r"|exceeds? the (available )?context|exceed_context|input is too long|context limit|n_ctx"
    r"|token count .{0,20}exceeds",
    re.IGNORECASE,
)
# Anthropic's kinds of error, which come without a status in the middle of a stream, and through gateways.
_KINDS = {
    "authentication_error": 401,
    "permission_error": 403,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_WRONG_KEY = re.compile(r"api[ _]key (not valid|not found|expired)|(invalid|incorrect) api[ _]key", re.IGNORECASE)
_NO_CREDIT = re.compile(
    r"insufficient[ _](?:balance|credit|funds|quota)|credit balance is too low|(?:out of|used all available) credits"
    r"|monthly spending limit",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def read_object(answer: Answer, *, name: str, is_local: bool = False) -> dict[str, Any]:
    """The JSON object in a good answer. Raises ProviderError otherwise, also for status 200 with an error inside.

    `name` is what people call the connection. With `is_local` nothing of a foreign body is quoted but its JSON error
    message: an address in the local network must not become a way to read it.
    """
    if answer.status >= 300:
        raise status_error(answer, name=name, is_local=is_local)
    if is_stream(answer):
        data: Any = joined_stream(answer.text)
    else:
        data = joined_list(_parsed(answer, name=name, is_local=is_local))
    if not isinstance(data, dict):
        raise _unreadable(name)
    if data.get("error"):
        raise _error_inside(data, answer, name=name)
    return data


@contextmanager
def shape_of(name: str) -> Iterator[None]:
    """JSON without the form of an answer is unreadable too, whichever of its pieces is odd."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _unreadable(name) from None  # what Python says of a piece may repeat it


def status_error(answer: Answer, *, name: str, is_local: bool = False) -> ProviderError:
    """The error for a status of 300 and above."""
    said = _said(answer, is_local=is_local)
    error = _by_status(answer.status, said, answer, name)
    if answer.status >= 500 and _looks_like_html(answer):
        error.hint = _("A gateway in between answered instead of the model’s server; try again in a while.")
    error.said = f"{said} {named_in(_json_or_none(answer))}"
    return error


def error_text(data: Any) -> str:
    """The words of an error object in any of the usual shapes, the innermost first; "" when there are none."""
    if isinstance(data, str):
        return _clean(data)
    if isinstance(data, list):
        return next((text for text in map(error_text, data) if text), "")
    if not isinstance(data, dict):
        return ""
    nested = data.get("error")
    if nested and nested is not True:
        return error_text(nested)
    words = [data.get("message"), data.get("detail"), data.get("error_description"), data.get("msg")]
    text = next((error_text(word) for word in words if word), "")
    raw = _metadata(data)
    return f"{raw} ({text})" if raw and text and raw != text else raw or text


def _metadata(data: dict[str, Any]) -> str:
    """OpenRouter hides the provider's own words and name one level down."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    raw = metadata.get("raw")
    try:
        inner = error_text(storable(json.loads(raw))) if isinstance(raw, str) and raw.lstrip().startswith("{") else raw
    except (ValueError, RecursionError):
        inner = raw
    provider = metadata.get("provider_name")
    text = _clean(str(inner)) if inner else ""
    return f"{_clean(str(provider))}: {text}" if provider and text else text


def _clean(text: str) -> str:
    """One line, cut, without anything that looks like a key."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return redact(line[:LONGEST_QUOTE])


def _said(answer: Answer, *, is_local: bool) -> str:
    """What the other side said about its error, as far as it may be shown."""
    try:
        return error_text(answer.json())
    except ValueError:
        pass
    if is_local:
        return ""
    if _looks_like_html(answer):
        return _title(answer)
    return _clean(answer.text)


def _json_or_none(answer: Answer) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None


def _title(answer: Answer) -> str:
    title = _TITLE.search(answer.text[:20_000])
    return _clean(title.group(1)) if title else ""


def _looks_like_html(answer: Answer) -> bool:
    start = answer.text[:300].lstrip().lower()
    begins_so = start.startswith(("<!doctype html", "<html", "<head", "<body"))
    return begins_so or (bool(start) and answer.content_type == "text/html")


def _parsed(answer: Answer, *, name: str, is_local: bool) -> Any:
    text = answer.text.strip()
    if not text:
        raise ProviderError(
            _("%(name)s sent an empty answer.") % {"name": name},
            retryable=True,
            status=answer.status,
            hint=_("It may be overloaded; try again."),
            error_type="empty",
        )
    try:
        return answer.json()
    except ValueError:
        pass
    if _looks_like_html(answer):
        title = "" if is_local else _title(answer)
        quoted = _(" (“%(title)s”)") % {"title": title} if title else ""
        raise ProviderError(
            _("%(name)s sent a web page%(title)s instead of an answer.") % {"name": name, "title": quoted},
            retryable=True,
            status=answer.status,
            hint=_("Check the address: it usually ends in /v1."),
            error_type="html",
        )
    raise _unreadable(name)


def _unreadable(name: str) -> ProviderError:
    return ProviderError(
        _("%(name)s sent something that is not JSON.") % {"name": name},
        retryable=True,
        status=200,
        hint=_("Check the address: it usually ends in /v1."),
        error_type="content_type",
    )


def _error_inside(data: dict[str, Any], answer: Answer, *, name: str) -> ProviderError:
    """Proxies answer 200 and put the trouble into the body."""
    error = data["error"]
    code, kind = (error.get("code"), error.get("type")) if isinstance(error, dict) else (None, None)
    status = int(str(code)) if str(code).isdigit() and 400 <= int(str(code)) < 600 else _KINDS.get(str(kind), 0)
    said = error_text(data)
    if not status and _CONTEXT.search(f"{said} {code}"):
        status = 400
    found = _by_status(status, said, answer, name) if status else _plain_error(said, answer, name)
    found.said = f"{said} {named_in(data)}"
    return found


def _plain_error(said: str, answer: Answer, name: str) -> ProviderError:
    return ProviderError(
        _("%(name)s answered with an error: %(said)s.")
        % {"name": name, "said": (said or _("no reason given")).rstrip(".")},
        retryable=False,
        status=answer.status,
        error_type="server",
    )


# status → (error type, retryable, sentence, hint)
_STATUS: dict[int, tuple[str, bool, str, str]] = {
    401: ("key", False, "%(name)s does not accept the key.", "Enter the key again: Settings, Models."),
    402: ("payment", False, "%(name)s wants to be paid first.", "Add credit at the provider, or choose another model."),
    403: (
        "forbidden",
        False,
        "%(name)s refuses this request.",
        "The key may not use this model, or the provider does not serve this text.",
    ),
    404: ("not_found", False, "%(name)s does not know this model or address.", "Check the model and the address."),
    405: ("not_found", False, "%(name)s does not take questions at this address.", "The address usually ends in /v1."),
    408: ("timeout", True, "%(name)s gave up waiting.", "Try again, or choose a faster model."),
    413: (
        "context",
        False,
        "The text is too long for %(name)s.",
        "Make the chunks smaller, or raise the context window.",
    ),
    429: ("rate", True, "%(name)s is asked too often.", "CharMem waits and goes on by itself."),
    503: (
        "server",
        True,
        "%(name)s is overloaded or loading its model.",
        "Try again in a while.",
    ),
}


def _by_status(status: int, said: str, answer: Answer, name: str) -> ProviderError:
    kind, retryable, sentence, hint = _rule(status, said, answer)
    message = _(sentence) % {"name": name, "status": status}
    if said:
        message = _("%(sentence)s It said: %(said)s") % {"sentence": message, "said": said.rstrip(".") + "."}
    return ProviderError(
        message,
        retryable=retryable,
        status=status,
        hint=_(hint) if hint else "",
        retry_after=_retry_after(answer, status, said),
        error_type=kind,
    )


def _rule(status: int, said: str, answer: Answer) -> tuple[str, bool, str, str]:
    if status in (400, 413, 422, 500) and _CONTEXT.search(said):
        return _STATUS[413]
    if status == 400 and _WRONG_KEY.search(said):
        return _STATUS[401]
    if status in (400, 403) and _NO_CREDIT.search(said):
        return _STATUS[402]
    if status == 429 and "insufficient_quota" in answer.text:
        return _STATUS[402]  # waiting does not fill an account
    if status in _STATUS:
        return _STATUS[status]
    if status < 400:
        return "redirect", False, "%(name)s points to another address (%(status)d).", "Enter the final address."
    if status < 500:
        return "request", False, "%(name)s does not accept this request (%(status)d).", ""
    return (
        "server",
        True,
        "%(name)s has trouble of its own (%(status)d).",
        "Try again in a while.",
    )


def _retry_after(answer: Answer, status: int, said: str) -> float | None:
    """The pause that was asked for; words and error objects are taken at their word only where they are about it."""
    if status not in (408, 429, 500, 502, 503, 504, 529):
        return None
    is_about_it = status in (429, 503)
    pause = asked_pause(answer.headers, _json_or_none(answer) if is_about_it else None, said if is_about_it else "")
    return pause_until_reset(answer.headers) if pause is None and status == 429 else pause
