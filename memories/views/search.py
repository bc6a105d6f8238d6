"""Search over memories, chats and lorebooks, and the way from a hit to its card."""

from __future__ import annotations

import time
from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import PersonRequest, owned
from accounts.models import User
from memories.memory_list import Filters, block_ids, pages_of
from memories.models import Memory, MemoryBlock
from memories.search_page import LOADERS, read_filters, results_of
from search import engines
from search.find import MOST, behind, size_of
from search.registry import kinds


@require_safe
def page(request: PersonRequest) -> HttpResponse:
    """What was found, best first, by kind; the part below the field alone while somebody types."""
    filters, begin = read_filters(request.GET), time.perf_counter()
    found = results_of(request.user, filters, request.GET.get("page"))
    context = {
        "filters": filters,
        "found": found,
        "seconds": time.perf_counter() - begin,
        "size": size_of(request.user),
        "behind": behind(request.user),
        "places": [(kind.name, kind.title) for kind in kinds.values() if kind.name in LOADERS],
        "can_search": engines.has_full_text(),
        "most": MOST,
    }
    is_part = request.htmx.target == "found"
    return render(request, "memories/search_live.html" if is_part else "memories/search.html", context)


@require_safe
def memory_place(request: PersonRequest, memory_id: UUID) -> HttpResponseRedirect:
    """The character page that holds this memory, opened at it; a topic tag stands on its card."""
    memory = owned(Memory, request, pk=memory_id)
    if memory.is_topic:
        return _to_card(request.user, memory.block_id, f"b{memory.block_id}")
    bullets = Memory.objects.for_user(request.user).filter(block=memory.block_id, is_topic=False)
    order = list(bullets.order_by("order", "created_at").values_list("pk", flat=True))
    return _to_card(request.user, memory.block_id, f"m{memory.pk}", order.index(memory.pk))


@require_safe
def block_place(request: PersonRequest, block_id: UUID) -> HttpResponseRedirect:
    """The character page that holds this block."""
    block = owned(MemoryBlock, request, pk=block_id)
    return _to_card(request.user, block.pk, f"b{block.pk}")


def _to_card(user: User, block_id: UUID, anchor: str, position: int = 0) -> HttpResponseRedirect:
    """The page with the bullet at `position` of the block; a long block goes on over several."""
    block = MemoryBlock.objects.for_user(user).select_related("file__character").get(pk=block_id)
    pages = enumerate(pages_of(block_ids(user, block.file.character, Filters())), 1)
    number = max(
        (n for n, parts in pages if any(p.block == block_id and p.start <= position for p in parts)), default=1
    )
    url = reverse("memories:character", args=[block.file.character_id])
    return redirect(f"{url}{f'?page={number}' if number > 1 else ''}#{anchor}")
