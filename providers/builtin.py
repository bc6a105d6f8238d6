"""Which model the built-in one is and how it runs: one choice for the whole instance, made by admins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.ownership import unscoped
from accounts.wording import number, size
from providers import machine, model_files
from providers.base import ProviderError
from providers.local_server import Serving
from providers.model_files import ModelFile
from providers.models import BuiltinModel, Connection

LEAST_CONTEXT, MOST_CONTEXT = 512, 131_072
THE_ROW = 1
USUAL_BYTES_PER_TOKEN = Connection._meta.get_field("bytes_per_token").default


class BuiltinProblem(Exception):
    """It cannot be like this: `field` names what is wrong, the message is a finished sentence."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True)
class Wish:
    """`file_name` "" is the installed model, `threads` None is half the cores."""

    file_name: str
    threads: int | None
    context_tokens: int
    idle_seconds: int


def current() -> BuiltinModel:
    """The choice; the installed model with usual settings as long as nobody chose."""
    return BuiltinModel.objects.filter(pk=THE_ROW).first() or BuiltinModel(pk=THE_ROW)


def serving() -> Serving:
    """The choice as the server process takes it. Raises ProviderError when the file is gone."""
    row = current()
    file = model_files.find(row.file_name)
    if file is None and not row.file_name:
        raise ProviderError(
            _("The built-in model is not installed here."),
            retryable=False,
            hint=_("Start CharMem with “make run”, without MODEL=no, or choose another connection."),
            error_type="setup",
        )
    if file is None or file.problem:
        why = _("%(name)s cannot be used: %(why)s") if file else _("%(name)s is not in the models folder any more.")
        raise ProviderError(
            why % {"name": row.file_name, "why": file.problem if file else ""},
            retryable=False,
            hint=_("An admin chooses another one: Settings, Models, Built-in model."),
            error_type="setup",
        )
    return Serving(str(file.path), row.context_tokens, row.threads or 0, float(row.idle_seconds))


def change(wish: Wish) -> BuiltinModel:
    """Another model, or other settings: they hold from the next call on. Raises BuiltinProblem.

    Everybody's connections to it get the new window; what a test said about another model is forgotten.
    """
    _check(wish, _usable(wish.file_name))
    before = current()
    row = BuiltinModel(pk=THE_ROW, **vars(wish))
    fresh: dict[str, Any] = {"down_until": None, "down_reason": "", "context_tokens": wish.context_tokens}
    if before.file_name != wish.file_name:
        fresh |= {"tested_at": None, "test_result": {}, "bytes_per_token": USUAL_BYTES_PER_TOKEN}
    with transaction.atomic():
        row.save()
        with unscoped("the built-in model is one for everybody"):
            Connection.objects.filter(preset="builtin").update(**fresh)
    return row


def removable(name: str) -> ModelFile:
    """A file of the models folder that may be deleted; BuiltinProblem for the chosen one and for what is none."""
    file = model_files.find(name) if name else None
    if file is None:
        raise BuiltinProblem("file_name", _("There is no such file in the models folder."))
    if name == current().file_name:
        raise BuiltinProblem("file_name", _("%(name)s is in use: choose another model first.") % {"name": name})
    if file.is_folder:
        raise BuiltinProblem("file_name", _("%(name)s is a folder; remove it by hand.") % {"name": name})
    return file


def _usable(name: str) -> ModelFile:
    file = model_files.find(name)
    if file is None:
        raise BuiltinProblem("file_name", _("There is no such file in the models folder."))
    if file.problem:
        raise BuiltinProblem("file_name", file.problem)
    return file


def _check(wish: Wish, file: ModelFile) -> None:
    assert file.facts is not None  # noqa: S101  for the type checker: no problem means that it was read
    most = file.facts.trained_context or MOST_CONTEXT
    if not LEAST_CONTEXT <= wish.context_tokens <= MOST_CONTEXT:
        span = {"least": number(LEAST_CONTEXT), "most": number(MOST_CONTEXT)}
        raise BuiltinProblem("context_tokens", _("Between %(least)s and %(most)s tokens, please.") % span)
    if wish.context_tokens > most:
        text = _("This model was made for at most %(most)s tokens.") % {"most": number(most)}
        raise BuiltinProblem("context_tokens", text)
    if wish.threads is not None and not 1 <= wish.threads <= cores():
        raise BuiltinProblem("threads", _("This computer has %(n)d cores.") % {"n": cores()})
    need, there = file.facts.memory_for(wish.context_tokens), machine.memory()
    if there is not None and need > there.total:
        text = _("%(name)s with this window needs about %(need)s of memory, and this computer has %(total)s.")
        sizes = {"name": file.label, "need": size(need), "total": size(there.total)}
        raise BuiltinProblem("file_name", text % sizes)


def cores() -> int:
    """Cores that this computer shows us."""
    return os.cpu_count() or 1
