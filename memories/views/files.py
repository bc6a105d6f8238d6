"""The memory file that an address means: the character’s own or shared one, or that of a chat that `file` names."""

from __future__ import annotations

from accounts.access import PersonRequest, owned
from memories.memory_file import file_for
from memories.memory_filters import is_uuid
from memories.memory_list import file_of
from memories.models import MemoryFile
from memories.scopes import share_of
from sync.models import Character


def named_file(request: PersonRequest, character: Character) -> MemoryFile | None:
    """The file of this character that `file` in the address or the form names, 404 when it is somebody else's; without
    a name the character's own, None when there is none yet."""
    wanted = request.POST.get("file") or request.GET.get("file", "")
    share = share_of(character)
    if share is not None and wanted == str(share.file_id):
        return share.file
    if is_uuid(wanted):
        return owned(MemoryFile, request, character=character, pk=wanted)
    return file_of(request.user, character)


def chosen_file(request: PersonRequest, character: Character) -> MemoryFile:
    """The same, for pages that make the character's own file when there is none yet."""
    return named_file(request, character) or file_for(character)
