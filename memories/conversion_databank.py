"""An import's Data Bank side: which files can be read, a file of one's own name as destination, and the warning while
the original and the result would both reach the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User
from jobs.enqueue import enqueue
from jobs.models import Job
from jobs.registry import JobKind
from jobs.run import JobFailed, JobRun, Outcome, done
from memories import conversion, drafts, formats
from memories.blocks import Block, serialize_memories
from memories.conversion_source import keep_text, kept_text
from memories.conversion_words import FORMAT_NAMES
from memories.file_names import auto_file_name
from memories.models import MemoryFile, Proposal
from sync import databank, outbox, registration, vectors
from sync.models import Attachment, Character

KIND = "write_import"
SHOWN = 60  # Data Bank files that are looked into
LONGEST_NAME = 120


@dataclass(frozen=True)
class Found:
    """A Data Bank file as the page offers it. `form` is "" when it cannot be read; `problem` says why."""

    attachment: Attachment
    form: str = ""
    problem: str = ""
    is_memory_file: bool = False

    @property
    def format_name(self) -> str:
        return str(FORMAT_NAMES.get(self.form, ""))


def files_of(character: Character) -> list[Found]:
    """The Data Bank files that this character sees, its own first, with the format of each."""
    shared = character.tavern.attachments.filter(gone_at__isnull=True, is_registered=True)
    shared = shared.filter(Q(scope=Attachment.Scope.GLOBAL) | Q(scope=Attachment.Scope.CHAT, chat__character=character))
    candidates = [*databank.memory_file_candidates(character), *shared.order_by("-created_ms")][:SHOWN]
    ours = set(MemoryFile.objects.for_user(character.tavern.owner).values_list("attachment_id", flat=True))
    return [_found(one, is_memory_file=one.pk in ours) for one in candidates]


def _found(attachment: Attachment, *, is_memory_file: bool) -> Found:
    try:
        text = text_of(attachment)
    except ValueError as error:
        return Found(attachment, problem=str(error), is_memory_file=is_memory_file)
    return Found(attachment, formats.detect(text, attachment.name), is_memory_file=is_memory_file)


def text_of(attachment: Attachment) -> str:
    """What a Data Bank file holds now. ValueError with a finished sentence when it cannot be read."""
    try:
        found = outbox.read_file(attachment)
    except outbox.WriteFailed as problem:
        text = _("%(name)s cannot be read just now. Look at the link to SillyTavern; nothing was changed.")
        raise ValueError(text % {"name": attachment.name}) from problem
    if found is None:
        raise ValueError(_("%(name)s is registered in SillyTavern, but its file is gone.") % {"name": attachment.name})
    return found[0]


def still_injected(user: User, proposal: Proposal) -> Attachment | None:
    """The original, while SillyTavern would put both it and the imported memories into the prompt.

    Looked at afresh each time: switching it off in the Data Bank ends the warning.
    """
    rows = Attachment.objects.for_user(user).filter(gone_at__isnull=True, is_registered=True, is_disabled=False)
    own = {"avatar": proposal.file.character.avatar, "scope": Attachment.Scope.CHARACTER, "is_ours": False}
    wanted = proposal.params.get("attachment")
    found = rows.filter(pk=wanted) if wanted else rows.filter(name=proposal.source_name, **own)
    return found.exclude(memory_file=proposal.file).first()


def save_as(user: User, proposal: Proposal, name: str) -> Attachment:
    """Write the result into a Data Bank file of its own instead of the memories; the job does the writing.

    ValueError when the name is taken or there is nothing to save.
    """
    character = proposal.file.character
    name = _file_name(name, character)
    if any(one.name == name for one in databank.memory_file_candidates(character)):
        raise ValueError(_("%(name)s exists already. Choose another name; nothing was written.") % {"name": name})
    draft = conversion.held(proposal)
    blocks = [Block(one.label, one.date, tuple(m.text for m in one.memories)) for one in conversion.new_blocks(draft)]
    if not blocks:
        raise ValueError(_("There is nothing to save: no new memory is left."))
    with transaction.atomic():
        attachment = databank.find_or_create_attachment(character, name)
        source = keep_text(proposal.file, serialize_memories(blocks))
        params = {"attachment": str(attachment.pk), "text": source, "proposal": str(proposal.pk)}
        _enqueue(user, character, name, params)
        conversion.close(proposal, Proposal.State.APPLIED)
        drafts.leave(draft)
    return attachment


def _file_name(name: str, character: Character) -> str:
    plain = " ".join(name.split())[:LONGEST_NAME].strip(" .")
    if not plain:
        plain = auto_file_name(character.name).replace("-memories", "-imported")
    return plain if plain.lower().endswith((".md", ".txt")) else f"{plain}.md"


def _enqueue(user: User, character: Character, name: str, params: dict[str, Any]) -> Job:
    job, _new = enqueue(
        user,
        KIND,
        key=f"{KIND}:{params['attachment']}",
        subject=f"character:{character.pk}",
        label=_("Write %(name)s") % {"name": name},
        params=params,
    )
    return job


def run(run: JobRun) -> Outcome:
    """Write the file and ask SillyTavern to list it."""
    attachment = Attachment.objects.for_user(run.owner).filter(pk=run.params["attachment"]).first()
    if attachment is None:
        raise JobFailed(_("The file was removed; nothing was written."), error_type="gone", retry=False)
    text = kept_text(run.owner, int(run.params["text"]))
    run.check()
    try:
        outcome = outbox.write_file(attachment, text)
    except outbox.WriteFailed as problem:
        raise JobFailed(problem.message, hint=problem.hint, error_type="write") from problem
    if not isinstance(outcome, outbox.Written):
        message = _("%(name)s holds another text by now; nothing was overwritten.") % {"name": attachment.name}
        raise JobFailed(message, error_type="conflict", retry=False)
    registration.ask(attachment, name=attachment.name, size=len(text.encode("utf-8", "replace")))
    vectors.rebuild_index(attachment)
    return done({"text": _("Written to the Data Bank.")})


def page_of(job: Job) -> str:
    return reverse("memories:proposal", args=[job.params["proposal"]])


def job_kind() -> JobKind:
    """How jobs/registry.py knows this work."""
    return JobKind(KIND, _("Write an import into the Data Bank"), run, page_of, "files")
