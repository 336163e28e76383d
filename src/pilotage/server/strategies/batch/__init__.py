"""The kinds of the group batch: Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy, paths

STRATEGIES: Mapping[str, Strategy] = {
    "cronjobs": deferred("batch.cronjobs:CronJobStrategy", generation=True),
    "jobs": deferred(
        "batch.jobs:JobStrategy", generation=True, selectable_fields=paths(**{"status.successful": "status.succeeded"})
    ),
}
