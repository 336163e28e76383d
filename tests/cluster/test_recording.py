from __future__ import annotations

import linecache
from pathlib import Path

import msgspec
import pytest

from pilotage.cluster.cluster import Cluster
from pilotage.cluster.recording import ENVIRONMENT, RecordedPermission
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.request import Request
from pilotage.manager.manager import Manager
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Secret


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


def recorded(folder: Path) -> list[RecordedPermission]:
    lines = [line for file in sorted(folder.iterdir()) for line in file.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=RecordedPermission) for line in lines]


async def test_requests_are_recorded_with_the_line_that_sent_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    async with Cluster.embedded() as cluster:
        for name in "ab":
            await cluster.client.create(config_map(name))
    assert [(each.verb, each.group, each.resource, each.namespace) for each in recorded(tmp_path)] == [
        ("create", "", "configmaps", "default")
    ], "each line once"
    file, line = recorded(tmp_path)[0].place.rsplit(":", 1)
    assert file == __file__
    assert "client.create" in linecache.getline(file, int(line))


async def test_a_read_from_the_cache_is_a_list_and_a_watch_of_the_line_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))

    class Reconciler:
        async def reconcile(self, request: Request[ConfigMap]) -> None:
            await manager.client.find(Secret, request)

    async with Manager(Cluster.embedded()) as manager:
        ControllerBuilder(manager).for_(ConfigMap).complete(Reconciler())
        await manager.cluster.client.create(config_map("a"))
        await manager.run_until_idle(timeout=60)
    seen = [each for each in recorded(tmp_path) if each.verb != "create"]
    by_runtime = [(each.verb, each.resource) for each in seen if not each.place]
    by_program = [(each.verb, each.resource) for each in seen if each.place.startswith(f"{__file__}:")]
    assert by_runtime == [("list", "configmaps"), ("watch", "configmaps")]
    assert by_program == [("list", "secrets"), ("watch", "secrets")]


async def test_each_line_that_reads_from_the_cache_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))

    async def first(manager: Manager) -> None:
        await manager.client.find(Secret, "a", namespace="default")

    async def second(manager: Manager) -> None:
        await manager.client.list(Secret)

    async with Manager(Cluster.embedded()) as manager:
        await manager.run_until_idle(timeout=60)
        await first(manager)
        await second(manager)
    reads = [each.place for each in recorded(tmp_path) if (each.verb, each.resource) == ("watch", "secrets")]
    begin = first.__code__.co_firstlineno
    assert reads == [f"{__file__}:{begin + 1}", f"{__file__}:{begin + 4}"]


async def test_nothing_is_wrapped_where_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    async with Cluster.embedded() as cluster:
        assert cluster.on_cached_read is None
        assert cluster._wrappers == []
