"""Every metric of the Device API's server is on its page."""

from __future__ import annotations

import re
from pathlib import Path

from pilotage.device.providers.nvml import metrics as nvml_metrics
from pilotage.device.server import metrics
from pilotage.telemetry.metrics import Metric

PAGE = Path(__file__).parents[2] / "docs" / "device.md"


def test_every_metric_of_the_device_server_is_on_its_page() -> None:
    named = set(re.findall("`([a-z_]+)`", PAGE.read_text()))
    values = [*vars(metrics).values(), *metrics.GPUS.values(), *vars(nvml_metrics).values()]
    values += nvml_metrics._SIMPLE.values()
    names = {value.definition.name for value in values if isinstance(value, Metric)}
    assert len(names) > 35
    assert {name for name in names if not {name, name.removeprefix("device_api_server_")} & named} == set()
