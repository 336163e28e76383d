"""The kinds of the group autoscaling: HorizontalPodAutoscalers in two versions, kept in the newer one."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "horizontalpodautoscalers": deferred("autoscaling.autoscalers:AutoscalerStrategy"),
    "horizontalpodautoscalers.v1": deferred("autoscaling.autoscalers:AutoscalerV1Strategy"),
}
