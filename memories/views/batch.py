"""Choose what to read in one go, see what it costs, start it."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import PersonRequest
from jobs.models import Job
from memories import batch_start, batch_tree
from memories.memory_list import is_uuid
from memories.page_queries import price_of, total_unread
from memories.reset_cost import total
from memories.views.saying import explained, say
from providers.purposes import EXTRACTION
from providers.queries import connection_for
from sync.models import Chat


@require_safe
def page(request: PersonRequest) -> HttpResponse:
    """The tree: twenty characters and groups at a time, with what each chat would cost."""
    user = request.user
    text = request.GET.get("q", "")
    found = batch_tree.branches(user)
    shown = batch_tree.page_of(user, batch_tree.named(found, text), request.GET.get("page"))
    ticked = [one for one in request.GET.getlist("chat") if is_uuid(one)]
    costs = [leaf.cost for branch in shown.object_list for leaf in branch.leaves if str(leaf.chat.pk) in ticked]
    everything = total_unread(one.unread for one in found)
    context = {
        "page": shown,
        "text": text,
        "ticked": ticked,
        "sum": total(costs),
        "everything": everything,
        "everything_price": price_of(user, everything),
        "connection": connection_for(user, EXTRACTION),
        "running": Job.objects.for_user(user).filter(is_batch=True, subject=batch_start.SUBJECT, state__in=Job.ACTIVE),
    }
    return render(request, "memories/batch.html", context)


@require_POST
def start(request: PersonRequest) -> HttpResponse:
    """Read the chosen chats, or everything that is unread."""
    user = request.user
    if "price" in request.POST:
        chats = "&".join(f"chat={one}" for one in _wanted(request))
        return redirect(f"{reverse('memories:batch')}?{chats}#sum")
    with explained(request):
        is_all = "everything" in request.POST
        wish = batch_start.everything(user) if is_all else batch_start.chosen(user, _wanted(request))
        job = batch_start.start_batch(user, wish)
        say(request, _("The reading has begun. You may close this page; it goes on by itself."))
        return redirect("jobs:detail", job.pk)
    return redirect("memories:batch")


def _wanted(request: PersonRequest) -> list[str]:
    """Ids of the ticked chats and, of a page without JavaScript, of all chats of the ticked characters and groups."""
    whose = [one for one in request.POST.getlist("whose") if is_uuid(one)]
    theirs = Chat.objects.for_user(request.user).filter(Q(character__in=whose) | Q(group__in=whose))
    ticked = [one for one in request.POST.getlist("chat") if is_uuid(one)]
    return [*ticked, *(str(pk) for pk in theirs.values_list("pk", flat=True))] if whose else ticked
