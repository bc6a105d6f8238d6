"""Jobs in every state, limits, and what a CharMemory folder holds, in three widths and both themes."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from accounts.ownership import unscoped
from jobs.models import Job
from tests.support import scenes_groups, scenes_migration
from tests.support import scenes_rest as rest
from tests.support.browsing import WIDTHS, signed_in
from tests.support.scenes import lived_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("size", WIDTHS)
def test_jobs_and_limits_hold_in_every_width_and_theme(live_server: Any, alice: User, size: str) -> None:
    with unscoped("an invented life"):
        scene = lived_in(alice)
        scene |= rest.add_jobs(alice) | rest.add_people(alice) | scenes_migration.add_extension(alice)
        scene |= scenes_groups.add_groups(alice, scene["character"].tavern)
    parts = Job.objects.for_user(alice).get(subject=f"group:{scene['group_running'].pk}", parent=None)
    paths = [
        "/jobs/",
        *(f"/jobs/{scene[name].pk}/" for name in ("running", "paused", "failed-job")),
        f"/jobs/{parts.pk}/",
        f"/settings/budgets/{scene['bob'].pk}/",
        "/settings/budgets/everybody/",
        *scenes_migration.paths(scene).values(),
    ]
    with signed_in(live_server.url, alice, size) as seen:
        assert seen.judge(paths) == []
