"""The kinds of the group autoscaling: HorizontalPodAutoscalers in two versions, kept in the newer one."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.autoscaling.autoscalers import AutoscalerStrategy, AutoscalerV1Strategy
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "horizontalpodautoscalers": AutoscalerStrategy(),
    "horizontalpodautoscalers.v1": AutoscalerV1Strategy(),
}
