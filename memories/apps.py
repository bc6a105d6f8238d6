from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class MemoriesConfig(AppConfig):
    name = "memories"

    def ready(self) -> None:
        from jobs import registry
        from memories import (
            activity_page,
            activity_texts,
            again,
            automatic,
            batch_report,
            consolidation,
            conversion,
            conversion_databank,
            extraction,
            forgetting,
            meaning_job,
            model_probe,
            review,
            spending_subjects,
            together,
            trash,
            try_it,
            write_back,
        )
        from memories.search_rows import KINDS
        from providers import probes
        from search.registry import register as make_searchable

        spending_subjects.register_all()
        probes.register(model_probe.make)
        registry.register(write_back.job_kind())
        registry.register(extraction.job_kind())
        registry.register(together.job_kind())
        registry.register(try_it.job_kind())
        registry.register(consolidation.job_kind())
        registry.register(conversion.job_kind())
        registry.register(again.job_kind())
        registry.register(conversion_databank.job_kind())
        for kind in KINDS:
            make_searchable(kind)
        registry.add_panel(batch_report.panel)
        registry.add_start(registry.Start(gettext_lazy("Read many chats"), "memories:batch", "plus"))
        registry.register(review.job_kind())
        registry.register(forgetting.job_kind())
        registry.register(meaning_job.job_kind())
        registry.every(review.EVERY, "memories compared", review.sweep)
        registry.every(meaning_job.EVERY, "memories measured", meaning_job.sweep)
        registry.every(automatic.EVERY, "chats to read", automatic.sweep)
        registry.every(activity_texts.EVERY, "old activity", activity_texts.purge)
        registry.add_panel(activity_page.panel)
        registry.every(trash.EVERY, "old trash", trash.purge)
