"""A server process that is stopped (SIGSTOP): its kernel answers, it does not. The cache notices, and loses nothing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cache.informer import Informer
from pilotage.types.core.v1 import ConfigMap
from tests.cache.informers import Diary, until
from tests.cli.serve.processes import serving

pytestmark = [pytest.mark.long]


@pytest.mark.covers("F10")
async def test_a_server_that_is_stopped_is_noticed_and_resumed_without_loss(tmp_path: Path) -> None:
    diary = Diary()
    with serving(tmp_path) as running:
        async with pt.Manager(running.cluster()) as manager:
            await manager.run_until_idle(timeout=100)
            informer = await manager.cache.informer_for(ConfigMap, block_until_synced=True)
            assert isinstance(informer, Informer)
            await until(lambda: informer.live, 60)
            informer.add_event_handler(diary)
            diary.clear()
            client = manager.cluster.client.with_namespace("default")
            for number in range(20):
                await client.create(ConfigMap(metadata=pt.ObjectMeta(name=f"before-{number}")))
            running.process.send_signal(signal.SIGSTOP)
            try:
                await until(lambda: not informer.live, 60)  # after ten seconds; for other servers it takes 75
            finally:
                running.process.send_signal(signal.SIGCONT)
            for number in range(20):
                await client.create(ConfigMap(metadata=pt.ObjectMeta(name=f"after-{number}")))
            await until(lambda: informer.live and len(diary.events) >= 40, 60)
    expected = [f"{when}-{number}" for when in ("before", "after") for number in range(20)]
    assert diary.heard == [("create", name) for name in expected]
