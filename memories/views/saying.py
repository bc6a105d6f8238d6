"""How these pages say what happened: a toast with Undo, or a sentence about what went wrong and what was kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from accounts.access import PersonRequest
from memories.file_editor import NotInFile
from memories.memory_file import VersionConflict
from providers.base import ProviderError
from sync.link import LinkError


def say(request: HttpRequest, text: str, undo: str = "") -> None:
    """A toast; `undo` is the address that takes the change back."""
    messages.success(request, text, extra_tags=undo)


@contextmanager
def explained(request: HttpRequest) -> Iterator[None]:
    """Errors that already are sentences for people become toasts; everything else is a defect and stays one."""
    try:
        yield
    except VersionConflict:
        messages.error(request, _("Somebody else changed this memory file meanwhile. Nothing was lost; try again."))
    except NotInFile:
        messages.error(request, _("That memory is not there any more. Nothing was changed."))
    except (ProviderError, LinkError, ValueError) as error:
        messages.error(request, str(error))


def back(request: HttpRequest, fallback: str, *args: object) -> HttpResponse:
    """To the page that the form names in `next` when it is one of ours, else to `fallback`."""
    wanted = request.POST.get("next", "")
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return HttpResponseRedirect(wanted)
    return redirect(resolve_url(fallback, *args))


def page_behind(request: PersonRequest) -> str:
    """Path and query of the page that asks with JavaScript; "" without, or when it is no page of ours."""
    try:
        return request.htmx.current_url_abs_path or ""
    except ValueError:  # not even an address
        return ""


def came_from(request: PersonRequest, anchor: str = "") -> str:
    """The page that a drawer was opened on, so that its forms lead back to the same place; "" without JavaScript."""
    path = page_behind(request)
    return f"{path.partition('#')[0]}#{anchor}" if path else ""
