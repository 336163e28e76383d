"""Controllers that were declared and not completed."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap

pytestmark = pytest.mark.virtual_time


async def reconcile(request: pt.Request) -> None:
    """Nothing to do."""


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "not completed" in record.getMessage()]


async def test_a_builder_without_complete_is_warned_of_once_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap)
        await manager.run_until_idle(timeout=60)
        await manager.run_until_idle(timeout=60)
    (warning,) = warnings(caplog)
    expected = "A controller was not completed and does not run: call complete(reconciler) builder="
    assert warning.startswith(f"{expected}{__file__}:")


async def test_a_builder_that_was_completed_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.run_until_idle(timeout=60)
    assert not warnings(caplog)
