"""Pinning a memory."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import pin

urlpatterns: list[URLPattern] = [
    path("pin/", pin.from_nothing, name="pin_new"),
    path("pin/undo/", pin.undo, name="pin_undo"),
    path("chats/<uuid:chat_id>/messages/<int:index>/pin/", pin.from_message, name="pin"),
]
