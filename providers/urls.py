from __future__ import annotations

from django.urls import path

from providers import views

app_name = "providers"
urlpatterns = [
    path("settings/models/", views.connection_list, name="list"),
    path("settings/models/new/", views.new, name="new"),
    path("settings/models/new/found", views.found, name="found"),
    path("settings/models/new/<slug:preset>/", views.new_of, name="new_of"),
    path("settings/models/built-in/", views.builtin.choose, name="builtin"),
    path("settings/models/built-in/download", views.builtin.download, name="builtin_download"),
    path("settings/models/built-in/progress", views.builtin.progress, name="builtin_progress"),
    path("settings/models/built-in/remove", views.builtin.remove, name="builtin_remove"),
    path("settings/models/networks/", views.networks, name="networks"),
    path("settings/models/networks/<int:pk>/remove", views.network_remove, name="network_remove"),
    path("settings/models/who-does-what", views.duties, name="duties"),
    path("settings/models/embeddings", views.embeddings, name="embeddings"),
    path("settings/models/<uuid:pk>/", views.edit, name="edit"),
    path("settings/models/<uuid:pk>/test", views.test, name="test"),
    path("settings/models/<uuid:pk>/tested", views.tested, name="tested"),
    path("settings/models/<uuid:pk>/models", views.models, name="models"),
    path("settings/models/<uuid:pk>/choose/", views.choose, name="choose"),
    path("settings/models/<uuid:pk>/default", views.default, name="default"),
    path("settings/models/<uuid:pk>/forget-key", views.forget_key, name="forget_key"),
    path("settings/models/<uuid:pk>/delete/", views.delete, name="delete"),
    path("settings/spending/", views.spending, name="spending"),
    path("settings/spending/calls/", views.calls, name="calls"),
    path("settings/spending/calls.csv", views.calls_csv, name="calls_csv"),
    path("settings/budgets/", views.budgets.own, name="budgets"),
    path("settings/budgets/everybody/", views.budgets.everybody, name="budgets_everybody"),
    path("settings/budgets/<uuid:pk>/", views.budgets.person, name="budgets_person"),
]
