"""The kinds of the group batch: Jobs and CronJobs."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.batch.cronjobs import CronJobStrategy
from pilotage.server.strategies.batch.jobs import JobStrategy
from pilotage.server.strategies.strategy import Strategy, paths

STRATEGIES: Mapping[str, Strategy] = {
    "cronjobs": CronJobStrategy(generation=True),
    "jobs": JobStrategy(generation=True, selectable_fields=paths(**{"status.successful": "status.succeeded"})),
}
