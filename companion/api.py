"""What the companion may ask and say: which files wait, which are registered, which memories a prompt held."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from companion import pairing as pairings
from companion.models import Pairing
from memories import prompts_seen
from providers.foreign_json import storable
from sync import registration

Answer = Callable[[Pairing, dict[str, Any]], dict[str, Any]]
LONGEST_BODY = 1024 * 1024


def companion_call(answer: Answer) -> Callable[..., HttpResponse]:
    """A call from a page inside SillyTavern, proved by the token of that tavern; anything else is 404."""

    @csrf_exempt
    @login_not_required
    @wraps(answer)
    def view(request: HttpRequest, tavern_id: UUID) -> HttpResponse:
        pairing = pairings.find_pairing(tavern_id)
        origin = request.headers.get("Origin", "")
        if pairing is None or not _is_welcome(request, pairing, origin):
            raise Http404(_("There is no such page."))
        response = HttpResponse(status=204) if request.method == "OPTIONS" else _answered(request, pairing, answer)
        return _for_origin(response, request, origin)

    return view


def _is_welcome(request: HttpRequest, pairing: Pairing, origin: str) -> bool:
    """A preflight needs a known page; a call needs the token, and a known page when it comes from one."""
    is_known_page = bool(origin) and pairings.may_call_from(origin, pairing.tavern.url, request.get_host())
    if request.method == "OPTIONS":
        return is_known_page
    is_proved = pairings.is_token_of(pairing, request.headers.get("Authorization", ""))
    return request.method == "POST" and is_proved and (is_known_page or not origin)


def _answered(request: HttpRequest, pairing: Pairing, answer: Answer) -> HttpResponse:
    if int(request.headers.get("Content-Length") or 0) > LONGEST_BODY:
        return JsonResponse({"error": _("This is more than a companion sends.")}, status=413)
    try:
        body = storable(json.loads(request.body))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return JsonResponse({"error": _("This is not a JSON object.")}, status=400)
    pairings.note_seen(pairing)
    return JsonResponse(answer(pairing, body))


def _for_origin(response: HttpResponse, request: HttpRequest, origin: str) -> HttpResponse:
    if origin:
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Allow-Methods"] = "POST, OPTIONS"
        response["Access-Control-Allow-Headers"] = "authorization, content-type"
        response["Access-Control-Max-Age"] = "600"
    if request.headers.get("Access-Control-Request-Private-Network"):
        response["Access-Control-Allow-Private-Network"] = "true"
    response["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["Origin"])
    return response


@companion_call
def pending(pairing: Pairing, body: dict[str, Any]) -> dict[str, Any]:
    """Files to register, and for the open character the state of each of our files (to renew a browser's old copy)."""
    avatar = str(body.get("avatar") or "")
    return {
        "register": [wanted.as_entry() for wanted in registration.offer(pairing.tavern)],
        "files": registration.file_states(pairing.tavern, avatar),
    }


@companion_call
def done(pairing: Pairing, body: dict[str, Any]) -> dict[str, Any]:
    """The page has put these entries into its Data Bank and saves its settings."""
    said = body.get("registered")
    entries = [entry for entry in said if isinstance(entry, dict)] if isinstance(said, list) else []
    return {"noted": registration.mark_done(pairing.tavern, [str(entry.get("url")) for entry in entries])}


@companion_call
def seen(pairing: Pairing, body: dict[str, Any]) -> dict[str, Any]:
    """The Data Bank part of a prompt; only which of our files had a memory in it is kept, and when."""
    return {"files": prompts_seen.note_seen(pairing.tavern, str(body.get("avatar") or ""), str(body.get("text") or ""))}
