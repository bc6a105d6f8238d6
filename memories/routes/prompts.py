"""Prompts and trying them."""

from __future__ import annotations

from django.urls import URLPattern, path

from memories.views import prompt_try, prompts

urlpatterns: list[URLPattern] = [
    path("settings/prompts/", prompts.overview, name="prompts"),
    path("settings/prompts/new/", prompts.new_strategy, name="prompt_new"),
    path("settings/prompts/<str:name>/", prompts.text, name="prompt"),
    path("settings/prompts/<str:name>/changed/", prompts.changed, name="prompt_changed"),
    path("settings/prompts/<str:name>/try/", prompt_try.page, name="prompt_try"),
    path("settings/prompts/<str:name>/try/answer/", prompt_try.answer, name="prompt_answer"),
    path("settings/prompts/<str:name>/versions/", prompts.versions, name="prompt_versions"),
    path("settings/prompts/<str:name>/default/", prompts.use_default, name="prompt_default"),
    path("settings/prompts/<str:name>/keep/", prompts.keep_mine, name="prompt_keep"),
    path("settings/prompts/<str:name>/rename/", prompts.rename, name="prompt_rename"),
    path("settings/prompts/<str:name>/delete/", prompts.delete, name="prompt_delete"),
    path("settings/prompts/<str:name>/bring-back/", prompts.bring_back, name="prompt_bring_back"),
    path("settings/prompt-versions/<uuid:version_id>/restore/", prompts.restore, name="prompt_restore"),
]
