"""The chat reader: points, stretches, what was injected, branches."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import again, chat_side, points

CHAT = "chats/<uuid:chat_id>/"
MESSAGE = f"{CHAT}messages/<int:index>/"
PROPOSAL = "proposals/<uuid:proposal_id>/"

urlpatterns: list[URLPattern] = [
    path(f"{MESSAGE}extract/", points.extract_to, name="extract_to"),
    path(f"{MESSAGE}point/", points.set_point, name="set_point"),
    path(f"{MESSAGE}injected/", chat_side.injected, name="injected"),
    path(f"{CHAT}point/undo/", points.undo_point, name="undo_point"),
    path(f"{CHAT}range/", again.read_range, name="read_range"),
    path(f"{CHAT}reset/", points.reset_chat, name="reset_chat"),
    path(f"{CHAT}branches/", chat_side.branches, name="branches"),
    path("characters/<uuid:character_id>/reset/", points.reset_character, name="reset_character"),
    path("characters/<uuid:character_id>/reset/undo/", points.undo_reset, name="undo_reset"),
    path(f"{PROPOSAL}reread/", again.choose, name="reread_choose"),
    path(f"{PROPOSAL}reread/apply/", again.apply, name="reread_apply"),
]
