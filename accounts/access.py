"""A view's first line: the row of this person, or 404 for everybody else."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from accounts.models import User
from accounts.ownership import ScopedModel

R = TypeVar("R", bound=ScopedModel)


class PersonRequest(HttpRequest):
    """A request behind the login, with htmx's details."""

    user: User
    htmx: HtmxDetails


def owned(model: type[R], request: HttpRequest, **lookup: Any) -> R:
    """The row of `model` that matches `lookup` and belongs to the signed-in person; else 404, never 403."""
    rows = model.objects.for_user(cast(User, request.user))
    return get_object_or_404(rows, **lookup)


def admin_required(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Pages about the installation exist for admins only; others get 404."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not getattr(request.user, "is_admin", False):
            raise Http404(_("There is no such page."))
        return view(request, *args, **kwargs)

    return guarded
