"""The sentences of the activity log. Numbers, names of models and characters; never what anybody wrote."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.wording import number
from jobs.redaction import redact
from jobs.run import JobFailed, JobPaused
from memories.extraction_verdict import Findings
from providers.base import Completion, ProviderError, Request
from providers.models import Connection, purpose_name
from providers.tokens import estimate_tokens

STEPS = {
    "collected": gettext_lazy("Collected"),
    "sent": gettext_lazy("Sent"),
    "answered": gettext_lazy("Answered"),
    "judged": gettext_lazy("Judged"),
    "saved": gettext_lazy("Saved"),
    "skipped": gettext_lazy("Passed over"),
    "waits": gettext_lazy("Waits"),
    "began": gettext_lazy("Began"),
    "ended": gettext_lazy("Ended"),
    "failed": gettext_lazy("Failed"),
    "changed": gettext_lazy("Changed"),
}
LEVELS = {
    "info": gettext_lazy("Information"),
    "good": gettext_lazy("Success"),
    "warn": gettext_lazy("Warning"),
    "bad": gettext_lazy("Trouble"),
}


def collected(count: int, first: int, last: int) -> str:
    text = ngettext("Collected %(n)s message", "Collected %(n)s messages", count) % {"n": number(count)}
    return f"{text}, #{first}–{last}."


def sent(connection: Connection, request: Request) -> str:
    tokens = estimate_tokens(request.system + request.user, connection.bytes_per_token)
    return _("%(purpose)s: sent about %(n)s tokens to %(model)s at %(name)s.") % {
        "purpose": purpose_name(request.purpose),
        "n": number(tokens),
        "model": connection.model or _("its model"),
        "name": connection.name,
    }


def answered(done: Completion) -> str:
    text = _("Answered in %(seconds).1f s with %(n)s tokens") % {
        "seconds": done.seconds,
        "n": number(done.completion_tokens),
    }
    return f"{text}; {_('cut off by the token limit')}." if done.is_truncated else f"{text}."


def no_answer(error: ProviderError, seconds: float) -> str:
    text = _("No usable answer after %(seconds).1f s: %(why)s") % {"seconds": seconds, "why": error.message}
    return redact(text)


def judged(findings: Findings) -> str:
    count = findings.memories + findings.repeated + len(findings.held) + findings.refused
    text = ngettext("The answer holds %(n)d memory", "The answer holds %(n)d memories", count) % {"n": count}
    found = fates(findings, mended=findings.mended)
    return f"{text}: {found}." if found else f"{text}."


def fates(findings: Findings, *, mended: int = 0) -> str:
    """What became of those that were not simply kept: counts in words, "" for none."""
    notes = [
        (findings.repeated, _("%(n)d known already, or said twice, and left out")),
        (findings.similar, _("%(n)d similar to a known one")),
        (findings.unverified, _("%(n)d marked with a doubt")),
        (mended, _("%(n)d mended by the model")),
        (len(findings.held), _("%(n)d held back for you to decide")),
        (findings.refused, _("%(n)d refused before and left out")),
    ]
    return "; ".join(words % {"n": n} for n, words in notes if n)


def saved(name: str, count: int) -> str:
    if not count:
        return _("Nothing new about %(name)s in these messages.") % {"name": name}
    text = ngettext("Saved %(n)d memory of %(name)s.", "Saved %(n)d memories of %(name)s.", count)
    return text % {"n": count, "name": name}


def skipped(outcome: str, name: str, first: int, last: int) -> str:
    if outcome == "absent":
        text = _("%(name)s takes no part in #%(first)d–%(last)d: counted as read, nothing was sent.")
    else:
        text = _("#%(first)d–%(last)d hold no words to read: counted as read, nothing was sent.")
    return text % {"name": name, "first": first, "last": last}


def ended(news: Exception) -> tuple[str, str, str]:
    """(step, level, sentence) of a chunk that could not write anything."""
    if isinstance(news, JobPaused):
        return "waits", "warn", redact(news.reason)
    if isinstance(news, JobFailed):
        return "failed", "bad", redact(f"{news.message} {news.hint}".strip())
    name = type(news).__name__
    return "failed", "bad", _("Something unexpected went wrong (%(name)s). What was done is kept.") % {"name": name}
