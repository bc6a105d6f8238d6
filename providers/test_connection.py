"""Test a connection: is the server reached, is the key good, does the model answer, does it write memories.

The question is a real one (probes.py). A model that used up its answer with thinking is asked once more with more
room. What comes out is kept on the connection's row, unless the row leads somewhere else by then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import throttling
from accounts.models import User
from accounts.ownership import unscoped
from providers import adapters, connecting, fallback, prices, through, trouble_hints
from providers.base import Completion, ProviderError, Request, Stop, Usage
from providers.base_url import with_version
from providers.catalogue import PRESETS, Preset
from providers.complete import complete
from providers.discover import talks
from providers.models import Connection
from providers.probes import Judgement, Probe, probe_for
from providers.verdict import Step, Verdict

if TYPE_CHECKING:
    from jobs.models import Job

__all__ = ["Step", "Verdict", "may_test", "test_connection"]
MOST_SECONDS = 180.0
TIMES_A_MINUTE = 10
KEY_TROUBLE = ("key", "payment", "forbidden")
NO_LIST = ("not_found", "html", "content_type", "request", "empty")


def may_test(user: User) -> bool:
    """Ten tests a minute and person: each one costs something and could be used to knock on doors (§9.7)."""
    return throttling.allow(("test-connection", str(user.pk)), times=TIMES_A_MINUTE, seconds=60)


def test_connection(connection: Connection, *, stop: Stop | None = None, job: Job | None = None) -> Verdict:
    """Try the connection, keep the result on its row. Writes its calls into the ledger, under `job` if there is one.

    Raises ProviderError("stopped") when `stop()` says so; nothing is kept then.
    """
    trial = _Trial(connection, stop or _never, job)
    try:
        trial.run()
    except ProviderError as error:
        if error.error_type == "stopped" and trial.stop():
            raise
        trial.blame(error)
    trial.count()
    if _keep(connection, trial) and trial.result.ok:
        fallback.mend(connection)
    return trial.result


@dataclass
class _Trial:
    """One test on its way. `came_with` is what the connection led to when it began."""

    connection: Connection
    stop: Stop
    job: Job | None
    result: Verdict = field(default_factory=Verdict)
    usages: list[Usage] = field(default_factory=list)
    costs: list[Decimal | None] = field(default_factory=list)
    note: str = ""
    has_list: bool = False

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.came_with = _leads_to(self.connection)

    def run(self) -> None:
        self.note = self._list_models()
        seconds = time.monotonic() - self.started
        if self.has_list:
            self.result.mark("reached", "ok", _("%(n).1f s") % {"n": seconds})
        probe = probe_for(self.connection)
        done, judged = self._asked(probe)
        self.result.mark("reached", "ok", _("%(n).1f s") % {"n": seconds} if self.has_list else _("yes"))
        self.result.mark("key", "ok", _key_words(self.connection))
        self.result.mark("answer", "ok", _("%(n).1f s") % {"n": done.seconds})
        self._judge(probe, done, judged)

    def _asked(self, probe: Probe) -> tuple[Completion, Judgement]:
        """The answer, of a second try with more room where the first one was too short for it."""
        *first, last = probe.rooms
        for room in first:
            try:
                done = self._ask(probe, room)
            except ProviderError as error:
                if error.error_type != "reasoning_only":
                    raise
                continue
            judged = probe.judge(done.text, done.is_truncated)
            if judged.follows or not done.is_truncated:
                return done, judged
        try:
            done = self._ask(probe, last)
        except ProviderError as error:
            error.hint = probe.too_short if error.error_type == "reasoning_only" else error.hint
            raise
        return done, probe.judge(done.text, done.is_truncated)

    def _ask(self, probe: Probe, room: int) -> Completion:
        request = Request(probe.system, probe.user, room, purpose="test", grammar=probe.grammar, job=self.job)
        try:
            done = complete(self.connection, request, stop=self._is_over, tries=1)
        except ProviderError as error:
            self.usages.append(error.usage)
            self.costs.append(prices.cost_of(self.connection, error.usage) if error.usage.prompt_tokens else Decimal(0))
            raise
        self.usages.append(Usage(done.prompt_tokens, done.completion_tokens))
        self.costs.append(done.call.cost)
        return done

    def _judge(self, probe: Probe, done: Completion, judged: Judgement) -> None:
        result, name = self.result, {"name": self.connection.name}
        result.quote = judged.quote
        result.mark("memory", "ok" if judged.follows else "warn", judged.text)
        if judged.follows:
            result.message, result.hint = _("%(name)s works.") % name, self.note
            return
        result.state = "warn"
        result.message = _("%(name)s answers, but not as asked.") % name
        result.hint = probe.too_short if done.is_truncated else judged.hint or self.note

    def blame(self, error: ProviderError) -> None:
        """Fill the rows by what went wrong."""
        result = self.result
        error = self._in_time(error)
        result.state, result.message = "bad", error.message
        result.hint = trouble_hints.hint(self.connection, error)
        result.names = trouble_hints.nearest(self.connection, error)
        if result.names:
            result.hint = _("The list does not have %(model)s.") % {"model": adapters.model_of(self.connection)}
        if error.status is not None or self.has_list:
            result.mark("reached", "ok", _("yes"))
        if error.status is None and not self.has_list and error.error_type not in ("setup", "key", "budget", "price"):
            result.mark("reached", "bad", _("no"))
        elif error.error_type in KEY_TROUBLE and error.status != 200:
            words = {"payment": _("no credit")}.get(
                error.error_type, _("not accepted") if error.status else _("missing")
            )
            result.mark("key", "bad", words)
        elif error.status == 200:
            result.mark("key", "ok", _key_words(self.connection))
            result.mark("answer", "bad", _("without text"))
        else:
            result.mark("answer", "bad", _("error %(n)d") % {"n": error.status} if error.status else _("none"))

    def count(self) -> None:
        """Time, tokens and price of all that was asked."""
        result = self.result
        result.seconds = round(time.monotonic() - self.started, 1)
        result.tokens_in = sum(one.prompt_tokens or 0 for one in self.usages)
        result.tokens_out = sum(one.completion_tokens or 0 for one in self.usages)
        known = [one for one in self.costs if one is not None]
        result.cost = str(sum(known, Decimal(0))) if self.usages and len(known) == len(self.costs) else ""

    def _is_over(self) -> bool:
        return self.stop() or time.monotonic() - self.started > MOST_SECONDS

    def _in_time(self, error: ProviderError) -> ProviderError:
        """Nobody but the clock stopped it."""
        if error.error_type != "stopped":
            return error
        n = int(MOST_SECONDS)
        text = ngettext(
            "%(name)s did not answer within %(n)d second.", "%(name)s did not answer within %(n)d seconds.", n
        )
        return ProviderError(
            text % {"name": self.connection.name, "n": n},
            retryable=True,
            hint=_("The model may still be loading; try again in a minute."),
            error_type="timeout",
        )

    def _list_models(self) -> str:
        """Fetch the list where there is one: it finds a forgotten /v1, and a model for a server of one's own.

        Servers without a list are no trouble: the answer decides. Returns a sentence about what was changed.
        """
        preset = PRESETS.get(self.connection.preset)
        if preset is None or not preset.lists_models:
            return ""
        note = ""
        try:
            models = connecting.refresh_listing(self.connection, self._is_over)
            self.has_list = True
        except ProviderError as error:
            if error.error_type not in NO_LIST:
                raise
            models, note = self._with_version() if preset.address_is_typed else ([], "")
        self._choose_model(preset, models)
        return note

    def _choose_model(self, preset: Preset, models: list[str]) -> None:
        """Where none is chosen: the first that talks of a server of one's own, or the only one."""
        if not self.connection.model and models and (preset.address_is_typed or len(models) == 1):
            self.connection.model = next(filter(talks, models), models[0])

    def _with_version(self) -> tuple[list[str], str]:
        connection, longer = self.connection, with_version(self.connection.base_url)
        if longer is None:
            return [], ""
        shorter, connection.base_url = connection.base_url, longer
        try:
            found = adapters.fetch_models(connection, self._is_over)
        except ProviderError:
            connection.base_url = shorter
            return [], ""
        self.has_list = True
        if _write(connection, self.came_with, base_url=longer):
            self.came_with = (longer, *self.came_with[1:])
        return connecting.keep_listing(connection, found), _("/v1 was missing at the end of the address and was added.")


def _leads_to(connection: Connection) -> tuple[str, str, str]:
    return connection.base_url, connection.model, connection.key_sealed


def _keep(connection: Connection, trial: _Trial) -> bool:
    """Keep the result if it is still about what the row leads to."""
    connection.tested_at = timezone.now()
    connection.test_result = trial.result.as_json()
    fields = ("tested_at", "test_result", "model", "updated_at")
    connection.updated_at = connection.tested_at
    return _write(connection, trial.came_with, **{name: getattr(connection, name) for name in fields})


def _write(connection: Connection, leads_to: tuple[str, str, str], **fields: object) -> bool:
    base_url, model, key = leads_to
    with unscoped("the result of a test of a connection that the caller holds"):
        rows = Connection.objects.filter(pk=connection.pk, base_url=base_url, model=model, key_sealed=key)
        return bool(rows.update(**fields))


def _key_words(connection: Connection) -> str:
    preset = PRESETS.get(connection.preset)
    if preset is not None and preset.reach == through.REACH:
        return _("stays where it is")
    return _("accepted") if connection.key_sealed else _("none needed")


def _never() -> bool:
    return False
