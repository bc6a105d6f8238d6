"""Test connection: is the server reached, is the key good, does the model answer. One sentence and a hint."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import throttling
from accounts.models import User
from providers import connecting, fallback, through
from providers.base import Completion, ProviderError, Request, Stop
from providers.base_url import with_version
from providers.catalogue import PRESETS
from providers.complete import complete
from providers.models import Connection

WORD = "CHARMEM-READY"
MOST_SECONDS = 60.0
ANSWER_TOKENS = 400  # room for a model that thinks first
TIMES_A_MINUTE = 10
KEY_TROUBLE = ("key", "payment", "forbidden")


@dataclass
class Step:
    """One row of the result; `state` is ok, warn, bad or off (not tried)."""

    name: str
    state: str
    text: str


@dataclass
class Verdict:
    """`state` is the worst of the steps; `message` and `hint` are finished sentences."""

    state: str = "ok"
    message: str = ""
    hint: str = ""
    steps: list[Step] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.state != "bad"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def may_test(user: User) -> bool:
    """Ten tests a minute and person: each one costs something and could be used to knock on doors (§9.7)."""
    return throttling.allow(("test-connection", str(user.pk)), times=TIMES_A_MINUTE, seconds=60)


def test_connection(connection: Connection) -> Verdict:
    """Try the connection for at most a minute, keep the result on its row. Writes the call into the ledger."""
    until = time.monotonic() + MOST_SECONDS
    result = Verdict()
    try:
        _try(connection, result, lambda: time.monotonic() > until)
    except ProviderError as error:
        _blame(result, _in_time(error, connection))
    connection.tested_at = timezone.now()
    connection.test_result = result.as_json()
    connection.save(update_fields=["tested_at", "test_result", "base_url", "model", "updated_at"])
    if result.ok:
        fallback.mend(connection)
    return result


def _try(connection: Connection, result: Verdict, stop: Stop) -> None:
    started = time.monotonic()
    note = _list_models(connection, stop)
    seconds = time.monotonic() - started
    request = Request("", f"Answer with exactly this word and nothing else: {WORD}", ANSWER_TOKENS, purpose="test")
    completion = complete(connection, request, stop=stop, tries=1)
    result.steps = [Step("reached", "ok", _("%(n).1f s") % {"n": seconds}), Step("key", "ok", _key_words(connection))]
    _judge(result, connection, completion)
    result.hint = result.hint or note


def _list_models(connection: Connection, stop: Stop) -> str:
    """Fetch the list where there is one: it finds a forgotten /v1, and a model for a server that has only one.

    Servers without a list are no trouble: the answer decides. Returns a sentence about what was changed.
    """
    preset = PRESETS.get(connection.preset)
    if preset is None or not preset.lists_models:
        return ""
    note = ""
    try:
        models = connecting.refresh_listing(connection, stop)
    except ProviderError as error:
        if error.error_type not in ("not_found", "html", "content_type", "request", "empty"):
            raise
        models, note = _with_version(connection, stop) if preset.address_is_typed else ([], "")
    if not connection.model and models:
        connection.model = models[0]
    return note


def _with_version(connection: Connection, stop: Stop) -> tuple[list[str], str]:
    longer = with_version(connection.base_url)
    if longer is None:
        return [], ""
    shorter, connection.base_url = connection.base_url, longer
    try:
        models = connecting.refresh_listing(connection, stop)
    except ProviderError:
        connection.base_url = shorter
        return [], ""
    connection.save(update_fields=["base_url", "updated_at"])
    return models, _("/v1 was missing at the end of the address and was added.")


def _judge(result: Verdict, connection: Connection, completion: Completion) -> None:
    followed = WORD.lower() in completion.text.lower()
    facts = {"seconds": completion.seconds, "tokens": completion.completion_tokens}
    words = _("%(seconds).1f s, %(tokens)d tokens") % facts
    result.steps.append(Step("answer", "ok" if followed else "warn", words))
    if followed:
        result.message = _("%(name)s works.") % {"name": connection.name}
        return
    result.state = "warn"
    result.message = _("%(name)s answers, but not as asked.") % {"name": connection.name}
    result.hint = _("Small models often do this; it may still find memories.")


def _blame(result: Verdict, error: ProviderError) -> None:
    result.state, result.message, result.hint = "bad", error.message, error.hint
    if error.error_type in KEY_TROUBLE:
        result.steps = [Step("reached", "ok", _("yes")), Step("key", "bad", _("not accepted"))]
    elif error.status:
        result.steps = [Step("reached", "ok", _("yes")), Step("answer", "bad", _("error %(n)d") % {"n": error.status})]
    else:
        result.steps = [Step("reached", "bad", _("no"))]


def _in_time(error: ProviderError, connection: Connection) -> ProviderError:
    """Nobody but the clock stops a test."""
    if error.error_type != "stopped":
        return error
    return ProviderError(
        _("%(name)s did not answer within %(n)d seconds.") % {"name": connection.name, "n": MOST_SECONDS},
        retryable=True,
        hint=_("The model may still be loading; try again in a minute."),
        error_type="timeout",
    )


def _key_words(connection: Connection) -> str:
    preset = PRESETS.get(connection.preset)
    if preset is not None and preset.reach == through.REACH:
        return _("stays where it is")
    return _("accepted") if connection.key_sealed else _("none needed")
