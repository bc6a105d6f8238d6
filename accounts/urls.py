"""Pages of the accounts app."""

from __future__ import annotations

from django.urls import path

from accounts.views import door, people, you

app_name = "accounts"
urlpatterns = [
    path("login/", door.login, name="login"),
    path("logout/", door.logout, name="logout"),
    path("setup/", door.setup, name="setup"),
    path("join/<str:token>/", door.join, name="join"),
    path("password/<uuid:pk>/<str:token>/", door.new_password, name="new_password"),
    path("settings/you/", you.you, name="you"),
    path("settings/you/password/", you.password, name="password"),
    path("settings/you/sessions/end/", you.sessions_end, name="sessions_end"),
    path("settings/you/sessions/<uuid:pk>/end/", you.session_end, name="session_end"),
    path("people/", people.people, name="people"),
    path("people/invite/", people.invite, name="invite"),
    path("people/invitations/<uuid:pk>/revoke/", people.invitation_revoke, name="invitation_revoke"),
    path("people/<uuid:pk>/", people.person, name="person"),
    path("people/<uuid:pk>/role/", people.role, name="role"),
    path("people/<uuid:pk>/active/", people.active, name="active"),
    path("people/<uuid:pk>/remove/", people.remove, name="remove"),
]
