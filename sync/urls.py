from __future__ import annotations

from django.urls import path

from sync.views import linking, portrait, settings

app_name = "sync"
urlpatterns = [
    path("settings/sillytavern/", settings.settings, name="settings"),
    path("settings/sillytavern/live", settings.live, name="live"),
    path("settings/sillytavern/issues/", settings.issues, name="issues"),
    path("settings/sillytavern/link/", linking.link, name="link"),
    path("settings/sillytavern/link/prove", linking.prove, name="prove"),
    path("settings/sillytavern/link/sample", linking.sample, name="sample"),
    path("settings/sillytavern/folders/", linking.folders, name="folders"),
    path("settings/sillytavern/folders/<uuid:grant_id>/revoke", linking.revoke, name="revoke"),
    path("settings/sillytavern/<uuid:tavern_id>/look", settings.look_now, name="look"),
    path("settings/sillytavern/<uuid:tavern_id>/server/", settings.server, name="server"),
    path("settings/sillytavern/<uuid:tavern_id>/databank/", settings.databank, name="databank"),
    path("settings/sillytavern/<uuid:tavern_id>/unlink/", settings.remove, name="unlink"),
    path("characters/<uuid:character_id>/undo-rename", settings.take_rename_back, name="undo_rename"),
    path("characters/<uuid:character_id>/portrait", portrait.portrait, name="portrait"),
]
