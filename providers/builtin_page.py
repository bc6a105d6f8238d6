"""What the pages say about the built-in model, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.wording import number
from jobs.models import Job
from providers import builtin, local_model, machine, model_download, model_files
from providers.machine import Memory
from providers.model_files import ModelFile

BILLION = 10**9


@dataclass(frozen=True)
class Row:
    """One file to choose. `need`: bytes of memory with the window that is set."""

    file: ModelFile
    is_chosen: bool
    is_installed: bool
    parameters: str
    need: int | None
    quality: str

    @property
    def can_go(self) -> bool:
        return not (self.is_installed or self.is_chosen or self.file.is_folder)


@dataclass(frozen=True)
class BuiltinPage:
    """`free`: bytes for the model, together with what it takes now. `job`: the last download, when it still matters."""

    rows: list[Row]
    chosen: Row | None
    has_engine: bool
    is_loaded: bool
    memory: Memory | None
    free: int
    folder: str
    job: Job | None
    most_bytes: int

    @property
    def is_tight(self) -> bool:
        return bool(self.memory and self.chosen and self.chosen.need and self.chosen.need > self.free)


def builtin_page(user: User) -> BuiltinPage:
    """Files, the choice, memory, and the download."""
    row = builtin.current()
    rows = [_row(file, row.file_name, row.context_tokens) for file in model_files.all_files()]
    chosen = next((one for one in rows if one.is_chosen), None)
    is_loaded, memory = local_model.is_loaded(), machine.memory()
    job = model_download.newest(user)
    return BuiltinPage(
        rows=rows,
        chosen=chosen,
        has_engine=local_model.has_engine(),
        is_loaded=is_loaded,
        memory=memory,
        free=(memory.free if memory else 0) + (((chosen and chosen.need) or 0) if is_loaded else 0),
        folder=str(model_files.folder()),
        job=job if job and job.state != Job.State.DONE else None,
        most_bytes=settings.MODEL_DOWNLOAD_BYTES,
    )


def chosen_row() -> Row | None:
    """The model that answers now; None when its file is gone."""
    row = builtin.current()
    file = model_files.find(row.file_name)
    return _row(file, row.file_name, row.context_tokens) if file else None


def _row(file: ModelFile, chosen: str, context: int) -> Row:
    facts = file.facts
    return Row(
        file=file,
        is_chosen=file.name == chosen,
        is_installed=not file.name,
        parameters=_parameters(facts.parameters) if facts else "",
        need=facts.memory_for(context) if facts else None,
        quality=quality(facts.parameters) if facts else "",
    )


def _parameters(count: int) -> str:
    """ "135 M" or "7.6 B", as makers of models write it."""
    if count < BILLION:
        return _("%(n)s million") % {"n": number(round(count / 10**6))}
    return _("%(n)s billion") % {"n": f"{count / BILLION:.1f}".removesuffix(".0")}


def quality(parameters: int) -> str:
    """What to expect of a model of this size, as a rule of thumb."""
    if parameters < BILLION:
        return _("For trying how things work. What it writes is often wrong.")
    if parameters < 4 * BILLION:
        return _("Finds plain facts, mixes up who did what. Read what it writes.")
    if parameters < 10 * BILLION:
        return _("Usable memories, with some mistakes. Slow without a fast computer.")
    return _("Good memories, if this computer has the memory and you have the time.")
