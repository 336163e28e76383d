"""The REST mapper of a cluster and its manager, on every API server: filled at the start, and read again for an unknown
kind."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

import pilotage as pt
from pilotage.cluster.routing import Aggregation
from pilotage.errors import ConnectionLost
from pilotage.types.core.v1 import ConfigMap

from ..environments import WITHIN, Environment


def definition(plural: str) -> dict[str, Any]:
    kind = plural[:-1].capitalize()
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "shortNames": [f"{plural}short"]}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.mapper.pilotage.dev"},
        "spec": {"group": "mapper.pilotage.dev", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def new_plural() -> str:
    """A name that is new to the real server, which other tests use, too."""
    return "z" + "".join(secrets.choice("bcdfghjk") for _ in range(10)) + "s"


async def test_it_is_full_when_the_manager_is_open(environment: Environment) -> None:
    async with pt.Manager(environment.cluster()) as manager:
        assert manager.rest_mapper.kind_for("po") == pt.GroupVersionKind("", "v1", "Pod")
        assert manager.rest_mapper.resource_for("deploy").resource == "deployments"
        assert manager.rest_mapper.kind_for("crd").kind == "CustomResourceDefinition"
        with pytest.raises(pt.errors.NoMatch, match='the server doesn\'t have a resource type "unicorns"'):
            manager.rest_mapper.kind_for("unicorns")


async def test_a_definition_of_another_program_is_found(environment: Environment) -> None:
    async with pt.Manager(environment.cluster()) as manager:
        plural = new_plural()
        await environment.install(definition(plural))
        expected = pt.GroupVersionKind("mapper.pilotage.dev", "v1", plural[:-1].capitalize())
        async with asyncio.timeout(WITHIN):
            while True:  # the real server lists a kind a moment after it serves it
                try:
                    found = await manager.rest_mapper.lookup(f"{plural}short")
                    break
                except pt.errors.NoMatch:
                    await asyncio.sleep(0.05)
        assert found.gvk == expected
        assert manager.rest_mapper.kind_for(plural) == expected


async def test_a_kind_that_was_installed_is_known_at_once(environment: Environment) -> None:
    plural = new_plural()

    @pt.resource(group="mapper.pilotage.dev", version="v1", kind=plural[:-1].capitalize(), plural=plural)
    class Thing(pt.Resource):
        pass

    async with pt.Manager(environment.cluster()) as manager:
        await manager.cluster.install(Thing)
        assert manager.rest_mapper.kind_for(plural) == Thing.__resource__.gvk


async def test_the_embedded_server_answers_a_lookup_of_what_was_just_created() -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.client.create(pt.Unstructured(definition("sprockets")))
        assert cluster.rest_mapper.kind_for("sprocketsshort").kind == "Sprocket"


@pytest.mark.parametrize("make", [pt.Cluster.none, pt.Cluster.embedded])
async def test_a_group_of_another_server_is_known_with_and_without_an_api_server(make: Any) -> None:
    async with pt.Cluster.embedded() as there, make() as here:
        await there.client.create(pt.Unstructured(definition("sprockets")))
        found = await there.rest_mapper.lookup("sprockets")
        here.aggregate(Aggregation("mapper.pilotage.dev", there.registry, (found,), there.lister_watcher_for))
        assert here.rest_mapper.kind_for("sprocketsshort") == found.gvk
        with pytest.raises(pt.errors.NoMatch):
            here.rest_mapper.kind_for("unicorns")  # asks again, and does not lose what is aggregated
        assert here.rest_mapper.kind_for("sprocketsshort") == found.gvk


async def test_a_server_that_is_down_is_an_error_of_the_call_and_not_of_the_opening(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with pt.Cluster.connect("http://127.0.0.1:1") as cluster:
        assert "Discovery failed" in caplog.text
        with pytest.raises(ConnectionLost):
            await cluster.client.get(ConfigMap, "a", namespace="default")
