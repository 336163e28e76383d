"""The kinds of the group policy."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "poddisruptionbudgets": deferred(
        "policy.disruptionbudgets:PodDisruptionBudgetStrategy",
        name_form="path",
        generation=True,
        unconditional_update=False,
    ),
}
