"""The Celery app: it carries job ids and the ticks of the clock, nothing else (stack-notes §4).

The Job row is the truth. A message may be lost or come twice, so messages are acknowledged on arrival, results are
ignored and nothing is stored in the broker.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery

from charmem_site.folder_broker import SCHEME

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "charmem_site.settings")

POLL_SECONDS = 0.2


def _folder_transport(data_dir: Path) -> dict[str, Any]:
    """Messages as small files in the data folder; the folders are made on first use."""
    inbox, control = data_dir / "broker", data_dir / "broker" / "control"
    control.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(inbox),
        "data_folder_out": str(inbox),
        "control_folder": str(control),
        "store_processed": False,
        "polling_interval": POLL_SECONDS,
    }


def beat_schedule() -> dict[str, dict[str, Any]]:
    """One entry for each periodic call that the apps registered; a tick nobody took in time is dropped."""
    from jobs.registry import periodics

    return {
        periodic.name: {
            "task": "jobs.run_periodic",
            "schedule": periodic.seconds,
            "args": (periodic.name,),
            "options": {"expires": max(periodic.seconds, 5)},
        }
        for periodic in periodics.values()
    }


def configuration() -> dict[str, Any]:
    """Celery's settings, read when the app is first used, after Django's."""
    from django.conf import settings

    broker: str = settings.BROKER_URL
    transport = {} if broker else _folder_transport(settings.DATA_DIR)
    return {
        "broker_url": broker or f"{SCHEME}://localhost//",
        "broker_transport_options": transport,
        "broker_connection_retry_on_startup": True,
        "task_default_queue": "charmem",
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_acks_late": False,
        "worker_prefetch_multiplier": 1,
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "beat_max_loop_interval": 5,
        "timezone": "UTC",
        "enable_utc": True,
        "beat_schedule": beat_schedule(),
    }


app = Celery("charmem", set_as_current=True)
app.add_defaults(configuration)
app.set_default()
app.autodiscover_tasks(["jobs"])
