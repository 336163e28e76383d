"""Storage version migration, on every API server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import pilotage as pt
from pilotage.errors import Conflict, NotFound, Status

from ...environments import DEFINITION, Environment


def definition(group: str, storage: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"moves.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "moves", "kind": "Move"},
            "versions": [
                {"name": name, "served": True, "storage": name == storage, "schema": {"openAPIV3Schema": schema}}
                for name in ("v1", "v2")
            ],
        },
    }


async def _moves(environment: Environment, group: str, count: int) -> pt.GroupVersionKind:
    """Objects that are stored in v1, of a definition whose storage version is v2 by now."""
    kind = pt.GroupVersionKind(group, "v1", "Move")
    await environment.install(definition(group, "v1"))
    for number in range(count):
        metadata = {"name": f"move-{number}", "namespace": environment.namespace}
        await environment.client.create(
            pt.Unstructured(
                {"apiVersion": kind.api_version, "kind": "Move", "metadata": metadata, "spec": {"n": number}}
            )
        )
    found = await environment.client.get(DEFINITION, f"moves.{group}")
    found["spec"]["versions"] = definition(group, "v2")["spec"]["versions"]
    await environment.client.update(found)
    return kind


async def test_objects_are_stored_again_and_old_versions_are_dropped(environment: Environment) -> None:
    group = f"{environment.namespace}.migrations.pilotage.dev"
    kind = await _moves(environment, group, 3)
    before = await environment.client.get(DEFINITION, f"moves.{group}")
    assert before["status"]["storedVersions"] == ["v1", "v2"]
    migration = await pt.migrate_storage_version(environment.client, kind)
    assert (migration.rewritten, migration.dropped) == (3, ("v1",))
    after = await environment.client.get(DEFINITION, f"moves.{group}")
    assert after["status"]["storedVersions"] == ["v2"]
    assert [found["spec"]["n"] for found in await environment.client.list(kind)] == [0, 1, 2]
    again = await pt.migrate_storage_version(environment.client, kind)
    assert (again.rewritten, again.dropped) == (0, ())


async def test_after_a_migration_the_old_version_can_be_removed(environment: Environment) -> None:
    group = f"{environment.namespace}.removals.pilotage.dev"
    kind = await _moves(environment, group, 1)
    await pt.migrate_storage_version(environment.client, kind)
    found = await environment.client.get(DEFINITION, f"moves.{group}")
    found["spec"]["versions"] = [each for each in found["spec"]["versions"] if each["name"] == "v2"]
    await environment.client.update(found)
    kept = await environment.client.get(
        pt.GroupVersionKind(group, "v2", "Move"), "move-0", namespace=environment.namespace
    )
    assert kept["spec"] == {"n": 0}


async def test_a_kind_that_is_not_served_is_not_found(environment: Environment) -> None:
    with pytest.raises((NotFound, pt.errors.NoMatch)):
        await pt.migrate_storage_version(
            environment.client, pt.GroupVersionKind("missing.pilotage.dev", "v1", "Missing")
        )


async def test_a_storage_version_that_changes_meanwhile_is_a_conflict(environment: Environment) -> None:
    group = f"{environment.namespace}.conflicts.pilotage.dev"
    kind = await _moves(environment, group, 1)
    changed = False

    class Client:
        """Changes the storage version back while objects are written."""

        def __getattr__(self, name: str) -> Any:
            return getattr(environment.client, name)

        async def update(self, obj: pt.Unstructured) -> pt.Unstructured:
            nonlocal changed
            found = await environment.client.get(DEFINITION, f"moves.{group}")
            found["spec"]["versions"] = definition(group, "v1")["spec"]["versions"]
            await environment.client.update(found)
            changed = True
            return await environment.client.update(obj)

    with pytest.raises(Conflict, match="was changed during the migration; start it again"):
        await pt.migrate_storage_version(Client(), kind)  # type: ignore[arg-type]
    assert changed


async def test_a_list_that_has_expired_goes_on_with_the_objects_as_they_are_now() -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        kind = await _moves(environment, "expired.pilotage.dev", 2)
        pages = 0

        class Client:
            """Pages of one object; the history of the first page is gone when the second is asked for."""

            def __getattr__(self, name: str) -> Any:
                return getattr(cluster.client, name)

            async def list(self, of: pt.GroupVersionKind, *, limit: int, continue_token: str) -> Any:
                nonlocal pages
                pages += 1
                if pages == 2:
                    status = Status(410, "Expired", "too old", continue_token=continue_token)
                    raise pt.Gone(status=status)
                return await cluster.client.list(of, limit=1, continue_token=continue_token)

        migration = await pt.migrate_storage_version(Client(), kind)  # type: ignore[arg-type]
        assert (migration.rewritten, pages) == (2, 3)


@pytest.mark.virtual_time
@pytest.mark.parametrize("stale", ["unchanged", "conflict", "deleted"])
async def test_objects_that_a_server_with_the_old_definition_wrote_are_written_again(stale: str) -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        kind = await _moves(environment, "late.pilotage.dev", 3)
        updates: list[str] = []

        class Client:
            """Its first request goes to an API server that does not know the new storage version yet."""

            def __getattr__(self, name: str) -> Any:
                return getattr(cluster.client, name)

            async def update(self, obj: pt.Unstructured) -> pt.Unstructured:
                updates.append(obj.metadata.name)
                if len(updates) > 1:
                    return await cluster.client.update(obj)
                if stale == "unchanged":
                    return obj
                if stale == "deleted":
                    await cluster.client.delete(obj)
                raise Conflict("another client has written it")

        started = asyncio.get_running_loop().time()
        migration = await pt.migrate_storage_version(Client(), kind)  # type: ignore[arg-type]
        assert asyncio.get_running_loop().time() - started >= 5
    if stale == "deleted":
        assert (updates, migration.rewritten) == (["move-0", "move-1", "move-2"], 2)
    else:
        assert (updates, migration.rewritten) == (["move-0", "move-1", "move-2", "move-0"], 3)


@pytest.mark.virtual_time
async def test_a_migration_in_which_every_write_has_an_effect_does_not_wait() -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        kind = await _moves(environment, "prompt.pilotage.dev", 3)
        started = asyncio.get_running_loop().time()
        assert (await pt.migrate_storage_version(cluster.client, kind)).rewritten == 3
        assert asyncio.get_running_loop().time() - started < 1
