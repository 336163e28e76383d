"""The lines that readers of Kubernetes' and k1s' documents look for in the log. Changing one breaks their searches."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path

import pytest

from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request
from pilotage.manager.manager import Manager
from pilotage.types.core.v1 import ConfigMap

DOCS = Path(__file__).parents[2] / "docs" / "manager.md"

SHUTDOWN = (
    "Received shutdown signal, initiating graceful shutdown",
    "Phase 1: Stopping acceptance of new reconcile requests",
    "Phase 2: Waiting for active reconciliation to complete",
    "All reconciliation work completed",
    "Phase 3: Force stopping all controllers",
    "All controllers shut down gracefully",
)


async def reconcile(request: Request) -> None:
    pass


@pytest.mark.virtual_time
async def test_a_manager_with_a_controller_logs_its_start_and_its_shutdown_in_these_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "pilotage")
    async with Manager(Cluster.embedded()) as manager:
        ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        running = asyncio.ensure_future(manager.start())
        await manager.elected.wait()
        await asyncio.sleep(1)
        manager._lifecycle.on_signal(signal.SIGTERM)
        await running
    lines = [record.getMessage() for record in caplog.records]
    who = 'controller=configmap controllerGroup="" controllerKind=ConfigMap'
    assert lines[:3] == [
        f'Starting EventSource {who} source="kind source: *v1.ConfigMap"',
        f"Starting Controller {who}",
        f"Starting workers {who} worker count=1",
    ]
    assert lines[3] == f"{SHUTDOWN[0]} signal=SIGTERM"
    assert [line.startswith(words) for line, words in zip(lines[3:], SHUTDOWN, strict=True)] == [True] * len(SHUTDOWN)
    assert {record.name for record in caplog.records[:3]} == {"pilotage.controller"}
    assert {record.name for record in caplog.records[3:]} == {"pilotage.manager"}


@pytest.mark.parametrize("words", SHUTDOWN)
def test_the_page_about_the_manager_has_the_same_words(words: str) -> None:
    assert f'"{words}"' in DOCS.read_text(encoding="utf-8")
