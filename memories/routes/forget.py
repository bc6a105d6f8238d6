"""Erasing a chat's text."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import forget

urlpatterns: list[URLPattern] = [
    path("chats/<uuid:chat_id>/forget/", forget.page, name="forget"),
    path("chats/<uuid:chat_id>/read-again/", forget.read_again, name="read_chat_again"),
]
