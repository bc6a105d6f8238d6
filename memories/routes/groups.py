"""Groups."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import group_clearing, group_members, groups

urlpatterns: list[URLPattern] = [
    path("groups/", groups.groups, name="groups"),
    path("groups/<uuid:group_id>/", groups.page, name="group"),
    path("groups/<uuid:group_id>/live/", groups.live, name="group_live"),
    path("groups/<uuid:group_id>/memories/", groups.memories, name="group_memories"),
    path("groups/<uuid:group_id>/chats/", groups.chats, name="group_chats"),
    path("groups/<uuid:group_id>/health/", groups.health, name="group_health"),
    path("groups/<uuid:group_id>/settings/", groups.settings, name="group_settings"),
    path("groups/<uuid:group_id>/members/", group_members.page, name="group_members"),
    path("groups/<uuid:group_id>/members/choose/", group_members.choose, name="group_member"),
    path("groups/<uuid:group_id>/members/add/", group_members.add, name="group_add"),
    path("groups/<uuid:group_id>/extract/", groups.extract, name="extract_group"),
    path("groups/<uuid:group_id>/asking/", groups.asking, name="group_asking"),
    path("groups/<uuid:group_id>/consolidate/", groups.consolidate, name="group_consolidate"),
    path("groups/<uuid:group_id>/reset/", group_clearing.reset, name="group_reset"),
    path("groups/<uuid:group_id>/clear/", group_clearing.clear, name="group_clear"),
    path("groups/<uuid:group_id>/undo/", group_clearing.undo, name="group_undo"),
]
