from __future__ import annotations

from django.apps import AppConfig


class TallyConfig(AppConfig):
    name = "tests.services.tally"

    def ready(self) -> None:
        from jobs.registry import JobKind, register
        from jobs.run import JobRun, Outcome, done

        def run(job: JobRun) -> Outcome:
            job.log("counted")
            return done({"counted": 1})

        register(JobKind("tally", "Tally", run))
