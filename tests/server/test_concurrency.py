"""Many writers at once: nothing is lost, and nothing is allocated twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.errors import AlreadyExists, Conflict, NotFound
from pilotage.storage import open_storage
from pilotage.testing import loop
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.core.v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector

from .registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, Pausing, definition, opened, widget

SEEDS = pytest.mark.parametrize("seed", range(6))


@pytest.mark.covers("T153")
@SEEDS
def test_no_increment_is_lost_by_updates_that_are_tried_again(seed: int) -> None:
    loop.run(_updates(), seed=seed)


async def _updates() -> None:
    async with opened(Pausing()) as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "counter"}, "data": {"n": "0"}}, "default")
        conflicts = await asyncio.gather(*(_increment(api, 5) for _ in range(4)))
        assert (await api.get(CONFIG_MAPS, "counter", "default"))["data"]["n"] == "20"
        assert sum(conflicts) > 0, "else nothing was shown"


async def _increment(api: Api, times: int) -> int:
    conflicts = 0
    for _ in range(times):
        while True:
            found = await api.get(CONFIG_MAPS, "counter", "default")
            found["data"]["n"] = str(int(found["data"]["n"]) + 1)
            try:
                await api.update(CONFIG_MAPS, found, "default")
                break
            except Conflict:
                conflicts += 1
    return conflicts


@pytest.mark.covers("T153")
@SEEDS
def test_patches_without_a_version_never_conflict_and_all_of_them_count(seed: int) -> None:
    loop.run(_patches(), seed=seed)


async def _patches() -> None:
    async with opened(Pausing()) as api:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "default")
        keys = [f"k{number}" for number in range(20)]
        await asyncio.gather(*(api.patch(CONFIG_MAPS, "one", {"data": {key: key}}, "default") for key in keys))
        assert (await api.get(CONFIG_MAPS, "one", "default"))["data"] == {key: key for key in keys}


@pytest.mark.covers("T153")
@SEEDS
def test_a_name_is_created_once(seed: int) -> None:
    loop.run(_creates(), seed=seed)


async def _creates() -> None:
    async with opened(Pausing()) as api:
        tries = [api.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, "default") for _ in range(5)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert [type(result) for result in results if not isinstance(result, dict)] == [AlreadyExists] * 4


@SEEDS
@pytest.mark.covers("T153")
def test_deletes_and_an_update_at_once_have_only_legal_outcomes(seed: int) -> None:
    loop.run(_deletes(), seed=seed)


async def _deletes() -> None:
    async with opened(Pausing()) as api:
        client = pt.Client(api.registry).with_namespace("default")
        meta = pt.ObjectMeta(name="one", labels={"app": "one"})
        found = await client.create(ConfigMap(metadata=meta))
        found.data["a"] = "1"
        updated, *deleted = await asyncio.gather(
            client.update(found),
            client.delete(ConfigMap, "one"),
            client.delete(ConfigMap, "one"),
            client.delete_all_of(ConfigMap, labels={"app": "one"}),
            return_exceptions=True,
        )
        assert isinstance(updated, ConfigMap | NotFound | Conflict)
        assert all(result is None or isinstance(result, ConfigMap | NotFound) for result in deleted), deleted
        assert isinstance(deleted[0], NotFound) or isinstance(deleted[1], NotFound), "one object is deleted once"
        assert await client.find(ConfigMap, "one") is None


@SEEDS
@pytest.mark.covers("T153")
def test_a_scale_is_not_undone_by_an_update_at_the_same_time(seed: int) -> None:
    loop.run(_scale_and_update(), seed=seed)


async def _scale_and_update() -> None:
    async with opened(Pausing()) as api:
        client = pt.Client(api.registry).with_namespace("default")
        labels = {"app": "web"}
        template = PodTemplateSpec(
            metadata=pt.ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="web", image="nginx")])
        )
        spec = DeploymentSpec(replicas=1, selector=LabelSelector(match_labels=labels), template=template)
        found = await client.create(Deployment(metadata=pt.ObjectMeta(name="web"), spec=spec))
        found.metadata.labels["changed"] = "yes"
        updated, scaled = await asyncio.gather(
            client.update(found),
            client.patch(Deployment, {"spec": {"replicas": 5}}, name="web", subresource="scale"),
            return_exceptions=True,
        )
        assert not isinstance(scaled, BaseException), scaled
        stored = await client.get(Deployment, "web")
        assert stored.spec is not None
        assert stored.spec.replicas == 5
        assert (stored.metadata.labels == {"changed": "yes"}) == isinstance(updated, Deployment)
        assert isinstance(updated, Deployment | Conflict)


@SEEDS
def test_two_definitions_never_get_the_same_names(seed: int) -> None:
    loop.run(_definitions(), seed=seed)


async def _definitions() -> None:
    async with opened(Pausing()) as api:
        plurals = ["as", "bs", "cs"]
        await asyncio.gather(*(api.create(DEFINITIONS, definition(plural, "Widget")) for plural in plurals))
        found = await api.all(DEFINITIONS)
        accepted = [one for one in found if one["status"]["conditions"][1]["status"] == "True"]
        assert len(accepted) == 1


@SEEDS
def test_a_definition_may_change_while_objects_are_created(seed: int) -> None:
    loop.run(_redefined(), seed=seed)


async def _redefined() -> None:
    async with opened(Pausing()) as api:
        name = (await api.create(DEFINITIONS, definition()))["metadata"]["name"]
        creates = [api.create(WIDGETS, widget(f"w{number}"), "default") for number in range(10)]
        changes = [api.patch(DEFINITIONS, name, {"metadata": {"labels": {"n": str(n)}}}) for n in range(10)]
        await asyncio.gather(*creates, *changes)
        assert len(await api.names(WIDGETS)) == 10


async def test_what_one_registry_writes_another_on_the_same_file_serves_at_once(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/shared.db"
    first, second = await open_storage(url), await open_storage(url)
    try:
        async with opened(first) as one, opened(second) as other:
            await one.create(DEFINITIONS, definition())
            made = await other.create(WIDGETS, widget("here"), "default")
            assert await one.get(WIDGETS, "here", "default") == made
            await other.delete(WIDGETS, "here", "default")
            assert await one.names(WIDGETS) == []
    finally:
        await first.close()
        await second.close()
