"""Which memory chats and characters have in common."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import scopes

WHERE = "characters/<uuid:character_id>/memory/"
urlpatterns: list[URLPattern] = [
    path(WHERE, scopes.page, name="scope"),
    path(f"{WHERE}choose/", scopes.choose, name="scope_choose"),
    path(f"{WHERE}undo/", scopes.undo, name="scope_undo"),
    path(f"{WHERE}share/", scopes.share_page, name="share_page"),
    path(f"{WHERE}share/begin/", scopes.share, name="share"),
    path(f"{WHERE}share/end/", scopes.share_end, name="share_end"),
    path(f"{WHERE}share/again/", scopes.share_again, name="share_again"),
    path(f"{WHERE}share/undo/", scopes.share_undo, name="share_undo"),
]
