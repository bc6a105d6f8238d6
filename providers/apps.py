from __future__ import annotations

from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "providers"

    def ready(self) -> None:
        from jobs.registry import add_facts, add_panel, register
        from providers import job_calls, model_download, test_jobs, vault

        vault.register_sealed("providers.Connection", "key_sealed")
        add_panel(job_calls.panel)
        add_facts(job_calls.facts)
        register(test_jobs.job_kind())
        register(model_download.job_kind())
