"""What removing an account does to jobs, keys, memories and mirrors, told before it is done."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from accounts.registries import Removal
from accounts.wording import number
from jobs.enqueue import request_cancel
from jobs.models import Job
from memories import importing_export_upload as uploads
from memories.models import Memory, MemoryFile
from providers.models import Connection
from search import index as search_index
from sync import leftovers
from sync.models import Attachment, Chat, Message, Tavern


def tell_jobs(person: User) -> list[str]:
    count = Job.objects.filter(owner=person, state__in=Job.ACTIVE).count()
    said = ngettext("%(n)s job is stopped.", "%(n)s jobs are stopped.", count)
    return [said % {"n": number(count)}] if count else []


def stop_jobs(person: User) -> None:
    """Ask running work to stop; a worker that still holds a row finds it gone and drops what it did."""
    for job in Job.objects.filter(owner=person, state__in=Job.ACTIVE):
        request_cancel(job)


def tell_memories(person: User) -> list[str]:
    memories = Memory.objects.filter(block__file__owner=person).count()
    files = MemoryFile.objects.filter(owner=person).count()
    said = ngettext(
        "%(n)s memory and its whole history are deleted from CharMem (memory files: %(files)s).",
        "%(n)s memories and their whole history are deleted from CharMem (memory files: %(files)s).",
        memories,
    )
    return [said % {"n": number(memories), "files": number(files)}] if files else []


def remove_memories(person: User) -> None:
    """Files first: their revisions guard the texts they share. Exports that wait to be imported hold memories too."""
    uploads.drop_all(person)
    for file in MemoryFile.objects.filter(owner=person):
        file.delete()


def tell_files(person: User) -> list[str]:
    written = Attachment.objects.filter(tavern__owner=person, is_ours=True, file_present=True).count()
    said = ngettext(
        "%(n)s memory file stays in SillyTavern’s Data Bank and goes on working there.",
        "%(n)s memory files stay in SillyTavern’s Data Bank and go on working there.",
        written,
    )
    kept = _("Characters, chats and lorebooks in SillyTavern are not touched; only CharMem’s copies are deleted.")
    return [*([said % {"n": number(written)}] if written else []), str(kept)]


def remove_mirrors(person: User) -> None:
    """Chat by chat, so that no single transaction holds the database for long."""
    for chat in Chat.objects.filter(tavern__owner=person).only("pk"):
        Message.objects.filter(chat=chat).delete()
        chat.delete()
    for tavern in Tavern.objects.filter(owner=person):
        leftovers.forget(tavern)


def tell_keys(person: User) -> list[str]:
    count = Connection.objects.filter(owner=person).count()
    said = ngettext(
        "%(n)s connection to a model and its key are deleted. Nobody else uses it.",
        "%(n)s connections to models and their keys are deleted. Nobody else uses them.",
        count,
    )
    return [said % {"n": number(count)}] if count else []


def tell_folders(person: User) -> list[str]:
    count = Tavern.objects.filter(owner=person, is_sample=False).count()
    said = ngettext(
        "%(n)s SillyTavern folder is free and can be linked by somebody else.",
        "%(n)s SillyTavern folders are free and can be linked by somebody else.",
        count,
    )
    return [said % {"n": number(count)}] if count else []


def remove_from_search(person: User) -> None:
    """The index follows by itself within seconds; its words must not outlive the account even that long."""
    search_index.forget_all_of(person.pk)


REMOVALS = (
    Removal(tell_jobs, stop_jobs),
    Removal(lambda person: [], remove_from_search),
    Removal(tell_memories, remove_memories),
    Removal(tell_files, remove_mirrors),
    Removal(tell_keys),
    Removal(tell_folders),
)
